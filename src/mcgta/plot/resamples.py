"""Stability: which clusters are found again where parts of the rows are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mcgta.drawing.palette import cluster_color
from mcgta.plot.canvas import FIGURE_INCHES, faint, new_axes, remark, settle_layout, wrap, write
from mcgta.validation.stability import VERDICTS, Stability

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CLUSTERS = 40


def stability(result: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how similar the clusters of resamples are to each cluster of the fit.

    A bar is the mean Jaccard similarity of a cluster with the most similar cluster of a resample. Dotted lines are at 0.5, 0.75
    and 0.85, from where on a cluster is doubtful, fairly stable and stable (Hennig 2007); the verdict stands at its right.

    Parameters
    ----------
    result : what :func:`mcgta.stability` returns for a fitted model; not the model, since that takes many fits
    ax : axes to draw on; None is a new figure

    Returns
    -------
    the axes
    """
    if not isinstance(result, Stability):
        raise ValueError(
            f"stability shows a result of resampling, got {type(result).__name__}; pass mcgta.stability(model), which "
            "clusters 20 resamples"
        )
    if result.clusters.size == 0:
        raise ValueError("stability shows clusters, and the fit that was resampled has none")
    shown = min(result.clusters.size, MOST_CLUSTERS)
    axes = new_axes(ax, (FIGURE_INCHES[0], float(np.clip(1.1 + 0.36 * shown, 2.0, 14.0))))
    colors = [cluster_color(k) for k in range(shown)]
    axes.barh(range(shown), np.nan_to_num(result.clusters[:shown]), height=0.72, color=colors)
    for level in (least for least in VERDICTS if least > 0):
        axes.axvline(level, color=faint(), lw=1, ls=":")
    for cluster in range(shown):
        similarity = result.clusters[cluster]
        number = f"{np.floor(100 * similarity) / 100:.2f}  " if np.isfinite(similarity) else ""
        verdict = result.verdicts[cluster]
        write(axes, f"{number}{verdict}", (1.0, cluster), (6, 0), va="center", annotation_clip=False)
    axes.set_yticks(range(shown), [str(k) for k in range(shown)])
    axes.tick_params(axis="y", length=0)
    axes.set(xlim=(0, 1), ylim=(shown - 0.4, -0.6), ylabel="cluster")
    axes.set_xlabel(wrap(axes, "Jaccard similarity, mean over resamples"))
    axes.spines[["top", "right", "left"]].set_visible(False)
    least = int(result.numbers.min())
    most = int(result.numbers.max())
    found = f"{least} clusters" if least == most else f"{least} to {most} clusters"
    first = "" if shown == result.clusters.size else f"the first {shown} of {result.clusters.size} clusters; "
    remark(axes, f"{first}{result.agreement.size} resamples, {found}, ARI {result.agreement.mean():.2f} on average")
    settle_layout(axes)
    return axes
