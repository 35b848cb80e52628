"""How sure a labelling is: evidence of other numbers of clusters, and how firmly rows belong to their clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mcgta.drawing.palette import cluster_color
from mcgta.plot.canvas import FIGURE_INCHES, add_legend_above, faint, ink, new_axes, remark, settle_layout, wrap, write
from mcgta.plot.reading import cluster_counts, fit_of, largest_clusters, refuse_no_clusters
from mcgta.runtime.types import Array
from mcgta.runtime.wording import say_share
from mcgta.selection.choice import CLOSE_NATS, CLUSTERER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CLUSTERS = 40
BAND_POINTS = 200
"""Rows of a cluster beyond which quantiles are drawn."""

_BAND_HEIGHT = 0.82
_HALF = 0.5


def evidence(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how far each number of clusters is behind the best one, in nats of log evidence.

    The scale is linear down to 5 nats behind, which is about as good and shaded, and logarithmic below. The labelling that was
    taken has a filled mark. Where the labels of the clusterer were scored, a dashed line is at their evidence.

    Parameters
    ----------
    model : fitted MCGTA whose settings were searched for
    ax : axes to draw on; None is a new figure

    Returns
    -------
    the axes
    """
    fit = fit_of(model)
    choice = fit.choice
    if choice is None:
        raise ValueError(
            "evidence shows what a search has looked at, and this fit has made none; fit with eps='auto' and the default "
            "dissimilarity, clusterer and prior, or with a number for n_clusters"
        )
    axes = new_axes(ax)
    known = np.isfinite(choice.log_evidences)
    counts = choice.cluster_counts[known]
    log_evidences = choice.log_evidences[known]
    best = float(log_evidences.max(initial=choice.log_evidence))
    behind = best - log_evidences
    axes.axhspan(0, CLOSE_NATS, color=faint(), alpha=0.18, lw=0, label=f"about as good: within {CLOSE_NATS:g} nats")
    axes.plot(counts, behind, color=ink(), lw=1, marker="o", mfc="none", label="best of each number")
    if choice.source == CLUSTERER:
        axes.axhline(best - choice.log_evidence, color=ink(), lw=2, label="taken: labels of the clusterer")
    else:
        taken = int(np.argmin(np.abs(log_evidences - choice.log_evidence)))
        number = int(counts[taken])
        axes.plot([number], [behind[taken]], "o", ms=9, color=ink(), ls="none", label=f"taken: {_say_clusters(number)}")
        if np.isfinite(choice.clusterer_log_evidence):
            level = best - choice.clusterer_log_evidence
            axes.axhline(level, color=ink(), lw=1, ls="--", label="labels of the clusterer")
    _scale_nats(axes, float(behind.max(initial=best - choice.log_evidence)))
    axes.locator_params(axis="x", integer=True)
    axes.margins(x=0.06)
    axes.set(xlabel="number of clusters", ylabel="behind the best [nats]")
    add_legend_above(axes)
    settle_layout(axes)
    return axes


def membership(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw, for each cluster, how strongly its rows belong to it.

    A band holds the rows of a cluster, the weakest at its upper edge, each as long as its strength in ``probabilities_``. So a
    cluster of firm rows is a full band, and doubtful rows are a notch in it. At its right is the share of rows below one half.

    Parameters
    ----------
    model : fitted MCGTA with clusters
    ax : axes to draw on; None is a new figure

    Returns
    -------
    the axes
    """
    fit = fit_of(model)
    refuse_no_clusters(fit, "membership")
    clusters = largest_clusters(fit, MOST_CLUSTERS)
    axes = new_axes(ax, (FIGURE_INCHES[0], float(np.clip(1.0 + 0.45 * len(clusters), 2.0, 14.0))))
    labels = fit.labelling.labels
    strengths = fit.derived.strengths
    for place, cluster in enumerate(clusters):
        own = strengths[labels == cluster]
        levels = band_lengths(own)
        heights = place + _BAND_HEIGHT * (np.arange(levels.size) / max(levels.size - 1, 1) - 0.5)
        axes.fill_betweenx(heights, 0, levels, color=cluster_color(cluster), lw=0)
        weak = float(np.mean(own < _HALF))
        write(axes, f"{say_share(weak)} below ½", (1, place), (6, 0), va="center", annotation_clip=False)
    axes.axvline(_HALF, color=ink(), lw=1, ls=":", zorder=3)
    axes.set_yticks(range(len(clusters)), [str(k) for k in clusters])
    axes.tick_params(axis="y", length=0)
    by_density = fit.labelling.source == CLUSTERER
    what = "strength of membership, by density" if by_density else "probability of the own cluster"
    axes.set(xlim=(0, 1), ylim=(len(clusters) - 0.45, -0.55), xlabel=wrap(axes, what), ylabel="cluster")
    axes.spines[["top", "right", "left"]].set_visible(False)
    left_out = cluster_counts(fit).size - len(clusters)
    if left_out:
        remark(axes, f"the {len(clusters)} largest of {len(clusters) + left_out} clusters")
    settle_layout(axes)
    return axes


def band_lengths(strengths: Array) -> Array:
    """Return strengths from the weakest to the strongest: all, or as many of their quantiles as a band shows."""
    if strengths.size <= BAND_POINTS:
        return np.repeat(np.sort(strengths), 2 if strengths.size == 1 else 1)
    return np.quantile(strengths, np.linspace(0, 1, BAND_POINTS), method="nearest")


def _say_clusters(number: int) -> str:
    return "1 cluster" if number == 1 else f"{number} clusters"


def _scale_nats(axes: Axes, most: float) -> None:
    """Let the best be at the top; below what is about as good the scale is logarithmic, where there is much below."""
    if most > 4 * CLOSE_NATS:
        axes.set_yscale("symlog", linthresh=CLOSE_NATS, linscale=0.5)
        axes.set_ylim(2 * most, -1.2)
        ticks = [0.0, CLOSE_NATS, *10.0 ** np.arange(1, np.ceil(np.log10(2 * most)))]
        axes.set_yticks(ticks, [f"{tick:,.0f}" for tick in ticks])
        axes.set_yticks([], minor=True)
    else:
        axes.set_ylim(max(1.08 * most, 1.2 * CLOSE_NATS), -0.05 * max(most, CLOSE_NATS))
