"""Data to try things on."""

from mcgta.datasets.fields import make_fields
from mcgta.datasets.gestures import make_gestures
from mcgta.datasets.synthetic import Sample, make_regions, make_series

__all__ = ["Sample", "make_fields", "make_gestures", "make_regions", "make_series"]
