"""Kernels of motion against their slow twins."""

from itertools import pairwise

import numpy as np
import pytest

from mcgta.kernels.motion.features import motion_features
from mcgta.kernels.motion.segments import best_segments, merge_path
from naive import motion as naive


def drawn_case(seed, channels, starts):
    rng = np.random.default_rng(seed)
    steps = starts[-1]
    return {
        "x": rng.normal(size=(channels, steps)),
        "innovations": rng.normal(size=(channels, steps)),
        "starts": np.array(starts, dtype=np.int64),
        "taps": rng.normal(size=(6, 9)),
        "dilations": np.array([1, 1, 2, 2, 4, 8]),
        "mixtures": rng.normal(size=(6, channels)) * (rng.random((6, channels)) < 0.7),
        "thresholds": 0.3 * rng.normal(size=6),
        "lags": np.array([0, 1, 2, 5, 11]),
    }


@pytest.mark.parametrize(("channels", "starts"), [(1, [0, 40]), (2, [0, 17, 20, 61]), (3, [0, 5, 33])])
def test_features_are_those_of_plain_loops_step_by_step_and_in_blocks(channels, starts):
    case = drawn_case(channels, channels, starts)
    width, order = 4, 3
    filters = list(zip(case["taps"], case["dilations"], case["mixtures"], case["thresholds"], strict=True))
    table = naive.motion_features(case["x"], case["innovations"], starts, filters, case["lags"], order)
    blocks = [
        table[first : first + width].sum(axis=0)
        for begin, end in pairwise(starts)
        for first in range(begin, end - width + 1, width)
    ]
    weights = np.random.default_rng(9).normal(size=(table.shape[1], 2))
    sums = np.full((len(blocks), table.shape[1]), np.nan)
    out = np.zeros((2, starts[-1]))
    motion_features(*list(case.values())[:3], width, *list(case.values())[3:], order, weights, sums, out)
    np.testing.assert_allclose(sums, blocks, atol=1e-12)
    np.testing.assert_allclose(out.T, table @ weights, atol=1e-12)


@pytest.mark.parametrize("shortest", [1, 2])
@pytest.mark.parametrize("pieces", [[0] * 10, [0] * 4 + [1] + [2] * 5])
def test_no_segmentation_has_more_evidence(pieces, shortest):
    rng = np.random.default_rng(shortest)
    blocks = rng.normal(size=(10, 2)) + 3 * (np.arange(10) > 5)[:, None]
    ratios = np.array([2.0, 0.5])
    first = np.searchsorted(pieces, pieces).astype(np.int64)
    sums = np.concatenate([np.zeros((1, 2)), np.cumsum(blocks, axis=0)])
    back = np.empty(11, dtype=np.int64)
    best_segments(sums, ratios, first, 1.5, shortest, back)
    cuts = [10]
    while cuts[-1] > 0:
        cuts.append(int(back[cuts[-1]]))
    cuts = cuts[::-1]
    total = sum(naive.evidence(blocks[i:j], ratios) for i, j in pairwise(cuts))
    total -= 1.5 * sum(pieces[cut] == pieces[cut - 1] for cut in cuts[1:-1])
    assert total == pytest.approx(naive.best_segmentation(blocks, ratios, pieces, 1.5, shortest))


@pytest.mark.parametrize("size", [1, 2, 9, 25])
def test_states_merge_in_the_order_of_plain_loops(size):
    rng = np.random.default_rng(size)
    counts = rng.integers(1, 9, size).astype(float)
    sums = rng.normal(size=(size, 3)) * counts[:, None]
    ratios = np.array([3.0, 1.0, 0.2])
    merges = np.empty((size - 1, 2), dtype=np.int64)
    expected = naive.merge_path(counts, sums, ratios)
    merge_path(counts, sums, ratios, merges)
    assert [tuple(pair) for pair in merges.tolist()] == expected
