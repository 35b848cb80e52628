"""The plot that suits a fit: a timeline, a map, or profiles where positions cannot be drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcgta.description.patches import spatial_coordinates
from mcgta.plot.maps import map as draw_map
from mcgta.plot.profile import profiles
from mcgta.plot.reading import fit_of
from mcgta.plot.times import timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def overview(model: Any, ax: Axes | None = None) -> Axes:
    """Draw a timeline along time, a map in space (and time), and profiles for distances or lines without a map."""
    positions = fit_of(model).data.positions
    if positions.metric.domain == "time":
        return timeline(model, ax=ax)
    if positions.metric.domain in ("space", "spacetime") and spatial_coordinates(positions).shape[1] > 1:
        return draw_map(model, ax=ax)
    return profiles(model, ax=ax)
