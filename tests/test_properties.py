"""What must hold whatever the data: order of rows, units, rotations, tiles and workers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.work import on_threads
from mcgta import MCGTA, Semivariogram, read_positions
from mcgta.clustering.registry import CLUSTERERS
from mcgta.stages import (
    LocalModels,
    Loss,
    compare_models,
    empirical_semivariogram,
    find_neighborhoods,
    fit_local_models,
)
from mcgta.stages.semivariogram.binning import lag_edges

FEW = settings(max_examples=8, derandomize=True, deadline=None)
SOME = settings(max_examples=25, derandomize=True, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)
PENALTIES = st.sampled_from(["within_range", "unconditional"])

pytestmark = pytest.mark.filterwarnings("ignore:positions. .* times are repeated:UserWarning")


def states(rng, count):
    """Features in two states that change from time to time, noisy enough for borders, noise and several clusters."""
    switches = np.cumsum(rng.random(count) < 0.05)
    return rng.normal(size=(count, 2)) + 3.0 * (switches % 2)[:, None]


def places(kind, rng, count):
    """Positions of each kind, some of them twice, and the parameters that go with them."""
    if kind == "time":
        return np.round(np.cumsum(rng.exponential(1.0, count)), 1), {}
    if kind == "plane":
        return np.round(rng.uniform(0, 10, (count, 2)), 0), {}
    if kind == "sphere":
        return np.round(rng.uniform([-180, -90], [180, 90], (count, 2)), 0), {"metric": "haversine"}
    points = rng.uniform(0, 10, (count, 3))
    return np.linalg.norm(points[:, None] - points[None], axis=2), {"metric": "precomputed"}


def fit(X, positions, groups=None, **params):
    eps = 0.0 if params.get("clusterer") == "hdbscan" else 0.45
    params = {"n_neighbors": 6, "covariance": "empirical", "semivariogram": "empirical", "eps": eps, **params}
    model = MCGTA(**params).fit(X, positions=positions, groups=groups)
    return model.refit(eps="auto") if model.clusterer == "optics" else model  # by the xi method


def same_partition(a, b):
    """Whether two labellings agree but for the numbers of the clusters."""
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    return len(pairs) == len(set(a.tolist())) == len(set(b.tolist())) and all((x < 0) == (y < 0) for x, y in pairs)


@pytest.mark.parametrize("clusterer", CLUSTERERS)
@pytest.mark.parametrize("kind", ["time", "plane", "sphere", "precomputed"])
@given(seed=SEEDS, grouped=st.booleans())
@FEW
def test_permuting_rows_permutes_everything(kind, clusterer, seed, grouped):
    rng = np.random.default_rng(seed)
    X = states(rng, 70)
    X[40:43] = X[40]
    positions, params = places(kind, rng, 70)
    groups = np.repeat([3, 1], [40, 30]) if grouped else None
    order = rng.permutation(70)
    moved = positions[order][:, order] if kind == "precomputed" else positions[order]
    one = fit(X, positions, groups, clusterer=clusterer, **params)
    two = fit(X[order], moved, None if groups is None else groups[order], clusterer=clusterer, **params)
    np.testing.assert_array_equal(two.labels_, one.labels_[order])
    np.testing.assert_array_equal(two.probabilities_, one.probabilities_[order])
    np.testing.assert_array_equal(two.local_models_.means, one.local_models_.means[order])
    np.testing.assert_array_equal(np.sort(order[two.core_sample_indices_]), one.core_sample_indices_)
    assert two.semivariogram_.range_ == one.semivariogram_.range_
    assert two.objective_.total == one.objective_.total


@given(seed=SEEDS, d=st.integers(2, 4))
@SOME
def test_rotating_features_leaves_labels_and_range(seed, d):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, d)) + 6.0 * np.repeat([0, 1, 0, 1], 20)[:, None]
    q, _ = np.linalg.qr(rng.normal(size=(d, d)))
    one, two = fit(X, np.arange(80.0), eps=3.0), fit(X @ q.T, np.arange(80.0), eps=3.0)
    np.testing.assert_array_equal(two.labels_, one.labels_)
    assert two.semivariogram_.range_ == pytest.approx(one.semivariogram_.range_, rel=1e-6)
    assert two.objective_.total == pytest.approx(one.objective_.total, rel=1e-9)


@pytest.mark.parametrize("kind", ["time", "plane", "grid"])
@given(seed=SEEDS, scale=st.floats(1e-3, 1e3), shift=st.floats(-1e3, 1e3))
@FEW
def test_shifting_and_rescaling_positions_leaves_labels_and_scales_the_range(kind, seed, scale, shift):
    rng = np.random.default_rng(seed)
    X = states(rng, 81)
    if kind == "grid":
        positions = np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), axis=-1).reshape(-1, 2)
    else:
        positions = rng.uniform(0, 40, (81, 2)) if kind == "plane" else np.cumsum(rng.exponential(1.0, 81))
    bins = np.linspace(0, 5.3, 9)
    one = fit(X, positions, bins=bins)
    two = fit(X, scale * (positions + shift), bins=scale * bins)
    np.testing.assert_array_equal(two.labels_, one.labels_)
    assert two.semivariogram_.range_ == pytest.approx(scale * one.semivariogram_.range_, rel=1e-6)
    assert two.semivariogram_.sill_ == pytest.approx(one.semivariogram_.sill_, rel=1e-9)


@given(seed=SEEDS, scale=st.floats(0.01, 100), shift=st.floats(-10, 10))
@settings(max_examples=3, derandomize=True, deadline=None)
def test_a_fitted_range_is_in_the_unit_of_the_positions(seed, scale, shift):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 2)) + 6.0 * np.repeat([0, 1, 0, 1, 0, 1], 20)[:, None]
    times = np.cumsum(rng.uniform(0.5, 1.5, 120))
    one = fit(X, times, semivariogram="spherical", bins=lag_edges(30.0))
    two = fit(X, scale * (times + shift), semivariogram="spherical", bins=lag_edges(30.0 * scale))
    assert one.semivariogram_.model == two.semivariogram_.model == "spherical"
    assert two.semivariogram_.range_ == pytest.approx(scale * one.semivariogram_.range_, rel=1e-3)
    np.testing.assert_array_equal(two.labels_, one.labels_)


@given(seed=SEEDS, c=st.floats(0.01, 100))
@SOME
def test_rescaling_features_scales_the_dissimilarity_by_the_square(seed, c):
    rng = np.random.default_rng(seed)
    X = states(rng, 40)
    hoods = find_neighborhoods(read_positions(None, 40), 6)
    one = compare_models(fit_local_models(X, hoods, alpha=0.02)).matrix()
    two = compare_models(fit_local_models(c * X, hoods, alpha=0.02 * c**2)).matrix()
    np.testing.assert_allclose(two, c**2 * one, rtol=1e-6, atol=1e-9 * c**2)
    labels = fit(X, None, eps=0.4).labels_
    np.testing.assert_array_equal(fit(c * X, None, eps=0.4 * c**2).labels_, labels)


@pytest.mark.parametrize("dissimilarity", ["wasserstein2", "calibrated", "kl", "js", "euclidean"])
def test_workers_change_nothing_bit_for_bit(series, dissimilarity):
    fits = [
        MCGTA(n_neighbors=6, dissimilarity=dissimilarity, eps=0.6, semivariogram="empirical", n_jobs=n_jobs).fit(
            series.X, positions=series.positions
        )
        for n_jobs in (None, 1, 2)
    ]
    for other in fits[1:]:
        for name in ("labels_", "probabilities_"):
            np.testing.assert_array_equal(getattr(other, name), getattr(fits[0], name))
        np.testing.assert_array_equal(other.semivariogram_.values, fits[0].semivariogram_.values)
        assert vars(other.objective_) == vars(fits[0].objective_)


def test_workers_change_nothing_for_the_minimum_covariance_determinant(series):
    hoods = find_neighborhoods(read_positions(series.positions[:24], 24), 6)
    models = [on_threads(k, lambda: fit_local_models(series.X[:24], hoods, covariance="min_cov_det")) for k in (1, 2)]
    np.testing.assert_array_equal(models[0].covariances, models[1].covariances)


@pytest.mark.parametrize("kind", ["wasserstein2", "calibrated", "kl", "js", "tv"])
@given(seed=SEEDS, tile=st.integers(1, 40))
@FEW
def test_tile_sizes_change_nothing_bit_for_bit(kind, seed, tile):
    rng = np.random.default_rng(seed)
    places_, X = read_positions(None, 33), states(rng, 33)
    models = fit_local_models(X, find_neighborhoods(places_, 6))
    whole, pieces = compare_models(models, kind), compare_models(models, kind)
    np.testing.assert_array_equal(on_threads(2, lambda: pieces.matrix(tile=tile)), whole.matrix())
    curve = empirical_semivariogram(whole, places_, bins=6)
    loss = Loss(whole, places_, curve, beta=2.0, margin=0.1)
    np.testing.assert_array_equal(on_threads(2, lambda: loss.matrix(tile=tile)), loss.matrix())


def random_models(rng, count, d, singular):
    """Gaussians with random means and covariances, singular ones where asked for."""
    rank = max(1, d - 1) if singular else d
    factors = rng.normal(size=(count, d, rank)) * rng.lognormal(size=(count, 1, 1))
    return LocalModels(rng.normal(size=(count, d)), factors @ np.swapaxes(factors, 1, 2))


@given(seed=SEEDS, d=st.integers(1, 5), singular=st.booleans())
@SOME
def test_wasserstein_is_symmetric_zero_on_itself_and_within_its_bounds(seed, d, singular):
    models = random_models(np.random.default_rng(seed), 9, d, singular)
    every = np.arange(9)
    W = compare_models(models).between(every, every)
    trace = np.trace(models.covariances, axis1=1, axis2=2)
    small = 1e-12 * (trace[:, None] + trace[None, :])
    assert np.all(np.abs(W - W.T) <= small)
    assert np.all(np.diagonal(W) <= np.diagonal(small))
    shift = ((models.means[:, None] - models.means[None]) ** 2).sum(axis=-1)
    roots = models.roots
    apart = ((roots[:, None] - roots[None]) ** 2).sum(axis=(-2, -1))
    assert np.all(shift + apart / 2 - small <= W)
    assert np.all(shift + apart + small >= W)


@given(seed=SEEDS, d=st.integers(1, 5), singular=st.booleans())
@SOME
def test_wasserstein_satisfies_the_triangle_inequality(seed, d, singular):
    models = random_models(np.random.default_rng(seed), 9, d, singular)
    root = np.sqrt(compare_models(models).matrix())
    detour = root[:, :, None] + root[None, :, :]
    assert np.all(root[:, None, :] <= detour + 1e-6 * (1 + root.max()))


@given(seed=SEEDS, margin=st.floats(-100, 100), penalty=PENALTIES)
@FEW
def test_without_beta_there_is_no_constraint_whatever_the_margin(seed, margin, penalty):
    X = states(np.random.default_rng(seed), 60)
    plain = fit(X, None, beta=0.0)
    other = fit(X, None, beta=0.0, margin=margin, penalty=penalty)
    np.testing.assert_array_equal(other.labels_, plain.labels_)
    assert other.objective_.penalty == 0.0
    assert other.objective_.total == plain.objective_.dissimilarity
    for name in ("dissimilarity", "loss"):
        assert getattr(other.pair_test(3, 40), name) == plain.pair_test(3, 40).dissimilarity


@given(seed=SEEDS, beta=st.floats(0, 50), margin=st.floats(-5, 5), penalty=PENALTIES, distance=st.floats(0, 20))
@SOME
def test_the_loss_is_monotone_in_the_dissimilarity(seed, beta, margin, penalty, distance):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.exponential(size=6))
    curve = Semivariogram("empirical", 10.0, values[-1], 0.0, np.arange(7.0), np.arange(6) + 0.5, values, np.full(6, 9))
    places_ = read_positions([0.0, distance], 2)
    W = np.sort(rng.exponential(2.0, 50))
    loss = Loss(compare_models(random_models(rng, 2, 2, False)), places_, curve, beta, margin, penalty)
    M = W + beta * loss.penalty(W, np.full(50, distance))
    assert np.all(np.diff(M) >= np.diff(W) * (1 - 1e-12) - 1e-12 * M[1:])
    assert np.all(M >= W)
    if penalty == "within_range" and distance > 10:
        np.testing.assert_array_equal(M, W)


@given(seed=SEEDS, angle=st.floats(-360, 360))
@FEW
def test_turning_the_earth_leaves_the_clusters(seed, angle):
    rng = np.random.default_rng(seed)
    degrees = rng.uniform([-180, -85], [180, 85], (70, 2))
    turned = np.column_stack([(degrees[:, 0] + angle + 180) % 360 - 180, degrees[:, 1]])
    bins = np.linspace(0, 1.5e7, 8)
    X = states(rng, 70)
    for clusterer in ("hdbscan", "dbscan"):
        one, two = (fit(X, p, metric="haversine", bins=bins, clusterer=clusterer) for p in (degrees, turned))
        np.testing.assert_array_equal(one.core_sample_indices_, two.core_sample_indices_)
        core = one.core_sample_indices_
        assert same_partition(one.labels_[core], two.labels_[core])
        np.testing.assert_array_equal(one.labels_ < 0, two.labels_ < 0)
        assert two.semivariogram_.range_ == pytest.approx(one.semivariogram_.range_, rel=1e-6)
        np.testing.assert_allclose(two.local_models_.means, one.local_models_.means, rtol=1e-9, atol=1e-12)


@given(seed=SEEDS)
@FEW
def test_groups_share_clusters_but_no_neighbourhoods(seed):
    rng = np.random.default_rng(seed)
    series = states(rng, 40)
    X, times = np.tile(series, (2, 1)), np.tile(np.arange(40.0), 2)
    groups = np.repeat(["left", "right"], 40)
    both, alone = fit(X, times, groups), fit(series, np.arange(40.0))
    np.testing.assert_array_equal(both.local_models_.means[:40], alone.local_models_.means)
    np.testing.assert_array_equal(both.local_models_.covariances[40:], alone.local_models_.covariances)
    np.testing.assert_array_equal(both.labels_[:40], both.labels_[40:])
    hoods = find_neighborhoods(both.positions_, 6)
    assert np.all(groups[hoods.indices] == groups[:, None])
    assert both.semivariogram_.counts.sum() == 2 * alone.semivariogram_.counts.sum()


@given(seed=SEEDS, origin=st.integers(-(10**9), 10**9), zone=st.booleans())
@FEW
def test_datetimes_and_their_seconds_give_the_same(seed, origin, zone):
    import pandas

    rng = np.random.default_rng(seed)
    X = states(rng, 60)
    seconds = np.cumsum(rng.integers(1, 10**6, 60))
    stamps = pandas.to_datetime(origin + seconds, unit="s", utc=zone)
    one, two = fit(X, seconds), fit(X, stamps)
    np.testing.assert_array_equal(two.labels_, one.labels_)
    assert two.semivariogram_.range_ == pytest.approx(one.semivariogram_.range_, rel=1e-12)
    assert (one.semivariogram_.unit, two.semivariogram_.unit) == ("", "s")
