"""TICC, Toeplitz inverse covariance-based clustering of series (Hallac, Vare, Boyd and Leskovec 2017)."""

from __future__ import annotations

import contextlib
import io
import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from mcgta.baselines.base import K_RULE, Baseline, Task, need
from mcgta.baselines.inverse_covariance import Clusters, InverseCovarianceClustering
from mcgta.kernels.evidence.relabel import best_path
from mcgta.kernels.simd.compiled import native
from mcgta.runtime.rules import INF, Rule
from mcgta.runtime.types import Array, Index, Labels, Mask

WINDOW_RULE = Rule(integer=(1, INF))


class TICC(InverseCovarianceClustering):
    """Clusters of windows of a series, each a sparse Markov random field across time; labels that seldom switch.

    It minimises the negative log density of the windows under K Gaussians of block-Toeplitz precision, plus the 1-norms of the
    precisions, plus ``beta`` for each switch; see :mod:`mcgta.baselines.inverse_covariance`. Prefer it where states last for
    many rows and differ in how features depend on each other and on earlier rows, not in their means alone.

    The window of row t is the rows t - (w - 1) // 2 to t + w // 2 of its group, itself in the middle. The first and the last
    rows of a group, which have no complete window, get the label of the nearest row that has one. A group shorter than a window
    takes no part in the fit; it gets one label, that of the cluster in which its rows are likeliest, as the middle of a window.

    Features are taken as they are; since ``sparsity`` has their unit, standardise them if their units are arbitrary.

    Parameters
    ----------
    n_clusters : K
    window : w, rows in a window; the authors' code has 10, their experiments 5
    beta : cost of a switch of label from a row to the next, in nats; 0 labels each window by itself. The authors' code leaves
        out the 1/2 of log densities, so that its beta is twice this one: its default 400 is 200 here
    sparsity : lambda, penalty of the entries of precisions; see :mod:`mcgta.baselines.inverse_covariance`
    init : how runs start, "gmm" by a Gaussian mixture of windows, as the authors do, or "kmeans"
    n_init : number of runs, of which the one of least objective is kept
    max_iter : the most iterations of a run
    tol : fall of the objective in nats for each window at which a run has converged, if labels have not settled before
    random_state : seed of the starts

    Attributes
    ----------
    labels_, n_clusters_ : see :class:`mcgta.baselines.base.Baseline`; fewer clusters than asked for where some died out
    means_, precisions_, objective_, n_iter_, converged_, gap_ :
        see :class:`mcgta.baselines.inverse_covariance.InverseCovarianceClustering`
    """

    _rules: ClassVar[dict[str, Rule]] = {**InverseCovarianceClustering._rules, "window": WINDOW_RULE}
    _metrics: ClassVar[tuple[str, ...] | None] = ("time",)

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        window: int = 5,
        beta: float = 200.0,
        sparsity: float = 0.11,
        init: str = "gmm",
        n_init: int = 3,
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: Any = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.window = window
        self.beta = beta
        self.sparsity = sparsity
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _label(self, task: Task) -> Labels:
        windows = Windows.of(task.series, self.window)
        windows.check(self.window, self.n_clusters)
        stacked = task.X[windows.members].reshape(len(windows.members), -1)

        def spoken(labels: Labels, clusters: Clusters) -> Labels:
            out = windows.spread(labels, len(task.X))
            for rows in windows.short:
                out[rows] = _likeliest(task.X[rows], clusters, self.window)
            return out

        return self._solve(task, stacked, self.window, Chain(windows.first, float(self.beta)), spoken)


@dataclass(frozen=True, eq=False)
class Windows:
    """The complete windows of series.

    Attributes
    ----------
    members : (M, w) rows of each
    first : (M,) whether it is the first of its series
    series : rows of the series that have windows
    short : rows of the series that have none
    """

    members: Index
    first: Mask
    series: list[Index]
    short: list[Index]

    @classmethod
    def of(cls, series: list[Index], width: int) -> Windows:
        """Return the windows of series, each given by its rows in order."""
        long = [rows for rows in series if rows.size >= width]
        views = [np.lib.stride_tricks.sliding_window_view(rows, width) for rows in long]
        members = np.concatenate([*views, np.empty((0, width), dtype=np.intp)])
        sizes = np.array([len(view) for view in views], dtype=np.intp)
        first = np.zeros(len(members), dtype=bool)
        first[np.cumsum(sizes) - sizes] = True
        return cls(members, first, long, [rows for rows in series if rows.size < width])

    def check(self, width: int, n_clusters: int) -> None:
        """Raise a ValueError unless there are windows, and as many as clusters."""
        if not self.series:
            longest = max(rows.size for rows in self.short)
            raise ValueError(
                f"window={width} but the longest series has only {longest} rows; window must not be longer"
            )
        if n_clusters > len(self.members):
            raise ValueError(
                f"n_clusters={n_clusters} but there are only {len(self.members)} complete windows of window={width} rows; "
                "n_clusters must not be larger"
            )

    def spread(self, labels: Labels, count: int) -> Labels:
        """Labels of ``count`` rows from those of the windows; -1 where a series has none."""
        out = np.full(count, -1, dtype=np.int64)
        width = self.members.shape[1]
        done = 0
        for rows in self.series:
            size = rows.size - width + 1
            middle = np.clip(np.arange(rows.size) - (width - 1) // 2, 0, size - 1)
            out[rows] = labels[done + middle]
            done += size
        return out


@dataclass(frozen=True, eq=False)
class Chain:
    """Windows one after the other; a switch of label costs ``beta``, but none where a series begins (``first``)."""

    first: Mask
    beta: float

    def best(self, costs: Array) -> Labels:
        """Return the labels of least cost, by Viterbi's algorithm."""
        labels = np.empty(len(costs), dtype=np.int64)
        likely = native(-costs)
        best_path(likely, likely, self.first, self.beta, labels)
        return labels

    def price(self, labels: Labels) -> float:
        """Return what switches cost."""
        return float(self.beta * np.count_nonzero((labels[1:] != labels[:-1]) & ~self.first[1:]))


def _likeliest(rows: Array, clusters: Clusters, width: int) -> int:
    """Return the cluster in which fewer rows than a window are likeliest, as the middle of one."""
    count, d = rows.shape
    begin = (width - count) // 2 * d
    part = slice(begin, begin + count * d)
    covariances = np.linalg.inv(clusters.precisions)[:, part, part]
    marginal = Clusters(clusters.means[:, part], np.linalg.inv(covariances), clusters.gap)
    return int(marginal.costs(rows.reshape(1, -1))[0].argmin())


class FastTICC(Baseline):
    """TICC by the package fast-ticc, for comparison with :class:`TICC`.

    It means to minimise the same: the negative log density of the windows, the 1-norms of the precisions, and ``beta`` for each
    switch. Prefer it to check :class:`TICC` against a program by others, not to find clusters.

    It differs in that precisions are penalised by lambda for each window of the cluster, so that there is no one objective that
    each iteration lowers; that a cluster that has died out is given windows at random; and in its solver's tolerance. Log
    densities have their 1/2, so ``beta`` is in nats as ours; ``sparsity`` agrees with ours where clusters are of equal size.
    Groups must not be shorter than a window. Rows at the ends of a group get the label of the nearest row that has one.

    Parameters
    ----------
    n_clusters, window, beta, sparsity, max_iter, random_state : as in :class:`TICC`
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": K_RULE,
        "window": WINDOW_RULE,
        "beta": Rule(real=(0, INF)),
        "sparsity": Rule(real=(0, INF)),
        "max_iter": Rule(integer=(1, INF)),
    }
    _metrics: ClassVar[tuple[str, ...] | None] = ("time",)

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        window: int = 5,
        beta: float = 200.0,
        sparsity: float = 0.11,
        max_iter: int = 100,
        random_state: Any = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.window = window
        self.beta = beta
        self.sparsity = sparsity
        self.max_iter = max_iter
        self.random_state = random_state

    def _label(self, task: Task) -> Labels:
        package = need("fast_ticc", "fast-ticc", type(self).__name__)
        series = task.series
        shortest = min(rows.size for rows in series)
        if shortest < self.window:
            raise ValueError(f"window={self.window} but a group has only {shortest} rows; window must not be longer")
        windows = Windows.of(series, self.window)
        windows.check(self.window, self.n_clusters)
        # The package means to charge nothing between series and forgets to; its costs[t] is that between windows t and t + 1.
        costs = np.where(np.append(windows.first[1:], True), 0.0, float(self.beta))
        with _seeded(task.seed), threadpool_limits(limits=1), contextlib.redirect_stdout(io.StringIO()):
            try:
                fitted = package.ticc_joint_labels(
                    [task.X[rows] for rows in series],
                    window_size=int(self.window),
                    num_clusters=int(self.n_clusters),
                    sparsity_weight=float(self.sparsity),
                    label_switching_cost=costs,
                    iteration_limit=int(self.max_iter),
                )
            except (ArithmeticError, AssertionError, RuntimeError, np.linalg.LinAlgError) as error:
                raise ValueError(
                    f"fast-ticc failed with n_clusters={self.n_clusters} on {len(windows.members)} windows of "
                    f"window={self.window} rows ({type(error).__name__}: {error}); it cannot refill a cluster that died out "
                    "where others have few windows, nor fit constant rows or a single cluster; TICC can"
                ) from error
        before = (self.window - 1) // 2
        after = self.window // 2
        inner = [np.array(labels[before : len(labels) - after], dtype=np.int64) for labels in fitted.point_labels]
        return windows.spread(np.concatenate(inner), len(task.X))


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed the global generators that the package draws from, and put them back as they were."""
    numpy_state = np.random.get_state()  # noqa: NPY002 - it has no other way to be seeded
    python_state = random.getstate()
    np.random.seed(seed % 2**32)  # noqa: NPY002
    random.seed(seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of the mixture that it starts from
            yield
    finally:
        np.random.set_state(numpy_state)  # noqa: NPY002
        random.setstate(python_state)
