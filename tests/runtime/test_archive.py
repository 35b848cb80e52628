"""Saving and loading: what was kept comes back, and works as before."""

from __future__ import annotations

import json
import os
import stat
import zipfile

import numpy as np
import pytest

from mcgta import MCGTA, ArchiveError, GaussianMixturePrior, load, read_positions
from mcgta.positions.metrics import Metric, SpaceTime
from mcgta.runtime import archive
from mcgta.stages import find_neighborhoods
from mcgta.stages.local_models import LocalModels
from mcgta.stages.prior import MixturePrior


def _hypotenuse(a, b):
    return float(np.hypot(*(a - b)))


def _fit(X, positions, groups=None, **params):
    params = {"n_neighbors": 6, "eps": 4.0, "semivariogram": "empirical", **params}
    return MCGTA(**params).fit(X, positions=positions, groups=groups)


def _time(series, plane):
    return _fit(series.X, series.positions, semivariogram="exponential"), series.positions, None


def _steps(series, plane):
    return _fit(series.X, None), None, None


def _text_groups(series, plane):
    groups = np.where(plane.positions[:, 0] > 9, "east", "wéstern")
    return _fit(plane.X, plane.positions, groups), plane.positions, groups


def _sphere(series, plane):
    degrees = plane.positions + np.array([170, 30])
    return _fit(plane.X, degrees, metric="haversine"), degrees, None


def _spacetime(series, plane):
    import pandas

    when = pandas.to_datetime("2024-01-01") + pandas.to_timedelta(np.arange(128) % 8, unit="min")
    frame = pandas.DataFrame({"x": plane.positions[:, 0], "y": plane.positions[:, 1], "when": when})
    return _fit(plane.X, frame, metric=SpaceTime(time_scale=1 / 600)), frame, None


def _precomputed(series, plane):
    table = np.linalg.norm(plane.positions[:, None] - plane.positions[None], axis=2)
    return _fit(plane.X, table, metric="precomputed"), table, None


def _prior(series, plane):
    return _fit(series.X, series.positions, prior=GaussianMixturePrior(2)), series.positions, None


def _lags(series, plane):
    return _fit(series.X, series.positions, lags=2, eps=10.0, weights="triangular"), series.positions, None


def _sampled(series, plane):
    fitted = _fit(series.X, series.positions, dissimilarity="js", eps=0.6, random_state=np.random.RandomState(3))
    return fitted, series.positions, None


def _features(series, plane):
    fitted = _fit(series.X, series.positions, dissimilarity="euclidean", clusterer="hdbscan", min_cluster_size=30)
    return fitted, series.positions, None


def _failed(series, plane):
    groups = np.repeat([7, 8], [116, 4])
    with pytest.warns(UserWarning, match="no model"):
        return _fit(series.X, series.positions, groups), series.positions, groups


def _given_stages(series, plane):
    first = _fit(series.X, series.positions)
    given = {"semivariogram": first.semivariogram_, "bins": np.array([0.0, 1, 2])}
    fitted = _fit(series.X, series.positions, **given).refit(local_models=first.local_models_)
    return fitted, series.positions, None


KINDS = [
    _time,
    _steps,
    _text_groups,
    _sphere,
    _spacetime,
    _precomputed,
    _prior,
    _lags,
    _sampled,
    _features,
    _failed,
    _given_stages,
]


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__.strip("_"))
def test_a_loaded_estimator_has_predicts_refits_and_tests_as_the_saved_one(series, plane, make, tmp_path):
    model, positions, groups = make(series, plane)
    model.save(tmp_path / "model.mcgta")
    again = load(tmp_path / "model.mcgta")
    assert type(again) is MCGTA
    for name in ("labels_", "probabilities_", "core_sample_indices_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name), strict=True)
    for name in ("noise_share_", "n_clusters_", "n_neighbors_", "min_samples_", "eps_", "failed_", "n_features_in_"):
        np.testing.assert_equal(getattr(again, name), getattr(model, name))
    assert again.dissimilarity_error_ == model.dissimilarity_error_
    assert vars(again.objective_) == vars(model.objective_)
    rng = np.random.default_rng(0)
    X = model.fitted_.data.raw
    X_new = X + rng.normal(0, 0.01, X.shape)
    few = slice(0, 40) if groups is None else slice(None)
    at = None if positions is None else positions[few]
    given = {"positions": at, "groups": None if groups is None else groups[few]}
    expected = model.predict(X_new[few], **given, return_probabilities=True)
    assert np.any(expected[0] >= 0)
    np.testing.assert_array_equal(again.predict(X_new[few], **given, return_probabilities=True), expected)
    change = {"beta": 2.0, "min_samples": 4}
    one, two = model.refit(**change), again.refit(**change)
    np.testing.assert_array_equal(two.labels_, one.labels_)
    assert two.objective_.total == pytest.approx(one.objective_.total, rel=1e-12)
    np.testing.assert_array_equal(again.goodness_of_fit().passed, model.goodness_of_fit().passed)
    assert again.pair_test(0, 1) == model.pair_test(0, 1)


def test_parameters_come_back_and_a_loaded_estimator_fits_again(series, tmp_path):
    model, positions, _ = _lags(series, None)
    model.save(tmp_path / "model.mcgta")
    again = load(tmp_path / "model.mcgta")
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.fit(series.X, positions=positions).labels_, model.labels_)


def test_a_random_state_without_a_number_is_saved_as_the_seed_that_was_used(series, tmp_path):
    model, positions, _ = _sampled(series, None)
    model.save(tmp_path / "model.mcgta")
    again = load(tmp_path / "model.mcgta")
    assert isinstance(again.random_state, int)
    assert again.fit(series.X, positions=positions).objective_.total == model.objective_.total


def test_a_model_that_is_all_noise_can_be_kept(series, tmp_path):
    model = _fit(series.X, series.positions, min_samples=1000)
    model.save(tmp_path / "model.mcgta")
    again = load(tmp_path / "model.mcgta")
    assert again.n_clusters_ == 0
    assert again.core_sample_indices_.shape == (0,)
    np.testing.assert_array_equal(again.predict(series.X + 0.1, positions=series.positions), -1)


def test_feature_names_come_back_and_are_checked(series, tmp_path):
    import pandas

    X = pandas.DataFrame(series.X, columns=["speed", "größe"])
    model = _fit(X, series.positions)
    model.save(tmp_path / "model.mcgta")
    again = load(tmp_path / "model.mcgta")
    np.testing.assert_array_equal(again.feature_names_in_, model.feature_names_in_, strict=True)
    np.testing.assert_array_equal(again.predict(X, positions=series.positions), model.labels_)
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(X[X.columns[::-1]], positions=series.positions)


def test_local_models_come_back_with_their_failures(series, plane, tmp_path):
    model, _, _ = _failed(series, plane)
    model.local_models_.save(tmp_path / "models")
    again = load(tmp_path / "models")
    np.testing.assert_array_equal(again.means, model.local_models_.means, strict=True)
    np.testing.assert_array_equal(again.covariances, model.local_models_.covariances, strict=True)
    assert again.failures == model.local_models_.failures
    assert len(again.failures) == 4


@pytest.mark.parametrize("name", ["exponential", "matern", "empirical"])
def test_a_semivariogram_comes_back_as_the_same_function(series, name, tmp_path):
    curve = _fit(series.X, series.positions, semivariogram=name).semivariogram_
    curve.save(tmp_path / "curve")
    again = load(tmp_path / "curve")
    h = np.r_[np.linspace(0, 2 * curve.max_lag, 50), np.inf]
    np.testing.assert_array_equal(again(h), curve(h))
    for field in ("range_", "sill_", "nugget_", "length", "shape", "r2", "edges", "lags", "values", "counts"):
        np.testing.assert_array_equal(getattr(again, field), getattr(curve, field))
    assert (again.model, again.unit) == (curve.model, curve.unit)


def test_saved_models_and_semivariogram_can_be_passed_to_another_fit(series, tmp_path):
    model = _fit(series.X, series.positions)
    model.local_models_.save(tmp_path / "models")
    model.semivariogram_.save(tmp_path / "curve")
    again = _fit(series.X, series.positions, semivariogram=load(tmp_path / "curve"))
    again = again.refit(local_models=load(tmp_path / "models"))
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again.objective_.total == model.objective_.total


def test_positions_and_neighborhoods_come_back(plane, tmp_path):
    dates = np.datetime64("2024-01-01") + np.arange(128) // 64 * np.timedelta64(1, "D")
    places = read_positions(plane.positions, 128, groups=dates)
    hoods = find_neighborhoods(places, 5, weights="gaussian")
    for name, thing in (("places", places), ("hoods", hoods)):
        thing.save(tmp_path / name)
    again = load(tmp_path / "places")
    np.testing.assert_array_equal(again.coordinates, places.coordinates, strict=True)
    np.testing.assert_array_equal(again.group_names, places.group_names, strict=True)
    every = np.arange(128)
    np.testing.assert_array_equal(again.between(every, every), places.between(every, every))
    found = load(tmp_path / "hoods")
    for field in ("centers", "indices", "distances", "weights"):
        np.testing.assert_array_equal(getattr(found, field), getattr(hoods, field), strict=True)


def test_a_mixture_prior_and_a_goodness_of_fit_come_back(series, tmp_path):
    model, _, _ = _prior(series, None)
    model.prior_.save(tmp_path / "prior")
    again = load(tmp_path / "prior")
    assert isinstance(again, MixturePrior)
    np.testing.assert_array_equal(again.responsibilities(series.X), model.prior_.responsibilities(series.X))
    model.goodness_of_fit().save(tmp_path / "fitness")
    assert str(load(tmp_path / "fitness")) == str(model.goodness_of_fit())


def test_the_file_is_a_plain_zip_of_json_and_arrays_without_pickle(series, plane, tmp_path):
    _text_groups(series, plane)[0].save(tmp_path / "model.mcgta")
    with zipfile.ZipFile(tmp_path / "model.mcgta") as bundle:
        names = bundle.namelist()
        tree = json.loads(bundle.read("archive.json"))
        assert (tree["format"], tree["version"]) == ("mcgta-archive", archive.VERSION)
        assert set(names) == {"archive.json", *(f"arrays/{k}.npy" for k in range(len(names) - 1))}
        for name in names[1:]:
            with bundle.open(name) as member:
                assert np.load(member, allow_pickle=False) is not None


@pytest.mark.parametrize(
    ("name", "value", "positions"),
    [
        ("metric", _hypotenuse, "plane"),
        ("clusterer", None, "series"),
    ],
    ids=["metric", "clusterer"],
)
def test_code_cannot_be_saved_and_the_message_says_which_parameter_holds_it(request, name, value, positions, tmp_path):
    from sklearn.cluster import DBSCAN

    example = request.getfixturevalue(positions)
    value = value or DBSCAN(metric="precomputed", eps=4.0)
    params = {"eps": "auto"} if name == "clusterer" else {}
    model = _fit(example.X[:40], example.positions[:40], **params, **{name: value})
    with pytest.raises(ValueError, match=rf"{name}=.* is code, and cannot be saved .* save local_models_ and"):
        model.save(tmp_path / "model.mcgta")
    assert list(tmp_path.iterdir()) == []


def test_a_function_that_reports_progress_is_left_out_of_the_file(series, tmp_path):
    model = _fit(series.X[:40], series.positions[:40], progress=lambda name, share: None)
    model.save(tmp_path / "model.mcgta")
    again = load(tmp_path / "model.mcgta")
    assert again.progress == "auto"
    np.testing.assert_array_equal(again.labels_, model.labels_)


def test_a_table_of_dissimilarities_is_not_kept_in_a_file(series, tmp_path):
    table = np.abs(series.X[:40, :1] - series.X[:40, 0])
    model = _fit(series.X[:40], series.positions[:40], dissimilarity=table)
    with pytest.raises(ValueError, match="dissimilarity is a table of all pairs, which is not kept in a file"):
        model.save(tmp_path / "model.mcgta")


def test_a_metric_of_ones_own_cannot_be_saved_in_a_fit(plane, tmp_path):
    class Manhattan(Metric):
        name = "manhattan"

        def distances(self, a, b):
            return np.abs(a[:, None] - b).sum(axis=2)

    model = _fit(plane.X[:40], plane.positions[:40], metric=Manhattan())
    with pytest.raises(ValueError, match=r"metric=.* is code, and cannot be saved"):
        model.save(tmp_path / "model.mcgta")


def test_positions_of_a_function_cannot_be_saved(plane, tmp_path):
    places = read_positions(plane.positions[:10], 10, metric=_hypotenuse)
    with pytest.raises(ValueError, match=r"FunctionMetric.function=.* cannot be saved"):
        places.save(tmp_path / "places")


def test_an_estimator_that_is_not_fitted_cannot_be_saved(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="not fitted yet"):
        MCGTA().save(tmp_path / "model.mcgta")
    assert list(tmp_path.iterdir()) == []


def test_interrupted_writing_leaves_the_old_file_in_place(series, tmp_path, monkeypatch):
    path = tmp_path / "model.mcgta"
    _fit(series.X, series.positions).save(path)
    before = path.read_bytes()
    written = 0
    write = archive.npy.write_array

    def interrupted(*args, **kwargs):
        nonlocal written
        written += 1
        if written == 5:
            raise KeyboardInterrupt
        return write(*args, **kwargs)

    monkeypatch.setattr(archive.npy, "write_array", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _fit(series.X, series.positions, beta=3.0).save(path)
    assert written == 5
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_saving_replaces_an_older_file_and_respects_the_permissions_of_new_files(series, tmp_path):
    path = tmp_path / "model.mcgta"
    path.write_text("older")
    _fit(series.X, series.positions).save(str(path))
    assert load(str(path)).n_clusters_ == 2
    (tmp_path / "plain").touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_a_map_of_many_rows_to_reasons_is_kept_as_arrays(tmp_path):
    count = 100_000
    failures = {row: ("too few" if row % 3 else "größer") for row in range(count)}
    empty = np.full((count, 1), np.nan)
    LocalModels(empty, empty[:, :, None], failures).save(tmp_path / "models")
    with zipfile.ZipFile(tmp_path / "models") as bundle:
        assert bundle.getinfo("archive.json").file_size < 1000
    again = load(tmp_path / "models").failures
    assert again == failures
    assert list(again) == list(failures)


def test_more_json_than_can_be_loaded_is_not_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_TREE_BYTES", 100)
    with pytest.raises(
        ValueError, match=r"^Positions has \d+ bytes apart from its arrays, and 100 can be saved; use arrays"
    ):
        read_positions(None, 3).save(tmp_path / "places")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_and_a_directory_are_ordinary_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")
    with pytest.raises(OSError, match=os.strerror(21)):
        load(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_positions(None, 3).save(tmp_path / "no" / "such" / "place")


def test_an_archive_error_is_a_value_error():
    assert issubclass(ArchiveError, ValueError)


def test_equal_fits_make_equal_files_whatever_the_clock_says(series, tmp_path, monkeypatch):
    _fit(series.X, series.positions, progress=True).refit(progress="auto").save(tmp_path / "one.mcgta")
    monkeypatch.setattr("time.time", lambda: 2e9)
    _fit(series.X, series.positions).save(tmp_path / "two.mcgta")
    assert (tmp_path / "one.mcgta").read_bytes() == (tmp_path / "two.mcgta").read_bytes()
