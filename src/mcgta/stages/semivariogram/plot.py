"""The plot of a semivariogram, as in the paper's figure 2; needs matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mcgta.stages.semivariogram.curve import Semivariogram

_FIGURE_INCHES = (7, 4.2)
_CURVE_POINTS = 400
_EMPIRICAL_COLOUR = "#4477aa"
_MODEL_COLOUR = "#222222"
_THRESHOLD_COLOUR = "#aa3377"
_GUIDE_COLOUR = "#888888"


def plot_semivariogram(curve: Semivariogram, ax: Axes | None, margin: float | None) -> Axes:
    """Draw the empirical points, the fitted curve, range, sill and nugget, and the threshold of a margin."""
    axes = _new_axes() if ax is None else ax
    _draw_points(axes, curve)
    distances = np.linspace(0, curve.max_lag, _CURVE_POINTS)
    axes.plot(distances, curve(distances), color=_MODEL_COLOUR, lw=1.8, label=f"{curve.model} model")
    if margin:
        label = f"threshold, margin {margin:g}"
        axes.plot(distances, curve(distances) - margin / 2, color=_THRESHOLD_COLOUR, lw=1.4, ls="--", label=label)
    _draw_guides(axes, curve)
    unit = f" [{curve.unit}]" if curve.unit else ""
    axes.set(xlabel=f"distance{unit}", ylabel="semivariance", xlim=(0, curve.max_lag))
    axes.set_ylim(bottom=min(0.0, float(curve(0.0)) - (margin or 0) / 2))
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 0.08))
    return axes


def _new_axes() -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plotting needs matplotlib: pip install 'mcgta[plot]'") from error
    return pyplot.subplots(figsize=_FIGURE_INCHES, layout="constrained")[1]


def _draw_points(axes: Axes, curve: Semivariogram) -> None:
    seen = curve.counts > 0
    size = 12 + 60 * np.sqrt(curve.counts[seen] / curve.counts.max())
    label = "empirical (larger: more pairs)"
    axes.scatter(curve.lags[seen], curve.values[seen], s=size, color=_EMPIRICAL_COLOUR, alpha=0.75, lw=0, label=label)


def _draw_guides(axes: Axes, curve: Semivariogram) -> None:
    """Draw dotted lines at the range and the sill."""
    if curve.range_ <= curve.max_lag:
        axes.axvline(curve.range_, color=_GUIDE_COLOUR, lw=1, ls=":")
        text = f" range {curve.range_:.4g} {curve.unit}"
        axes.annotate(text, (curve.range_, 0.02), xycoords=("data", "axes fraction"), color="#555555")
    axes.axhline(curve.sill_, color=_GUIDE_COLOUR, lw=1, ls=":")
    text = f"sill {curve.sill_:.4g}"
    axes.annotate(text, (0.995, curve.sill_), xycoords=("axes fraction", "data"), ha="right", va="bottom")
