"""Labels and clusters, each settled given the other."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mcgta.kernels.evidence.relabel import best_path, squared_distances, visit
from mcgta.kernels.simd.compiled import native
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.field import Field
from mcgta.selection.scoring import (
    Gaussians,
    add_up,
    best_prior,
    compact,
    estimate,
    fit_tails,
    switch_cost,
)
from mcgta.selection.tails import Tails

_SWEEPS = 4
_PREDICTED_FROM = 8


class Relabelling:
    """Relabelling with one kind of dependence for each feature and one kind of tails.

    ``temper`` multiplies the rows' log densities: below 1 it takes more of them to change a label. ``mixed`` leaves position
    out of account.
    """

    def __init__(self, field: Field, kinds: Index, tails: Tails, *, temper: float = 1.0, mixed: bool = False) -> None:
        self.field = field
        self.kinds = kinds
        self.tails = tails
        self.temper = temper
        self.mixed = mixed
        self.plain = bool((kinds == 0).all())

    @cached_property
    def apart(self) -> tuple[Array, Array, Array]:
        """All rows whitened as if they were of one cluster."""
        return self.field.apart(self.kinds)

    def estimate(self, labels: Labels) -> tuple[Gaussians, Array]:
        """Return the clusters of a labelling, and their sizes."""
        counts = np.bincount(labels).astype(np.float64)
        y, w, _ = self.field.whiten_by(labels, self.kinds)
        sums = add_up(y, w, labels, counts.size)
        prior = best_prior(counts, sums, 1.0, coarse=True)[1]
        start = estimate(counts, sums, prior)
        return fit_tails(y, w, labels, counts, prior, start, self.tails, 2)[1], counts

    def carry(self, rows: Index, labels: Labels, near: Index) -> Labels:
        """Return labels for all, given those of some ``rows``; ``near`` says which of these is near each observation.

        Clusters too small to have a covariance are given up.
        """
        return drop_small(self.field, compact(self.suit_some(rows, labels, near)), self.field.d + 2)

    def suit_some(self, rows: Index, labels: Labels, near: Index) -> Labels:
        """Return the labels that suit all observations best, given the labels 0 ... K - 1 of some ``rows``."""
        counts = np.bincount(labels).astype(np.float64)
        y, w = (native(part[:, rows]) for part in self.apart[:2])
        sums = add_up(y, w, labels, counts.size)
        prior = best_prior(counts, sums, 1.0, coarse=True)[1]
        clusters = fit_tails(y, w, labels, counts, prior, estimate(counts, sums, prior), self.tails)[1]
        return self.suit(labels[near], clusters, counts)

    def relabel(self, labels: Labels) -> Labels:
        """Return the labels that suit the clusters of a labelling best."""
        return self.suit(labels, *self.estimate(labels))

    def suit(self, labels: Labels, clusters: Gaussians, counts: Array) -> Labels:
        """Return the labels that suit given clusters best, beginning with ``labels`` where order matters."""
        if self.field.chain and not self.mixed:
            return self._along(clusters)
        if self.mixed and self.plain:
            X = self.field.X
            shares = np.log((counts + 0.5) / (counts.sum() + 0.5 * counts.size))
            return np.asarray((self._densities(X, np.ones_like(X), clusters) + shares).argmax(axis=1))
        return self._around(labels, clusters, counts)

    def settle(self, labels: Labels, rounds: int) -> Labels:
        """Relabel until nothing changes, or that many times. Clusters too small to have a covariance are given up."""
        labels = compact(labels)
        for _ in range(rounds):
            if labels.max() == 0:
                break
            found = drop_small(self.field, compact(self.relabel(labels)), self.field.d + 2)
            if np.array_equal(found, labels):
                break
            labels = found
        return labels

    def along(self, clusters: Gaussians) -> tuple[Array, Array]:
        """Return (N, K) log densities of rows of series: of those whose predecessor is of the cluster too, and of others."""
        field = self.field
        y, w, log_s = self.apart
        enter = self.temper * self._densities(field.X, np.ones_like(field.X), clusters)
        return enter if self.plain else self.temper * (self._densities(y, w, clusters) - log_s[:, None]), enter

    def around(self, labels: Labels, clusters: Gaussians) -> Array:
        """Return (N, K) log densities of rows, predicted from those of each cluster that are near them; -1 is no cluster."""
        field, lists = self.field, self.field.around
        if self.plain:
            return self.temper * self._densities(field.X, np.ones_like(field.X), clusters)
        near = np.where(lists.listed >= 0, labels[lists.listed], -1)
        found = np.empty((len(field), clusters.log_root.size))
        for k in range(found.shape[1]):
            order = np.argsort(near != k, axis=1, kind="stable")[:, :_PREDICTED_FROM]
            chosen = np.where(np.take_along_axis(near, order, 1) == k, order, -1)
            y, w, log_s = field.whiten_around(chosen, self.kinds)
            one = Gaussians(clusters.means[k : k + 1], clusters.inverse[k : k + 1], clusters.log_root[k : k + 1])
            found[:, k] = self.temper * (self._densities(y, w, one)[:, 0] - log_s)
        return found

    def _along(self, clusters: Gaussians) -> Labels:
        labels = np.empty(len(self.field), dtype=np.int64)
        cost = switch_cost(len(self.field.edges), clusters.log_root.size)
        best_path(*self.along(clusters), self.field.first, cost, labels)
        return labels

    def _densities(self, y: Array, w: Array, clusters: Gaussians) -> Array:
        return log_densities(y, w, clusters, self.tails)

    def _around(self, labels: Labels, clusters: Gaussians, counts: Array) -> Labels:
        field = self.field
        found = labels.copy()
        used, which = np.unique(self.kinds, return_inverse=True)
        by = field.dependence.take(used)
        together = 0.0 if self.mixed else cohesion(field, labels)
        shares = np.log((counts + 0.5) / (counts.sum() + 0.5 * counts.size)) if self.mixed else np.zeros(counts.size)
        lists = field.around
        for _ in range(_SWEEPS):
            changed = visit(
                field.X,
                lists.listed,
                lists.gaps,
                lists.between,
                clusters.means,
                clusters.inverse,
                clusters.log_root,
                which.astype(np.int64),
                by.kinds,
                by.lengths,
                by.nuggets,
                self.tails.degrees_of_freedom,
                self.tails.share,
                self.tails.spread,
                together,
                shares,
                self.temper,
                _PREDICTED_FROM,
                found,
            )
            if changed == 0:
                break
        return found


def log_densities(y: Array, w: Array, clusters: Gaussians, tails: Tails) -> Array:
    """Return the (N, K) log densities of whitened rows (d, N) under each cluster, whose mean counts w times."""
    out = np.empty((y.shape[1], clusters.log_root.size))
    squared_distances(y, w, clusters.means, clusters.inverse, out)
    return tails.log_density(out, y.shape[0]) - clusters.log_root


def cohesion(field: Field, labels: Labels) -> float:
    """Estimate how much neighbours agree in label: the weight of the share of the eight nearest in a Potts model.

    By pseudo-likelihood (Besag 1975), with Newton steps.
    """
    return weigh_agreement(field.near[:, :8], labels, labels)


def weigh_agreement(listed: Index, of: Labels, labels: Labels) -> float:
    """Estimate the weight of neighbours from rows with labels ``of`` and the rows ``listed`` beside them; -1 is no label."""
    share = np.zeros((of.size, int(labels.max()) + 1))
    near = np.where(listed >= 0, labels[listed], -1)
    number = np.maximum((near >= 0).sum(axis=1), 1)
    for p in range(listed.shape[1]):
        rows = np.flatnonzero(near[:, p] >= 0)
        share[rows, near[rows, p]] += 1.0 / number[rows]
    own = share[np.arange(of.size), of]
    weight = 3.0
    for _ in range(25):
        chance = np.exp(weight * (share - share.max(axis=1, keepdims=True)))
        chance /= chance.sum(axis=1, keepdims=True)
        mean = (chance * share).sum(axis=1)
        curvature = float(((chance * share**2).sum(axis=1) - mean**2).sum()) + 1e-6
        step = float(np.clip((own - mean).sum() / curvature, -2.0, 2.0))
        weight = float(np.clip(weight + step, 1e-3, 12.0))
        if abs(step) < 1e-3:
            break
    return weight


def drop_small(field: Field, labels: Labels, least: int) -> Labels:
    """Give the rows of clusters with fewer than ``least`` rows to those of their nearest that are of a larger one."""
    counts = np.bincount(labels)
    small = counts < least
    if not small.any():
        return labels
    if small.all():
        return np.zeros_like(labels)
    found = labels.copy()
    listed = field.near
    while True:
        rows = np.flatnonzero(small[found])
        if rows.size == 0:
            break
        good = (listed[rows] >= 0) & ~small[found[listed[rows]]]
        some = good.any(axis=1)
        if not some.any():
            found[rows] = int(np.argmax(np.where(small, 0, counts)))
            break
        found[rows[some]] = found[listed[rows[some], good[some].argmax(axis=1)]]
    return compact(found)
