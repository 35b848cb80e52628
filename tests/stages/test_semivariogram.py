"""Stage 4: the empirical semivariogram pair by pair, and the theoretical models by hand."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from builders.work import on_threads
from mcgta.positions.reading import read_positions
from mcgta.stages.dissimilarity.compare import compare_features
from mcgta.stages.semivariogram.curve import Semivariogram
from mcgta.stages.semivariogram.empirical import empirical_semivariogram
from mcgta.stages.semivariogram.fitting import fit_semivariogram
from naive import algorithm as naive
from naive import clusters as naive_clusters

FORMS = [
    ("spherical", math.nan),
    ("exponential", math.nan),
    ("gaussian", math.nan),
    ("stable", 0.6),
    ("stable", 1.2),
    ("stable", 2.0),
    ("matern", 0.3),
    ("matern", 0.5),
    ("matern", 2.7),
    ("matern", 25.0),
]


def walk(count, d, seed):
    """Features that drift, so that near observations are alike."""
    return np.cumsum(np.random.default_rng(seed).normal(size=(count, d)), axis=0)


def same_bins(found, W, D, edges):
    lags, values, counts = naive.empirical_semivariogram(W, D, edges)
    np.testing.assert_allclose(found.edges, edges, rtol=1e-12)
    np.testing.assert_array_equal(found.counts, counts)
    np.testing.assert_allclose(found.lags, lags, rtol=1e-10)
    np.testing.assert_allclose(found.values, values, rtol=1e-10)


def bins_of(model, nugget, sill, length, shape=math.nan, *, max_lag=10.0, noise=0.0, seed=0):
    """An empirical semivariogram whose bins follow a model, with noise relative to the sill."""
    edges = np.array([max_lag * (k / 40) ** 2 for k in range(41)])
    lags = (edges[1:] + edges[:-1]) / 2
    counts = np.array([max(1, round(2000 * (b - a) / max_lag)) for a, b in itertools.pairwise(edges)])
    values = np.array([naive.variogram(h, model, nugget, sill, length, shape) for h in lags])
    values += noise * sill * np.random.default_rng(seed).normal(size=40)
    return Semivariogram("empirical", math.nan, math.nan, math.nan, edges, lags, values, counts)


@pytest.mark.parametrize("bins", [4, 17, 40])
@pytest.mark.parametrize("max_lag", [None, 9.5])
def test_bins_along_time_with_gaps_agree_with_a_double_loop(bins, max_lag):
    rng = np.random.default_rng(bins)
    times = np.cumsum(np.where(rng.random(45) < 0.1, 7.0, rng.exponential(1.0, 45)))
    X = walk(45, 2, seed=1)
    D = naive.distance_table(times[:, None])
    W = [[naive.squared_euclidean(x, y) for y in X] for x in X]
    found = empirical_semivariogram(compare_features(X), read_positions(times, 45), bins=bins, max_lag=max_lag)
    same_bins(found, W, D, naive.default_edges(D, bins, max_lag))


@pytest.mark.parametrize("metric", ["euclidean", "haversine", "precomputed"])
def test_bins_of_a_map_with_groups_agree_with_a_double_loop(metric):
    rng = np.random.default_rng(3)
    places, X = rng.uniform(-70, 70, (40, 2)), walk(40, 3, seed=2)
    groups = rng.integers(0, 3, 40)
    D = naive.distance_table(places, naive.great_circle if metric == "haversine" else naive.euclidean, groups)
    W = [[naive.squared_euclidean(x, y) for y in X] for x in X]
    given = naive.distance_table(places) if metric == "precomputed" else places
    positions = read_positions(given, 40, groups=groups, metric=metric)
    found = empirical_semivariogram(compare_features(X), positions, bins=12)
    same_bins(found, W, D, naive.default_edges(D, 12))
    assert found.unit == ("m" if metric == "haversine" else "")


def test_given_edges_hold_their_left_end_and_the_last_both():
    X, D = walk(12, 1, seed=4), naive.distance_table(np.arange(12.0)[:, None])
    W = [[naive.squared_euclidean(x, y) for y in X] for x in X]
    for edges in ([1.0, 2.0, 3.5, 3.7, 7.0], [0.0, 1.0, 11.0], [2.0, 2.5]):
        found = empirical_semivariogram(compare_features(X), read_positions(None, 12), bins=edges)
        same_bins(found, W, D, edges)


def test_many_rows_in_tiles_and_threads_count_every_pair_once():
    rng = np.random.default_rng(5)
    X, times = rng.normal(size=(1500, 1)), np.arange(1500.0)
    positions = read_positions(times, 1500)
    found = on_threads(2, lambda: empirical_semivariogram(compare_features(X), positions, bins=[0.5, 1.5, 2.5]))
    assert found.counts.tolist() == [1499, 1498]
    expected = [np.mean(np.diff(X[:, 0]) ** 2) / 2, np.mean((X[2:, 0] - X[:-2, 0]) ** 2) / 2]
    np.testing.assert_allclose(found.values, expected, rtol=1e-10)


@pytest.mark.parametrize(("model", "shape"), FORMS)
@pytest.mark.parametrize("length", [0.4, 3.0])
def test_models_agree_with_their_formulas(model, shape, length):
    fitted = replace(
        bins_of(model, 0.5, 2.0, length, shape), model=model, nugget_=0.5, sill_=2.0, length=length, shape=shape
    )
    h = np.array([0.0, 1e-6, 0.1, 0.39, 0.4, 1.0, 2.99, 3.0, 7.0, 50.0, math.inf])
    expected = [naive.variogram(x, model, 0.5, 2.0, length, shape) for x in h]
    np.testing.assert_allclose(fitted(h), expected, rtol=1e-10)
    np.testing.assert_allclose(fitted.expected(h), 2 * np.array(expected), rtol=1e-10)


@pytest.mark.parametrize(("model", "shape"), FORMS[:5] + FORMS[7:9])
@pytest.mark.parametrize("nugget", [0.0, 0.5])
def test_a_fit_finds_the_model_behind_the_bins_and_its_practical_range(model, shape, nugget):
    fitted = fit_semivariogram(bins_of(model, nugget, 2.0, 0.5, shape), model)
    assert fitted.model == model
    assert fitted.length == pytest.approx(0.5, rel=1e-3)
    assert fitted.sill_ == pytest.approx(2.0, rel=1e-3)
    assert fitted.nugget_ == pytest.approx(nugget, abs=2e-3)
    assert fitted.range_ == pytest.approx(naive.practical_range(model, 0.5, shape), rel=1e-3)
    assert fitted.range_ == pytest.approx(naive.practical_range(model, fitted.length, fitted.shape), rel=1e-9)
    assert fitted.r2 > 0.999


@pytest.mark.parametrize("model", ["spherical", "exponential", "gaussian"])
@pytest.mark.parametrize("seed", range(3))
def test_a_fit_to_noisy_bins_is_the_least_square_weighted_by_pairs(model, seed):
    empirical = bins_of(model, 0.3, 2.0, 1.2, noise=0.05, seed=seed)
    fitted = fit_semivariogram(empirical, model)
    x, y, weight = empirical.lags, empirical.values, empirical.counts.astype(float)
    mine = sum(w * (v - g) ** 2 for w, v, g in zip(weight, y, fitted(x), strict=True)) / sum(weight)
    best, length = naive.least_squares(x, y, weight, model, np.geomspace(0.1, 8, 400))
    assert mine <= best * (1 + 1e-3)
    assert fitted.length == pytest.approx(length, rel=0.02)
    spread = np.average((y - np.average(y, weights=weight)) ** 2, weights=weight)
    assert fitted.r2 == pytest.approx(1 - mine / spread, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_the_empirical_curve_agrees_with_pooling_by_hand(seed):
    rng = np.random.default_rng(seed)
    empirical = bins_of("exponential", 0.3, 2.0, 1.2, noise=0.15, seed=seed)
    empirical.values[0] = 0.01  # below all others, so that the first bin is not pooled
    counts = np.where(rng.random(40) < 0.2, 0, empirical.counts)
    counts[0] = 1
    holes = counts == 0
    empirical = replace(
        empirical,
        counts=counts,
        lags=np.where(holes, np.nan, empirical.lags),
        values=np.where(holes, np.nan, np.maximum(empirical.values, 0.01)),
    )
    found = fit_semivariogram(empirical, "empirical")
    gamma, range_, sill, nugget = naive_clusters.empirical_curve(found.edges, found.lags, found.values, found.counts)
    assert (found.range_, found.sill_, found.nugget_) == pytest.approx((range_, sill, nugget), rel=1e-10)
    h = np.concatenate([rng.uniform(0, 12, 50), [0.0, 10.0, math.inf]])
    np.testing.assert_allclose(found(h), [gamma(x) for x in h], rtol=1e-10)


@pytest.mark.parametrize(("slope", "reason"), [(0.0, "flat"), (0.5, "not levelled off")])
@pytest.mark.parametrize("model", ["spherical", "exponential", "gaussian"])
def test_where_no_model_fits_the_empirical_curve_stands_in_and_says_why(model, slope, reason):
    empirical = bins_of("exponential", 0.3, 2.0, 1.2)
    empirical = replace(empirical, values=2.0 + slope * empirical.lags)
    with pytest.warns(UserWarning, match=reason):
        found = fit_semivariogram(empirical, model)
    assert found.model == "empirical"
    assert np.isfinite([found.range_, found.sill_, found.nugget_]).all()


def test_a_curve_that_keeps_rising_far_away_is_fitted_near_by_when_asked():
    empirical = bins_of("spherical", 0.1, 2.0, 0.5)
    drifting = replace(empirical, values=empirical.values + 3.0 * np.maximum(empirical.lags - 1.0, 0) ** 1.5)
    drifting = replace(drifting, counts=100 * drifting.counts)
    found = fit_semivariogram(drifting, "exponential", adapt=True)
    assert found.model == "exponential"
    assert found.fit_lag < found.max_lag
    assert found.range_ <= found.fit_lag


def test_a_curve_is_not_fitted_near_by_on_a_handful_of_pairs():
    empirical = bins_of("spherical", 0.1, 2.0, 0.5)
    drifting = replace(empirical, values=empirical.values + 3.0 * np.maximum(empirical.lags - 1.0, 0) ** 1.5)
    with pytest.warns(UserWarning, match="not levelled off"):
        assert fit_semivariogram(drifting, "exponential", adapt=True).model == "empirical"


@pytest.mark.parametrize("unit", [1 / 3, 0.1, 7.3, 1e5])
@pytest.mark.parametrize("offset", [0.0, 123.4])
def test_pairs_of_a_regular_grid_stay_in_their_bins_in_any_unit(unit, offset):
    X = walk(41, 2, seed=1)
    expected = empirical_semivariogram(compare_features(X), read_positions(np.arange(41.0), 41))
    found = empirical_semivariogram(compare_features(X), read_positions(unit * (np.arange(41.0) + offset), 41))
    np.testing.assert_array_equal(found.counts, expected.counts)
    assert found.range_ == pytest.approx(unit * expected.range_, rel=1e-9)


def test_two_observations_make_a_semivariogram_of_one_pair():
    curve = empirical_semivariogram(compare_features(np.array([[0.0], [2.0]])), read_positions(None, 2))
    assert curve.counts.sum() == 1
    assert np.nanmax(curve.values) == 2.0


def test_the_range_of_time_does_not_depend_on_the_offset_of_the_clock():
    X = walk(60, 2, seed=8)
    near, far = (
        empirical_semivariogram(compare_features(X), read_positions(np.arange(60.0) + start, 60), bins=10)
        for start in (0.0, 1e6)
    )
    np.testing.assert_array_equal(near.counts, far.counts)
    np.testing.assert_allclose(near.values, far.values, rtol=1e-12)


@pytest.mark.parametrize(("metres", "volts"), [(1.0, 1.0), (2e5, 1.0), (1e-8, 1.0), (1.0, 1e-6), (3e6, 1e9)])
@pytest.mark.parametrize(("model", "shape"), [("spherical", math.nan), ("exponential", math.nan), ("stable", 1.2)])
def test_a_fit_does_not_depend_on_units(model, shape, metres, volts):
    plain = bins_of(model, 0.0, 2.0, 2.5, shape)
    scaled = replace(plain, edges=plain.edges * metres, lags=plain.lags * metres, values=plain.values * volts)
    expected, found = fit_semivariogram(plain, model), fit_semivariogram(scaled, model)
    assert found.model == model
    assert found.range_ == pytest.approx(expected.range_ * metres, rel=1e-6)
    assert found.sill_ == pytest.approx(expected.sill_ * volts, rel=1e-6)


@pytest.mark.parametrize("model", ["spherical", "exponential", "gaussian", "stable", "matern"])
def test_a_falling_curve_is_no_semivariogram(model):
    rising = bins_of(model, 0.5, 2.0, 2.0, {"stable": 1.5, "matern": 1.5}.get(model, math.nan))
    falling = replace(rising, values=np.linspace(5, 0.01, rising.values.size))
    with pytest.warns(UserWarning, match="does not rise"):
        assert fit_semivariogram(falling, model).model == "empirical"


def test_the_empirical_curve_never_falls_even_where_the_first_bin_is_high():
    nan = math.nan
    edges, lags = np.arange(6.0), np.arange(5) + 0.5
    curve = Semivariogram(
        "empirical", nan, nan, nan, edges, lags, np.array([3, 1, 2, 2.5, 2.6]), np.array([1, 50, 50, 50, 50])
    )
    curve = fit_semivariogram(curve, "empirical")
    heights = curve(np.linspace(0, 5, 101))
    assert (np.diff(heights) >= 0).all()
    assert curve.nugget_ == pytest.approx((3 + 50) / 51)
    assert curve.range_ > 2
