"""The coordinate reference system of a raster, where it is said: by the caller, by rioxarray, or by CF attributes."""

from __future__ import annotations

from typing import Any

from mcgta.files.crs import parse_crs
from mcgta.positions.tables import UNITS, Crs, read_crs

MAPPING_NAMES = ("spatial_ref", "crs")
"""What coordinates that hold a CRS are called."""
_MAPPING_ATTRIBUTES = ("crs_wkt", "spatial_ref", "proj4", "epsg_code")
_UNIT_WORDS = {"m": "m", "km": "km", "ft": "ft", **UNITS, "metres": "m", "meters": "m", "kilometres": "km"}


def crs_of(data: Any, given: Any, x: str) -> Crs | None:
    """Return what is known of the CRS of a Dataset; None where nothing is.

    ``given`` is the user's, and goes before those that the data name. Without any, the unit of coordinate ``x`` is read.
    """
    found = given if given is not None else _find(data)
    if found is not None:
        return read_crs(parse_crs(found))
    unit = _UNIT_WORDS.get(str(data[x].attrs.get("units", "")))
    return None if unit is None else Crs(is_known=True, unit=unit)


def _find(data: Any) -> Any:
    """Return the CRS that rioxarray, a grid mapping or an attribute names; None for none."""
    accessor = getattr(data, "rio", None)
    if accessor is not None and accessor.crs is not None:
        return accessor.crs.to_wkt()
    parts = [data, *data.data_vars.values()]
    names = [str(part.attrs.get("grid_mapping") or part.encoding.get("grid_mapping") or "") for part in parts]
    for name in (*names, *MAPPING_NAMES):
        if name and name in data.variables:
            attributes = data.variables[name].attrs
            said = [attributes[key] for key in _MAPPING_ATTRIBUTES if attributes.get(key)]
            if said:
                return said[0]
    return next((part.attrs["crs"] for part in parts if part.attrs.get("crs")), None)
