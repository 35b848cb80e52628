"""Data to try things on."""

from mcgta.datasets.synthetic import Sample, make_regions, make_series

__all__ = ["Sample", "make_regions", "make_series"]
