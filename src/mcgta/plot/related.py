"""The semivariogram of a fit: how far things are related, and which pairs its clusters hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mcgta.description.pair_shares import PairShares, count_pairs_within
from mcgta.plot.canvas import faint, new_axes, settle_layout
from mcgta.plot.reading import fit_of
from mcgta.stages.semivariogram.plot import distance_scale, draw_semivariogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def semivariogram(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how much observations differ by their distance, and the share of pairs that are within a cluster.

    Points are the empirical semivariances of the bins, the line is the model that was fitted to them. Dotted lines are at the
    range, beyond which observations tell nothing of each other, at the sill and at the nugget. The dashed line is the
    threshold of the loss, which the margin shifts down. Steps behind them, on the right axis, are the shares of pairs
    within one cluster; of more than 20,000 rows, those of a sample.

    Parameters
    ----------
    model : fitted MCGTA
    ax : axes to draw on; None is a new figure

    Returns
    -------
    the axes of the semivariogram
    """
    fit = fit_of(model)
    curve = fit.semivariogram
    axes = new_axes(ax)
    draw_semivariogram(axes, curve, fit.margin)
    pairs = count_pairs_within(fit)
    _draw_shares(axes, pairs, distance_scale(curve)[1])
    settle_layout(axes)
    return axes


def _draw_shares(axes: Axes, pairs: PairShares, size: float) -> None:
    """Draw the shares of pairs within a cluster as steps on an axis of their own, behind the rest."""
    right = axes.twinx()
    right.stairs(np.nan_to_num(pairs.shares), pairs.edges / size, fill=True, color=faint(), alpha=0.18, zorder=0)
    right.stairs(pairs.shares, pairs.edges / size, color=faint(), lw=1.0, baseline=None, zorder=0)
    sample = f"\n(of {pairs.rows:,} of {pairs.n_rows:,} rows)" if pairs.sampled else ""
    right.set(ylim=(0, 1), ylabel=f"pairs within one cluster{sample}")
    right.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    axes.set_zorder(right.get_zorder() + 1)
    axes.patch.set_visible(False)
