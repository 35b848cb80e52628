"""States by change points and merges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import ruptures
from joblib import Memory
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from mcgta.baselines.segments import SegmentStates, merge
from mcgta.datasets import make_series


@pytest.mark.parametrize("seed", range(3))
def test_states_that_recur_and_differ_in_covariance_alone_are_found(seed: int) -> None:
    sample = make_series(1200, n_clusters=3, segment_lengths=(6, 30), separation=1.5, random_state=seed)
    model = SegmentStates(3).fit(sample.X, positions=sample.positions)
    assert adjusted_rand_score(sample.labels, model.labels_) > 0.9
    assert model.n_segments_ > 3


def test_changes_of_the_mean_are_found_where_they_are() -> None:
    truth = np.repeat([0, 1, 0, 2], [40, 55, 30, 75])
    X = np.random.default_rng(3).normal(0, 0.3, (200, 2)) + 5.0 * truth[:, None]
    for cost in ("rbf", "normal", "linear"):
        model = SegmentStates(3, cost=cost, jump=1 if cost == "normal" else None).fit(X)
        np.testing.assert_array_equal(model.labels_, truth)
        assert model.n_segments_ == 4


def test_groups_are_series_of_their_own_that_share_states() -> None:
    truth = np.repeat([0, 1, 1, 0], 50)
    X = np.random.default_rng(4).normal(0, 0.3, (200, 1)) + 5.0 * truth[:, None]
    model = SegmentStates(2, cost="rbf").fit(X, groups=np.repeat([0, 1], 100))
    np.testing.assert_array_equal(model.labels_, truth)
    assert model.n_segments_ == 4


def test_a_larger_penalty_gives_fewer_segments() -> None:
    sample = make_series(600, n_clusters=3, segment_lengths=(10, 20), separation=1.5, random_state=5)
    counts = [SegmentStates(2, cost="rbf", penalty=penalty).fit(sample.X).n_segments_ for penalty in (0.5, 1.5, 1e6)]
    assert counts[0] > counts[1] > counts[2] == 1


@pytest.mark.parametrize("seed", range(4, 7))
def test_each_merge_loses_the_least_likelihood(seed: int) -> None:
    """A slow twin that scores every union of two states from its rows."""
    rng = np.random.default_rng(seed)
    parts = np.split(np.arange(120), [15, 40, 52, 80, 95])
    X = rng.normal(size=(120, 2)) * rng.uniform(0.3, 3, 6).repeat([15, 25, 12, 28, 15, 25])[:, None]
    prior = 4 * (np.cov(X.T, bias=True) + 1e-9 * np.eye(2))

    def code(rows: Any) -> Any:
        shift = X[rows] - X[rows].mean(axis=0)
        return 0.5 * rows.size * np.linalg.slogdet((shift.T @ shift + prior) / (rows.size + 4))[1]

    sets = [[k] for k in range(6)]
    while len(sets) > 2:
        best = min(
            ((a, b) for a in range(len(sets)) for b in range(a)),
            key=lambda ab: (
                code(np.concatenate([parts[k] for k in sets[ab[0]] + sets[ab[1]]]))
                - code(np.concatenate([parts[k] for k in sets[ab[0]]]))
                - code(np.concatenate([parts[k] for k in sets[ab[1]]]))
            ),
        )
        sets[best[1]] += sets.pop(best[0])
    found = merge(X, parts, 2)
    assert {frozenset(np.flatnonzero(found == k).tolist()) for k in np.unique(found)} == {frozenset(s) for s in sets}


@pytest.mark.parametrize(("share", "n_segments"), [(0.95, 1), (1.05, 2)])
def test_a_change_of_the_mean_has_to_explain_more_than_the_default_penalty(share: float, n_segments: int) -> None:
    """A step and a noise of 1, -1, 1, ..., turned round in one feature so that no other cut can gain by it."""
    explained = share * np.log(200) / 200  # the penalty d log(N) of the spread N d of scaled features
    step = np.sqrt(explained / (1 - explained)) * np.repeat([-1, 1], 100)
    noise = np.tile([1, -1], 100)
    X = np.column_stack([step + noise, step - noise])
    assert SegmentStates(2, cost="linear").fit(X).n_segments_ == n_segments


def test_the_width_of_the_kernel_is_the_median_distance_in_all_series() -> None:
    """With as many states as rows no segments are merged, so that labels tell the change points."""
    levels = np.add.outer([0.0, 3.0], [0.0, 0.7, 0.2, 1.1, 0.4])
    X = np.random.default_rng(3).normal(size=(600, 3)) + levels.repeat(60)[:, None]
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    squares = ((scaled[:, None] - scaled[None]) ** 2).sum(axis=2)
    median = np.median(squares[np.triu_indices(600, 1)])

    def segments(width: float | None) -> list[int]:
        params = None if width is None else {"gamma": 1 / width}  # None is the median of each series
        detector = ruptures.KernelCPD(kernel="rbf", params=params, min_size=10)
        parts = [detector.fit(part).predict(pen=np.log(300) / 2) for part in np.split(scaled, 2)]
        return [*parts[0], *(300 + end for end in parts[1])]

    labels = SegmentStates(600, cost="rbf").fit(X, groups=np.repeat([0, 1], 300)).labels_
    assert [*np.flatnonzero(np.diff(labels)) + 1, 600] == segments(median)
    assert segments(median) not in [segments(width) for width in (None, 1.0, np.sqrt(median), 2 * median)]


def test_short_series_are_one_segment(series: Any) -> None:
    model = SegmentStates(3, min_size=10).fit(series.X[:15])
    assert model.n_segments_ == model.n_clusters_ == 1


def test_constant_rows_are_no_trouble() -> None:
    X = np.zeros((60, 2))
    X[30:, 0] = 1.0
    np.testing.assert_array_equal(SegmentStates(2).fit(X).labels_, np.repeat([0, 1], 30))


def test_jump_is_refused_where_it_has_no_effect(series: Any) -> None:
    with pytest.raises(ValueError, match="jump=2 has no effect with cost='rbf'"):
        SegmentStates(2, cost="rbf", jump=2).fit(series.X)


def test_change_points_are_kept_where_memory_says(tmp_path) -> None:
    sample = make_series(300, n_clusters=3, segment_lengths=(10, 20), separation=1.5, random_state=5)
    plain = [SegmentStates(k, cost="rbf").fit(sample.X) for k in (2, 3)]
    for memory in (str(tmp_path / "text"), tmp_path / "path", Memory(tmp_path / "joblib", verbose=0)):
        kept = [SegmentStates(k, cost="rbf", memory=memory).fit(sample.X) for k in (2, 3)]
        for one, other in zip(plain, kept, strict=True):
            np.testing.assert_array_equal(one.labels_, other.labels_)
            assert one.n_segments_ == other.n_segments_
    assert len(list((tmp_path / "path").rglob("output.pkl"))) == 1  # one for both numbers of states


@pytest.mark.parametrize("memory", [3, "", object()])
def test_memory_that_is_no_folder_is_refused(memory: Any) -> None:
    with pytest.raises(
        ValueError, match=r"memory=.* must be None, or an object with cache that takes a function, or the"
    ):
        SegmentStates(memory=memory).fit(np.arange(40.0)[:, None])


def test_merges_do_not_depend_on_which_losses_are_remembered() -> None:
    """Against a twin that looks through all pairs of states before each merge."""
    rng = np.random.default_rng(7)
    for trial in range(10):
        cuts = np.sort(rng.choice(np.arange(1, 40), 20, replace=False)) * 6
        segments = np.split(np.arange(240), cuts)
        X = (
            rng.normal(size=(240, 2))
            * rng.choice([0.5, 1.0, 2.0], 21).repeat([part.size for part in segments])[:, None]
        )
        if trial % 2:
            X = np.round(X)  # with ties
        prior = 4 * (np.cov(X.T, bias=True) + 1e-9 * np.eye(2))

        def code(rows: Any, X: Any = X, prior: Any = prior) -> Any:
            shift = X[rows] - X[rows].mean(axis=0)
            return 0.5 * rows.size * np.linalg.slogdet((shift.T @ shift + prior) / (rows.size + 4))[1]

        sets = [[k] for k in range(len(segments))]
        while len(sets) > 3:
            rows = [np.concatenate([segments[k] for k in part]) for part in sets]
            losses = {
                (a, b): code(np.concatenate([rows[a], rows[b]])) - code(rows[a]) - code(rows[b])
                for b in range(len(sets))
                for a in range(b)
            }
            a, b = min(losses, key=lambda pair: losses[pair])
            sets[a] += sets.pop(b)
        wanted = np.empty(len(segments), dtype=np.int64)
        for state, part in enumerate(sets):
            wanted[part] = state
        assert adjusted_rand_score(wanted, merge(X, segments, 3)) == 1.0


def test_what_is_kept_is_not_taken_for_another_penalty_least_size_or_version(tmp_path, monkeypatch) -> None:
    X = make_series(300, n_clusters=3, segment_lengths=(10, 20), separation=1.5, random_state=5).X
    base = SegmentStates(2, cost="rbf", memory=tmp_path)
    kept = lambda: len(list(tmp_path.rglob("output.pkl")))  # noqa: E731
    for change in ({}, {"penalty": 1.0}, {"min_size": 5}, {"cost": "linear"}):
        clone(base).set_params(**change).fit(X)
    assert kept() == 4
    monkeypatch.setattr("ruptures.__version__", "0")
    clone(base).fit(X)
    assert kept() == 5
