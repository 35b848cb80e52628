"""States of a time series by change points: first where it changes, then which segments are alike."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.utils.validation import check_memory
from threadpoolctl import threadpool_limits

from mcgta.baselines.base import K_RULE, Baseline, Task, need, standardise
from mcgta.runtime.rules import INF, Rule
from mcgta.runtime.types import Array, Index, Labels

_COSTS = ("normal", "rbf", "linear")
_SAMPLE = 1000  # rows whose median distance is the width of the kernel
_JUMP = 5


class SegmentStates(Baseline):
    """Change points by ruptures, then segments merged into states that recur.

    Change points minimise the cost of the segments plus a penalty for each (PELT; where segments have a least size, ruptures
    drops candidates early and may miss the least by a little): -2 log-likelihood of a Gaussian for each segment, or the spread
    in the feature space of a Gaussian kernel, or the spread around its mean. Then the two
    states whose union costs the least log-likelihood, as one Gaussian in place of two, are merged until K are left. Prefer
    it for time series with abrupt changes between long segments, whose number is not known. At worst it takes time square
    in the length of a series, "normal" being the slowest, and merging takes time and memory square in the number of segments.

    ClaSP, another detector of states, is not offered: its package claspy pins versions that do not go with current Numba.

    Each group is a series of its own, and states are shared. Times only order the rows. Features are scaled to variance one.

    Parameters
    ----------
    n_clusters : K states; fewer are found if there are fewer segments
    cost : "normal" for changes of mean or covariance; "rbf", much faster, for any change of distribution, though it misses most
        changes of covariance alone; "linear" for changes of mean
    penalty : the cost of a change point. By default p log(N)/2 for "normal", with p = d(d+3)/2 the numbers that make a
        Gaussian, log(N)/2 for "rbf" and d log(N) for "linear", N the length of the series. The first is half of what BIC
        asks: merges undo a cut too many, but nothing undoes one too few
    min_size : least rows of a segment; for "normal" more than the features, which is seen to
    jump : "normal" only: change points are multiples of this, 5 by default; 1 allows all and is slow
    random_state : seed of the sample that gives the kernel's width, the median distance
    memory : where change points are kept, so that other numbers of states of the same data cost little: a folder, or an
        object with joblib's ``cache``, as in scikit-learn. None keeps nothing

    Notes
    -----
    After ``fit``, ``n_segments_`` tells how many segments there were.
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": K_RULE,
        "cost": Rule(words=_COSTS),
        "penalty": Rule(real=(0, INF), above=True, none=True),
        "min_size": Rule(integer=(1, INF)),
        "jump": Rule(integer=(1, INF), none=True),
        "memory": Rule(none=True, method=("cache", "a function"), folder=True),
    }
    _metrics: ClassVar[tuple[str, ...] | None] = ("time",)

    n_segments_: int

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        cost: str = "normal",
        penalty: float | None = None,
        min_size: int = 10,
        jump: int | None = None,
        random_state: Any = 0,
        memory: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.cost = cost
        self.penalty = penalty
        self.min_size = min_size
        self.jump = jump
        self.random_state = random_state
        self.memory = memory

    def _label(self, task: Task) -> Labels:
        if self.jump is not None and self.cost != "normal":
            raise ValueError(f"jump={self.jump!r} has no effect with cost={self.cost!r}; it must be None")
        ruptures = need("ruptures", "ruptures", "SegmentStates")
        X = standardise(task.X)
        d = X.shape[1]
        width = _median_square(X, task.seed) if self.cost == "rbf" else 1.0
        memory = os.fspath(self.memory) if isinstance(self.memory, os.PathLike) else self.memory
        cut = check_memory(memory).cache(find_segments)
        with threadpool_limits(1):
            search = SegmentSearch(
                self.cost,
                penalty=self.penalty,
                rate={"rbf": 0.5, "normal": d * (d + 3) / 4, "linear": d}[self.cost],
                least=max(self.min_size, d + 1) if self.cost == "normal" else self.min_size,
                jump=self.jump or _JUMP,
                width=width,
                version=ruptures.__version__,
            )
            segments = cut(X, task.series, search)
            states = merge(X, segments, self.n_clusters)
        self.n_segments_ = len(segments)
        labels = np.empty(len(X), dtype=np.int64)
        for rows, state in zip(segments, states, strict=True):
            labels[rows] = state
        return labels


@dataclass(frozen=True)
class SegmentSearch:
    """How series are cut into segments.

    Attributes
    ----------
    cost : as in :class:`SegmentStates`
    penalty : of a change point; None for ``rate`` times the logarithm of the series' length
    rate : see ``penalty``
    least : rows of a segment
    jump : change points of "normal" are multiples of it
    width : of the kernel of "rbf"
    version : of ruptures
    """

    cost: str
    penalty: float | None
    rate: float
    least: int
    jump: int
    width: float
    version: str


def find_segments(X: Array, series: list[Index], search: SegmentSearch) -> list[Index]:
    """Return the rows of each segment of each series.

    The result depends on its arguments alone, since it may be kept.

    Parameters
    ----------
    X : (N, d) scaled features
    series : rows of each series
    search : how to cut them
    """
    ruptures = need("ruptures", "ruptures", "SegmentStates")
    segments = []
    for rows in series:
        if rows.size < 2 * search.least:
            segments.append(rows)
            continue
        if search.cost == "normal":
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="New behaviour in v1.1.5")  # constant segments get a variance
                detector = ruptures.Pelt(model="normal", min_size=search.least, jump=min(search.jump, rows.size))
        else:
            params = {"gamma": 1.0 / search.width} if search.cost == "rbf" else None
            detector = ruptures.KernelCPD(kernel=search.cost, params=params, min_size=search.least)
        paid = search.rate * float(np.log(rows.size)) if search.penalty is None else search.penalty
        ends = [0, *map(int, detector.fit(X[rows]).predict(pen=paid))]
        segments += [rows[a:b] for a, b in pairwise(ends)]
    return segments


def _median_square(X: Array, seed: int) -> float:
    """Return the median squared distance of pairs among a sample of the rows; 1 if it is zero."""
    rows = np.random.default_rng(seed).permutation(len(X))[:_SAMPLE]
    return float(np.median(pdist(X[rows], "sqeuclidean"))) or 1.0


def merge(X: Array, segments: list[Index], n_states: int) -> Labels:
    """Return the state of each segment, after the merges of least loss in log-likelihood.

    Covariances are shrunk to the overall one with the weight of d + 2 rows, so that short segments can be compared.
    """
    d = X.shape[1]
    overall = np.cov(X.T, bias=True).reshape(d, d) + 1e-9 * np.eye(d)
    sizes = np.array([rows.size for rows in segments], dtype=float)
    means = np.array([X[rows].mean(axis=0) for rows in segments])
    scatters = np.array([(X[rows] - mean).T @ (X[rows] - mean) for rows, mean in zip(segments, means, strict=True)])
    states = np.arange(len(segments))

    def code_length(size: Array, scatter: Array) -> Array:
        shrunk = (scatter + (d + 2) * overall) / (size + d + 2)[..., None, None]
        return np.asarray(0.5 * size * np.linalg.slogdet(shrunk)[1])

    def losses(k: int, others: Index) -> Array:
        shift = means[others] - means[k]
        reduced = sizes[k] * sizes[others] / (sizes[k] + sizes[others])
        joint = scatters[k] + scatters[others] + reduced[:, None, None] * shift[:, :, None] * shift[:, None, :]
        return code_length(sizes[k] + sizes[others], joint) - lengths[k] - lengths[others]

    lengths = code_length(sizes, scatters)
    count = len(segments)
    # Of each state the least loss of a merge with an earlier one, and with which: merges change few of them.
    table = np.full((count, count), np.inf)
    for k in range(1, count):
        table[k, :k] = losses(k, np.arange(k))
    partner = table.argmin(axis=1)
    least = table[np.arange(count), partner]
    alive = np.ones(count, dtype=bool)
    for _ in range(count - n_states):
        gone = int(least.argmin())
        keep = int(partner[gone])
        shift = means[gone] - means[keep]
        total = sizes[keep] + sizes[gone]
        scatters[keep] += scatters[gone] + sizes[keep] * sizes[gone] / total * np.outer(shift, shift)
        means[keep] += sizes[gone] / total * shift
        sizes[keep] = total
        lengths[keep] = code_length(sizes[keep : keep + 1], scatters[keep : keep + 1])[0]
        states[states == gone] = keep
        alive[gone] = False
        table[gone] = np.inf
        table[:, gone] = np.inf
        least[gone] = np.inf
        others = np.flatnonzero(alive & (np.arange(count) != keep))
        table[np.maximum(others, keep), np.minimum(others, keep)] = losses(keep, others)
        stale = alive & ((partner == keep) | (partner == gone) | (np.arange(count) == keep))
        rows = np.flatnonzero(stale | (alive & (table[:, keep] <= least)))
        partner[rows] = table[rows].argmin(axis=1)
        least[rows] = table[rows, partner[rows]]
    return states
