"""The test of a pair, and the share of pairs within clusters that pass it."""

from dataclasses import replace

import numpy as np
import pytest

from builders.losses import example
from mcgta.inference.pair_test import goodness_of_fit, pair_test
from mcgta.positions.reading import read_positions
from mcgta.stages.dissimilarity.compare import compare_features
from mcgta.stages.loss import Loss
from mcgta.stages.semivariogram.curve import Semivariogram
from naive import clusters as naive_clusters


@pytest.mark.parametrize("margin", [0.0, 2.0, -1.0])
@pytest.mark.parametrize("options", [{}, {"penalty": "no_hinge"}, {"penalty": "unconditional"}, {"beta": 0.0}])
def test_the_test_of_a_pair_agrees_with_the_equation(margin, options):
    options = {"beta": 1.7, **options}
    loss, W, D, gamma = example(1, groups=True, margin=margin, **options)
    rho = loss.semivariogram.range_
    kind = options.get("penalty", "within_range")
    for i, j in [(0, 1), (10, 11), (3, 29), (20, 5), (7, 8), (28, 29)]:
        found = pair_test(loss, i, j)
        penalty = options["beta"] * naive_clusters.pair_penalty(W[i, j], D[i, j], gamma, rho, margin, penalty=kind)
        assert found.distance == pytest.approx(D[i, j])
        assert found.dissimilarity == pytest.approx(W[i, j])
        assert found.threshold == pytest.approx(2 * gamma(D[i, j]) - margin)
        assert found.passes == naive_clusters.passes(W[i, j], D[i, j], gamma, margin)
        assert found.penalty == pytest.approx(penalty, abs=1e-12)
        assert found.loss == pytest.approx(W[i, j] + penalty)


def test_both_outcomes_occur_and_an_observation_costs_nothing_with_itself():
    loss = example(2, margin=1.0)[0]
    outcomes = {pair_test(loss, i, j).passes for i in range(8) for j in range(i)}
    assert outcomes == {True, False}
    alone = pair_test(replace(loss, margin=1e6), 4, 4)
    assert (alone.distance, alone.dissimilarity, alone.penalty, alone.loss) == (0, 0, 0, 0)


def test_a_pair_exactly_at_the_threshold_passes():
    curve = Semivariogram(
        "empirical", 5.0, 2.0, 2.0, np.array([0.0, 2.0, 6.0]), np.array([1.0, 4.0]), np.full(2, 2.0), np.array([2, 4])
    )
    X = np.array([[0.0], [2.0], [4.5]])
    loss = Loss(compare_features(X), read_positions(None, 3), curve)
    assert pair_test(loss, 0, 1).passes
    assert not pair_test(loss, 1, 2).passes
    found = goodness_of_fit(loss, np.zeros(3, dtype=int))
    assert (found.pairs.tolist(), found.passed.tolist()) == ([2, 1, 0], [1, 0, 0])


@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("edges", [None, [0.0, 1.0, 5.0], [2.0, 3.0, 100.0]])
def test_the_share_of_passing_pairs_by_bin_agrees_with_counting(groups, edges):
    loss, W, D, gamma = example(3, groups=groups, margin=0.5)
    for seed in range(3):
        labels = np.random.default_rng(seed).integers(-1, 3, 30)
        found = goodness_of_fit(loss, labels, edges=None if edges is None else np.array(edges))
        used = loss.semivariogram.edges if edges is None else edges
        used = used if used[0] == 0 else [0.0, *used]
        pairs, passed = naive_clusters.passing_by_bin(W, D, gamma, 0.5, labels, used)
        assert found.pairs.tolist() == pairs
        assert found.passed.tolist() == passed
        assert found.share == pytest.approx(sum(passed) / sum(pairs))
        for k, share in enumerate(found.shares):
            assert share == pytest.approx(passed[k] / pairs[k] if pairs[k] else np.nan, nan_ok=True)


def test_a_labelling_of_noise_has_no_share():
    found = goodness_of_fit(example(4)[0], np.full(30, -1))
    assert np.isnan(found.share)
    assert np.isnan(found.shares).all()
    assert found.pairs.sum() == 0
