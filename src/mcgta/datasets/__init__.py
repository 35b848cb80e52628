"""Data to try things on."""

from mcgta.datasets.cache import MissingDataError
from mcgta.datasets.climate import load_climate
from mcgta.datasets.dynamics import make_dynamics
from mcgta.datasets.fields import make_fields
from mcgta.datasets.gestures import make_gestures
from mcgta.datasets.inat import load_inat2018, load_inat_subset
from mcgta.datasets.loaded import DataSet
from mcgta.datasets.mixed_regions import MixedSample, make_mixed_regions
from mcgta.datasets.nyc import load_nyc_landuse, load_nyc_poi
from mcgta.datasets.recorded_series import load_gesture, load_pavement, load_vehicle
from mcgta.datasets.sample import Sample
from mcgta.datasets.synthetic import (
    make_regions,
    make_series,
    stream_mixed_regions,
    stream_regions,
    stream_series,
)

__all__ = [
    "DataSet",
    "MissingDataError",
    "MixedSample",
    "Sample",
    "load_climate",
    "load_gesture",
    "load_inat2018",
    "load_inat_subset",
    "load_nyc_landuse",
    "load_nyc_poi",
    "load_pavement",
    "load_vehicle",
    "make_dynamics",
    "make_fields",
    "make_gestures",
    "make_mixed_regions",
    "make_regions",
    "make_series",
    "stream_mixed_regions",
    "stream_regions",
    "stream_series",
]
