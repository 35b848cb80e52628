"""Tuning with labels: the choice is that of plain fits, and labels held out have no say in it."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score

import mcgta
from mcgta import MCGTA, BlockSplit, pipeline, tune
from mcgta.datasets import make_series
from mcgta.validation.result import Tuning
from naive import tuning as naive_tuning

SMALL = {
    "n_neighbors": [4, 6],
    "dissimilarity": ["wasserstein2"],
    "semivariogram": ["empirical"],
    "beta": [0.5, 2.0],
    "margin": [0.0, 1.0],
    "clusterer": ["dbscan"],
    "min_samples": [4, 8],
    "eps": [0.3, 1.0, 3.0],
}


def values(params):
    """Numbers to the last digit, whatever their type."""
    return {name: float(value) if isinstance(value, (int, float)) else value for name, value in params.items()}


@pytest.fixture(scope="module")
def noisy(series):
    """Labels of the series with some errors, so that no setting is perfect."""
    y = series.truth.copy()
    wrong = np.random.default_rng(0).choice(y.size, 15, replace=False)
    y[wrong] = 1 - y[wrong]
    return y


@pytest.fixture
def counted(monkeypatch):
    """Count how often local models are fitted."""
    calls = []
    genuine = pipeline.fit_local_models
    monkeypatch.setattr(pipeline, "fit_local_models", lambda *a, **k: calls.append(1) or genuine(*a, **k))
    return calls


@pytest.mark.parametrize("clusterer", ["dbscan", "hdbscan", "optics"])
@pytest.mark.parametrize("gap", [0.0, 2.0])
def test_the_choice_is_that_of_plain_fits(series, noisy, clusterer, gap):
    grid = {**SMALL, "clusterer": [clusterer]}
    folds = BlockSplit(3, gap=gap)
    found = tune(series.X, noisy, positions=series.positions, grid=grid, folds=folds)
    splits = list(folds.split(series.X, positions=series.positions))
    *wanted, best = naive_tuning.tune(series.X, noisy, series.positions, grid, splits)
    for fold, (params, train_score, score) in zip(found.folds, wanted, strict=True):
        assert values(fold.params) == values(params)
        assert (fold.train_score, fold.score) == (train_score, score)
    assert values(found.best_params) == values(best[0])
    assert found.best_score == best[1]
    assert found.score == pytest.approx(np.mean([score for _, _, score in wanted]))
    assert found.spread == pytest.approx(np.std([score for _, _, score in wanted], ddof=1))
    assert len(found.settings) == 48


@pytest.mark.parametrize("clusterer", ["dbscan", "hdbscan", "optics"])
def test_every_setting_of_a_relative_grid_is_that_of_a_plain_fit(plane, clusterer):
    grid = {
        "n_neighbors": [6], "covariance": ["shrunk"], "beta": [0.0, 1.0], "margin_in_sills": [0.0, 0.3],
        "clusterer": [clusterer], "min_samples_in_neighbors": [0.5, 1.5], "eps_quantile": [0.3, 0.6, 0.9],
    }  # fmt: skip
    found = tune(plane.X, plane.truth, positions=plane.positions, grid=grid, folds=3)
    assert len(found.settings) == 3 * 2 * 3  # with beta=0 the margin has no effect
    for setting in found.settings:
        params = {name: value for name, value in setting.items() if name in MCGTA().get_params()}
        fitted = MCGTA(**params).fit(plane.X, positions=plane.positions)
        assert setting["score"] == adjusted_rand_score(plane.truth, fitted.labels_)
        assert (setting["clusters"], setting["noise_share"]) == (fitted.n_clusters_, fitted.noise_share_)


def test_the_best_estimator_is_fitted_with_the_best_parameters(series, noisy, tmp_path):
    found = tune(series.X, noisy, positions=series.positions, grid=SMALL, folds=3)
    fitted = found.best_estimator
    assert adjusted_rand_score(noisy, fitted.labels_) == found.best_score == max(row["score"] for row in found.settings)
    assert {name: fitted.get_params()[name] for name in found.best_params} == found.best_params
    fitted.save(tmp_path / "best.mcgta")
    np.testing.assert_array_equal(mcgta.load(tmp_path / "best.mcgta").labels_, fitted.labels_)


def test_labels_held_out_have_no_say_in_the_choice_of_their_fold(series, noisy):
    options = {"positions": series.positions, "grid": SMALL, "folds": 3}
    before = tune(series.X, noisy, **options)
    splits = list(BlockSplit(3).split(series.X, positions=series.positions))
    changed = 0
    for k, (_, held) in enumerate(splits):
        other = noisy.copy()
        other[held] = np.random.default_rng(k).integers(0, 2, held.size)
        after = tune(series.X, other, **options)
        assert after.folds[k].params == before.folds[k].params
        assert after.folds[k].train_score == before.folds[k].train_score
        changed += after.folds[k].score != before.folds[k].score
    assert changed == 3


def test_labels_have_no_say_in_the_clusterings(series, noisy):
    tables = [
        [{name: row[name] for name in ("eps", "clusters", "noise_share")} for row in found.settings]
        for found in (
            tune(series.X, y, positions=series.positions, grid={"n_neighbors": [6], "min_samples": [4]}, folds=3)
            for y in (noisy, np.random.default_rng(1).permutation(noisy))
        )
    ]
    assert tables[0] == tables[1]


def test_without_a_grid_the_main_parameters_are_tried(series, counted):
    found = tune(series.X, series.truth, positions=series.positions, folds=3)
    tried = {name: {row[name] for row in found.settings} for name in ("n_neighbors", "beta", "min_samples")}
    assert tried["n_neighbors"] == {20, 30, 45}
    assert tried["beta"] == {0.0, 0.5, 1.0, 2.0}
    assert {10, 15, 20, 30, 45} <= tried["min_samples"]
    assert len(found.settings) > 1000
    assert len(counted) == 4  # once for each n_neighbors, and for the best


def test_the_estimator_gives_what_is_not_tried(series):
    estimator = MCGTA(
        n_neighbors=5, covariance="oas", beta=0.5, margin=0.25, min_samples=7, semivariogram="empirical", random_state=4
    )
    found = tune(series.X, series.truth, positions=series.positions, estimator=estimator, folds=3)
    fixed = {"n_neighbors": 5, "beta": 0.5, "margin": 0.25, "min_samples": 7}
    for row in found.settings:
        assert {name: row[name] for name in fixed} == fixed
    assert found.best_estimator.covariance == "oas"
    assert found.best_estimator.random_state == 4
    assert len({row["eps"] for row in found.settings}) == len(found.settings) > 20
    assert not hasattr(estimator, "labels_")


def test_a_list_of_grids_is_tried_one_after_the_other(series):
    one = {"n_neighbors": [5], "beta": [1.0], "margin": [0.0], "min_samples": [5]}
    grids = [{**one, "eps": [0.5, 1.0]}, {**one, "clusterer": ["hdbscan"], "min_cluster_size": [10, 20]}]
    found = tune(series.X, series.truth, positions=series.positions, grid=grids, folds=3)
    assert [row["clusterer"] for row in found.settings] == ["dbscan", "dbscan", "hdbscan", "hdbscan"]
    assert [row.get("min_cluster_size") for row in found.settings] == [None, None, 10, 20]
    assert [row["eps"] for row in found.settings] == [0.5, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("dissimilarity", ["euclidean", "kl"])
def test_other_dissimilarities_are_tuned_too(series, dissimilarity):
    grid = {"n_neighbors": [6], "dissimilarity": [dissimilarity], "beta": [0.0], "margin": [0.0], "min_samples": [5]}
    found = tune(series.X, series.truth, positions=series.positions, grid=grid, folds=3)
    assert found.best_score > 0.5
    assert found.best_estimator.dissimilarity == dissimilarity


@pytest.mark.parametrize("unknown", [-1, None, float("nan")])
def test_unknown_labels_do_not_count(series, unknown):
    hidden = np.random.default_rng(2).random(120) < 0.5
    y = [unknown if hide else int(label) for hide, label in zip(hidden, series.truth, strict=True)]
    seen = []

    def score(labels, clusters):
        seen.append(labels.size)
        return adjusted_rand_score(labels, clusters)

    found = tune(series.X, y, positions=series.positions, grid=SMALL, folds=3, scoring=score)
    plain = tune(series.X, y, positions=series.positions, grid=SMALL, folds=3)
    assert max(seen) == found.labels == int((~hidden).sum())
    assert found.unknown == int(hidden.sum())
    assert [row["score"] for row in found.settings] == [row["score"] for row in plain.settings]
    assert found.best_estimator.labels_.size == 120
    assert f"{found.labels} of 120 observations have labels, 2 different ones" in found.summary()


def test_text_labels_give_the_same_choice(series, noisy):
    found, text = (
        tune(series.X, y, positions=series.positions, grid=SMALL, folds=3)
        for y in (noisy, pd.Series(np.where(noisy == 1, "up", "down"), dtype="category"))
    )
    assert text.settings == found.settings
    assert text.folds == found.folds


def test_whole_groups_are_held_out(series):
    groups = np.repeat(["a", "b", "c", "d", "e", "f"], 20)
    y = np.tile(np.repeat([0, 1], 10), 6)
    X = (
        series.X
        - np.where(series.truth[:, None] == 0, [4.0, 0.0], [0.0, 4.0])
        + np.where(y[:, None] == 0, [4.0, 0], [0, 4.0])
    )
    found = tune(X, y, positions=series.positions, groups=groups, grid=SMALL, folds=3)
    assert [fold.rows for fold in found.folds] == [40, 40, 40]
    assert [fold.classes for fold in found.folds] == [2, 2, 2]
    assert len(found.best_estimator.positions_.group_names) == 6
    with pytest.raises(ValueError, match="n_splits=7 with 6 groups"):
        tune(X, y, positions=series.positions, groups=groups, grid=SMALL, folds=7)


def test_a_fold_with_one_label_is_pointed_out(series):
    with pytest.warns(
        UserWarning, match=r"held-out blocks of 6 of 6 folds, such as fold 0, all known labels are the same"
    ):
        tune(series.X, series.truth, positions=series.positions, grid=SMALL, folds=BlockSplit(6, n_blocks=6))


def test_noise_can_be_scored_in_three_ways(series, noisy):
    grid = {**SMALL, "eps": [0.25]}
    scores = []
    for noise in ("class", "singletons", "left out"):
        found = tune(series.X, noisy, positions=series.positions, grid=grid, folds=3, noise=noise)
        scores.append(tuple(row["score"] for row in found.settings))
        assert mcgta.validation.labels.NOISE[noise] in found.summary()
    assert len(set(scores)) == 3


def test_the_result_tells_what_was_found(series, noisy):
    found = tune(series.X, noisy, positions=series.positions, grid=SMALL, folds=3, scoring="nmi")
    assert isinstance(found, Tuning)
    said = found.summary()
    assert "48 settings, scored by NMI; noise is a class of its own" in said
    assert f"{found.score:.3f} ± {found.spread:.3f} over 3 folds" in said
    assert f"chosen by all labels: {found.best_score:.3f}" in said
    assert "eps=" in said
    frame = found.to_frame()
    assert len(frame) == 48
    assert frame["score"].is_monotonic_decreasing
    assert {"n_neighbors", "eps", "clusters", "noise_share", "fold_0", "fold_2"} <= set(frame.columns)
    assert repr(found).startswith("Tuning(NMI 0.")


def test_frames_datetimes_and_threads_make_no_difference(series, noisy):
    plain = tune(series.X, noisy, positions=series.positions, grid=SMALL, folds=3)
    X = pd.DataFrame(series.X, columns=["speed", "torque"])
    stamps = pd.to_datetime("2024-01-01") + pd.to_timedelta(series.positions, unit="s")
    framed = tune(X, noisy, positions=stamps, grid=SMALL, folds=3, n_jobs=2)
    assert framed.best_estimator.feature_names_in_.tolist() == ["speed", "torque"]
    assert [fold.params for fold in framed.folds] == [fold.params for fold in plain.folds]


def test_precomputed_distances_are_tuned_too(series, noisy):
    table = np.abs(series.positions[:, None] - series.positions[None])
    found = tune(series.X, noisy, positions=table, estimator=MCGTA(metric="precomputed"), grid=SMALL, folds=3)
    plain = tune(series.X, noisy, positions=series.positions, grid=SMALL, folds=3)
    assert found.best_score == pytest.approx(plain.best_score)


def test_progress_goes_from_nothing_to_all(series, noisy):
    heard = []
    tune(series.X, noisy, positions=series.positions, grid=SMALL, folds=3, progress=lambda *told: heard.append(told))
    assert heard[0] == ("tuning", 0.0)
    assert heard[-1] == ("tuning", 1.0)


def test_local_models_are_kept_in_the_archive_and_used_again(series, noisy, tmp_path, counted):
    options = {"grid": SMALL, "folds": 3, "archive": tmp_path / "new" / "folder"}
    first = tune(series.X, noisy, positions=series.positions, **options)
    assert len(counted) == 3  # two sizes of the neighbourhood, and the best
    counted.clear()
    second = tune(series.X, noisy, positions=series.positions, **options)
    assert len(counted) == 1
    assert second.settings == first.settings
    np.testing.assert_array_equal(second.best_estimator.labels_, first.best_estimator.labels_)


@pytest.mark.parametrize("what", ["features", "positions", "groups", "parameter"])
def test_the_archive_is_not_used_for_other_data_or_parameters(series, noisy, tmp_path, counted, what):
    options = {"grid": SMALL, "folds": 3, "archive": tmp_path}
    tune(series.X, noisy, positions=series.positions, **options)
    counted.clear()
    X, positions = series.X.copy(), series.positions.copy()
    if what == "features":
        X[7, 1] += 1e-9
    elif what == "positions":
        positions[7] += 1e-9
    elif what == "groups":
        options |= {"groups": np.repeat(["a", "b", "c"], 40)}
    else:
        options |= {"grid": {**SMALL, "alpha": [0.02]}}
    tune(X, noisy, positions=positions, **options)
    assert len(counted) == 3


def test_a_file_of_other_models_is_refused(series, noisy, tmp_path):
    options = {"positions": series.positions, "grid": SMALL, "folds": 3, "archive": tmp_path}
    tune(series.X, noisy, **options)
    one, other = sorted(tmp_path.iterdir())
    one.write_bytes(other.read_bytes())
    with pytest.raises(mcgta.ArchiveError, match="holds something other than the local models of these observations"):
        tune(series.X, noisy, **options)
    one.write_bytes(b"nothing")
    with pytest.raises(mcgta.ArchiveError, match="damaged"):
        tune(series.X, noisy, **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"y": np.zeros(119)}, r"y must hold one label for each of the 120 rows of X, got shape \(119,\)"),
        ({"y": np.zeros(120)}, r"y must hold at least two different labels, got \[0\]"),
        ({"y": [None] * 120}, r"two different labels, got \[\] and 120 unknown"),
        ({"y": [0, 1] * 10 + [-1] * 100}, "no label is known in the held-out blocks of fold 2"),
        ({"y": [0] * 119 + [1]}, "outside the held-out blocks of fold 2 there is one label or none"),
        ({"positions": np.zeros(3)}, "positions has 3 rows but X has 120"),
        ({"folds": 1}, "folds=1 is not allowed: folds must be an integer >= 2, or a BlockSplit"),
        ({"folds": 40}, "160 blocks cannot be cut from 120 distinct positions"),
        ({"estimator": "dbscan"}, "estimator='dbscan' must be an MCGTA, or None"),
        ({"estimator": MCGTA(beta=-1.0)}, "beta=-1.0 is not allowed"),
        ({"estimator": MCGTA(refine="all")}, "estimator has refine='all', and refined labels do not depend on what is"),
        ({"estimator": MCGTA(eps="5%")}, "estimator has eps='5%', .*: eps must be a number, or 'auto'"),
        ({"scoring": "accuracy"}, "scoring='accuracy' is not allowed"),
        ({"noise": "none"}, "noise='none' is not allowed"),
        ({"search": "random"}, "search='random' is not allowed: search must be one of 'grid', 'optuna'"),
        ({"trials": 5}, "trials=5 has no effect with search='grid'"),
        ({"search": "optuna", "trials": 0}, "trials=0 is not allowed"),
        ({"random_state": -1}, "random_state=-1 is not allowed"),
        ({"progress": "loud"}, "progress='loud' is not allowed"),
        ({"n_jobs": 0}, "n_jobs=0 is not allowed"),
        ({"archive": 3}, "archive=3 is not allowed: archive must be None, or the path of a folder"),
        ({"archive": __file__}, "is a file; it must be the path of a folder"),
        ({"grid": [1]}, r"grid=\[1\] must be a dict of parameters"),
        ({"grid": []}, r"grid=\[\] must be a dict"),
        ({"grid": {"neighbors": [5]}}, "grid has 'neighbors', which is not a parameter.*did you mean 'n_neighbors'"),
        ({"grid": {"metric": ["time"]}}, "grid has 'metric', which is not a parameter to try"),
        ({"grid": {"beta": 1.0}}, r"grid\['beta'\]=1.0 must be a list of the values to try, such as \[1.0\]"),
        ({"grid": {"beta": []}}, r"grid\['beta'\] is empty"),
        ({"grid": {"beta": [0.0, -1.0]}}, r"grid\['beta'\] has -1.0, which is not allowed: beta must be a number >= 0"),
        ({"grid": {"beta": [1.0, 1.0]}}, r"grid\['beta'\]=\[1.0, 1.0\] names a value twice"),
        ({"grid": {"eps": ["auto"]}}, r"grid\['eps'\] has 'auto', which is not allowed: eps must be a number >= 0$"),
        ({"grid": {"eps": ["5%"]}}, r"grid\['eps'\] has '5%', which is not allowed: eps must be a number >= 0$"),
        ({"grid": {"eps_quantile": [1.5]}}, "eps_quantile must be a number >= 0 and <= 1"),
        ({"grid": {"eps": [1.0], "eps_quantile": [0.5]}}, "grid has both eps and eps_quantile"),
        ({"grid": {"n_neighbors": [5, 200]}}, "n_neighbors=200 but there are only 120 observations"),
        ({"grid": {"covariance": ["min_cov_det"], "n_neighbors": [3]}}, "covariance='min_cov_det' needs n_neighbors >= 4"),
        ({"grid": {"clusterer": ["optics"], "min_samples": [1]}}, "min_samples=1 is not allowed: clusterer='optics'"),
        ({"grid": {"dissimilarity": ["euclidean"], "weights": ["gaussian"]}}, "weights='gaussian' has no effect"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_before_anything_is_fitted(series, monkeypatch, options, said):
    monkeypatch.setattr(MCGTA, "fit", lambda *a, **k: pytest.fail("a fit has begun"))
    options = {"y": series.truth, "positions": series.positions, "folds": 3, **options}
    with pytest.raises(ValueError, match=said):
        tune(series.X, options.pop("y"), **options)


def test_clusterer_objects_are_refused(series):
    object_ = AgglomerativeClustering(metric="precomputed", linkage="average")
    with pytest.raises(ValueError, match="tune takes 'dbscan', 'hdbscan', 'optics', not objects"):
        tune(series.X, series.truth, estimator=MCGTA(clusterer=object_, eps="auto", min_samples="auto"))


def test_merges_count_the_components_of_every_radius(series):
    fitted = MCGTA(n_neighbors=6, eps=1.0, beta=1.0, margin=0.0, min_samples=5, semivariogram="empirical").fit(
        series.X, positions=series.positions
    )
    heights = fitted.single_linkage_tree_[:, 2]
    assert heights.shape == (119,)
    assert (np.diff(heights) >= 0).all()
    for eps in np.quantile(heights, [0.1, 0.4, 0.7, 0.95]):
        cut = fitted.refit(eps=eps)
        assert cut.n_clusters_ == cut.core_sample_indices_.size - np.count_nonzero(heights <= eps)
    assert fitted.refit(min_samples=121).single_linkage_tree_[:, 2].size == 0


def test_the_table_of_pairs_that_settings_share_changes_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_series(240, n_clusters=2, n_features=3, segment_lengths=(8, 14), separation=1.5, random_state=3)
    grid = {"n_neighbors": [20], "beta": [0.0, 1.0], "margin_in_sills": [0.25]}
    scores = []
    for tabled in (0, 5000):  # by the tree, and by the table
        monkeypatch.setattr(sys.modules["mcgta.validation.tune"], "TABLED", tabled)
        scores.append([row["score"] for row in tune(data.X, data.labels, grid=grid, folds=2).settings])
    assert scores[0] == scores[1]
    assert max(scores[0]) > 0.3


@pytest.mark.parametrize("clusterer", ["dbscan", "hdbscan", "optics"])
@pytest.mark.parametrize("more", [{"refine": "noise"}, {"min_cluster_size": 12}])
def test_settings_are_scored_as_a_plain_fit_of_the_estimator_would_be(series, noisy, clusterer, more):
    grid = {**SMALL, "n_neighbors": [6], "beta": [1.0], "margin": [0.0, 1.0], "clusterer": [clusterer]}
    grid |= {"min_samples": [5, 121]}  # with the latter all is noise
    estimator = MCGTA(**more)
    found = tune(series.X, noisy, positions=series.positions, estimator=estimator, grid=grid, folds=3)
    assert len(found.settings) == 12
    for setting in found.settings:
        params = {name: value for name, value in setting.items() if name in estimator.get_params()}
        fitted = MCGTA(**{**more, **params}).fit(series.X, positions=series.positions)
        assert setting["score"] == adjusted_rand_score(noisy, fitted.labels_)
        assert (setting["clusters"], setting["noise_share"]) == (fitted.n_clusters_, fitted.noise_share_)
    assert {setting["noise_share"] for setting in found.settings} >= {1.0}


def test_labels_of_other_radii_have_their_noise_assigned_where_the_fit_has(series):
    fitted = MCGTA(
        n_neighbors=6, eps=0.3, beta=1.0, margin=0.0, min_samples=5, semivariogram="empirical", refine="noise"
    ).fit(series.X, positions=series.positions)
    plain = fitted.refit(refine="none")
    for eps in np.quantile(fitted.single_linkage_tree_[:, 2], [0.4, 0.6, 0.8]):
        np.testing.assert_array_equal(fitted.dbscan_clustering(eps), fitted.refit(eps=eps).labels_)
        assert (plain.dbscan_clustering(eps) == -1).any()
        assert (fitted.dbscan_clustering(eps) >= 0).all()


@pytest.mark.parametrize("clusterer", ["dbscan", "hdbscan", "optics"])
def test_settings_that_differ_in_density_or_radius_share_what_is_near(series, monkeypatch, clusterer):
    made = []
    genuine = mcgta.pipeline.open_search
    monkeypatch.setattr(mcgta.pipeline, "open_search", lambda *a: made.append(1) or genuine(*a))
    grid = {**SMALL, "n_neighbors": [6], "clusterer": [clusterer]}
    found = tune(series.X, series.truth, positions=series.positions, grid=grid, folds=3)
    assert len(found.settings) == 2 * 2 * 2 * 3
    assert len(made) == 2 * 2 + 1  # of each beta and margin, and of the best


def test_the_times_that_are_the_index_of_x_are_tuned_on(series):
    rows = np.random.default_rng(0).permutation(len(series.X))
    times = pd.to_datetime("2026-01-01") + pd.to_timedelta(rows, unit="h")
    X = pd.DataFrame(series.X[rows], index=times)
    y = series.truth[rows]
    grid = {**SMALL, "min_samples": [4], "margin": [0.0]}
    found = tune(X, y, grid=grid, folds=3).settings
    assert found == tune(X, y, positions=times, grid=grid, folds=3).settings
    assert found != tune(X.to_numpy(), y, grid=grid, folds=3).settings


def test_positions_in_another_order_than_x_are_refused_before_any_fit(series, counted):
    X = pd.DataFrame(series.X)
    shuffled = pd.Series(series.positions, index=X.index).sample(frac=1, random_state=0)
    with pytest.raises(ValueError, match="positions has the index labels of X in another order"):
        tune(X, series.truth, positions=shuffled, grid=SMALL, folds=3)
    assert not counted


def test_tables_of_dissimilarities_that_look_alike_when_shown_are_different_settings(series):
    one = ((series.X[:, None] - series.X) ** 2).sum(axis=2)
    other = np.where(one > 0, np.minimum(one, 1e-3), 0.0)
    ends = np.r_[0:5, -5:0]  # of rows and columns, which is what a large table is shown by
    other[np.ix_(ends, ends)] = one[np.ix_(ends, ends)]
    assert repr(one) == repr(other)
    grid = {**SMALL, "dissimilarity": [one, other], "n_neighbors": [4], "beta": [0.0], "margin": [0.0], "eps": [0.5]}
    found = tune(series.X, series.truth, positions=series.positions, grid=grid, folds=3)
    for setting in found.settings:
        params = {name: setting[name] for name in found.best_params}
        model = MCGTA(random_state=0, **params).fit(series.X, positions=series.positions)
        assert setting["clusters"] == model.n_clusters_
    assert len({setting["clusters"] for setting in found.settings}) == 2
    assert "dissimilarity" in found.summary()
