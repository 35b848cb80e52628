"""What people's data and habits bring along, and what must still come out right."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.cluster import AffinityPropagation, KMeans, SpectralClustering

from builders.work import on_threads
from mcgta import MCGTA, GaussianMixturePrior, read_positions
from mcgta.positions.metrics import SpaceTime
from mcgta.runtime.memory import MemoryNeed
from mcgta.stages import find_neighborhoods, fit_local_models, local_models
from mcgta.stages.semivariogram.binning import lag_edges


def make(**params):
    return MCGTA(**{"n_neighbors": 6, "eps": 4.0, "semivariogram": "empirical", **params})


def manhattan(a, b):
    return float(np.abs(a - b).sum())


def days(count, start="2026-01-01"):
    return pd.date_range(start, periods=count, freq="D")


def test_daily_dates_fit_a_theoretical_model_with_a_range_in_seconds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    plain = MCGTA(n_neighbors=10, eps=0.23, bins=lag_edges(60.0)).fit(X)
    dated = MCGTA(n_neighbors=10, eps=0.23, bins=lag_edges(60.0 * 86_400)).fit(X, positions=days(200))
    assert plain.semivariogram_.model == dated.semivariogram_.model == "spherical"
    assert dated.semivariogram_.range_ == pytest.approx(86_400 * plain.semivariogram_.range_, rel=1e-6)
    np.testing.assert_array_equal(dated.labels_, plain.labels_)


def test_a_function_of_dates_predicts_with_dates(series):
    times = days(120)
    model = make(metric=manhattan).fit(series.X, positions=times)
    np.testing.assert_array_equal(model.predict(series.X, positions=times), model.labels_)


def test_a_callable_metric_knows_the_observations_of_the_fit_again(plane):
    model = make(metric=manhattan).fit(plane.X, positions=plane.positions)
    np.testing.assert_array_equal(model.predict(plane.X, positions=plane.positions), model.labels_)


def test_space_and_timedeltas_predict_with_timedeltas(plane):
    when = pd.to_timedelta(np.arange(128), unit="s")
    places = pd.DataFrame({"x": plane.positions[:, 0], "y": plane.positions[:, 1], "t": when})
    model = make(metric=SpaceTime(1e-3)).fit(plane.X, positions=places)
    np.testing.assert_array_equal(model.predict(plane.X, positions=places), model.labels_)


@pytest.mark.parametrize("bad", ["metric", "number"])
def test_a_function_must_return_numbers_the_same_both_ways(plane, bad):
    function = {"metric": lambda a, b: float(max(a[0] - b[0], 0.0)), "number": lambda a, b: None}[bad]
    with pytest.raises(ValueError, match=r"must be (symmetric|numbers)"):
        make(metric=function).fit(plane.X, positions=plane.positions)


def test_a_failed_fit_leaves_the_earlier_one_as_it_was(series):
    model = make().fit(series.X, positions=series.positions)
    before = model.predict(series.X[:10] + 0.01, positions=series.positions[:10] + 0.01)
    with pytest.raises(ValueError, match="n_neighbors=500"):
        model.set_params(n_neighbors=500).fit(series.X[:50] * 2)
    model.set_params(n_neighbors=6)
    after = model.predict(series.X[:10] + 0.01, positions=series.positions[:10] + 0.01)
    np.testing.assert_array_equal(after, before)


def test_models_passed_back_keep_the_prior_for_prediction(series):
    first = make(prior=GaussianMixturePrior(n_components=2)).fit(series.X, positions=series.positions)
    again = first.refit(local_models=first.local_models_)
    new, when = series.X[:20] + 0.1, series.positions[:20] + 0.05
    strengths = [model.predict(new, positions=when, return_probabilities=True)[1] for model in (first, again)]
    np.testing.assert_array_equal(strengths[1], strengths[0])


def test_singular_models_passed_back_are_reported_where_they_cannot_be_compared(series):
    singular = make(n_neighbors=2, covariance="empirical").fit(series.X, positions=series.positions).local_models_
    with pytest.raises(ValueError, match="singular"):
        make(dissimilarity="kl").fit(series.X, positions=series.positions).refit(local_models=singular)


def test_dates_beyond_nanoseconds_are_refused_not_wrapped(series):
    times = np.datetime64("1600-01-01") + np.arange(120) * np.timedelta64(3650, "D")
    with pytest.raises(ValueError, match="1600-01-01 in row 0, outside the years 1678 to 2261"):
        make().fit(series.X, positions=times)


@pytest.mark.parametrize("missing", [None, pd.NaT])
def test_a_missing_date_is_reported_with_its_own_row(series, missing):
    times = [datetime.datetime(2026, 1, 1) + datetime.timedelta(days=k) for k in range(120)]
    times[7] = missing
    with pytest.raises(ValueError, match=r"missing or infinite in 1 rows, the first is row 7"):
        make().fit(series.X, positions=np.array(times, dtype=object))


def test_a_missing_group_of_pandas_is_reported_with_its_row(series):
    groups = pd.array(["a"] * 119 + [None], dtype="string")
    with pytest.raises(ValueError, match="groups has 1 missing labels, the first in row 119"):
        make().fit(series.X, positions=series.positions, groups=groups)


def test_groups_of_mixed_types_are_not_merged_by_their_text(series):
    with pytest.raises(ValueError, match="groups mixes labels of types int, str"):
        make().fit(series.X, positions=series.positions, groups=[1] * 60 + ["1"] * 60)


def test_prediction_wants_groups_of_the_type_of_the_fit(series):
    model = make().fit(series.X, positions=series.positions, groups=np.repeat([0, 1], 60))
    with pytest.raises(ValueError, match=r"groups holds text, such as .*'0'.*, but those of the fit were numbers"):
        model.predict(series.X, positions=series.positions, groups=np.repeat(["0", "1"], 60))


def test_a_single_named_group_need_not_be_named_again(series):
    model = make().fit(series.X, positions=series.positions, groups=["car"] * 120)
    np.testing.assert_array_equal(model.predict(series.X, positions=series.positions), model.labels_)


@pytest.mark.parametrize("columns", [1, 3])
def test_prediction_wants_as_many_columns_of_positions_as_the_fit(plane, columns):
    model = make().fit(plane.X, positions=plane.positions)
    with pytest.raises(ValueError, match=f"positions has {columns} columns, but those of the fit had 2"):
        model.predict(plane.X, positions=np.zeros((128, columns)))


@pytest.mark.parametrize(
    "clusterer", [SpectralClustering(2, affinity="precomputed"), AffinityPropagation(affinity="precomputed"), KMeans(2)]
)
def test_clusterers_that_would_misread_the_loss_are_refused(series, clusterer):
    with pytest.raises(ValueError, match=r"clusterer=.*(affinities|precomputed)"):
        make(eps="auto", clusterer=clusterer).fit(series.X)


@pytest.mark.parametrize("table", [np.zeros((120, 120), dtype=complex), np.full((120, 120), "1.0")])
def test_tables_of_distances_hold_real_numbers(series, table):
    with pytest.raises(ValueError, match=r"positions: the table of distances holds .*, it must hold real numbers"):
        make(metric="precomputed").fit(series.X, positions=table)


@pytest.mark.parametrize("X", [[["a", "b"]] * 40, np.full((40, 2), 1 + 2j)])
def test_features_that_are_no_numbers_are_refused_by_name(X):
    with pytest.raises(ValueError, match=r"^X: "):
        make().fit(X)


def test_features_too_large_to_square_are_refused(series):
    with pytest.raises(ValueError, match=r"X holds .*e\+160, which is too large to square, in column \d;"):
        make().fit(series.X * 1e160)


def test_a_constant_column_matters_to_angles_and_is_not_called_useless(series):
    X = np.column_stack([series.X, np.full(120, 3.0)])
    make(dissimilarity="cosine", eps=0.05).fit(X, positions=series.positions)  # warnings are errors here


def test_lags_in_a_plane_leave_a_tiny_group_to_be_reported(plane):
    groups = np.zeros(128, dtype=int)
    groups[-2:] = 1
    with pytest.warns(UserWarning, match="2 of 128 observations have no model"):
        model = make(lags=3).fit(plane.X, positions=plane.positions, groups=groups)
    assert set(model.failed_) == {126, 127}


def test_minus_zero_is_the_same_place_as_zero(series):
    times = np.arange(120.0)
    model = make().fit(series.X, positions=times)
    times[0] = -0.0
    np.testing.assert_array_equal(model.predict(series.X, positions=times), model.labels_)


def test_a_tiny_group_does_not_decide_the_neighbourhoods_of_all():
    X = np.random.default_rng(0).normal(size=(303, 2))
    groups = np.repeat(["drive", "test"], [300, 3])
    with pytest.warns(UserWarning, match="3 of 303 observations have no model"):
        model = MCGTA(semivariogram="empirical", eps=0.1).fit(X, groups=groups)
    assert model.n_neighbors_ == 30


def test_many_features_leave_no_warning_filter_behind():
    X = np.random.default_rng(0).normal(size=(120, 34))
    neighborhoods = find_neighborhoods(read_positions(None, 120), 60)
    before = list(warnings.filters)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_models, "_MOST_ROWS", 60)
        one = fit_local_models(X, neighborhoods, alpha=0.1)
        two = on_threads(2, lambda: fit_local_models(X, neighborhoods, alpha=0.1))
    assert list(warnings.filters) == before
    np.testing.assert_array_equal(one.covariances, two.covariances)


def test_more_observations_than_memory_are_refused_with_the_arithmetic():
    said = (
        r"3 x 8 x 10000000\^2 bytes, and 8 x 124 bytes for each: 2.4e\+03 TB, but max_memory allows 8.59 GB .*; at most"
    )
    with pytest.raises(MemoryError, match=said):
        MemoryNeed(10_000_000, 3, dense=True).check(2**33)
    MemoryNeed(18_897, 3, dense=True).check(2**33)
    with pytest.raises(MemoryError, match="18898 observations"):
        MemoryNeed(18_898, 3, dense=True).check(2**33)


# ---------------------------------------------------------------------- containers that hold no table of numbers


@pytest.mark.parametrize(
    ("wrap", "said"),
    [
        (lambda X: pl.DataFrame(X).lazy(), r"X is a LazyFrame, which holds no values yet; pass X.collect\(\)"),
        (lambda X: pd.DataFrame(X).astype(pd.SparseDtype(float)), r"X has sparse columns; pass X.sparse.to_dense\(\)"),
        (lambda X: [{"speed": a, "torque": b} for a, b in X], r"X is a list of dicts; pass .*pandas.DataFrame\(X\)"),
        (lambda X: "readings.csv", r"X='readings.csv' is a text; pass the values, such as frame\['readings.csv'\]"),
    ],
    ids=["lazy", "sparse", "dicts", "text"],
)
def test_what_is_no_table_of_numbers_is_refused_with_the_cure(series, wrap, said):
    with pytest.raises(ValueError, match=said):
        make().fit(wrap(series.X))


@pytest.mark.parametrize(
    ("wrap", "codes"),
    [
        (lambda frame, codes: pd.DataFrame(frame).assign(gear=pd.Categorical(codes)), [1, 2]),
        (lambda frame, codes: pd.DataFrame(frame).assign(gear=pd.Categorical(codes)), ["a", "b"]),
        (
            lambda frame, codes: pl.DataFrame(frame).with_columns(gear=pl.Series(codes, dtype=pl.Categorical)),
            ["a", "b"],
        ),
        (lambda frame, codes: pa.table({**frame, "gear": pa.array(codes).dictionary_encode()}), ["a", "b"]),
    ],
    ids=["pandas numbers", "pandas text", "polars", "pyarrow"],
)
def test_categories_are_no_features_even_where_they_are_numbers(series, wrap, codes):
    frame = {"speed": series.X[:, 0], "torque": series.X[:, 1]}
    with pytest.raises(ValueError, match=rf"X: column 'gear' holds categories, such as {codes[0]!r}; encode them"):
        make().fit(wrap(frame, codes * 60))


def test_the_name_of_a_column_is_not_the_column(series):
    frame = pd.DataFrame(series.X, columns=["speed", "torque"])
    with pytest.raises(
        ValueError, match=r"groups must hold one label .*pass the labels themselves, such as frame\['car'\]"
    ):
        make().fit(frame, groups="car")
    with pytest.raises(ValueError, match=r"positions='time' is a text; pass the values, such as frame\['time'\]"):
        make().fit(frame, positions="time")
