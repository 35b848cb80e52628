"""Observations added to a fit: what comes out is a fit on all of them, and little is fitted again."""

from __future__ import annotations

import pickle
import warnings
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import AgglomerativeClustering
from sklearn.exceptions import NotFittedError

import mcgta.fitting
import mcgta.pipeline
from mcgta import MCGTA, GaussianMixturePrior, config_context, load
from mcgta.clustering.tree_search import TreeSearch
from mcgta.datasets import make_regions, make_series
from mcgta.positions.metrics import SpaceTime
from mcgta.stages import find_neighborhoods, fit_local_models
from mcgta.updating import append as appending

ALIKE = (
    "core_sample_indices_",
    "probabilities_",
    "noise_share_",
    "n_clusters_",
    "n_neighbors_",
    "min_samples_",
    "eps_",
)


def empirical(n_neighbors, **params):
    """An estimator whose semivariogram always fits, and whose radius is set."""
    return MCGTA(n_neighbors=n_neighbors, **{"semivariogram": "empirical", "eps": 0.1, **params})


def manhattan(a, b):
    return float(np.abs(a - b).sum())


def quietly(call, *args, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args, **given)


def fit_on_all(model, X, **where):
    """What append promises to give."""
    params = {**model.fitted_.asked.params, "n_neighbors": model.n_neighbors_, "semivariogram": model.semivariogram_}
    if params["clusterer"] == "dbscan":
        params["eps"] = model.eps_
    return quietly(MCGTA(**params).fit, X, **where)


def assert_same_clusters(labels, expected):
    """Clusters have the same members; their numbers may differ, since added observations do not change those of before."""
    np.testing.assert_array_equal(labels < 0, expected < 0)
    both = np.unique(np.column_stack([labels, expected]), axis=0)
    assert len(both) == len(np.unique(labels)) == len(np.unique(expected))


def assert_alike(model, expected, *, bits=True):
    assert_same_clusters(model.labels_, expected.labels_)
    for name in ALIKE:
        if bits:
            np.testing.assert_array_equal(getattr(model, name), getattr(expected, name), err_msg=name)
        else:
            np.testing.assert_allclose(getattr(model, name), getattr(expected, name), atol=1e-9, err_msg=name)
    assert model.failed_ == expected.failed_
    assert (model.backend_.name, model.backend_.pairs) == (expected.backend_.name, expected.backend_.pairs)
    assert model.objective_.total == pytest.approx(expected.objective_.total, rel=1e-9)
    assert_models_alike(model.local_models_, expected.local_models_, bits=bits)
    np.testing.assert_array_equal(model.positions_.coordinates, expected.positions_.coordinates)
    np.testing.assert_array_equal(model.positions_.groups, expected.positions_.groups)
    np.testing.assert_array_equal(model.positions_.group_names, expected.positions_.group_names)


def assert_models_alike(models, expected, *, bits):
    assert (models is None) == (expected is None)
    if models is None:
        return
    assert models.failures == expected.failures
    for name in ("means", "covariances"):
        if bits:
            np.testing.assert_array_equal(getattr(models, name), getattr(expected, name), err_msg=name)
        else:
            np.testing.assert_allclose(
                getattr(models, name), getattr(expected, name), rtol=1e-9, atol=1e-12, err_msg=name
            )


def ragged(rng, count):
    """Features that leave borders, noise and several clusters."""
    return rng.normal(size=(count, 2)) + 2.5 * (np.cumsum(rng.random(count) < 0.06) % 2)[:, None]


@pytest.fixture
def refitted(monkeypatch):
    """Count the models that are fitted."""
    counts = []

    def counted(X, neighborhoods, **options):
        counts.append(len(neighborhoods))
        return fit_local_models(X, neighborhoods, **options)

    monkeypatch.setattr(mcgta.pipeline, "fit_local_models", counted)
    return counts


# ---------------------------------------------------------------------- the promise

PLACES = ("steps", "regular", "irregular", "repeated", "plane", "sphere", "spacetime")
OPTIONS = (
    {},
    {"weights": "epanechnikov"},
    {"lags": 2},
    {"clusterer": "hdbscan", "min_samples": 4, "eps": 0.0},
    {"covariance": "oas", "clusterer": "optics", "eps": 0.6},
    {"covariance": "ledoit_wolf", "beta": 0.3, "margin": 0.2},
    {"dissimilarity": "kl", "eps": 2.0},
    {"dissimilarity": "kl", "clusterer": "optics", "eps": "auto"},
    {"dissimilarity": "calibrated", "weights": "triangular"},
    {"dissimilarity": "calibrated", "clusterer": "hdbscan", "min_samples": 4, "eps": 0.0},
    {"dissimilarity": "euclidean", "lags": 1, "eps": "auto"},
    {"dissimilarity": "cosine", "eps": 0.1},
    {"semivariogram": "empirical", "bins": 12, "min_cluster_size": 8},
)


def places(kind, rng, count):
    """Positions for each kind, and the parameters that go with them."""
    if kind == "steps":
        return None, {}
    if kind in ("regular", "irregular", "repeated"):
        steps = {
            "regular": np.ones(count),
            "irregular": rng.exponential(1.0, count),
            "repeated": rng.integers(0, 2, count),
        }
        return np.cumsum(steps[kind]).astype(float), {}
    table = rng.uniform(0, 10, (count, 2))
    if kind == "sphere":
        return table + np.array([175, 60]), {"metric": "haversine"}
    if kind == "spacetime":
        table = np.column_stack([table, rng.uniform(0, 5, count)])
        return table, {"metric": SpaceTime(time_scale=2.0)}
    return table, {}


@settings(max_examples=100, deadline=None)
@given(
    kind=st.sampled_from(PLACES),
    options=st.sampled_from(OPTIONS),
    groups=st.sampled_from([1, 1, 3]),
    scattered=st.booleans(),
    sizes=st.lists(st.integers(1, 25), min_size=1, max_size=3),
    seed=st.integers(0, 2**16),
)
def test_appending_equals_fitting_all_observations(kind, options, groups, scattered, sizes, seed):
    rng = np.random.default_rng(seed)
    count = 60 + sum(sizes)
    X = ragged(rng, count)
    positions, params = places(kind, rng, count)
    where = {} if positions is None else {"positions": positions}
    if groups > 1:
        where["groups"] = rng.integers(0, groups, count).astype(str)
    if scattered:  # new ones come between old ones
        order = rng.permutation(count)
        X, where = X[order], {name: values[order] for name, values in where.items()}
    model = MCGTA(**{"n_neighbors": 8, "eps": 0.4, **params, **options})
    quietly(model.fit, X[:60], **{name: values[:60] for name, values in where.items()})
    for size in sizes:
        part = slice(len(model.labels_), len(model.labels_) + size)
        again = quietly(model.append, X[part], **{name: values[part] for name, values in where.items()})
        assert again is model
    assert_alike(model, fit_on_all(model, X, **where))
    assert model.get_params()["eps"] == options.get("eps", 0.4)


@pytest.mark.parametrize(
    "options",
    [
        {"prior": GaussianMixturePrior(n_components=2), "eps": "auto"},
        {"covariance": "min_cov_det", "eps": 0.08},
        {"dissimilarity": "js", "eps": "auto"},
    ],
)
def test_priors_robust_and_sampled_models_are_those_of_a_fit_on_all(options):
    rng = np.random.default_rng(1)
    X, times = ragged(rng, 60), np.cumsum(rng.exponential(1.0, 60))
    model = empirical(12, **options).fit(X[:50], positions=times[:50])
    prior = model.prior_
    model.append(X[50:], positions=times[50:])
    assert model.prior_ is prior
    if prior is None:
        assert_alike(model, fit_on_all(model, X, positions=times))
        return
    # A fit on all would make another prior, so the models alone are compared.
    data = model.fitted_.data
    near = find_neighborhoods(data.positions, 12)
    expected = fit_local_models(data.X, near, prior=prior, random_state=data.seed)
    assert_models_alike(model.local_models_.take(data.order), expected, bits=False)


@contextmanager
def by_tree(table_rows=0, few=1.0):
    """Make fits take the tree, and appending look for what is near changed models, however many these are."""
    with pytest.MonkeyPatch.context() as patch, config_context(table_rows=table_rows):
        patch.setattr(appending, "_FEW_CHANGED", few)
        yield patch


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(PLACES),
    options=st.sampled_from([{}, {"beta": 0.0}, {"min_samples": 3}, {"beta": 4.0, "lags": 1}, {"min_cluster_size": 9}]),
    groups=st.sampled_from([1, 1, 3]),
    scattered=st.booleans(),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    eps=st.sampled_from([0.4, 0.8, 1.6]),
    seed=st.integers(0, 2**16),
)
def test_what_is_dense_is_found_by_what_has_changed(kind, options, groups, scattered, sizes, eps, seed):
    rng = np.random.default_rng(seed)
    count = 120 + sum(sizes)
    X = ragged(rng, count)
    positions, params = places(kind, rng, count)
    where = {} if positions is None else {"positions": positions}
    if groups > 1:
        where["groups"] = rng.integers(0, groups, count)
    if scattered:
        order = rng.permutation(count)
        X, where = X[order], {name: values[order] for name, values in where.items()}
    with by_tree():
        first = {name: values[:120] for name, values in where.items()}
        model = quietly(MCGTA(n_neighbors=6, eps=eps, **params, **options).fit, X[:120], **first)
        for size in sizes:
            part = slice(len(model.labels_), len(model.labels_) + size)
            quietly(model.append, X[part], **{name: values[part] for name, values in where.items()})
        assert model.backend_.name == "tree"
        assert_alike(model, fit_on_all(model, X, **where))


@pytest.mark.parametrize("clusterer", ["dbscan", "hdbscan"])
@pytest.mark.parametrize("end", [True, False])
def test_a_fit_that_outgrows_the_table_takes_the_tree(clusterer, end):
    data = make_series(500, n_clusters=3, separation=1.5, segment_lengths=(20, 40), random_state=1)
    order = np.arange(500) if end else np.random.default_rng(2).permutation(500)
    X, times = data.X[order], np.arange(500.0)[order]
    with by_tree(table_rows=450):
        eps = {"dbscan": 0.58, "hdbscan": 0.0}[clusterer]
        model = empirical(20, clusterer=clusterer, eps=eps, min_samples=5).fit(X[:440], positions=times[:440])
        assert (model.backend_.name, model.n_clusters_ > 0) == ("table", True)
        model.append(X[440:], positions=times[440:])
        assert model.backend_.name == "tree"
        expected = fit_on_all(model, X, positions=times)
        assert_alike(model, expected)
        np.testing.assert_array_equal(model.dbscan_clustering(0.2), expected.dbscan_clustering(0.2))


def test_few_places_are_counted_again():
    data = make_series(1020, n_clusters=3, separation=1.5, segment_lengths=(20, 40), random_state=1)
    counted = []

    def core_rows(tree, eps, wanted, *, known=None, **options):
        counted.append(None if known is None else int((known < 0).sum()))
        return inner(tree, eps, wanted, known=known, **options)

    inner = TreeSearch.core_rows
    with by_tree(few=1 / 8) as patch:
        patch.setattr(TreeSearch, "core_rows", core_rows)
        model = empirical(20, eps=0.57).fit(data.X[:1000]).append(data.X[1000:])
        assert counted[0] is None
        assert 20 <= counted[1] < 60
        assert model.n_clusters_ > 0
        assert_alike(model, fit_on_all(model, data.X))


def test_far_away_observations_that_move_the_reach_of_the_penalty_have_everybody_counted():
    # Five steps are beyond a range of 5, but not beside 10^12.
    times, groups = np.r_[1.0002 * np.arange(300), 1e12 + np.arange(5)], np.repeat([0, 1], [300, 5])
    X = ragged(np.random.default_rng(0), 305)
    with by_tree():
        curve = empirical(5, bins=np.linspace(0, 5.5, 12)).fit(X[:300], positions=times[:300]).semivariogram_
        model = empirical(5, semivariogram=replace(curve, range_=5.0), eps=0.5, beta=20.0, margin=3.0, min_samples=8)
        model.fit(X[:300], positions=times[:300])
        before = model.core_sample_indices_
        model.append(X[300:], positions=times[300:], groups=groups[300:])
        assert set(before.tolist()) - set(model.core_sample_indices_.tolist())
        assert_alike(model, fit_on_all(model, X, positions=times, groups=groups))


def test_groups_without_positions_go_on_where_each_has_ended():
    rng = np.random.default_rng(4)
    X, groups = ragged(rng, 120), rng.choice(["a", "b", "d"], 120)
    groups[90:100] = "c"  # not seen before
    model = empirical(8, eps=0.6).fit(X[:80], groups=groups[:80])
    model.append(X[80:], groups=groups[80:])
    assert_alike(model, fit_on_all(model, X, groups=groups))
    assert model.positions_.group_names.tolist() == ["a", "b", "c", "d"]


def test_a_group_too_small_for_models_gets_them_once_it_has_grown():
    rng = np.random.default_rng(4)
    X, groups = ragged(rng, 70), np.r_[np.zeros(50, int), np.full(20, 3)]
    model = quietly(empirical(10, eps=0.3).fit, X[:55], groups=groups[:55])
    assert sorted(model.failed_) == list(range(50, 55))
    with pytest.warns(UserWarning, match="8 of 58 observations have no model"):
        model.append(X[55:58], groups=groups[55:58])
    assert sorted(model.failed_) == list(range(50, 58))
    model.append(X[58:], groups=groups[58:])
    assert model.failed_ == {}
    assert_alike(model, fit_on_all(model, X, groups=groups))


def test_distances_and_functions_are_appended_with_those_to_all():
    rng = np.random.default_rng(3)
    X, positions = ragged(rng, 70), rng.uniform(0, 10, (70, 2))
    X[1] = X[0]  # told apart by their distances only
    table = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    model = empirical(8, metric="precomputed", eps=0.6).fit(X[:50], positions=table[:50, :50])
    model.append(X[50:], positions=table[50:])
    assert_alike(model, fit_on_all(model, X, positions=table))
    model = empirical(8, metric=manhattan, eps=0.6).fit(X[:50], positions=positions[:50])
    model.append(X[50:], positions=positions[50:])
    assert_alike(model, fit_on_all(model, X, positions=positions))


def test_dates_before_and_after_those_of_the_fit_can_be_appended(series):
    import pandas

    stamps = pandas.to_datetime("2024-01-01") + pandas.to_timedelta(np.round(series.positions * 1000), unit="ms")
    order = np.r_[20:90, 0:20, 90:120]
    X, stamps = series.X[order], stamps[order]
    model = empirical(6, eps=4.0, semivariogram="empirical").fit(X[:70], positions=stamps[:70])
    model.append(X[70:], positions=stamps[70:])
    expected = fit_on_all(model, X, positions=stamps)
    assert_same_clusters(model.labels_, expected.labels_)
    assert_models_alike(model.local_models_, expected.local_models_, bits=False)


def test_a_refresh_estimates_semivariogram_and_radius_anew(series):
    knee = {"dissimilarity": "kl", "eps": "auto", "min_samples": 4}
    model = empirical(6, **knee).fit(series.X[:90], positions=series.positions[:90])
    kept = model.semivariogram_, model.eps_
    model.append(series.X[90:100], positions=series.positions[90:100])
    assert (model.semivariogram_, model.eps_) == kept
    model.append(series.X[100:110], positions=series.positions[100:110], refresh=True)
    expected = empirical(6, **knee).fit(series.X[:110], positions=series.positions[:110])
    assert_alike(model, expected)
    np.testing.assert_array_equal(model.semivariogram_.values, expected.semivariogram_.values)
    assert model.eps_ != kept[1]
    fixed = empirical(6, eps=0.7).fit(series.X[:90]).append(series.X[90:], refresh=True)
    assert fixed.eps_ == 0.7


def test_clusterer_objects_cluster_all_again(series):
    merging = AgglomerativeClustering(2, metric="precomputed", linkage="average")
    model = empirical(6, clusterer=merging, eps="auto").fit(series.X[:90])
    assert_alike(model.append(series.X[90:]), fit_on_all(model, series.X))


def test_number_of_neighbours_and_parameters_stay_those_of_the_fit(series):
    model = MCGTA(semivariogram="empirical", eps=0.27).fit(series.X[:60])
    assert model.n_neighbors_ == 20
    model.set_params(beta=7.0, n_neighbors=5)
    model.append(series.X[60:])
    assert (model.n_neighbors_, model.min_samples_, model.beta_) == (20, 20, 1.0)
    assert (model.beta, model.n_neighbors) == (7.0, 5)


# ---------------------------------------------------------------------- little is fitted again


def test_only_models_near_the_seam_are_fitted(refitted):
    data = make_series(2050, n_clusters=3, separation=1.5, segment_lengths=(20, 60), random_state=4)
    model = empirical(30, eps=0.38).fit(data.X[:2000])
    model.append(data.X[2000:])
    assert refitted[0] == 2000
    assert 50 < refitted[1] <= 50 + 30
    assert_alike(model, fit_on_all(model, data.X))


@pytest.mark.parametrize("options", [{"lags": 3, "eps": 4.0}, {"weights": "gaussian", "eps": 0.5}])
def test_only_models_near_the_seam_of_a_group_are_fitted(refitted, options):
    data = make_series(650, n_clusters=3, separation=1.5, segment_lengths=(20, 60), random_state=4)
    groups = np.r_[np.arange(600) // 200, np.full(50, 1)]
    model = empirical(20, **options).fit(data.X[:600], groups=groups[:600])
    model.append(data.X[600:], groups=groups[600:])
    assert 50 < refitted[1] <= 50 + 20
    assert_alike(model, fit_on_all(model, data.X, groups=groups))


def test_only_models_around_new_places_are_fitted(refitted, plane):
    rng = np.random.default_rng(0)
    model = empirical(6).fit(plane.X, positions=plane.positions)
    where = plane.positions[:3] + rng.normal(0, 0.05, (3, 2))
    model.append(plane.X[:3], positions=where)
    assert 3 < refitted[1] <= 3 + 16  # those of their islands, of which there may be two
    assert_alike(model, fit_on_all(model, np.r_[plane.X, plane.X[:3]], positions=np.r_[plane.positions, where]))


def test_features_are_compared_without_models(refitted, series):
    model = empirical(6, dissimilarity="euclidean").fit(series.X[:90]).append(series.X[90:])
    assert refitted == []
    assert model.local_models_ is None


def test_a_far_away_observation_that_changes_what_is_tied_changes_models():
    # 10^9 away, distances of 1 and 1.0000001 are tied; the neighbourhood of the first fit is another one.
    rng = np.random.default_rng(0)
    times = np.arange(40.0) + rng.choice([-1e-7, 1e-7], 40)
    X = ragged(rng, 41)
    model = empirical(5, eps=1.0, semivariogram="empirical").fit(X[:40], positions=times)
    where = np.r_[times, 1e9]
    before = model.local_models_.means.copy()
    model.append(X[40:], positions=where[40:])
    assert_alike(model, fit_on_all(model, X, positions=where))
    assert (before[:30] != model.local_models_.means[:30]).any()


# ---------------------------------------------------------------------- life after it


def test_an_appended_fit_can_be_saved_loaded_pickled_and_appended_to(tmp_path, series):
    X, times = series.X, series.positions
    model = empirical(6, eps=4.0).fit(X[:80], positions=times[:80])
    model.save(tmp_path / "fit")
    for again in (load(tmp_path / "fit"), pickle.loads(pickle.dumps(model))):
        again.append(X[80:100], positions=times[80:100])
        again.save(tmp_path / "longer")
        again = load(tmp_path / "longer").append(X[100:], positions=times[100:])
        assert_alike(again, fit_on_all(model, X, positions=times))


def test_an_appended_fit_predicts_refits_and_tests_pairs_like_a_fit_on_all(series):
    X, times = series.X, series.positions
    model = empirical(6, eps=4.0).fit(X[:80], positions=times[:80])
    assert model.predict(X[:3], positions=times[:3] + 0.1).size == 3  # which fills what is kept for later
    model.dbscan_clustering(1.0)
    model.append(X[80:], positions=times[80:])
    expected = fit_on_all(model, X, positions=times)
    new = X + 0.1, times + 0.1
    np.testing.assert_array_equal(model.predict(new[0], positions=new[1]), expected.predict(new[0], positions=new[1]))
    np.testing.assert_array_equal(model.predict(X, positions=times), model.labels_)
    np.testing.assert_array_equal(model.dbscan_clustering(1.0), expected.dbscan_clustering(1.0))
    np.testing.assert_array_equal(model.refit(beta=3.0).labels_, expected.refit(beta=3.0).labels_)
    assert model.pair_test(0, 110) == expected.pair_test(0, 110)
    assert model.goodness_of_fit().share == expected.goodness_of_fit().share


def test_the_caller_may_change_the_features_afterwards(series):
    X = series.X[80:].copy()
    model = empirical(6).fit(series.X[:80]).append(X)
    X[:] = 0
    np.testing.assert_array_equal(model.fitted_.data.raw, series.X)


def test_steps_go_on_after_positions_given_as_steps(series):
    model = empirical(6).fit(series.X[:80])
    model.append(series.X[80:100], positions=np.arange(100.0, 120.0)).append(series.X[100:])
    np.testing.assert_array_equal(model.positions_.coordinates[:, 0], np.r_[0:80, 100:140])


# ---------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize(
    ("module", "where"),
    [
        (mcgta.pipeline, "fit_local_models"),
        (mcgta.pipeline, "compare"),
        (mcgta.fitting, "cluster"),
        (appending, "find_neighborhoods"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_failure_leaves_the_fit_as_it_was(monkeypatch, series, error, module, where):
    model = empirical(6, eps=4.0).fit(series.X[:90], positions=series.positions[:90])
    before = dict(vars(model))

    def fail(*args, **given):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(module, where, fail)
        with pytest.raises(error):
            model.append(series.X[90:], positions=series.positions[90:])
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    model.append(series.X[90:], positions=series.positions[90:])
    assert_alike(model, fit_on_all(model, series.X, positions=series.positions))


def test_what_does_not_fit_into_memory_is_refused_before_any_work(refitted, series):
    model = empirical(6).fit(series.X[:90])
    with (
        config_context(max_memory="70kB"),
        pytest.raises(MemoryError, match="120 observations of 2 features need"),
    ):
        model.append(series.X[90:])
    assert refitted == [90]
    assert model.labels_.size == 90


def test_there_must_be_a_fit(series):
    with pytest.raises(NotFittedError):
        MCGTA().append(series.X)


def spoilt(X, value):
    X = X.copy()
    X[2, 1] = value
    return X


@pytest.mark.parametrize(
    ("X", "positions", "groups", "said"),
    [
        (lambda X: spoilt(X, np.nan), True, None, "holds NaN"),
        (lambda X: spoilt(X, 1e200), True, None, "X holds 1e\\+200, which is too large"),
        (lambda X: X[:, :1], True, None, "X has 1 features, but MCGTA is expecting 2"),
        (lambda X: X[:0], True, None, "0 sample"),
        (lambda X: X, None, None, "positions is needed: the fit had positions"),
        (lambda X: X, np.arange(29.0), None, "positions has 29 rows but X has 30"),
        (lambda X: X, np.zeros((30, 2)), None, "positions has 2 columns, but those of the fit had 1"),
        (
            lambda X: X,
            np.arange("2024-01", "2026-07", dtype="datetime64[M]"),
            None,
            "positions holds datetimes or timedeltas",
        ),
        (lambda X: X, np.full(30, np.nan), None, "missing or infinite in 30 rows"),
        (lambda X: X, True, ["a"] * 30, "groups holds text, such as .*, but those of the fit were numbers"),
        (lambda X: X, True, [0] * 29, "groups must hold one label for each of the 30 rows"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(series, X, positions, groups, said):
    model = empirical(6).fit(series.X[:90], positions=series.positions[:90])
    before = dict(vars(model))
    where = series.positions[90:] if positions is True else positions
    with pytest.raises(ValueError, match=said):
        model.append(X(series.X[90:]), positions=where, groups=groups)
    assert all(vars(model)[name] is value for name, value in before.items())


def test_groups_are_needed_where_the_fit_had_several(series):
    model = empirical(6).fit(series.X[:90], groups=["a", "b", "c"] * 30)
    with pytest.raises(ValueError, match="groups is needed: the fit had 3 groups"):
        model.append(series.X[90:])


def test_distances_to_all_are_needed(plane):
    table = np.linalg.norm(plane.positions[:, None] - plane.positions[None], axis=2)
    model = empirical(6, metric="precomputed").fit(plane.X[:100], positions=table[:100, :100])
    crooked = table[100:].copy()
    crooked[3, 105] += 1
    for positions, said in (
        (None, r"positions is needed: the distances \(28, 128\) .* to those of the fit, then to each other"),
        (table[100:, :100], r"positions must be a table of distances of shape \(28, 128\), got \(28, 100\)"),
        (crooked, "must be symmetric, but rows 3 and 5"),
        (-table[100:], "negative"),
    ):
        with pytest.raises(ValueError, match=said):
            model.append(plane.X[100:], positions=positions)


def test_models_that_were_passed_in_cannot_be_appended_to(series):
    models = empirical(6).fit(series.X[:90]).local_models_
    model = empirical(6).fit(series.X[:90]).refit(local_models=models)
    with pytest.raises(ValueError, match=r"local_models: the models of this fit were passed in.* use fit"):
        model.append(series.X[90:])


def test_times_that_the_fit_has_already_are_reported(series):
    model = empirical(6).fit(series.X[:90], positions=series.positions[:90])
    with pytest.warns(UserWarning, match="5 of 35 new times are in the fit already"):
        model.append(series.X[85:], positions=series.positions[85:])
    X, times = np.r_[series.X[:90], series.X[85:]], np.r_[series.positions[:90], series.positions[85:]]
    assert_alike(model, fit_on_all(model, X, positions=times))


def test_names_of_features_are_checked(series):
    import pandas

    frame = pandas.DataFrame(series.X, columns=["warm", "wet"])
    model = empirical(6).fit(frame[:90]).append(frame[90:])
    assert model.feature_names_in_.tolist() == ["warm", "wet"]
    assert model.labels_.size == 120
    with pytest.raises(ValueError, match="feature names"):
        model.append(frame.rename(columns={"wet": "loud"}))


def test_a_given_number_of_clusters_is_kept_when_observations_are_added(series):
    model = MCGTA(n_clusters=2, refine="none", n_neighbors=6).fit(series.X[:100], positions=series.positions[:100])
    model.append(series.X[100:], positions=series.positions[100:])
    assert model.n_clusters_ == 2
    assert model.labels_.size == 120


def test_a_choice_tells_of_this_fit_or_is_not_there(series):
    X = series.X
    for refine, source in (("all", "evidence"), ("none", "clusterer")):
        model = MCGTA(refine=refine, random_state=0).fit(X[:90])
        before = model.choice_
        model.append(X[90:])
        assert model.labels_source_ == source
        if source == "clusterer":  # settings are kept, nothing is searched
            assert model.choice_ is None
            assert model.refit().n_neighbors_ == before.settings["n_neighbors"]
        else:
            assert model.choice_.scored == len(X) != before.scored


def test_a_table_of_dissimilarities_takes_no_new_rows(series):
    table = np.abs(series.X[:60, None, 0] - series.X[None, :60, 0])
    model = MCGTA(n_neighbors=6, dissimilarity=table, eps=0.5).fit(series.X[:60], positions=series.positions[:60])
    with pytest.raises(ValueError, match="dissimilarity is a table of the rows of the fit"):
        model.append(series.X[60:], positions=series.positions[60:])
    with pytest.raises(ValueError, match="dissimilarity is a table of the rows of the fit"):
        model.predict(series.X[60:], positions=series.positions[60:])


def test_after_an_append_labels_at_the_radius_are_numbered_as_they_are(series):
    model = empirical(6, eps=4.0).fit(series.X[60:], positions=series.positions[60:])
    model.append(series.X[:60], positions=series.positions[:60])
    np.testing.assert_array_equal(model.dbscan_clustering(model.eps_), model.labels_)


def test_a_cluster_that_goes_on_under_another_number_has_not_changed():
    data = make_regions(300, n_clusters=3, random_state=0)
    model = quietly(MCGTA(refine="noise").fit, data.X[:150], positions=data.positions[:150])
    quietly(model.append, data.X[150:225], positions=data.positions[150:225])
    before = np.bincount(model.labels_)
    quietly(model.append, data.X[225:], positions=data.positions[225:])
    assert before.size == 2
    assert model.n_clusters_ == 1  # both are one now, which goes on as the larger
    assert model.changed_share_ == pytest.approx(before.min() / 225)
