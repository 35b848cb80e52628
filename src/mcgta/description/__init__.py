"""Descriptions: what each cluster of a fit is, in numbers and in words."""

from mcgta.description.description import ClusterDescription, Contrast, Description, Places, Spells
from mcgta.description.summary import describe

__all__ = ["ClusterDescription", "Contrast", "Description", "Places", "Spells", "describe"]
