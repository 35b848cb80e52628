"""Bad features, parameters and neighbourhoods: each refused before any work, with a message that says what is right."""

from __future__ import annotations

import re
from functools import partial
from types import SimpleNamespace

import geopandas as gpd
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering
from sklearn.exceptions import NotFittedError

from mcgta import MCGTA, GaussianMixturePrior, read_positions
from mcgta.datasets import make_fields, make_gestures, make_mixed_regions, make_regions, make_series
from mcgta.observations.features import warn_of_identifiers
from mcgta.settings import RULES
from mcgta.stages import LocalModels


def refused(match, X, model=None, **given):
    """Fitting raises a ValueError with this message."""
    with pytest.raises(ValueError, match=match):
        (model or MCGTA(n_neighbors=6)).fit(X, **given)


# ---------------------------------------------------------------------- features


@pytest.mark.parametrize(("value", "said"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_missing_and_infinite_features_are_refused_with_column_rows_and_cure(series, value, said):
    X = series.X.copy()
    X[[3, 7, 8], 1] = value
    cure = {
        "NaN": "or set missing='drop', which labels those rows -1, or missing='impute'$",
        "infinity": "or replace infinite values by finite ones$",
    }[said]
    cure = f"drop those rows from X and positions alike, {cure}"
    refused(rf"^X: column 1 holds {said} in 3 rows \(3, 7, 8\); {cure}", X)


def test_every_column_with_missing_features_is_named(series):
    frame = pd.DataFrame(series.X.copy(), columns=["speed", "torque"])
    frame.loc[10:19, "speed"] = np.nan
    frame.loc[4, "torque"] = np.inf
    speed = r"column 'speed' holds NaN in 10 rows \(10, 11, 12, 13, 14, ...\)"
    said = rf"^X: {speed}, column 'torque' holds infinity in 1 row \(4\);"
    refused(said, frame)
    refused(said, pl.from_pandas(frame))


@pytest.mark.parametrize("missing", [None, pd.NA])
def test_missing_objects_are_refused_with_column_and_row(series, missing):
    X = series.X.astype(object)
    X[3, 1] = missing
    refused(r"^X: column 1 (holds NaN|has missing values \(NaN\)) in 1 row \(3\); drop", X)


def test_text_features_are_refused_with_column_row_and_cure(series):
    X = series.X.astype(object)
    X[[3, 9], 1] = "warm"
    refused(r"^X: column 1 holds text, such as 'warm', in 2 rows \(3, 9\); encode it as numbers", X)
    refused("^X: column 'state' holds text", pd.DataFrame(X, columns=["speed", "state"]))


def test_masked_features_are_refused_with_row_and_column(series):
    X = np.ma.masked_greater(series.X, np.sort(series.X, axis=None)[-3])
    row, column = np.argwhere(X.mask)[0]
    refused(rf"^X has 2 masked cells, the first in row {row}, column {column}; drop those rows", X)
    MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical").fit(np.ma.array(series.X))  # nothing is masked


def test_dates_and_durations_are_no_features(series):
    when = pd.date_range("2026-01-01", periods=120)
    said = "^X: column {} holds dates or durations, which are no features; pass times as positions="
    for times in (when, when - when[0], when.date):
        frame = pd.DataFrame({"speed": series.X[:, 0], "when": times})
        refused(said.format("'when'"), frame)
    refused(said.format("'when'"), pl.DataFrame({"speed": series.X[:, 0], "when": when.to_numpy()}))
    refused(said.format("0"), when.to_numpy()[:, None])
    refused(said.format("1"), np.column_stack([series.X[:, :1].astype(object), when.to_pydatetime()]))


def test_dicts_and_structured_arrays_are_refused_with_the_cure(series):
    columns = {"speed": series.X[:, 0], "torque": series.X[:, 1]}
    refused(r"^X is a dict; pass a table, such as pandas.DataFrame\(X\)", columns)
    structured = np.rec.fromarrays(list(columns.values()), names=list(columns))
    refused(r"^X is a structured array with fields \('speed', 'torque'\); pass a table", structured)


def test_columns_of_one_name_are_refused(series):
    refused(
        "^X has several columns called 'speed'; pass each column once", pd.DataFrame(series.X, columns=["speed"] * 2)
    )


def test_an_anndata_is_refused_with_what_to_pass(series):
    AnnData = type("AnnData", (), {"__module__": "anndata._core.anndata"})
    refused(r"^X is an AnnData; use mcgta.cluster_anndata\(adata\)$", AnnData())


def test_a_column_of_geometries_is_refused_with_what_to_pass(series):
    points = gpd.GeoSeries(gpd.points_from_xy(*series.X.T), crs="EPSG:4326")
    refused("^X is a GeoSeries; geometries are positions", points)


ROWS = np.arange(120)
SUSPECTS = {
    "row numbers": ROWS,
    "standardised row numbers": (ROWS - 59.5) / 34.6,
    "unix times": 1.7e9 + np.cumsum(np.random.default_rng(0).integers(1, 9, 120)),
    "falling identifiers": -np.cumsum(np.random.default_rng(0).integers(1, 9, 120)),
    "numbers of series": np.repeat([40, 7, 13, 5, 22, 90], 20),
    "steps within series": np.r_[np.arange(80), np.arange(40)],
}
FEATURES = {
    "a random walk": np.cumsum(np.random.default_rng(0).normal(size=120)),
    "sorted numbers": np.sort(np.random.default_rng(0).normal(size=120)),
    "counts": np.random.default_rng(0).poisson(4, 120),
    "a state that comes back": np.repeat([1, 2, 3, 4, 5, 6, 1, 2], 15),
    "two levels": np.repeat([0, 1], 60),
    "short steps": ROWS // 5,
}


@pytest.mark.parametrize("column", SUSPECTS.values(), ids=SUSPECTS.keys())
def test_a_column_that_looks_like_an_identifier_or_a_clock_is_reported_by_name(series, column):
    frame = pd.DataFrame({"speed": series.X[:, 0], "odd": column, "torque": series.X[:, 1]})
    with pytest.warns(
        UserWarning, match="^X: column 'odd' looks like an identifier or a clock .* leave it out"
    ) as caught:
        MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical").fit(frame)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("column", FEATURES.values(), ids=FEATURES.keys())
def test_a_column_that_only_resembles_a_clock_is_not_reported(series, column):
    MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical").fit(
        np.column_stack([series.X, column])
    )  # warnings are errors here


def test_few_rows_in_order_are_not_reported(series):
    MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical").fit(np.column_stack([series.X[:49], ROWS[:49]]))


@pytest.mark.parametrize(
    "make", [make_series, make_regions, make_fields, make_mixed_regions, partial(make_gestures, 40)]
)
def test_data_of_our_own_are_not_reported(make):
    data = make(random_state=0)
    warn_of_identifiers(np.asarray(data.X).reshape(-1, np.shape(data.X)[-1]), None)
    if getattr(data, "positions", None) is not None:
        read_positions(data.positions, len(data.X), groups=getattr(data, "groups", None))


def test_complex_features_are_refused(series):
    refused("Complex data not supported", series.X + 1j)


def test_features_of_one_axis_are_refused(series):
    refused("Expected 2D array, got 1D array instead", series.X[:, 0])


def test_features_of_three_axes_are_refused(series):
    refused("Found array with dim 3", series.X[None])


def test_a_single_observation_is_refused(series):
    refused(r"1 sample\(s\).* a minimum of 2 is required by MCGTA", series.X[:1])


def test_no_observations_and_no_features_are_refused(series):
    refused(r"0 sample\(s\)", series.X[:0])
    refused(r"0 feature\(s\)", series.X[:, :0])


def test_fewer_observations_than_neighbours_are_refused(series):
    refused(
        r"n_neighbors=30 but there are only 20 observations .*n_neighbors must not be larger",
        series.X[:20],
        MCGTA(n_neighbors=30),
    )


def test_fewer_observations_than_neighbours_in_every_group_are_refused(series):
    refused(
        r"n_neighbors=30 but there are only 15 observations in the largest of 2 groups \(n_samples = 25\)",
        series.X[:25],
        MCGTA(n_neighbors=30),
        groups=["a"] * 15 + ["b"] * 10,
    )


@pytest.mark.parametrize("dissimilarity", ["kl", "js", "tv"])
@pytest.mark.parametrize("params", [{"covariance": "empirical"}, {"alpha": 0.0}])
def test_as_many_features_as_neighbours_are_refused_where_covariances_must_have_full_rank(dissimilarity, params):
    X = np.random.default_rng(0).normal(size=(40, 6))
    refused(
        rf"n_neighbors=6 with 6 features gives singular covariances, which dissimilarity='{dissimilarity}' .*n_neighbors > 6",
        X,
        MCGTA(n_neighbors=6, dissimilarity=dissimilarity, **params),
    )


def test_as_many_features_as_neighbours_are_refused_by_the_minimum_covariance_determinant():
    X = np.random.default_rng(0).normal(size=(40, 5))
    refused(
        r"n_neighbors=6 with 5 features: covariance='min_cov_det' needs n_neighbors >= 7",
        X,
        MCGTA(n_neighbors=6, covariance="min_cov_det"),
    )


def test_lags_count_as_features(series):
    refused(
        r"n_neighbors=6 with 6 features: covariance='min_cov_det' needs n_neighbors >= 8",
        series.X,
        MCGTA(n_neighbors=6, covariance="min_cov_det", lags=2),
    )


@pytest.mark.parametrize("covariance", ["graphical_lasso", "shrunk", "ledoit_wolf", "oas", "empirical"])
def test_more_features_than_neighbours_are_no_trouble_for_the_wasserstein_distance(covariance):
    rng = np.random.default_rng(0)
    X = rng.normal(0, 0.3, (60, 8)) + np.repeat([0, 5, 0, 5], 15)[:, None]
    model = MCGTA(n_neighbors=6, covariance=covariance, semivariogram="empirical", eps=4.0).fit(X)
    assert model.failed_ == {}
    assert np.isfinite(model.local_models_.covariances).all()
    assert model.n_clusters_ >= 1


def test_a_constant_column_is_reported_and_left_out_of_account(series):
    X = np.column_stack([series.X, np.full(120, 3.0)])
    with pytest.warns(UserWarning, match="X: column 2 is constant: it has no effect on the clusters"):
        model = MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical").fit(X, positions=series.positions)
    np.testing.assert_array_equal(model.labels_, series.truth)


@pytest.mark.parametrize("dissimilarity", ["kl", "js", "tv"])
def test_a_constant_column_is_refused_where_covariances_must_have_full_rank(series, dissimilarity):
    X = np.column_stack([np.full(120, 3.0), series.X])
    refused(
        f"X: column 0 is constant, and dissimilarity='{dissimilarity}' needs covariances of full rank; drop it",
        X,
        MCGTA(n_neighbors=6, dissimilarity=dissimilarity),
    )


def test_a_constant_column_of_a_frame_is_called_by_its_name(series):
    import pandas

    frame = pandas.DataFrame({"speed": series.X[:, 0], "gear": 1.0})
    with pytest.warns(UserWarning, match="column 'gear' is constant"):
        MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical").fit(frame)


def test_features_that_never_vary_are_one_cluster():
    with pytest.warns(UserWarning, match="X: column 0, column 1 is constant"):
        model = MCGTA(n_neighbors=6, semivariogram="empirical").fit(np.ones((40, 2)))
    assert (model.n_clusters_, model.noise_share_, model.objective_.total) == (1, 0.0, 0.0)
    np.testing.assert_array_equal(model.labels_, 0)


# ---------------------------------------------------------------------- parameters, one by one

WRONG = {
    "n_clusters": [0, -1, 2.5, True, None, "atuo", [3]],
    "n_neighbors": [1, 0, -3, 2.5, True, None, "atuo", [5]],
    "weights": ["gausian", None, 1, True],
    "lags": [-1, 0.5, None, "1", True],
    "standardize": [None, 1, 0, "yes"],
    "covariance": ["graphical-laso", None, 3, ("oas",)],
    "alpha": [-0.1, np.nan, np.inf, None, "0.1", True, 1j],
    "prior": ["gm", 3, True],
    "refine": ["yes", None, 1, True, False],
    "family": ["motion", None, 1, True, False],
    "n_components": ["some", 0, -1, 1.5, True],
    "dissimilarity": ["wasserstein", None, 2],
    "metric": ["haversin", None, 3, dict],
    "semivariogram": ["sperical", None, 3, Ellipsis],
    "bins": [3, 0, -1, 10.5, None, "auto", [1], [2, 1], [-1, 0, 1], [0, np.nan], [[0, 1], [1, 2]], True],
    "beta": [-1, -1e-9, np.nan, np.inf, None, "1", True],
    "margin": [np.nan, np.inf, None, "0", True],
    "penalty": ["no-hing", None, True, 0],
    "clusterer": ["dbscn", None, 3, DBSCAN, object()],
    "eps": [-1.0, np.nan, np.inf, None, "knee", True],
    "min_samples": [0, -1, 2.5, None, "aut", True],
    "min_cluster_size": [0, -1, 2.5, "small", True],
    "n_jobs": [0, 1.5, "all", True],
    "random_state": [-1, 2**32, 0.5, "seed", True],
    "missing": ["ignore", None, True],
    "progress": [None, 1, "lines"],
}


def test_every_parameter_has_wrong_values_to_try():
    assert set(WRONG) == set(RULES) == set(MCGTA().get_params())


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in WRONG.items() for value in values],
    ids=lambda x: repr(x).partition(" at 0x")[0][:30],
)
def test_a_wrong_value_is_named_with_what_is_allowed(series, name, value):
    with pytest.raises(ValueError, match="is not allowed") as caught:
        MCGTA(**{name: value}).fit(series.X)
    said = str(caught.value)
    assert said.startswith(f"{name}={value!r} is not allowed: {name} must be ")
    allowed = said.split(" must be ")[1]
    rule = RULES[name]
    assert all(repr(word) in allowed for word in rule.words)
    assert ("None" in allowed) == rule.none
    assert ("True or False" in allowed) == rule.flag


@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        ("covariance", "Graphical Lasso", "graphical_lasso"),
        ("covariance", "ledoit", "ledoit_wolf"),
        ("dissimilarity", "wasserstein", "wasserstein2"),
        ("metric", "haversin", "haversine"),
        ("semivariogram", "sperical", "spherical"),
        ("clusterer", "HDBSCAN", "hdbscan"),
        ("weights", "epanechikov", "epanechnikov"),
        ("eps", "atuo", "auto"),
        ("prior", "GMM", "gmm"),
        ("penalty", "no hinge", "no_hinge"),
        ("refine", "al", "all"),
    ],
)
def test_an_unknown_option_suggests_the_nearest(series, name, value, meant):
    refused(rf"{name}='{value}' is not allowed: .*; did you mean '{meant}'\?$", series.X, MCGTA(**{name: value}))


def test_an_option_like_no_other_gets_no_suggestion(series):
    with pytest.raises(ValueError, match="covariance='xyzzy' is not allowed") as caught:
        MCGTA(covariance="xyzzy").fit(series.X)
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize("value", [np.int64(6), 6, "auto"])
def test_numbers_of_numpy_are_as_good_as_pythons(series, value):
    model = MCGTA(n_neighbors=value, beta=np.float32(0.5), eps=np.float64(4), semivariogram="empirical").fit(series.X)
    assert model.n_neighbors_ == (30 if value == "auto" else 6)


# ---------------------------------------------------------------------- parameters that do not go together


@pytest.mark.parametrize("clusterer", ["dbscan", "hdbscan", "optics"])
def test_a_loss_that_can_be_negative_is_refused_for_clusterers_that_need_distances(series, clusterer):
    refused(
        rf"penalty='no_hinge' makes the loss of close pairs negative, and clusterer='{clusterer}' needs distances >= 0; use",
        series.X,
        MCGTA(n_neighbors=6, penalty="no_hinge", clusterer=clusterer),
    )


@pytest.mark.parametrize(("name", "value"), [("eps", 1.0), ("min_samples", 5), ("min_cluster_size", 5)])
def test_options_of_the_named_clusterers_are_refused_beside_a_clusterer_object(series, name, value):
    model = MCGTA(n_neighbors=6, clusterer=DBSCAN(metric="precomputed"), **{name: value})
    refused(rf"{name}={value!r} has no effect on a clusterer object; set it on the object itself", series.X, model)


def test_a_clusterer_object_must_take_a_precomputed_matrix(series):
    refused(
        r"clusterer=DBSCAN\(\) must be made with metric='precomputed'",
        series.X,
        MCGTA(n_neighbors=6, clusterer=DBSCAN()),
    )
    refused(
        r"clusterer=AgglomerativeClustering\(\) must be made with metric='precomputed'",
        series.X,
        MCGTA(n_neighbors=6, clusterer=AgglomerativeClustering()),
    )


class Careless:
    """A clusterer that returns whatever it was made with."""

    def __init__(self, result):
        self.result = result

    def fit_predict(self, matrix):
        return self.result

    def __repr__(self):
        return "Careless()"


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (None, "object of shape ()"),
        (np.zeros(5, dtype=int), "int64 of shape (5,)"),
        (np.zeros((120, 1), dtype=int), "int64 of shape (120, 1)"),
        (np.zeros(120), "float64 of shape (120,)"),
        (["a"] * 120, "<U1 of shape (120,)"),
        (np.zeros(120, dtype=bool), "bool of shape (120,)"),
    ],
    ids=["nothing", "too few", "a column", "floats", "text", "flags"],
)
def test_a_clusterer_that_returns_no_labels_is_refused(series, result, said):
    model = MCGTA(n_neighbors=6, clusterer=Careless(result), semivariogram="empirical")
    refused(re.escape(f"clusterer=Careless(): fit_predict returned {said}, not 120 integers"), series.X, model)


def test_labels_of_a_clusterer_object_are_renumbered(series):
    result = np.where(series.truth == 0, 40, -7)
    labels = MCGTA(n_neighbors=6, clusterer=Careless(result), semivariogram="empirical").fit(series.X).labels_
    np.testing.assert_array_equal(labels, np.where(series.truth == 0, 0, -1))


def test_an_object_without_fit_predict_is_refused(series):
    refused(
        r"clusterer=namespace\(\) is not allowed: .* or an object with fit_predict that takes a precomputed matrix",
        series.X,
        MCGTA(n_neighbors=6, clusterer=SimpleNamespace()),
    )


def test_weights_are_refused_for_the_minimum_covariance_determinant(series):
    refused(
        "weights='gaussian': covariance='min_cov_det' knows uniform weights only",
        series.X,
        MCGTA(n_neighbors=6, covariance="min_cov_det", weights="gaussian"),
    )


@pytest.mark.parametrize(("rows", "width"), [(119, 2), (120, 3)])
def test_local_models_of_other_observations_are_refused(series, rows, width):
    models = LocalModels(np.zeros((rows, width)), np.zeros((rows, width, width)))
    fitted = MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical").fit(series.X)
    said = (
        rf"local_models holds \(observations, features\) \({rows}, {width}\), but the fit, with lags=0, has \(120, 2\)"
    )
    with pytest.raises(ValueError, match=said):
        fitted.refit(local_models=models)


@pytest.mark.parametrize("value", [3, "models", np.zeros((3, 2)), LocalModels], ids=["int", "text", "array", "class"])
def test_what_are_no_local_models_is_refused(series, value):
    fitted = MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical").fit(series.X)
    with pytest.raises(ValueError, match=r"(?s)local_models=.* must be LocalModels, such as local_models_ of a fit"):
        fitted.refit(local_models=value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("n_components", value) for value in (0, -1, 2.5, "auto", True)],
        *[("strength", value) for value in (0, 0.0, -1, np.inf, np.nan, "auto", True)],
    ],
)
def test_wrong_options_of_a_prior_are_named_with_what_is_allowed(name, value):
    with pytest.raises(ValueError, match=f"^{name}={value!r} is not allowed: {name} must be "):
        GaussianMixturePrior(**{name: value})


def test_a_maximum_lag_below_every_distance_is_refused(series):
    said = r"no pair of observations lies within the last edge of bins, 0.5 step"
    refused(said, series.X, MCGTA(n_neighbors=6, bins=[0.0, 0.1, 0.2, 0.3, 0.5]))


@pytest.mark.parametrize("name", ["n_neighbors", "covariance", "metric", "semivariogram", "standardize", "nonsense"])
def test_refit_refuses_parameters_that_need_a_new_fit(series, name):
    model = MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical").fit(series.X)
    with pytest.raises(ValueError, match=rf"refit cannot change {name}: only n_clusters, beta, margin, .*; use fit"):
        model.refit(**{name: 3})


def test_refit_checks_the_values_it_is_given(series):
    model = MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical").fit(series.X)
    with pytest.raises(ValueError, match="beta=-1 is not allowed: beta must be 'auto', or a number >= 0"):
        model.refit(beta=-1)
    with pytest.raises(ValueError, match="penalty='no_hinge' makes the loss"):
        model.refit(penalty="no_hinge")


CALLS = {
    "predict": ([[0.0]],),
    "predict_proba": ([[0.0]],),
    "append": ([[0.0]],),
    "refit": (),
    "dbscan_clustering": (1.0,),
    "labels_for": (2,),
    "goodness_of_fit": (),
    "pair_test": (0, 1),
    "p_value": (0, 1),
}


@pytest.mark.parametrize("call", [*CALLS, "save"])
def test_nothing_can_be_asked_of_an_estimator_before_its_fit(call, tmp_path):
    arguments = (tmp_path / "m",) if call == "save" else CALLS[call]
    with pytest.raises(NotFittedError, match="This MCGTA instance is not fitted yet"):
        getattr(MCGTA(), call)(*arguments)


# ---------------------------------------------------------------------- results that are odd but right


def test_one_cluster_is_a_result():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = MCGTA(n_neighbors=6, eps=100.0, semivariogram="empirical").fit(X)
    np.testing.assert_array_equal(model.labels_, 0)
    assert (model.n_clusters_, model.noise_share_, model.objective_.pairs) == (1, 0.0, 60 * 59 // 2)
    assert model.objective_.total > 0
    np.testing.assert_array_equal(model.core_sample_indices_, np.arange(60))
    np.testing.assert_array_equal(model.predict(X[:20] + 0.1), 0)
    assert 0 < model.goodness_of_fit().share < 1


def test_all_noise_is_a_result():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = MCGTA(n_neighbors=6, eps=4.0, min_samples=61, semivariogram="empirical").fit(X)
    np.testing.assert_array_equal(model.labels_, -1)
    assert (model.n_clusters_, model.noise_share_, model.objective_.pairs, model.objective_.total) == (0, 1.0, 0, 0.0)
    assert model.core_sample_indices_.size == 0
    np.testing.assert_array_equal(model.probabilities_, 0.0)
    labels, strengths = model.predict(X[:20] + 0.1, return_probabilities=True)
    np.testing.assert_array_equal(labels, -1)
    np.testing.assert_array_equal(strengths, 0.0)
    assert np.isnan(model.goodness_of_fit().share)
    assert model.goodness_of_fit().pairs.sum() == 0


def test_three_observations_are_enough():
    model = MCGTA(n_neighbors=2, semivariogram="empirical").fit([[0.0], [1.0], [5.0]])
    assert model.labels_.shape == (3,)
    assert np.isfinite(model.objective_.total)


@pytest.mark.parametrize("i", [-1, 120])
def test_a_pair_test_of_a_row_that_is_not_there_is_refused(series, i):
    model = MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical").fit(series.X)
    with pytest.raises(ValueError, match=f"i={i} is not a row: there are 120 observations"):
        model.pair_test(i, 0)


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_predict_is_told_by_true_or_false_whether_strengths_are_wanted(series, value):
    model = MCGTA(n_neighbors=6, eps=4.0).fit(series.X, positions=series.positions)
    with pytest.raises(ValueError, match=r"return_probabilities=.* is not allowed: .* must be True or False"):
        model.predict(series.X[:3], positions=series.positions[:3], return_probabilities=value)
