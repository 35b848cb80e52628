"""How probable each cluster is for each observation, given the clusters of a labelling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.kernels.evidence.chances import path_chances, sweep_chances
from mcgta.kernels.simd.compiled import native
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.field import LISTED, Field, neighbours
from mcgta.selection.relabelling import Settling, log_densities, weigh_agreement
from mcgta.selection.scoring import Gaussians, score, switch_cost
from mcgta.selection.search import MOST_SCORED, WHOLE, sample
from mcgta.selection.tails import Tails

PART = 20_000
"""Observations whose densities are found together."""

_LEAST = 50  # observations of a cluster that it is estimated from, if it has as many
_BESIDE = 8  # neighbours whose labels count
_SWEEPS = 20
_SETTLED = 1e-4  # change of a probability that is none


@dataclass(frozen=True, eq=False)
class Clusters:
    """What is known of K clusters, estimated from some observations.

    Attributes
    ----------
    field : those observations
    gaussians : the clusters' centres and covariances
    kinds : (d,) which kind of dependence each feature has
    tails : how far off rows may be
    shares : (K,) logs of the clusters' shares of all labelled observations
    """

    field: Field
    gaussians: Gaussians
    kinds: Index
    tails: Tails
    shares: Array

    @property
    def plain(self) -> bool:
        """Whether observations are independent of their neighbours, but for the label."""
        return bool((self.kinds == 0).all())

    def settling(self, features: Array, places: Positions, rows: Index, temper: float) -> Settling:
        """Return some rows of all observations, prepared for densities under the clusters."""
        part = Field.of(features[rows], places.take(rows), like=self.field)
        return Settling(part, self.kinds, self.tails, temper=temper)


def membership_probabilities(
    features: Array, places: Positions, labels: Labels, *, seed: int, tau: float = 1.0, mixed: bool = False
) -> Array:
    """Return the (N, K) probabilities of clusters 0 ... K - 1 for observations in canonical order, given a labelling.

    The clusters are those of the labels: their Gaussians, with the tails and the dependence that suit them best, are taken as
    known. Noise, labelled -1, has no part in them, but has probabilities, too. Along time these are sums over all labellings,
    each change of label at the cost that it has in the search, and with log densities over ``tau``. Elsewhere they are those of
    a mean field that begins with the labels: neighbours suggest their own labels, the more so the more they agree throughout.
    Along time about as many observations are right as the probabilities say; mean fields are too sure of themselves.
    Where labels are ``mixed``, have little to do with position, they are those of a mixture, each observation by itself.

    Clusters of more than ``MOST_SCORED`` observations are estimated from a sample.
    """
    labels = native(labels, np.int64)
    size = int(labels.max(initial=-1)) + 1
    if size < 2:
        return np.ones((labels.size, size))
    rows = choose_rows(places, labels, seed)
    clusters = estimate_clusters(features, places, labels, rows, seed, mixed=mixed)
    if clusters is None:
        return np.tile(shares_of(labels), (labels.size, 1))
    if mixed:
        return mixture_chances(clusters, features)
    if places.is_chain:
        return chances_along(clusters, features, places, 1.0 / tau)
    return chances_around(clusters, features, places, labels, 1.0 / tau, seed)


def choose_rows(places: Positions, labels: Labels, seed: int) -> Index:
    """Return the rows that clusters are estimated from: all with a label, or a sample, with some of every cluster."""
    known = np.flatnonzero(labels >= 0)
    if known.size <= MOST_SCORED:
        return known
    rows = known[sample(places if known.size == labels.size else places.take(known), seed)[0]]
    held = np.bincount(labels[rows], minlength=int(labels.max()) + 1)
    members = known[np.argsort(labels[known], kind="stable")]
    ends = np.cumsum(np.bincount(labels[known], minlength=held.size))
    more = [rows]
    for k in np.flatnonzero(held < _LEAST):
        own = members[ends[k - 1] if k else 0 : ends[k]]
        more.append(own[np.unique(np.linspace(0, own.size - 1, min(_LEAST, own.size)).round().astype(int))])
    return np.unique(np.concatenate(more))


def estimate_clusters(
    features: Array, places: Positions, labels: Labels, rows: Index, seed: int, *, mixed: bool
) -> Clusters | None:
    """Estimate clusters from some rows; None where no feature varies among these."""
    field = Field.of(features[rows], places.take(rows), seed=seed)
    if field.d == 0:
        return None
    scored = score(field, labels[rows], kinds=np.zeros(field.d, dtype=np.int64) if mixed else None)
    gaussians = Settling(field, scored.kinds, scored.tails).estimate(scored.labels)[0]
    return Clusters(field, gaussians, scored.kinds, scored.tails, np.log(shares_of(labels)))


def shares_of(labels: Labels) -> Array:
    """Return the (K,) shares of clusters, of observations that are in one; half an observation more for each."""
    counts = np.bincount(labels[labels >= 0])
    return (counts + 0.5) / (counts.sum() + 0.5 * counts.size)


def mixture_chances(clusters: Clusters, features: Array) -> Array:
    """Return probabilities by the features and the clusters' shares alone."""
    return _normalise(_independent(clusters, features) + clusters.shares)


def chances_along(clusters: Clusters, features: Array, places: Positions, temper: float) -> Array:
    """Return probabilities along series."""
    count, size = len(features), clusters.shares.size
    enter = np.empty((count, size))
    stay = enter if clusters.plain else np.empty((count, size))
    for start in range(0, count, PART):
        stop, begin = min(start + PART, count), max(start - LISTED, 0)  # with all that the first is predicted from
        settling = clusters.settling(features, places, np.arange(begin, stop), temper)
        for whole, part in zip((stay, enter), settling.along(clusters.gaussians), strict=True):
            whole[start:stop] = part[start - begin :]
    first = np.r_[True, places.groups[1:] != places.groups[:-1]]
    # Beyond WHOLE the search labels parts, and a change is one of as many places as a part has.
    edges = count - int(first.sum()) if count <= WHOLE else PART
    chances = np.empty((count, size))
    path_chances(stay, enter, first, switch_cost(edges, size), chances)
    return chances


def chances_around(
    clusters: Clusters, features: Array, places: Positions, labels: Labels, temper: float, seed: int
) -> Array:
    """Return probabilities by what is near, in space or by given distances."""
    near = neighbours(places, LISTED + 1)[0]
    if clusters.plain:
        worth = temper * _independent(clusters, features)
    else:
        worth = np.empty((len(features), clusters.shares.size))
        for start in range(0, len(features), PART):
            part = np.arange(start, min(start + PART, len(features)))
            rows = np.unique(np.append(part, near[part][near[part] >= 0]))  # with all that these are predicted from
            settling = clusters.settling(features, places, rows, temper)
            worth[part] = settling.around(labels[rows], clusters.gaussians)[np.searchsorted(rows, part)]
    _leave_out_far(worth, near, labels)
    known = np.flatnonzero(labels >= 0)
    if known.size > PART:
        known = np.sort(np.random.default_rng(seed).permutation(known)[:PART])
    beside = native(near[:, :_BESIDE], np.int64)
    together = weigh_agreement(beside[known], labels[known], labels)
    chances = _normalise(worth.copy())
    rows = np.flatnonzero(labels >= 0)
    chances[rows] = 0.0
    chances[rows, labels[rows]] = 1.0
    for _ in range(_SWEEPS):
        if sweep_chances(worth, beside, together, chances) < _SETTLED:
            break
    return chances


def _independent(clusters: Clusters, features: Array) -> Array:
    """Return (N, K) log densities of observations by themselves."""
    found = np.empty((len(features), clusters.shares.size))
    for start in range(0, len(features), PART):
        X = clusters.field.scale.apply(features[start : start + PART])
        found[start : start + PART] = log_densities(X, np.ones_like(X), clusters.gaussians, clusters.tails)
    return found


def _leave_out_far(worth: Array, near: Index, labels: Labels) -> None:
    """Make clusters impossible for observations that have none of them near, as the search does; unless all are noise there."""
    possible = np.zeros(worth.shape, dtype=bool)
    for listed in (*near.T, np.arange(labels.size)):
        rows = np.flatnonzero((listed >= 0) & (labels[listed] >= 0))
        possible[rows, labels[listed[rows]]] = True
    possible[~possible.any(axis=1)] = True
    worth[~possible] = -np.inf


def _normalise(logs: Array) -> Array:
    """Turn logs into numbers with sum one in each row, in place."""
    logs -= logs.max(axis=1, keepdims=True)
    np.exp(logs, out=logs)
    logs /= logs.sum(axis=1, keepdims=True)
    return logs
