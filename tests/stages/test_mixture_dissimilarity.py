"""The dissimilarity of local mixtures: its values and bounds, fits with it, and what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from mcgta import MCGTA, GaussianMixturePrior, load, read_positions
from mcgta.stages import compare_models, find_neighborhoods, fit_local_mixtures, fit_local_models
from mcgta.stages.dissimilarity.mixture import EPS_QUANTILE, component_costs
from naive import algorithm as naive
from naive.mixture import transport_cost

KINDS = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0], [6.0, 6.0]])
SHARES = np.array([[0.5, 0.0, 0.0, 0.5], [0.0, 0.5, 0.5, 0.0]])
"""Two regions with the same mean and trace that differ in which kinds they are mixed of."""


def two_regions(count=240, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1], count // 2)
    kinds = np.array([rng.choice(4, p=SHARES[k]) for k in truth])
    return KINDS[kinds] + rng.normal(size=(count, 2)), truth


@pytest.fixture(scope="module")
def regions():
    return two_regions()


@pytest.fixture(scope="module")
def model(regions):
    return MCGTA(n_neighbors=24, dissimilarity="mixture", min_samples=10, eps=8.0, refine="none").fit(regions[0])


def local_mixtures(X, n_components=4, n=12):
    near = find_neighborhoods(read_positions(None, len(X)), n)
    return fit_local_mixtures(X, near, GaussianMixturePrior(n_components=n_components).fit(X))


def test_values_are_transport_costs_between_shares_at_w2_squared_of_components(regions):
    models = local_mixtures(regions[0])
    prior = models.prior
    parts = list(zip(prior.means, prior.covariances, strict=True))
    costs = np.array([[naive.wasserstein2(*a, *b) for b in parts] for a in parts])
    np.fill_diagonal(costs, 0.0)
    rows = np.arange(0, 240, 40)
    expected = [[transport_cost(models.shares[i], models.shares[j], costs) for j in rows] for i in rows]
    np.testing.assert_allclose(compare_models(models, "mixture").between(rows, rows), expected, rtol=1e-7, atol=1e-7)


def test_it_is_never_less_than_w2_squared_of_gaussians_with_the_same_moments(regions):
    models = local_mixtures(regions[0])
    mixture = compare_models(models, "mixture").matrix()
    moments = compare_models(models, "wasserstein2").matrix()
    assert (mixture >= moments - 1e-9 * mixture.max()).all()
    assert (mixture > 1.5 * moments).any()


def test_regions_that_differ_in_their_kinds_are_found(regions, model):
    _, truth = regions
    assert adjusted_rand_score(truth, model.labels_) > 0.8
    assert model.dissimilarity_ == "mixture"
    assert model.local_models_.shares.shape == (240, model.prior_.shares.size)
    assert model.dissimilarity_error_ == 0


def test_labels_do_not_depend_on_the_order_of_rows_nor_on_threads(regions, model):
    X, _ = regions
    order = np.random.default_rng(1).permutation(len(X))
    again = MCGTA(**{**model.get_params(), "n_jobs": 2}).fit(X[order], positions=order.astype(float))
    expected = MCGTA(**model.get_params()).fit(X, positions=np.arange(len(X), dtype=float))
    np.testing.assert_array_equal(again.labels_, expected.labels_[order])


def test_features_of_other_units_give_the_same_shares(regions, model):
    X, _ = regions
    scaled = MCGTA(**{**model.get_params(), "standardize": True}).fit(X * [1.0, 1000.0])
    plain = MCGTA(**{**model.get_params(), "standardize": True}).fit(X)
    found, expected = (np.sort(each.local_models_.shares, axis=1) for each in (scaled, plain))  # in any order
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(np.sort(scaled.prior_.means[:, 1]), np.sort(1000 * plain.prior_.means[:, 1]), rtol=1e-6)


def test_a_saved_fit_predicts_and_goes_on_as_before(regions, model, tmp_path):
    model.save(tmp_path / "fit.mcgta")
    read = load(tmp_path / "fit.mcgta")
    np.testing.assert_array_equal(read.labels_, model.labels_)
    np.testing.assert_array_equal(read.local_models_.shares, model.local_models_.shares)
    new, _ = two_regions(40, seed=5)
    places = np.linspace(3.5, 230.5, 40)
    np.testing.assert_array_equal(read.predict(new, positions=places), model.predict(new, positions=places))
    expected = MCGTA(**{**model.get_params(), "eps": 3.0}).fit(regions[0]).labels_
    np.testing.assert_array_equal(read.refit(eps=3.0).labels_, expected)


def test_new_observations_are_placed_by_their_local_mixtures(regions, model):
    new, truth = two_regions(60, seed=7)
    places = np.r_[np.linspace(10.25, 105.25, 30), np.linspace(130.25, 225.25, 30)]
    labels = model.predict(new, positions=places)
    placed = labels >= 0
    assert placed.mean() > 0.7
    assert adjusted_rand_score(truth[placed], labels[placed]) > 0.8


def test_added_observations_share_the_components_of_before(regions):
    X, truth = regions
    half = MCGTA(n_neighbors=24, dissimilarity="mixture", min_samples=10, eps=8.0, refine="none").fit(X[:180])
    components = half.prior_.means
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        half.append(X[180:])
    np.testing.assert_array_equal(half.prior_.means, components)
    assert half.local_models_.shares.shape[0] == 240
    near = find_neighborhoods(read_positions(None, 240), 24)
    expected = fit_local_mixtures(X, near, half.prior_)
    np.testing.assert_allclose(half.local_models_.shares, expected.shares, atol=1e-12)
    assert adjusted_rand_score(truth, half.labels_) > 0.8


def test_the_number_of_components_can_be_set(regions):
    model = MCGTA(dissimilarity="mixture", prior=GaussianMixturePrior(n_components=7), n_neighbors=24, eps=8.0)
    assert model.fit(regions[0]).prior_.shares.size == 7


def test_rows_that_were_left_out_have_no_shares(regions):
    X = regions[0].copy()
    X[17, 0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MCGTA(dissimilarity="mixture", n_neighbors=24, eps=8.0, missing="drop").fit(X)
    assert np.isnan(model.local_models_.shares[17]).all()
    assert np.isfinite(np.delete(model.local_models_.shares, 17, axis=0)).all()


def test_a_strength_of_the_prior_is_refused(regions):
    with pytest.raises(ValueError, match=r"prior: strength=3.0 has no effect with dissimilarity='mixture'"):
        MCGTA(dissimilarity="mixture", prior=GaussianMixturePrior(strength=3.0)).fit(regions[0])


@pytest.mark.parametrize("name", ["eps", "margin"])
def test_significance_levels_are_refused(regions, name):
    with pytest.raises(
        ValueError, match=rf"{name}='5%' is a significance level, which is known for .* not for 'mixture'"
    ):
        MCGTA(dissimilarity="mixture", **{name: "5%"}).fit(regions[0])


def test_single_gaussians_are_refused(regions, model):
    models = fit_local_models(regions[0], find_neighborhoods(read_positions(None, 240), 12))
    with pytest.raises(ValueError, match="dissimilarity='mixture' compares local mixtures"):
        compare_models(models, "mixture")
    with pytest.raises(ValueError, match="dissimilarity='mixture' compares local mixtures"):
        MCGTA(**model.get_params()).fit(regions[0]).refit(local_models=models)


def test_without_a_radius_dbscan_takes_what_samples_of_one_mixture_seldom_stay_below(regions):
    X, truth = regions
    model = MCGTA(n_neighbors=24, dissimilarity="mixture").fit(X)
    prior = model.prior_
    rng = np.random.default_rng(1)
    costs = component_costs(prior)
    shares = model.local_models_.shares[rng.integers(0, 240, 200)]
    drawn = np.array([rng.multinomial(24, share, size=2) / 24 for share in shares / shares.sum(axis=1, keepdims=True)])
    below = np.mean([transport_cost(a, b, costs) <= model.eps_ for a, b in drawn])
    assert below == pytest.approx(EPS_QUANTILE, abs=0.07)
    assert model.labels_source_ == "clusterer"
    mostly = [np.bincount(truth[model.labels_ == k], minlength=2).max() for k in range(model.n_clusters_)]
    assert model.n_clusters_ >= 2
    assert sum(mostly) / np.sum(model.labels_ >= 0) > 0.95


def test_features_of_one_kind_are_one_cluster_at_most():
    X = np.random.default_rng(0).normal(size=(150, 2))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = MCGTA(n_neighbors=20, dissimilarity="mixture").fit(X)
    assert any("the features are one component" in str(each.message) for each in told)
    assert model.prior_.shares.size == 1
    assert model.n_clusters_ <= 1
