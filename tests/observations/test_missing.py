"""Rows with missing values: refused, left out, or completed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mcgta import MCGTA, load, stability, tune
from mcgta.observations.imputation import NEAREST_OBSERVATIONS, impute
from mcgta.observations.missing import MissingValueWarning
from mcgta.positions.reading import read_positions

GAPS = [3, 45, 100]


def model(**params):
    return MCGTA(**{"n_neighbors": 6, "eps": 4.0, "semivariogram": "empirical", "missing": "drop", **params})


def holed(X, rows=tuple(GAPS), column=0):
    X = X.copy()
    X[list(rows), column] = np.nan
    return X


def others(count, rows=tuple(GAPS)):
    return np.setdiff1d(np.arange(count), list(rows))


@pytest.fixture(scope="module")
def dropped(series):
    with pytest.warns(MissingValueWarning, match="3 of 120 rows have missing values and are labelled -1; row 3"):
        return model().fit(holed(series.X), positions=series.positions)


@pytest.fixture(scope="module")
def rest(series):
    kept = others(120)
    return model().fit(series.X[kept], positions=series.positions[kept])


def test_missing_features_are_refused_with_rows_columns_and_the_setting(series):
    X = pd.DataFrame(holed(series.X), columns=["speed", "torque"])
    with pytest.raises(ValueError, match=r"column 'speed' holds NaN in 3 rows \(3, 45, 100\); .* set missing='drop'"):
        model(missing="error").fit(X, positions=series.positions)


def test_missing_positions_are_refused_with_the_row_and_the_setting(series):
    times = series.positions.copy()
    times[7] = np.nan
    with pytest.raises(ValueError, match=r"missing or infinite in 1 rows, the first is row 7; .*missing='drop'"):
        model(missing="error").fit(series.X, positions=times)


def test_rows_left_out_keep_their_place_and_others_are_fitted_as_if_they_were_not_there(dropped, rest):
    kept = others(120)
    assert dropped.labels_.shape == (120,)
    assert (dropped.labels_[GAPS] == -1).all()
    np.testing.assert_array_equal(dropped.labels_[kept], rest.labels_)
    np.testing.assert_array_equal(dropped.probabilities_[kept], rest.probabilities_)
    assert (dropped.probabilities_[GAPS] == 0).all()
    assert dropped.failed_[3] == "missing value in column 0"


def test_a_missing_position_leaves_a_row_out_whatever_its_features(series):
    times = series.positions.copy()
    times[7] = np.nan
    for rule in ("drop", "impute"):
        with pytest.warns(MissingValueWarning, match="1 of 120 rows .* row 7: missing position"):
            fitted = model(missing=rule).fit(series.X, positions=times)
        assert fitted.labels_[7] == -1
        np.testing.assert_array_equal(np.delete(fitted.labels_, 7), np.delete(series.truth, 7))


def test_infinite_features_and_positions_are_refused_whatever_the_setting(series):
    X = series.X.copy()
    X[5, 1] = np.inf
    with pytest.raises(ValueError, match=r"column 1 holds infinity in 1 row \(5\)"):
        model().fit(X, positions=series.positions)
    times = series.positions.copy()
    times[8] = np.inf
    with pytest.raises(ValueError, match="infinite in 1 rows, the first is row 8"):
        model().fit(series.X, positions=times)


def test_a_feature_without_any_value_is_refused_by_name(series):
    X = pd.DataFrame({"speed": series.X[:, 0], "empty": np.full(120, np.nan)})
    with pytest.raises(ValueError, match="column 'empty' has no value at all; leave it out"):
        model(missing="impute").fit(X, positions=series.positions)


def test_nothing_is_said_or_changed_where_nothing_is_missing(series):
    plain = model(missing="error").fit(series.X, positions=series.positions)
    for rule in ("drop", "impute"):
        fitted = model(missing=rule).fit(series.X, positions=series.positions)
        np.testing.assert_array_equal(fitted.labels_, plain.labels_)
        np.testing.assert_array_equal(fitted.probabilities_, plain.probabilities_)


def test_imputing_says_how_many_and_how(series):
    with pytest.warns(
        MissingValueWarning, match="3 missing values in 3 of 120 rows are imputed by interpolation along"
    ):
        fitted = model(missing="impute").fit(holed(series.X), positions=series.positions)
    np.testing.assert_array_equal(fitted.labels_, series.truth)


def test_places_are_imputed_from_the_nearest_ones(plane):
    with pytest.warns(MissingValueWarning, match="imputed by the mean of the 8 nearest observations that have them"):
        fitted = model(missing="impute").fit(holed(plane.X), positions=plane.positions)
    np.testing.assert_array_equal(fitted.labels_, plane.truth)


def test_interpolation_is_that_of_numpy_within_each_group():
    times = np.array([0.0, 1.0, 3.0, 4.0, 0.0, 1.0])
    X = np.array([[0.0], [np.nan], [6.0], [np.nan], [np.nan], [9.0]])
    places = read_positions(times, 6, groups=list("aaaabb"))
    found = impute(X, places, np.array([5.0]))
    np.testing.assert_allclose(found.X[:, 0], [0.0, 2.0, 6.0, 6.0, 9.0, 9.0])


def test_the_mean_is_of_the_nearest_observations_that_have_the_value(plane):
    X = holed(plane.X, (0, 1, 2))
    found = impute(X, read_positions(plane.positions, 128), np.zeros(2)).X
    known = others(128, (0, 1, 2))
    for row in (0, 1, 2):
        apart = np.linalg.norm(plane.positions[known] - plane.positions[row], axis=1)
        near = known[np.argsort(apart)[:NEAREST_OBSERVATIONS]]
        assert found[row, 0] == pytest.approx(X[near, 0].mean())


def test_imputation_does_not_depend_on_the_order_of_the_rows(plane):
    X = holed(plane.X)
    order = np.random.default_rng(0).permutation(128)
    one = impute(X, read_positions(plane.positions, 128), np.zeros(2)).X
    two = impute(X[order], read_positions(plane.positions[order], 128), np.zeros(2)).X
    np.testing.assert_array_equal(one[order], two)


@pytest.mark.parametrize("wrap", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_nulls_of_frames_are_missing(series, dropped, wrap):
    columns = {"a": holed(series.X)[:, 0].tolist(), "b": series.X[:, 1].tolist()}
    columns["a"] = [None if value != value else value for value in columns["a"]]
    with pytest.warns(MissingValueWarning, match="row 3: missing value in column 'a'"):
        fitted = model().fit(wrap(columns), positions=series.positions)
    np.testing.assert_array_equal(fitted.labels_, dropped.labels_)


def test_masked_cells_are_missing(series, dropped):
    X = np.ma.masked_invalid(holed(series.X))
    with pytest.warns(MissingValueWarning, match="3 of 120 rows"):
        fitted = model().fit(X, positions=series.positions)
    np.testing.assert_array_equal(fitted.labels_, dropped.labels_)


def test_predicted_rows_with_missing_values_are_noise_or_completed(series, dropped):
    X = holed(series.X[:30], (4,))
    times = series.positions[:30] + 0.01
    with pytest.warns(MissingValueWarning, match="1 of 30 new rows .* row 4"):
        labels, strengths = dropped.predict(X, positions=times, return_probabilities=True)
    assert labels[4] == -1
    assert strengths[4] == 0
    np.testing.assert_array_equal(np.delete(labels, 4), np.delete(series.truth[:30], 4))
    fitted = model(missing="impute").fit(series.X, positions=series.positions)
    with pytest.warns(MissingValueWarning, match="1 missing values in 1 of 30 new rows are imputed"):
        labels = fitted.predict(X, positions=times)
    np.testing.assert_array_equal(labels, series.truth[:30])


def test_appended_rows_with_missing_values_keep_their_place(series):
    X = holed(series.X)
    with pytest.warns(MissingValueWarning, match="2 of 80 rows"):
        grown = model().fit(X[:80], positions=series.positions[:80])
    with pytest.warns(MissingValueWarning, match="1 of 40 new rows .* row 20"):
        grown.append(X[80:], positions=series.positions[80:])
    assert grown.labels_.shape == (120,)
    assert np.flatnonzero(grown.labels_ == -1).tolist() == GAPS
    assert list(grown.failed_) == GAPS


@pytest.mark.parametrize("missing", ["drop", "impute"])
def test_a_frame_with_times_and_groups_may_have_gaps_in_its_whole_life(series, missing):
    times = pd.Timestamp("2024-03-30", tz="Europe/Berlin") + pd.to_timedelta(
        (series.positions * 3.6e12).astype(np.int64)
    )
    frame = pd.DataFrame(holed(series.X), columns=["speed", "torque"], index=times)
    cars = pd.Categorical(np.repeat(["blue", "red"], 60))
    gone = GAPS if missing == "drop" else []
    with pytest.warns(MissingValueWarning, match=r"(2 of 80 rows have|2 missing values in 2 of 80 rows)"):
        fitted = model(missing=missing).fit(frame[:80], groups=cars[:80])
    with pytest.warns(MissingValueWarning, match="80 new rows"):
        labels = fitted.predict(frame[:80], groups=cars[:80])
    np.testing.assert_array_equal(labels, fitted.labels_)
    with pytest.warns(MissingValueWarning, match="40 new rows"):
        fitted.append(frame[80:], groups=cars[80:])
    result = fitted.to_frame()
    assert result.index.equals(frame.index)
    assert np.flatnonzero(result["is_noise"]).tolist() == gone
    np.testing.assert_array_equal(np.delete(result["cluster"], gone), np.delete(series.truth, gone))


def test_a_time_that_is_missing_in_the_index_leaves_its_row_out(series):
    times = pd.date_range("2024", periods=120, freq="h").to_numpy().copy()
    times[[3, 45]] = np.datetime64("NaT")
    frame = pd.DataFrame(series.X, columns=["speed", "torque"], index=pd.DatetimeIndex(times))
    with pytest.warns(MissingValueWarning, match="2 of 120 rows .* row 3: missing position"):
        fitted = model().fit(frame)
    assert list(fitted.failed_) == [3, 45]


def test_a_saved_fit_knows_which_rows_were_left_out(dropped, tmp_path):
    dropped.save(tmp_path / "fit.mcgta")
    again = load(tmp_path / "fit.mcgta")
    np.testing.assert_array_equal(again.labels_, dropped.labels_)
    assert again.failed_ == dropped.failed_
    assert again.missing == "drop"


def test_a_description_counts_rows_left_out_and_names_typical_rows_of_the_user(dropped, rest):
    told = dropped.describe()
    assert told.n_rows == 120
    assert told.noise_reasons == {"missing value": 3}
    assert told.noise_share == pytest.approx(3 / 120)
    kept = others(120)
    for one, two in zip(told.clusters, rest.describe().clusters, strict=True):
        assert one.typical_rows == tuple(kept[list(two.typical_rows)].tolist())


def test_a_refit_and_the_search_for_stability_go_by_the_rows_that_are_there(dropped, rest):
    other = dropped.refit(eps=3.0)
    np.testing.assert_array_equal(other.labels_[others(120)], rest.refit(eps=3.0).labels_)
    assert (other.labels_[GAPS] == -1).all()
    told = stability(dropped, n_resamples=3, progress=False)
    assert told.observations.shape == (120,)
    assert np.isnan(told.observations[GAPS]).all()


def test_tuning_leaves_the_same_rows_out(series):
    with pytest.warns(MissingValueWarning, match="3 of 120 rows"):
        found = tune(
            holed(series.X),
            series.truth,
            positions=series.positions,
            estimator=model(eps="auto"),
            grid={"n_neighbors": [5, 6]},
            progress=False,
        )
    assert np.flatnonzero(found.best_estimator.labels_ == -1).tolist() == GAPS


def test_rows_of_given_distances_may_lack_features(plane):
    table = np.linalg.norm(plane.positions[:, None] - plane.positions[None], axis=2)
    with pytest.warns(MissingValueWarning, match="3 of 128 rows"):
        fitted = model(metric="precomputed").fit(holed(plane.X), positions=table)
    clusters = 1 - plane.truth  # numbered by rows, since there are no coordinates
    np.testing.assert_array_equal(fitted.labels_[others(128)], clusters[others(128)])
    labels = fitted.predict(plane.X[:5], positions=table[:5])
    np.testing.assert_array_equal(np.delete(labels, 3), np.delete(clusters[:5], 3))


def test_a_setting_that_is_none_of_the_three_is_refused(series):
    with pytest.raises(ValueError, match="missing='ignore'"):
        model(missing="ignore").fit(series.X)
