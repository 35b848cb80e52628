"""Pipelines and searches of scikit-learn, with its metadata routing on and off."""

from __future__ import annotations

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from mcgta import MCGTA, BlockSplit, LabelScorer


def model(**params):
    return MCGTA(**{"n_neighbors": 6, "eps": 1.0, "semivariogram": "empirical", **params})


def map_model(**params):
    return model(**{"eps": 4.0, "metric": "euclidean", **params})


def pipeline(**params):
    return make_pipeline(StandardScaler(), model(**params))


def names(routing, **given):
    """Return fit parameters as scikit-learn takes them: by their own name, or with that of the step where routing is off."""
    return given if routing else {f"mcgta__{name}": value for name, value in given.items()}


@pytest.fixture(params=[True, False], ids=["routing on", "routing off"])
def routing(request):
    with sklearn.config_context(enable_metadata_routing=request.param):
        yield request.param


@pytest.fixture
def routed():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


# ---------------------------------------------------------------------- pipelines


def test_positions_and_groups_reach_the_last_step(plane, routing):
    groups = np.repeat(["a", "b"], 64)
    fitted = pipeline()
    labels = fitted.fit_predict(plane.X, **names(routing, positions=plane.positions, groups=groups))
    np.testing.assert_array_equal(labels, plane.truth)
    assert fitted[-1].positions_.group_names.tolist() == ["a", "b"]
    np.testing.assert_array_equal(fitted[-1].positions_.coordinates, plane.positions)


def test_a_step_of_any_name_gets_them_where_routing_is_on(plane, routed):
    fitted = Pipeline([("scale", StandardScaler()), ("states", model())]).fit(plane.X, positions=plane.positions)
    np.testing.assert_array_equal(fitted[-1].labels_, plane.truth)


def test_without_routing_scikit_learn_says_how_to_name_them(plane):
    with pytest.raises(ValueError, match=r"does not accept the positions parameter.*stepname__parameter"):
        pipeline().fit(plane.X, positions=plane.positions)


def test_new_observations_are_placed_through_a_pipeline(plane, routing):
    fitted = pipeline().fit(plane.X, **names(routing, positions=plane.positions))
    np.testing.assert_array_equal(fitted.predict(plane.X, positions=plane.positions), plane.truth)
    chances = fitted.predict_proba(plane.X, positions=plane.positions)
    np.testing.assert_array_equal(chances.argmax(axis=1), plane.truth)


def test_names_of_features_go_through_where_transformers_give_frames(plane, routing):
    frame = pd.DataFrame(plane.X, columns=["speed", "torque"], index=[f"row {k}" for k in range(128)])
    fitted = pipeline().set_output(transform="pandas").fit(frame, **names(routing, positions=plane.positions))
    assert fitted[-1].feature_names_in_.tolist() == ["speed", "torque"]
    assert fitted[-1].to_frame().index.equals(frame.index)


def test_an_index_of_times_goes_through_with_the_frame(series, routing):
    times = pd.date_range("2024", periods=120, freq="h", tz="Asia/Tokyo")
    frame = pd.DataFrame(series.X, columns=["speed", "torque"], index=times)
    fitted = pipeline().set_output(transform="pandas").fit(frame)
    assert fitted[-1].positions_.unit == "s"
    np.testing.assert_array_equal(fitted.predict(frame), fitted[-1].labels_)


def test_missing_values_may_be_filled_in_by_a_step_before_or_left_out(plane, routing):
    X = plane.X.copy()
    X[4, 0] = np.nan
    given = names(routing, positions=plane.positions)
    filled = make_pipeline(SimpleImputer(), model(eps=4.0)).fit(X, **given)
    assert filled[-1].missing_ is None
    with pytest.warns(UserWarning, match="1 of 128 rows have missing values"):
        left = pipeline(missing="drop").fit_predict(X, **given)
    assert left[4] == -1


def test_a_clone_of_a_pipeline_has_the_same_parameters(plane, routing):
    fitted = pipeline(beta=2.0).fit(plane.X, **names(routing, positions=plane.positions))
    copy = clone(fitted)
    assert copy[-1].get_params() == fitted[-1].get_params()
    assert not hasattr(copy[-1], "labels_")
    again = copy.fit_predict(plane.X, **names(routing, positions=plane.positions))
    np.testing.assert_array_equal(again, fitted[-1].labels_)


# ---------------------------------------------------------------------- searches


def search(estimator, step="", **options):
    return GridSearchCV(estimator, {f"{step}n_neighbors": [5, 6]}, **{"scoring": LabelScorer(), "cv": 2, **options})


@pytest.mark.parametrize(
    ("estimator", "step"), [(map_model(), ""), (pipeline(metric="euclidean"), "mcgta__")], ids=["alone", "pipeline"]
)
def test_a_search_splits_positions_like_features(plane, routed, estimator, step):
    found = search(estimator, step).fit(plane.X, plane.truth, positions=plane.positions)
    assert found.best_score_ > 0.5
    best = found.best_estimator_ if step == "" else found.best_estimator_[-1]
    np.testing.assert_array_equal(best.positions_.coordinates, plane.positions)


def test_a_search_may_split_by_blocks_of_positions(plane, routed):
    found = search(map_model(), cv=BlockSplit(2)).fit(plane.X, plane.truth, positions=plane.positions)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()


def test_cross_validation_hands_positions_on(plane, routed):
    scores = cross_val_score(
        map_model(), plane.X, plane.truth, scoring=LabelScorer(), cv=2, params={"positions": plane.positions}
    )
    assert (scores > 0.5).all()


def test_without_routing_a_scorer_gets_no_positions_and_says_what_to_do(plane):
    found = search(map_model(), error_score="raise")
    with pytest.raises(ValueError, match="positions is needed: the fit had positions") as caught:
        found.fit(plane.X, plane.truth, positions=plane.positions)
    assert any("enable_metadata_routing=True" in note for note in caught.value.__notes__)


@pytest.mark.filterwarnings("ignore:9 of 60 new observations are unlike anything in the fit")
def test_positions_that_are_part_of_the_frame_need_no_routing(plane, series, routing):
    points = gpd.points_from_xy(*(1000 * plane.positions + [400_000, 5_500_000]).T, crs=32633)
    stations = gpd.GeoDataFrame({"ozone": plane.X[:, 0], "dust": plane.X[:, 1]}, geometry=points)
    assert search(model(eps=4.0), scoring="adjusted_rand_score").fit(stations, plane.truth).best_score_ > 0.5
    times = pd.date_range("2024", periods=120, freq="h")
    readings = pd.DataFrame(series.X, columns=["speed", "torque"], index=times)
    found = search(model(refine="all", n_clusters=2, eps="auto")).fit(readings, series.truth)
    assert found.best_estimator_.positions_.unit == "s"
    assert found.best_score_ > 0.5
