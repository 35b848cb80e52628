"""Synthetic data in blocks, and the knobs of the paper's appendix."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcgta.datasets import Sample, make_regions, make_series, stream_regions, stream_series
from mcgta.datasets.covariances import make_covariances, perturb

PARTS = ("X", "positions", "labels")
LONG = {"n_clusters": 2, "segment_lengths": (2500, 4000), "correlation": 0.7, "tails": 5.0, "volatility": 0.1}


def joined(blocks: list[Sample]) -> dict[str, np.ndarray]:
    return {part: np.concatenate([getattr(block, part) for block in blocks]) for part in PARTS}


def runs(labels: np.ndarray) -> list[int]:
    return [len(list(run)) for _, run in itertools.groupby(labels.tolist())]


def assert_same(blocks: list[Sample], whole: Sample) -> None:
    found = joined(blocks)
    for part in PARTS:
        np.testing.assert_array_equal(found[part], getattr(whole, part))
    for block in blocks:
        np.testing.assert_array_equal(block.covariances, whole.covariances)


@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"correlation": 0.8, "tails": 4.0, "volatility": 0.2, "random_state": 7},
        {"n_clusters": 1, "correlation": 0.5},
        {"n_clusters": 3, "shift": 2.0, "repeats": True, "batch": 1},
        {"noise": 0.5, "noise_limit": None},
    ],
)
@pytest.mark.parametrize("block_size", [1, 97, 1000, 5000])
def test_the_blocks_of_a_series_are_the_series(knobs, block_size):
    blocks = list(stream_series(1300, block_size=block_size, **knobs))
    assert [len(block.X) for block in blocks[:-1]] == [block_size] * (len(blocks) - 1)
    assert_same(blocks, make_series(1300, **knobs))


@pytest.mark.parametrize("knobs", [LONG, {"n_clusters": 1, "correlation": 0.5}])
def test_segments_longer_than_what_is_drawn_at_once_are_streamed_too(knobs):
    assert_same(list(stream_series(30_000, block_size=7001, **knobs)), make_series(30_000, **knobs))


@pytest.mark.parametrize("knobs", [{}, {"sizes": (3, 900)}, {"shift": 1.0, "n_features": 2, "n_clusters": 3}])
@pytest.mark.parametrize("block_size", [1, 333, 10_000])
def test_the_blocks_of_a_map_are_the_map(knobs, block_size):
    count = None if "sizes" in knobs else 1100
    assert_same(list(stream_regions(count, block_size=block_size, **knobs)), make_regions(count, **knobs))


def test_regions_larger_than_what_is_drawn_at_once_are_streamed_too():
    knobs = {"n_clusters": 2, "n_features": 3, "separation": 0.5}
    assert_same(list(stream_regions(30_000, block_size=7001, **knobs)), make_regions(30_000, **knobs))


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 300), st.integers(1, 80), st.integers(0, 5), st.booleans())
def test_the_size_of_blocks_changes_nothing(count, block_size, seed, repeats):
    knobs = {"n_clusters": 2, "n_features": 2, "separation": 0.2, "random_state": seed}
    blocks = list(stream_series(count, block_size=block_size, repeats=repeats, **knobs))
    assert_same(blocks, make_series(count, repeats=repeats, **knobs))
    assert len(blocks) == -(-count // block_size)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stream", "d", "knobs"), [(stream_series, 5, {"segment_lengths": (2000, 6000)}), (stream_regions, 3, {})]
)
def test_a_million_rows_are_streamed_in_little_memory(stream, d, knobs):
    rows, counted, spread, covariance = 0, 0, np.zeros((d, d)), np.zeros((d, d))
    tracemalloc.start()
    for block in stream(1_000_000, n_clusters=2, n_features=d, noise=0.0, block_size=50_000, **knobs):
        rows += len(block.X)
        chosen = block.X[block.labels == 0]
        counted += len(chosen)
        spread += chosen.T @ chosen
        covariance = block.covariances[0]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == 1_000_000
    assert peak < 0.6 * 8 * rows * d  # of what all features take
    np.testing.assert_allclose(spread / counted, covariance, atol=0.05)


def test_the_number_of_segments_can_be_given_in_place_of_the_length():
    sample = make_series(n_segments=12, segment_lengths=(3, 9), batch=4, random_state=2)
    lengths = runs(sample.labels)
    assert len(lengths) == 12
    assert all(12 <= length <= 36 and length % 4 == 0 for length in lengths)
    assert sample.positions.tolist() == list(range(1, sum(lengths) + 1))


def test_the_number_of_segments_can_be_random():
    counts = {len(runs(make_series(n_segments=(2, 5), random_state=seed).labels)) for seed in range(20)}
    assert counts == {2, 3, 4, 5}


def test_states_of_independent_segments_may_repeat():
    knobs = {"n_segments": 200, "segment_lengths": (1, 1), "batch": 1, "n_clusters": 2}
    assert max(runs(make_series(**knobs).labels)) == 1
    labels = make_series(repeats=True, **knobs).labels
    assert max(runs(labels)) > 2
    assert 60 < labels.sum() < 140


def test_noise_starts_anew_where_the_only_state_repeats():
    """With one state and no repeats there is one segment, whose noise goes on growing."""
    knobs = {"n_clusters": 1, "n_features": 1, "noise": 0.1, "noise_limit": None, "segment_lengths": (1, 1)}
    again, on = make_series(20_000, repeats=True, **knobs).X, make_series(20_000, **knobs).X
    assert np.abs(again).max() < 0.2 * np.abs(on).max()


@pytest.mark.parametrize("make", [make_series, make_regions])
def test_means_move_the_clusters_and_nothing_else(make):
    centred, moved = make(2000, random_state=5), make(2000, random_state=5, shift=3.0)
    np.testing.assert_array_equal(centred.labels, moved.labels)
    np.testing.assert_array_equal(centred.positions, moved.positions)
    difference = moved.X - centred.X
    means = [difference[moved.labels == k] for k in range(5)]
    assert all(np.ptp(one, axis=0).max() < 1e-12 for one in means)
    assert np.std([one[0] for one in means]) == pytest.approx(3.0, rel=0.5)


@pytest.mark.parametrize("make", [make_series, make_regions])
def test_eigenvalues_keep_to_their_scale(make):
    covariances = make(50, n_clusters=2, log_scale=2.5, separation=2.0).covariances
    logs = np.log(np.linalg.eigvalsh(covariances))
    assert np.abs(logs).max() < 2.5
    assert np.abs(logs).max() > 1.2


def test_sizes_of_regions_can_be_given_as_a_range():
    counts = np.bincount(make_regions(sizes=(20, 60), random_state=4).labels)
    assert counts.size == 5
    assert counts.min() >= 20
    assert counts.max() <= 60
    assert np.unique(counts).size > 1


def test_the_limit_of_noise_is_a_share_of_the_largest_entry():
    covariance = np.diag([10.0, 4.0])
    for limit in (0.05, 0.1, 0.3):
        out = perturb(covariance, np.full(4000, 1e9), np.random.default_rng(0), limit=limit)
        assert np.std(out[:, 0, 1]) == pytest.approx(limit * 10, rel=0.1)
    free = perturb(covariance, np.full(4000, 8.0), np.random.default_rng(0), limit=None)
    assert np.std(free[:, 0, 0]) > 4


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.floats(0, 1e4), st.sampled_from([None, 0.1, 5.0]), st.integers(0, 2**31))
def test_every_perturbed_covariance_is_positive_definite(d, scale, limit, seed):
    rng = np.random.default_rng(seed)
    covariance = make_covariances(1, d, separation=0.0, rng=rng)[0]
    out = perturb(covariance, np.full(50, scale), rng, limit=limit)
    np.linalg.cholesky(out)
    assert np.linalg.eigvalsh(out).min() > 0


@pytest.mark.parametrize(
    ("make", "knobs", "said"),
    [
        (make_series, {"n_samples": 0}, "n_samples=0 is not allowed"),
        (make_series, {"n_samples": 10, "n_segments": 3}, "n_samples=10 and n_segments=3: give one"),
        (make_series, {"n_segments": (5, 2)}, r"n_segments=\(5, 2\) is not allowed"),
        (make_series, {"n_segments": 0}, "n_segments=0 is not allowed"),
        (make_series, {"segment_lengths": (0, 3)}, r"segment_lengths=\(0, 3\)"),
        (make_series, {"segment_lengths": 5}, "segment_lengths=5"),
        (make_series, {"repeats": "yes"}, "repeats='yes' is not allowed: repeats must be True or False"),
        (make_series, {"batch": 2.5}, "batch=2.5"),
        (make_series, {"n_clusters": 0}, "n_clusters=0"),
        (make_series, {"n_features": -1}, "n_features=-1"),
        (make_series, {"noise": -0.1}, "noise=-0.1"),
        (make_series, {"noise": float("nan")}, "noise=nan"),
        (make_series, {"noise_limit": -1}, "noise_limit=-1"),
        (make_series, {"separation": -1}, "separation=-1"),
        (make_series, {"n_segments": np.array(3)}, r"n_segments=array\(3\) is not allowed"),
        (make_series, {"n_segments": np.array([2.0, 3.0])}, r"n_segments=array\(\[2\., 3\.\]\) is not allowed"),
        (make_series, {"n_segments": [2, [3, 4]]}, r"n_segments=\[2, \[3, 4\]\] is not allowed"),
        (make_series, {"log_scale": 0}, "log_scale=0"),
        (make_series, {"log_scale": 800}, "log_scale=800 is not allowed: log_scale must be a number > 0 and <= 12"),
        (make_series, {"shift": float("inf")}, "shift=inf"),
        (make_series, {"random_state": -1}, "random_state=-1"),
        (make_series, {"random_state": "a"}, "random_state='a'"),
        (make_regions, {"n_samples": -5}, "n_samples=-5"),
        (make_regions, {"sizes": (3, 2)}, r"sizes=\(3, 2\)"),
        (make_regions, {"n_samples": 9, "sizes": (3, 4)}, "give one of them"),
        (make_regions, {"extent": 0.0}, "extent=0.0"),
        (make_regions, {"spacing": -1.0}, "spacing=-1.0"),
        (make_regions, {"spread": (0.0, 1.0)}, r"spread=\(0.0, 1.0\)"),
        (make_regions, {"concentration": 0}, "concentration=0"),
        (stream_series, {"block_size": 0}, "block_size=0"),
        (stream_regions, {"block_size": 1.5}, "block_size=1.5"),
        (stream_series, {"separation": 50.0}, "separation=50.0 is too large"),
    ],
)
def test_wrong_knobs_are_refused_by_name(make, knobs, said):
    with pytest.raises(ValueError, match=said):
        make(**knobs)


def test_a_knob_that_does_not_exist_is_refused():
    said = r"lengths=\(3, 4\) is not allowed: stream_series takes n_samples, n_segments, .* and block_size"
    with pytest.raises(TypeError, match=said):
        stream_series(100, lengths=(3, 4))
    with pytest.raises(TypeError, match="batch=3 is not allowed: stream_regions takes n_samples, sizes"):
        stream_regions(100, batch=3)


def test_bounds_may_be_an_array():
    plain, array = (make_series(n_segments=kind([2, 4]), segment_lengths=kind([2, 3])) for kind in (tuple, np.array))
    np.testing.assert_array_equal(plain.X, array.X)


@pytest.mark.parametrize("make", [make_series, make_regions])
def test_the_widest_scale_still_gives_finite_data(make):
    for n_features in (2, 5, 20):
        assert np.isfinite(make(200, log_scale=12, n_features=n_features, n_clusters=3).X).all()
