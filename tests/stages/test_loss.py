"""Stage 5: the loss of a pair and the objective of a labelling."""

import numpy as np
import pytest

from builders.losses import example
from builders.work import on_threads
from mcgta.positions.reading import read_positions
from mcgta.stages.dissimilarity.compare import compare_features
from mcgta.stages.loss import PENALTIES, Loss
from mcgta.stages.semivariogram.empirical import empirical_semivariogram
from mcgta.stages.semivariogram.fitting import fit_semivariogram
from naive import algorithm as naive
from naive import clusters as naive_clusters


@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize(("beta", "margin"), [(0.0, 0.0), (1.0, 0.0), (2.5, 3.0), (0.7, -4.0)])
def test_the_loss_of_every_pair_agrees_with_the_equation(groups, penalty, beta, margin):
    loss, W, D, gamma = example(1, groups=groups, beta=beta, margin=margin, penalty=penalty)
    expected = naive_clusters.loss_table(W, D, gamma, loss.semivariogram.range_, beta, margin, penalty=penalty)
    found = loss.matrix()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(on_threads(2, lambda: loss.matrix(tile=7)), found, rtol=1e-12, atol=1e-12)
    rows = np.array([5, 0, 11])
    np.testing.assert_allclose(loss.between(rows, slice(4, 20)), expected[rows, 4:20], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_penalty_is_what_its_row_says(penalty):
    row = PENALTIES[penalty]
    assert row.name == penalty
    loss, W, D, _ = example(1, groups=False, beta=1.0, margin=3.0, penalty=penalty)
    extra = loss.matrix() - np.array(W)
    far = np.array(D) > loss.semivariogram.range_
    assert far.any()
    assert (np.abs(extra[far]) > 1e-9).any() != row.within_range
    assert (extra >= -1e-9).all() == row.hinged


@pytest.mark.parametrize("model", ["exponential", "spherical"])
def test_the_loss_under_a_theoretical_model_agrees_with_its_formula(model):
    rng = np.random.default_rng(2)
    X = np.repeat(rng.normal(size=(20, 2)), 4, axis=0) + 0.1 * rng.normal(size=(80, 2))
    positions, dissimilarity = read_positions(None, 80), compare_features(X)
    curve = fit_semivariogram(empirical_semivariogram(dissimilarity, positions, bins=20), model)
    assert curve.model == model
    loss = Loss(dissimilarity, positions, curve, beta=1.5, margin=0.3)

    def gamma(h):
        return naive.variogram(h, model, curve.nugget_, curve.sill_, curve.length)

    D = naive.distance_table(np.arange(80.0)[:, None])
    W = [[naive.squared_euclidean(x, y) for y in X] for x in X]
    rho = naive.practical_range(model, curve.length)
    np.testing.assert_allclose(
        loss.matrix(), naive_clusters.loss_table(W, D, gamma, rho, 1.5, 0.3), rtol=1e-9, atol=1e-9
    )


def test_an_observation_costs_nothing_with_itself_whatever_the_margin():
    loss = example(3, beta=5.0, margin=50.0)[0]
    assert (np.diag(loss.matrix()) == 0).all()
    assert (np.diag(loss.between(np.arange(30), np.arange(30))) == 0).all()
    assert loss.matrix()[10, 11] > 0


@pytest.mark.parametrize("options", [{}, {"penalty": "no_hinge"}, {"penalty": "unconditional"}, {"beta": 0.0}])
@pytest.mark.parametrize("groups", [False, True])
def test_the_objective_agrees_with_a_sum_over_the_pairs_within_clusters(options, groups):
    options = {"beta": 1.3, "margin": 0.8, **options}
    loss, W, D, gamma = example(4, groups=groups, **options)
    M = naive_clusters.loss_table(W, D, gamma, loss.semivariogram.range_, **options)
    for seed in range(4):
        labels = np.random.default_rng(seed).integers(-1, 4, 30)
        found = loss.objective(labels)
        expected = naive_clusters.objective(W, M, labels)
        assert (found.total, found.dissimilarity, found.penalty) == pytest.approx(expected[:3], rel=1e-9, abs=1e-9)
        assert found.pairs == expected[3]


def test_the_objective_of_noise_alone_is_nothing():
    found = example(5)[0].objective(np.full(30, -1))
    assert (found.total, found.dissimilarity, found.penalty, found.pairs) == (0, 0, 0, 0)
