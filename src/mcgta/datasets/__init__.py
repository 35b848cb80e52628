"""Data to try things on."""

from mcgta.datasets.fields import make_fields
from mcgta.datasets.gestures import make_gestures
from mcgta.datasets.sample import Sample
from mcgta.datasets.synthetic import make_regions, make_series, stream_regions, stream_series

__all__ = [
    "Sample",
    "make_fields",
    "make_gestures",
    "make_regions",
    "make_series",
    "stream_regions",
    "stream_series",
]
