"""Profiles: level and spread of features in each cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mcgta.description.moments import Moments
from mcgta.description.summary import feature_names
from mcgta.drawing.palette import cluster_colors
from mcgta.plot.canvas import (
    SMALL_TEXT,
    add_cluster_legend,
    faint,
    ink,
    name_length,
    new_axes,
    remark,
    settle_layout,
    shorten,
    size_in_inches,
    wrap,
    write,
)
from mcgta.plot.reading import (
    cluster_moments,
    cluster_shares,
    fit_of,
    largest_clusters,
    read_features,
    refuse_no_clusters,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DEFAULT_FEATURES = 8
MOST_DEFAULT_BARS = 96
"""Bars, for all clusters and features, up to which features are drawn unless told otherwise."""

MOST_CLUSTERS = 24
MOST_NUMBERED_BARS = 80
"""Bars beyond which their clusters' numbers are left to the legend."""

_LANE_INCHES = 0.16
_LEAST_LANE_INCHES = 0.045
_NUMBERED_LANE_INCHES = 0.1
_FEATURE_GAP = 1.2  # lanes
_LONG_LABEL_INCHES = 3.0  # width of axes that have room for it


def profiles(model: Any, *, features: int | Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Draw the level and the spread of features in each cluster, the most distinguishing feature first.

    A bar reaches from the mean of the cluster less its standard deviation to the mean and its standard deviation, in standard
    deviations of all rows from the mean of all rows. So clusters that differ in level stand side by side, and those that
    differ in spread have bars of different lengths. The shaded band is where a cluster like all rows would be.

    Parameters
    ----------
    model : fitted MCGTA with clusters
    features : names of features to draw, or how many of the most distinguishing; None is 8, and fewer for more
        than 12 clusters. Axes that are passed show as many of them as there is room for, and say so
    ax : axes to draw on; None is a new figure

    Returns
    -------
    the axes
    """
    fit = fit_of(model)
    refuse_no_clusters(fit, "profiles")
    clusters = largest_clusters(fit, MOST_CLUSTERS)
    default = int(np.clip(MOST_DEFAULT_BARS // len(clusters), 1, DEFAULT_FEATURES))
    columns = read_features(fit, features, default, least=1)
    lanes = len(clusters) + _FEATURE_GAP
    axes = new_axes(ax, (7.5, float(np.clip(1.0 + _LANE_INCHES * lanes * len(columns), 2.0, 9.0))))
    if ax is not None:
        columns = columns[: max(int(size_in_inches(axes)[1] / (_LEAST_LANE_INCHES * lanes)), 1)]
    axes.axvspan(-1, 1, color=faint(), alpha=0.15, lw=0)
    axes.axvline(0, color=faint(), lw=0.8)
    means, spreads = standardized_profiles(fit.data.raw, cluster_moments(fit))
    heights = -lanes * np.arange(len(columns))[:, None] - np.arange(len(clusters))
    _draw_bars(axes, means[np.ix_(clusters, columns)].T, spreads[np.ix_(clusters, columns)].T, heights, clusters)
    names = feature_names(fit)
    middle = heights.mean(axis=1) if clusters else np.zeros(len(columns))
    axes.set_yticks(middle, [shorten(names[column], name_length(axes)) for column in columns])
    axes.tick_params(axis="y", length=0, labelsize=SMALL_TEXT)
    axes.set_ylim(heights.min(initial=0.0) - 1.1, 1.1)
    deviation = "standard deviation" if size_in_inches(axes)[0] > _LONG_LABEL_INCHES else "std"
    axes.set_xlabel(wrap(axes, f"mean ± {deviation} of the cluster, in {deviation}s of all rows"))
    axes.spines[["top", "right", "left"]].set_visible(False)
    add_cluster_legend(axes, *cluster_shares(fit))
    remarks = []
    if len(columns) < len(names):
        remarks.append(f"{len(columns)} of {len(names)} features")
    if len(clusters) < fit.labelling.n_clusters:
        remarks.append(f"the {len(clusters)} largest of {fit.labelling.n_clusters} clusters")
    if remarks:
        remark(axes, ", ".join(remarks))
    settle_layout(axes)
    return axes


def standardized_profiles(X: Any, moments: Moments) -> tuple[Any, Any]:
    """Return (K, d) means less that of all rows, and standard deviations, both over the standard deviation of all rows."""
    center = X.mean(axis=0)
    scale = X.std(axis=0, ddof=1)
    scale = np.where(scale > 0, scale, 1.0)
    means = (moments.means[:-1] - center) / scale
    spreads = np.array([moments.deviations(k) for k in range(moments.n_clusters)]) / scale
    return means, np.nan_to_num(spreads)


def _draw_bars(axes: Axes, means: Any, spreads: Any, heights: Any, clusters: list[int]) -> None:
    """Draw a bar for each feature and cluster: means, spreads and heights are (features, clusters)."""
    from matplotlib.collections import LineCollection

    lane = min(size_in_inches(axes)[1] / (len(means) * (len(clusters) + _FEATURE_GAP)), 0.1)
    everywhere = cluster_colors(max(clusters) + 1)
    colors = [everywhere[k] for _ in range(len(means)) for k in clusters]
    ends = np.stack([means - spreads, means + spreads], axis=-1)
    segments = np.stack([ends, np.broadcast_to(heights[..., None], ends.shape)], axis=-1).reshape(-1, 2, 2)
    axes.add_collection(LineCollection(list(segments), colors=colors, linewidths=0.62 * lane * 72, capstyle="butt"))
    axes.scatter(
        means.ravel(), heights.ravel(), s=min(14, (0.5 * lane * 72) ** 2), c=colors, edgecolors=ink(), lw=0.6, zorder=3
    )
    axes.autoscale_view()
    if means.size > MOST_NUMBERED_BARS or lane < _NUMBERED_LANE_INCHES:
        return
    for end, height, cluster in zip(ends[..., 1].ravel(), heights.ravel(), clusters * len(means), strict=True):
        write(axes, str(cluster), (end, height), (4, -0.5), va="center", fontsize="x-small")
