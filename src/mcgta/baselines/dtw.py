"""Clustering of short series by dynamic time warping."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from mcgta.baselines.base import K_RULE, Baseline, Task, need
from mcgta.runtime.parallel import tiles
from mcgta.runtime.rules import INF, Rule
from mcgta.runtime.types import Array, Index, Labels

_WINDOW = 30
_TILE = 4096


class DTW(Baseline):
    """k-means of windows under dynamic time warping, by tslearn.

    It minimises the sum of squared warped distances of windows to the nearest of K barycentres, which are learned on a sample
    of the windows; then each window is assigned to its nearest. Prefer it where states differ in the shape of what they
    record, which comes at changing speed. It is slow, as each distance takes time square in the window.

    Parameters
    ----------
    n_clusters : K
    of : "windows" compares the windows of ``window`` rows around each row, as series of d features; "rows" takes each row
        itself as a series, its features in the order of their columns, as where a row holds a piece of a signal
    window : rows of a window, 30 by default; None with ``of="rows"``
    band : largest shift of one series against the other, in steps (Sakoe-Chiba); None for any
    n_sample : windows that the barycentres are learned on, at most, but not fewer than K
    n_init : starts, of which the best is kept
    max_iter : steps of k-means
    random_state : seed of the sample and the starts

    Notes
    -----
    Windows do not reach over groups, and those at the ends of a series are moved inside. Rows of groups with fewer than
    ``window`` rows are noise. After ``fit``, ``n_iter_`` tells the steps of the best start; tslearn does not say whether it has
    converged. Times only order the rows. ``of="rows"`` does not look at positions, so these can be any.
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": K_RULE,
        "of": Rule(words=("windows", "rows")),
        "window": Rule(integer=(2, INF), none=True),
        "band": Rule(integer=(0, INF), none=True),
        "n_sample": Rule(integer=(1, INF)),
        "n_init": Rule(integer=(1, INF)),
        "max_iter": Rule(integer=(1, INF)),
    }

    n_iter_: int

    @property
    def _looks_at_positions(self) -> bool:  # type: ignore[override]
        return self.of != "rows"

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        of: str = "windows",
        window: int | None = None,
        band: int | None = 5,
        n_sample: int = 300,
        n_init: int = 1,
        max_iter: int = 10,
        random_state: Any = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.of = of
        self.window = window
        self.band = band
        self.n_sample = n_sample
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _label(self, task: Task) -> Labels:
        starts = self._starts(task)
        whole = np.flatnonzero(starts >= 0)
        if whole.size < self.n_clusters:
            raise ValueError(
                f"window={self.window or _WINDOW}: only {whole.size} rows are in a group of that many, fewer than "
                f"n_clusters={self.n_clusters}; window must be smaller"
            )
        rng = np.random.default_rng(task.seed)
        size = max(self.n_clusters, min(self.n_sample, whole.size))
        sample = np.sort(rng.choice(whole, size, replace=False))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="h5py not installed")  # nothing is saved as HDF5
            clustering = need("tslearn.clustering", "tslearn", "DTW")
        limits = None if self.band is None else {"global_constraint": "sakoe_chiba", "sakoe_chiba_radius": self.band}
        model = clustering.TimeSeriesKMeans(
            n_clusters=self.n_clusters,
            metric="dtw",
            metric_params=limits,
            max_iter=self.max_iter,
            n_init=self.n_init,
            random_state=int(rng.integers(2**31)),
        )
        labels = np.full(len(task.X), -1, dtype=np.int64)
        with threadpool_limits(1):
            model.fit(self._series(task.X, starts[sample]))
            for part in tiles(whole.size, _TILE):
                rows = whole[part]
                labels[rows] = model.predict(self._series(task.X, starts[rows]))
        self.n_iter_ = int(model.n_iter_)
        return labels

    def _starts(self, task: Task) -> Index:
        """First row of each row's window, -1 where there is none; with ``of="rows"`` the row itself."""
        if self.of == "rows":
            if self.window is not None:
                raise ValueError(f"window={self.window!r} has no effect with of='rows'; it must be None")
            if task.X.shape[1] < 2:
                raise ValueError("of='rows' needs at least 2 features in X, which are the steps of a series; X has 1")
            return np.arange(len(task.X))
        if not task.positions.is_chain:
            raise ValueError(
                f"positions are of metric {task.positions.metric.name!r}, but DTW with of='windows' works on 'time' only"
            )
        width = self.window or _WINDOW
        starts = np.full(len(task.X), -1, dtype=np.int64)
        for rows in task.series:
            if rows.size >= width:
                first = np.clip(np.arange(rows.size) - width // 2, 0, rows.size - width)
                starts[rows] = rows[0] + first
        return starts

    def _series(self, X: Array, starts: Index) -> Array:
        """Return the series (n, length, channels) that begin at these rows."""
        if self.of == "rows":
            return X[starts][:, :, None]
        return X[starts[:, None] + np.arange(self.window or _WINDOW)]
