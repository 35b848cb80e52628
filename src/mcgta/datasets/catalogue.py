"""The published data sets that can be loaded."""

from __future__ import annotations

from mcgta.datasets.climate import CLIMATE
from mcgta.datasets.inat import INAT, INAT_SUBSET
from mcgta.datasets.loaded import About
from mcgta.datasets.nyc import LANDUSE, POI
from mcgta.datasets.recorded_series import GESTURE, PAVEMENT, VEHICLE

PUBLISHED: dict[str, About] = {
    "load_pavement": PAVEMENT,
    "load_vehicle": VEHICLE,
    "load_gesture": GESTURE,
    "load_climate": CLIMATE,
    "load_inat2018": INAT,
    "load_inat_subset": INAT_SUBSET,
    "load_nyc_poi": POI,
    "load_nyc_landuse": LANDUSE,
}
"""What is known of each, by the function of :mod:`mcgta.datasets` that loads it."""
