"""The plot of a semivariogram, as in the paper's figure 2; needs matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mcgta.plot.canvas import add_legend_above, faint, ink, new_axes, settle_layout, size_in_inches, text_box, write
from mcgta.runtime.wording import readable_distance_unit, say_distance, say_number
from mcgta.stages.semivariogram.models import EMPIRICAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mcgta.stages.semivariogram.curve import Semivariogram

_CURVE_POINTS = 400
_LONG_LABEL_INCHES = 3.0  # width of axes that have room for it


def plot_semivariogram(curve: Semivariogram, ax: Axes | None, margin: float | None) -> Axes:
    """Draw the empirical points, the fitted curve, range, sill and nugget, and the threshold of a margin."""
    axes = new_axes(ax)
    draw_semivariogram(axes, curve, margin)
    settle_layout(axes)
    return axes


def draw_semivariogram(axes: Axes, curve: Semivariogram, margin: float | None) -> None:
    """Draw the same on axes to which something is still to be added."""
    unit, size = distance_scale(curve)
    _draw_points(axes, curve, size)
    distances = np.linspace(0, curve.max_lag, _CURVE_POINTS)
    heights = curve(distances)
    fitted = "empirical curve, made to rise" if curve.model == EMPIRICAL else f"{curve.model} model"
    roomy = size_in_inches(axes)[0] > _LONG_LABEL_INCHES
    also = ", and threshold: the margin is 0" if margin == 0 and roomy else ""
    axes.plot(distances / size, heights, color=ink(), lw=1.8, label=f"{fitted}{also}")
    if margin:
        label = f"threshold, margin {say_number(margin)}"
        axes.plot(distances / size, heights - margin / 2, color=ink(), lw=1.2, ls="--", label=label)
    axes.set(xlabel=f"distance [{unit}]" if unit else "distance", ylabel="semivariance", xlim=(0, curve.max_lag / size))
    highest = max(float(np.nanmax(curve.values, initial=0.0)), curve.sill_)
    lowest = min(0.0, float(heights[0]) - (margin or 0) / 2)
    axes.set_ylim(lowest, highest + 0.12 * (highest - lowest) if highest > lowest else 1.0)
    _draw_guides(axes, curve, size)
    add_legend_above(axes)


def distance_scale(curve: Semivariogram) -> tuple[str, float]:
    """Return the unit of the axis of distances, and its size in the unit of the curve."""
    unit, size = readable_distance_unit(curve.max_lag / 3, curve.unit)
    return ("steps" if unit == "step" else unit), size


def _draw_points(axes: Axes, curve: Semivariogram, size: float) -> None:
    """Draw the empirical values, larger where there are more pairs."""
    seen = curve.counts > 0
    area = 12 + 60 * np.sqrt(curve.counts[seen] / max(curve.counts.max(initial=1), 1))
    label = "empirical (larger: more pairs)"
    axes.scatter(curve.lags[seen] / size, curve.values[seen], s=area, color=faint(), alpha=0.8, lw=0, label=label)


def _draw_guides(axes: Axes, curve: Semivariogram, size: float) -> None:
    """Draw dotted lines at the range, the sill and the nugget, and say how much they are."""
    style: dict[str, Any] = {"color": faint(), "lw": 1, "ls": ":"}
    if curve.range_ <= curve.max_lag:
        axes.axvline(curve.range_ / size, **style)
        sign = 1 if curve.range_ < 0.6 * curve.max_lag else -1
        text = f"range {say_distance(curve.range_, curve.unit)}"
        side = "left" if sign > 0 else "right"
        coords = ("data", "axes fraction")
        write(
            axes, text, (curve.range_ / size, 1.0), (4 * sign, -4), ha=side, va="top", xycoords=coords, bbox=text_box()
        )
    low, high = axes.get_ylim()
    crowded = curve.sill_ - curve.nugget_ < 0.08 * (high - low)
    for name, level in (("sill", curve.sill_), ("nugget", curve.nugget_)):
        axes.axhline(level, **style)
        below = name == "nugget" and crowded
        text = f"{name} {say_number(level)}"
        coords = ("axes fraction", "data")
        offset = (-4, -3 if below else 3)
        va = "top" if below else "bottom"
        write(axes, text, (1.0, level), offset, ha="right", va=va, xycoords=coords, bbox=text_box())
