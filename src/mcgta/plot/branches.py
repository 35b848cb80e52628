"""Branches of a condensed tree, laid out on a page: as wide as they have observations, side by side where they part."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mcgta.clustering.condensed_tree import CondensedTree
from mcgta.runtime.types import Array, Index, Labels

LEVELS = 40
"""Losses at which the width of a branch is measured, at most."""


@dataclass(eq=False)
class Branch:
    """A branch on the page.

    Attributes
    ----------
    middle : where it stands across, in observations
    losses : (L,) descending, from where it parts from others to where it ends
    counts : (L, K + 1) observations of each label that are in it at these losses, noise last
    children : middles of the branches that it parts into
    """

    middle: float
    losses: Array
    counts: Index
    children: list[float] = field(default_factory=list)


class Grown(NamedTuple):
    """Branches from the root on, how many are left out, and the least and the largest loss."""

    branches: list[Branch]
    left_out: int
    lowest: float
    highest: float


def grow_branches(tree: CondensedTree, labels: Labels, n_clusters: int, most: int) -> Grown:
    """Lay out the largest branches of a tree of observations (N,) with labels, so many at most."""
    count = labels.size
    part = np.where(labels < 0, n_clusters, labels)
    is_row = tree.child < count
    home = tree.parent[is_row] - count
    leaving = _losses(tree.lambda_val[is_row])
    parent, birth, size = _clusters(tree, count)
    losses = np.concatenate([leaving, birth[1:]])
    positive = losses[(losses > 0) & np.isfinite(losses)]
    highest = float(positive.max(initial=0.0)) or 1.0
    lowest = float(positive.min(initial=highest))
    birth[0] = highest
    held = np.zeros((size.size, n_clusters + 1), dtype=np.int64)
    np.add.at(held, (home, part[tree.child[is_row]]), 1)
    own = held.copy()
    for cluster in range(size.size - 1, 0, -1):  # children have larger numbers than their parents
        held[parent[cluster]] += held[cluster]
    shown = np.sort(np.argsort(-size, kind="stable")[:most])
    middles = _place(parent, size, shown)
    order = np.argsort(home, kind="stable")
    begins = np.searchsorted(home[order], np.arange(size.size + 1))
    branches: dict[int, Branch] = {}
    for cluster in shown.tolist():
        rows = order[begins[cluster] : begins[cluster + 1]]
        children = np.flatnonzero(parent == cluster)
        end = float(birth[children].max()) if children.size else float(leaving[rows].min(initial=birth[cluster]))
        losses = _levels(birth[cluster], max(end, lowest), leaving[rows])
        parts = part[tree.child[is_row][rows]]
        counts = np.array([np.bincount(parts[leaving[rows] <= loss], minlength=n_clusters + 1) for loss in losses])
        counts[0] = own[cluster]  # before any has left
        branches[cluster] = Branch(middles[cluster], losses, counts + (held[cluster] - own[cluster]))
        if cluster:
            branches[int(parent[cluster])].children.append(middles[cluster])
    return Grown(list(branches.values()), int(size.size - shown.size), lowest, highest)


def _losses(densities: Array) -> Array:
    """Return one over densities; 0 at infinite ones."""
    return np.divide(1.0, densities, out=np.full(densities.shape, np.inf), where=densities > 0)


def _clusters(tree: CondensedTree, count: int) -> tuple[Index, Array, Index]:
    """Return the parent of each cluster, the loss at which it parts, and its observations; the root comes first."""
    rows = np.flatnonzero(tree.child >= count)
    rows = rows[np.argsort(tree.child[rows])]
    parent = np.r_[-1, tree.parent[rows] - count]
    return parent, np.r_[np.inf, _losses(tree.lambda_val[rows])], np.r_[count, tree.child_size[rows]]


def _place(parent: Index, size: Index, shown: Index) -> dict[int, float]:
    """Return the middle of each branch: children divide the width of their parent, with what has fallen out as gaps."""
    spans = {0: (0.0, float(size[0]))}
    for cluster in shown.tolist():
        left, right = spans[cluster]
        children = shown[parent[shown] == cluster]
        gap = (right - left - size[children].sum()) / max(children.size, 1)
        for child in children.tolist():
            spans[child] = (left + gap / 2, left + gap / 2 + float(size[child]))
            left += gap + float(size[child])
    return {cluster: 0.5 * (left + right) for cluster, (left, right) in spans.items()}


def _levels(begin: float, end: float, leaving: Array) -> Array:
    """Return descending losses from begin to end at which observations leave, thinned where they are many."""
    inside = np.unique(leaving[(leaving < begin) & (leaving > end)])[::-1]
    if inside.size > LEVELS:
        inside = inside[np.linspace(0, inside.size - 1, LEVELS).astype(np.int64)]
    return np.r_[begin, inside, end]
