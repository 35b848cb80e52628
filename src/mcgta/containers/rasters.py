"""Rasters: a DataArray or a Dataset of xarray clustered cell by cell, with a Dataset of the same coordinates in return."""

from __future__ import annotations

from typing import Any, NamedTuple

from mcgta.containers.parameters import make_model
from mcgta.containers.raster_axes import Axes, find_axes, is_time
from mcgta.containers.raster_cells import Cells, read_cells
from mcgta.containers.raster_crs import crs_of
from mcgta.drawing.palette import cluster_color
from mcgta.estimator import MCGTA
from mcgta.files.problems import need
from mcgta.positions.metrics import get_metric
from mcgta.positions.tables import Crs
from mcgta.runtime.containers import is_from

UNNAMED = "value"
"""The feature of a DataArray without a name."""


class ClusteredRaster(NamedTuple):
    """The clusters of a raster, and the model that found them.

    Attributes
    ----------
    clusters : Dataset of ``cluster`` and ``probability``
    model : the fitted MCGTA, whose rows are the cells with a value
    """

    clusters: Any
    model: MCGTA


def cluster_xarray(
    data: Any,
    *,
    x: str | None = None,
    y: str | None = None,
    time: str | None = None,
    features: str | None = None,
    groups: str | None = None,
    crs: Any = None,
    **parameters: Any,
) -> ClusteredRaster:
    """Cluster the cells of a raster, or the times of a series, and return their clusters with the same coordinates.

    Axes are found by their names and CF attributes where there is no doubt. Needs ``pip install 'mcgta[rasters]'``.

    Parameters
    ----------
    data : DataArray or Dataset
        Features are the variables of a Dataset, or the entries of the dimension of a DataArray that is none of the position,
        such as its bands.
    x, y : str or None
        Coordinates of the place, of one dimension or of two, as on a curvilinear grid, or of scattered stations. Longitude and
        latitude are measured along great circles. Others are on a plane, in the unit of their CRS.
    time : str or None
        Coordinate of the time. Without a place it is the position. Beside a place it must be said what it is: by ``groups``,
        by ``features``, or by ``metric=SpaceTime(time_scale=...)`` for distances in space and time.
    features : str or None
        Dimension whose entries are features, such as the twelve months of a climate.
    groups : str or None
        Dimension or coordinate whose entries are groups, such as years or tiles: they share clusters but no neighbourhoods.
    crs : anything that pyproj reads, such as "EPSG:32633", or None
        Coordinate reference system of x and y. None takes that of rioxarray, of a grid mapping, or the attribute ``crs``.
    **parameters
        Of :class:`mcgta.MCGTA`.

    Returns
    -------
    ClusteredRaster
        A pair of ``clusters``, a Dataset, and the fitted ``model``. In the Dataset ``cluster`` is the number of the cluster,
        -1 for noise, and ``probability`` the strength of membership. Both are NaN in cells without any value, such as the sea.
        Cells with some values missing go by the parameter ``missing``.

    Examples
    --------
    >>> import mcgta
    >>> import numpy as np
    >>> import xarray as xr
    >>> rng = np.random.default_rng(0)
    >>> east = (np.arange(30) >= 15) * np.ones((20, 1))
    >>> bands = xr.DataArray(
    ...     rng.normal(size=(3, 20, 30)) + 4 * east,
    ...     dims=("band", "y", "x"),
    ...     coords={"band": ["red", "green", "blue"], "y": 10.0 * np.arange(20), "x": 10.0 * np.arange(30)},
    ... )
    >>> clusters, model = mcgta.cluster_xarray(bands)
    >>> dict(clusters.sizes), model.n_clusters_
    ({'y': 20, 'x': 30}, 2)
    >>> model.feature_names_in_
    array(['red', 'green', 'blue'], dtype=object)
    """
    dataset = _as_dataset(data)
    model = make_model(parameters, cluster_xarray)
    named = {"x": x, "y": y, "time": time, "features": features, "groups": groups}
    dataset = _without_single_times(dataset, named)
    axes = _settle_time(find_axes(dataset, named), model)
    cells = read_cells(dataset, axes, _read_crs(dataset, axes, crs))
    model.fit(_frame(cells), positions=cells.positions, groups=cells.groups)
    return ClusteredRaster(_write(dataset, cells, model), model)


def _as_dataset(data: Any) -> Any:
    """Return a Dataset of what is given, and refuse anything that is not of xarray."""
    if is_from(data, "xarray", "DataArray"):
        unnamed = data.name is None or data.name in data.coords
        return data.to_dataset(name=UNNAMED if unnamed else data.name)
    if is_from(data, "xarray", "Dataset"):
        return data
    need("xarray", "cluster_xarray", "rasters")
    raise ValueError(
        f"data is a {type(data).__name__}; cluster_xarray takes a DataArray or a Dataset, and mcgta.MCGTA().fit(X, "
        "positions=...) arrays and frames"
    )


def _without_single_times(data: Any, named: dict[str, str | None]) -> Any:
    """Return the data without a dimension of a single time that has no role, such as that of a map."""
    single = [dim for dim, size in data.sizes.items() if size == 1 and dim not in named.values()]
    return data.squeeze([dim for dim in single if is_time(data, str(dim))])


def _settle_time(axes: Axes, model: MCGTA) -> Axes:
    """Refuse a time beside a place, unless distances are in space and time."""
    if axes.time is None or not axes.place or get_metric(model.metric).takes_time_column:
        return axes
    raise ValueError(
        f"data has a time, {axes.time!r}, beside the place; say what it is: groups={axes.time!r} for maps of their own with "
        f"common clusters, features={axes.time!r} for a feature each, or metric=SpaceTime(time_scale=...) for distances in "
        "space and time"
    )


def _read_crs(data: Any, axes: Axes, given: Any) -> Crs | None:
    """Return the CRS of the place; None where nothing is known or coordinates are degrees by their name."""
    if axes.x is None:
        if given is not None:
            raise ValueError(f"crs={given!r} has no effect, since data has no place")
        return None
    if axes.is_degrees and given is None:
        return None
    found = crs_of(data, given, axes.x)
    if axes.is_degrees and found is not None and not found.is_geographic:
        raise ValueError(
            f"crs={given!r} is a projection, but {axes.x!r} and {axes.y!r} are degrees; name x= and y= of it"
        )
    return found


def _frame(cells: Cells) -> Any:
    """Return the features as a frame, which knows their names."""
    import pandas

    return pandas.DataFrame(cells.X, columns=cells.names)


def _write(data: Any, cells: Cells, model: MCGTA) -> Any:
    """Return the Dataset of clusters and probabilities, with every coordinate of the dimensions that are left."""
    import xarray

    coords = {name: values for name, values in data.coords.items() if set(values.dims) <= set(cells.dims)}
    numbers = list(range(model.n_clusters_))
    attributes = {
        "long_name": "cluster",
        "flag_values": [-1.0, *map(float, numbers)],
        "flag_meanings": " ".join(["noise", *(f"cluster_{k}" for k in numbers)]),
        "flag_colors": " ".join(cluster_color(k) for k in (-1, *numbers)),
    }
    return xarray.Dataset(
        {
            "cluster": (cells.dims, cells.spread_out(model.labels_), attributes),
            "probability": (
                cells.dims,
                cells.spread_out(model.probabilities_),
                {"long_name": "strength of membership", "units": "1"},
            ),
        },
        coords,
    )
