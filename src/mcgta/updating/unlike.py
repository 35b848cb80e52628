"""New observations that are unlike those that the clusters of a fit were estimated from: one by one, or as a group."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from mcgta.runtime.types import Array, Index, Labels
from mcgta.runtime.warnings import warn
from mcgta.selection.cluster_models import ClusterModels
from mcgta.selection.scoring.tails import GAUSSIAN

UNLIKE_SHARE = 0.1
"""Share of new observations, beyond the reach of 99 % of the fit's, from which on a warning says so."""

UNLIKE_LEVEL = 1e-5
"""Probability of a warning about a group of new observations that do come from their cluster."""

ROWS_A_FEATURE = 5
"""Observations for each feature that a group needs for its covariance to be compared."""

_FEW = 5  # observations that are no reason to warn


def warn_of_unlike(rule: ClusterModels, fitted: Labels, X: Array, labels: Labels, rows: Index) -> None:
    """Warn where more new observations than usual are far from their clusters, or a cluster's as a group differ from it.

    Parameters
    ----------
    rule : the clusters
    fitted : (N,) labels of the observations of the fit
    X, labels : (M, d) features and (M,) clusters of the new ones
    rows : (M,) numbers of these that the user knows
    """
    if labels.size == 0 or X.shape[1] <= rule.columns.max(initial=-1):
        return
    unlike = np.flatnonzero(rule.distances(X, labels) > rule.typical_distances[labels])
    cure = "append them, or fit again, if they are a new state"
    if unlike.size > max(_FEW, UNLIKE_SHARE * labels.size):
        warn(
            f"{unlike.size} of {labels.size} new observations are unlike anything in the fit, such as rows "
            f"{_some(rows[unlike])}: farther from the centre of their cluster than 99 % of its members; {cure}"
        )
        return
    changed = changed_clusters(rule, np.bincount(fitted[fitted >= 0], minlength=len(rule)), X, labels)
    if changed.size:
        members = np.isin(labels, changed)
        names = ", ".join(map(str, changed))
        warn(
            f"{np.count_nonzero(members)} of {labels.size} new observations are unlike anything in the fit, such as rows "
            f"{_some(rows[members])}: as a group, those placed in cluster {names} have another mean or covariance than its "
            f"members; {cure}"
        )


def changed_clusters(rule: ClusterModels, counts: Array | Index, X: Array, labels: Labels) -> Index:
    """Return the clusters whose new members have another mean or covariance than the ``counts`` (K,) old ones.

    A likelihood-ratio test of both at once, for Gaussian clusters of observations that are independent given their label; none
    for others, of which it is not known how much they vary by chance.
    """
    if not rule.independent or rule.tails != GAUSSIAN:
        return np.empty(0, dtype=np.int64)
    scaled = rule.scale.apply(X).T
    d = scaled.shape[1]
    limit = chi2.isf(UNLIKE_LEVEL / len(rule), d * (d + 3) / 2)
    changed = []
    for k in range(len(rule)):
        whitened = (scaled[labels == k] - rule.means[k]) @ rule.inverse_factors[k].T
        if len(whitened) < ROWS_A_FEATURE * d:
            continue
        center = whitened.mean(axis=0)
        covariance = np.cov(whitened, rowvar=False, bias=True).reshape(d, d)
        divergence = np.trace(covariance) - np.linalg.slogdet(covariance)[1] - d + center @ center
        size = len(whitened) * counts[k] / (len(whitened) + counts[k])  # the cluster itself is estimated
        if size * divergence > rule.overdispersion * limit:
            changed.append(k)
    return np.array(changed, dtype=np.int64)


def _some(rows: Index) -> str:
    return ", ".join(map(str, np.sort(rows)[:3]))
