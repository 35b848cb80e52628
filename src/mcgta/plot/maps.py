"""The map: which cluster where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mcgta.description.patches import spatial_coordinates
from mcgta.drawing.cells import CELL_PIXELS, count_cells, deal_out, densest_places, opacity
from mcgta.drawing.coastlines import coastlines
from mcgta.drawing.map_frame import METRES_PER_DEGREE, Frame, make_frame
from mcgta.drawing.palette import NOISE_COLOR, cluster_colors
from mcgta.fit import Fit
from mcgta.plot.canvas import (
    SMALL_TEXT,
    add_cluster_legend,
    bare,
    halo,
    ink,
    new_axes,
    remark,
    settle_layout,
    shorten,
    size_in_inches,
    size_in_pixels,
    tint,
    write,
)
from mcgta.plot.reading import cluster_shares, fit_of, largest_clusters, refuse_kind
from mcgta.runtime.wording import say_distance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAP_INCHES = 4.8
"""Length of the longer side of the map in a new figure."""

LEGEND_INCHES = 1.7
"""Width of a new figure beside the map, for labels and legend."""

MOST_POINTS = 20_000
"""Observations beyond which cells are drawn instead of points."""

MOST_NUMBERS = 24
"""Clusters whose numbers are written on the map."""

NUMBER_CELLS = 24
"""Cells along each side of the map, in one of which a cluster has its number."""

WIDEST_SCALE_BAR_VIEW_M = 200_000.0
_WIDE_VIEW_DEGREES = 60.0
_WIDE_STEPS = (1, 1.5, 3, 4.5, 6, 9, 10)  # from degree to degree in wide views, times ten
_FEW_TILES = 9
_TILE_CHARACTERS = 60  # of all names side by side
_COVERED_SHARE = 0.2  # of the map, by all points together
_POINT_LIMITS = (1.5, 30.0)  # square points
_TICK_INCHES = 0.8


def map(model: Any, *, columns: tuple[int, int] = (0, 1), ax: Axes | None = None) -> Axes:
    """Draw which cluster is where.

    Clusters have their number where they are densest. Up to 20,000 observations are points. More are drawn as cells of four by
    four pixels, of which each cluster has as many as is its share, fainter where there are fewer rows. Places on earth have
    coastlines and, below 200 km, a scale bar. Groups that would cover each other, such as slides, are drawn beside each other.

    Parameters
    ----------
    model : fitted MCGTA in space, or in space and time
    columns : which coordinates are drawn, across and upwards; has no effect on earth
    ax : axes to draw on; None is a new figure

    Returns
    -------
    the axes
    """
    fit = fit_of(model)
    refuse_kind(fit, "map", ("space", "spacetime"), "mcgta.plot.timeline or model.plot()")
    frame = make_frame(fit, _read_columns(fit, columns))
    axes = new_axes(ax, _figure_inches(frame))
    west, south, east, north = frame.view
    axes.set(xlim=(west, east), ylim=(south, north))
    axes.set_aspect(frame.aspect, adjustable="box")
    if frame.on_earth:
        _draw_coast(axes, frame)
    if frame.rows.size > MOST_POINTS:
        _draw_cells(axes, fit, frame)
    else:
        _draw_points(axes, fit, frame)
    _number_clusters(axes, fit, frame)
    _label(axes, frame, columns)
    if frame.width_m < WIDEST_SCALE_BAR_VIEW_M:
        _draw_scale_bar(axes, frame)
    add_cluster_legend(axes, *cluster_shares(fit))
    remarks = []
    if frame.left_out:
        remarks.append(f"the first {len(frame.tiles)} of {len(frame.tiles) + frame.left_out} groups")
    if frame.rows.size > MOST_POINTS:
        remarks.append(f"{frame.rows.size:,} rows in cells, by their shares; fainter where rows are few")
    if remarks:
        remark(axes, "; ".join(remarks))
    settle_layout(axes)
    return axes


def _figure_inches(frame: Frame) -> tuple[float, float]:
    """Return the size of a new figure, by the proportions of the map."""
    west, south, east, north = frame.view
    slimness = (north - south) * frame.aspect / (east - west)
    width = min(MAP_INCHES, MAP_INCHES / slimness)
    return max(width, 1.0) + LEGEND_INCHES, max(min(MAP_INCHES, MAP_INCHES * slimness), 1.2) + 0.6


def _read_columns(fit: Fit, columns: tuple[int, int]) -> tuple[int, int]:
    """Check which coordinates are to be drawn."""
    count = spatial_coordinates(fit.data.positions).shape[1]
    if count < 2:
        raise ValueError("map needs two coordinates, but the positions of this fit have one; use mcgta.plot.profiles")
    if len(columns) != 2 or not all(isinstance(each, int) and 0 <= each < count for each in columns):
        raise ValueError(f"columns={columns!r} must be two coordinates, from 0 to {count - 1}")
    return columns


def _draw_points(axes: Axes, fit: Fit, frame: Frame) -> None:
    """Draw each observation, noise below the others, and these in random order, so that no cluster covers the rest."""
    from matplotlib.colors import to_rgba_array

    labels = fit.labelling.labels[frame.rows]
    order = np.random.default_rng(0).permutation(labels.size)
    order = order[np.argsort(labels[order] >= 0, kind="stable")]
    colors = to_rgba_array([*cluster_colors(fit.labelling.n_clusters), NOISE_COLOR])
    width, height = size_in_inches(axes)
    size = float(np.clip(_COVERED_SHARE * width * height * 72**2 / labels.size, *_POINT_LIMITS))
    axes.scatter(frame.x[order], frame.y[order], s=size, c=colors[labels[order]], lw=0, zorder=2)


def _draw_cells(axes: Axes, fit: Fit, frame: Frame) -> None:
    """Draw cells as one picture."""
    from matplotlib.colors import to_rgba_array

    west, south, east, north = frame.view
    slimness = (north - south) * frame.aspect / (east - west)
    pixels = size_in_pixels(axes)
    across = max(int(min(pixels[0], pixels[1] / slimness)) // CELL_PIXELS, 1)
    upward = max(round(across * slimness), 1)
    edges = (np.linspace(west, east, across + 1), np.linspace(south, north, upward + 1))
    n_clusters = fit.labelling.n_clusters
    counts = count_cells(frame.x, frame.y, fit.labelling.labels[frame.rows], n_clusters, edges)
    dealt = deal_out(counts)
    picture = to_rgba_array([*cluster_colors(n_clusters), NOISE_COLOR])[dealt]
    picture[:, :, 3] = np.where(dealt >= 0, opacity(counts), 0.0)
    axes.imshow(
        picture,
        extent=(west, east, south, north),
        origin="lower",
        interpolation="nearest",
        aspect=frame.aspect,
        zorder=2,
    )


def _number_clusters(axes: Axes, fit: Fit, frame: Frame) -> None:
    """Write the number of each of the largest clusters where it is densest."""
    west, south, east, north = frame.view
    edges = (np.linspace(west, east, NUMBER_CELLS + 1), np.linspace(south, north, NUMBER_CELLS + 1))
    labels = fit.labelling.labels[frame.rows]
    places = densest_places(frame.x, frame.y, labels, fit.labelling.n_clusters, edges)
    for cluster in largest_clusters(fit, MOST_NUMBERS):
        x, y = places[cluster].tolist()
        if np.isfinite(x):
            axes.text(x, y, str(cluster), ha="center", va="center", weight="bold", path_effects=halo(), zorder=4)


def _draw_coast(axes: Axes, frame: Frame) -> None:
    """Draw the coastlines in view."""
    from matplotlib.collections import LineCollection

    west, south, east, north = frame.view
    arcs = coastlines(max(west, -360.0), south, min(east, 360.0), north)
    axes.add_collection(LineCollection(arcs, colors=[tint(ink(), 0.75)], linewidths=0.6, zorder=3), autolim=False)


def _label(axes: Axes, frame: Frame, columns: tuple[int, int]) -> None:
    """Label axes with degrees, or with the numbers of coordinates; name the tiles of groups."""
    axes.tick_params(labelsize=SMALL_TEXT)
    axes.locator_params(axis="x", nbins=int(np.clip(size_in_inches(axes)[0] / _TICK_INCHES, 2, 9)))
    west, south, east, north = frame.view
    if frame.on_earth:
        if east - west > _WIDE_VIEW_DEGREES:
            axes.locator_params(axis="x", steps=_WIDE_STEPS)
        if north - south > _WIDE_VIEW_DEGREES:
            axes.locator_params(axis="y", steps=_WIDE_STEPS)
        axes.xaxis.set_major_formatter(lambda degrees, _: _say_degrees((degrees + 180) % 360 - 180, "E", "W"))
        axes.yaxis.set_major_formatter(lambda degrees, _: _say_degrees(degrees, "N", "S"))
        return
    if frame.tiles:
        bare(axes)
        size = SMALL_TEXT if len(frame.tiles) <= _FEW_TILES else "x-small"
        longest = max(int(_TILE_CHARACTERS / np.ceil(np.sqrt(len(frame.tiles)))), 5)
        for tile in frame.tiles:
            write(axes, shorten(tile.name, longest), (tile.x, tile.y), (0, 1.5), ha="center", fontsize=size)
        return
    unit = f" [{frame.unit}]" if frame.unit else ""
    axes.set(xlabel=f"coordinate {columns[0]}{unit}", ylabel=f"coordinate {columns[1]}{unit}")


def _say_degrees(degrees: float, positive: str, negative: str) -> str:
    degrees = round(degrees, 6) + 0.0
    side = "" if degrees in (0.0, -180.0) else positive if degrees > 0 else negative
    return f"{abs(degrees):g}°{side}"


def _draw_scale_bar(axes: Axes, frame: Frame) -> None:
    """Draw a bar of a round length, at most a quarter of the view wide, at the lower left."""
    west, south, east, north = frame.view
    longest = frame.width_m / 4
    power = 10.0 ** np.floor(np.log10(longest))
    length = max(step * power for step in (1, 2, 5) if step * power <= longest)
    width = length * frame.aspect / METRES_PER_DEGREE if frame.on_earth else length
    left = west + 0.03 * (east - west)
    level = south + 0.035 * (north - south)
    axes.plot([left, left + width], [level, level], color=ink(), lw=2.5, solid_capstyle="butt", zorder=3)
    write(axes, say_distance(length, "m"), (left + width / 2, level), (0, 3), ha="center", zorder=3)
