"""The frame of a map: coordinates on the page, how they are scaled, and what is in view."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mcgta.description.patches import spatial_coordinates, spatial_metric
from mcgta.fit import Fit
from mcgta.kernels.positions.metrics import EARTH_RADIUS, SPHERE
from mcgta.runtime.types import Array, Index

METRES_PER_DEGREE = float(np.pi * EARTH_RADIUS / 180)
MOST_TILES = 36
_MARGIN_SHARE = 0.04
_OVERLAP_SHARE = 0.1
_NAME_SHARE = 0.06  # of the height of the view, above the highest tile, for its name
_LEAST_GAIN_DEGREES = 10.0  # by which a map must get narrower to begin elsewhere than at the antimeridian
_TILE_PITCH = np.array([1.12, 1.28])
"""From a tile to the next one across and upwards, in sizes of the largest group."""
_LEAST_COSINE = 0.05  # towards the poles maps are stretched no further


@dataclass(frozen=True, eq=False)
class Tile:
    """A group that is drawn in a tile of its own: its name, and where the middle of its upper edge is."""

    name: str
    x: float
    y: float


@dataclass(frozen=True, eq=False)
class Frame:
    """Observations on a page.

    Attributes
    ----------
    x, y : (M,) where each is drawn
    rows : (M,) rows in canonical order that are drawn
    on_earth : whether x is longitude, continuous, and y latitude
    unit : of x and y, where it is known
    tiles : groups that are drawn beside each other, since they would cover each other; none where groups share the page
    left_out : groups that are not drawn
    """

    x: Array
    y: Array
    rows: Index
    on_earth: bool
    unit: str
    tiles: tuple[Tile, ...] = ()
    left_out: int = 0

    @property
    def view(self) -> tuple[float, float, float, float]:
        """West, south, east and north of what is in view, with a margin."""
        west, east = _widen(self.x)
        south, north = _widen(self.y)
        if self.on_earth:
            south = max(south, -90.0)
            north = min(north, 90.0)
        names = [tile.y + _NAME_SHARE * (north - south) for tile in self.tiles]
        return west, south, east, max([north, *names])

    @property
    def aspect(self) -> float:
        """Height of a unit of y over the width of a unit of x, on the page."""
        if not self.on_earth:
            return 1.0
        _, south, _, north = self.view
        return 1.0 / max(float(np.cos(np.radians(0.5 * (south + north)))), _LEAST_COSINE)

    @property
    def width_m(self) -> float:
        """How many metres wide the view is; NaN where units are not known."""
        west, _, east, _ = self.view
        if self.on_earth:
            return (east - west) * METRES_PER_DEGREE / self.aspect
        return east - west if self.unit == "m" else np.nan


def make_frame(fit: Fit, columns: tuple[int, int]) -> Frame:
    """Lay the observations out: on earth by longitude and latitude, else by two columns of the coordinates."""
    positions = fit.data.positions
    metric = spatial_metric(positions)
    places = spatial_coordinates(positions)
    rows = np.arange(len(positions))
    if metric is not None and metric.kind == SPHERE:
        return Frame(unwrap(places[:, 0]), places[:, 1], rows, on_earth=True, unit="degree")
    frame = Frame(places[:, columns[0]], places[:, columns[1]], rows, on_earth=False, unit=positions.unit)
    return _lay_tiles(frame, positions.groups, positions.group_names.astype(str).tolist())


def unwrap(longitude: Array) -> Array:
    """Return longitudes that are continuous: counted from the eastern end of the widest stretch without observations.

    Where the stretch across the antimeridian is nearly as wide, they stay as they are.
    """
    if longitude.size == 0 or np.ptp(longitude) <= 180:
        return longitude
    ascending = np.unique(longitude)
    gaps = np.diff(ascending, append=ascending[0] + 360)
    widest = int(np.argmax(gaps))
    if gaps[widest] < gaps[-1] + _LEAST_GAIN_DEGREES:
        return longitude
    return np.where(longitude <= ascending[widest], longitude + 360, longitude)


def _widen(values: Array) -> tuple[float, float]:
    """Return the least and the largest value with a margin between them and the edge."""
    low = float(values.min())
    high = float(values.max())
    margin = _MARGIN_SHARE * (high - low) if high > low else max(abs(high), 1.0) * 0.01
    return low - margin, high + margin


def _lay_tiles(frame: Frame, groups: Index, names: list[str]) -> Frame:
    """Draw groups beside each other where they would cover each other, as slides do."""
    codes = np.unique(groups)
    boxes = np.array([[_extent(frame.x[groups == code]), _extent(frame.y[groups == code])] for code in codes])
    if codes.size == 1 or not _overlap(boxes):
        return frame
    shown = codes[:MOST_TILES]
    across = int(np.ceil(np.sqrt(shown.size)))
    size = (boxes[:, :, 1] - boxes[:, :, 0]).max(axis=0)
    size[size == 0] = 1.0
    pitch = size * _TILE_PITCH
    rows = np.flatnonzero(np.isin(groups, shown))
    x = np.empty(rows.size)
    y = np.empty(rows.size)
    tiles = []
    for place, code in enumerate(shown.tolist()):
        own = groups[rows] == code
        corner = np.array([place % across, -(place // across)]) * pitch
        middle = boxes[place].mean(axis=1)
        x[own] = frame.x[rows[own]] - middle[0] + corner[0]
        y[own] = frame.y[rows[own]] - middle[1] + corner[1]
        tiles.append(Tile(names[code], float(corner[0]), float(corner[1] + 0.52 * size[1])))
    return replace(frame, x=x, y=y, rows=rows, tiles=tuple(tiles), left_out=int(codes.size - shown.size))


def _extent(values: Array) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def _overlap(boxes: Array) -> bool:
    """Whether any two boxes (G, 2, 2) share more than a tenth of the smaller one."""
    low = np.maximum(boxes[:, None, :, 0], boxes[None, :, :, 0])
    high = np.minimum(boxes[:, None, :, 1], boxes[None, :, :, 1])
    shared = np.prod(np.maximum(high - low, 0), axis=2)
    area = np.prod(boxes[:, :, 1] - boxes[:, :, 0], axis=1)
    smaller = np.minimum(area[:, None], area)
    np.fill_diagonal(shared, 0)
    return bool((shared > _OVERLAP_SHARE * smaller).any())
