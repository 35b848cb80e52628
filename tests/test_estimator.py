"""The estimator as a whole: every option from end to end, its attributes, and work that is not repeated."""

from __future__ import annotations

import math
import numbers

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mcgta import MCGTA, Positions, Semivariogram
from mcgta import pipeline as algorithm
from mcgta.clustering.registry import CLUSTERERS
from mcgta.positions.metrics import SpaceTime
from mcgta.settings import RULES
from mcgta.stages import LocalModels
from mcgta.stages.covariance import COVARIANCES
from mcgta.stages.dissimilarity.dissimilarity import Compiled
from mcgta.stages.dissimilarity.registry import DISSIMILARITIES
from mcgta.stages.loss import Objective
from mcgta.stages.neighborhoods import KERNELS
from mcgta.stages.prior import GaussianMixturePrior, MixturePrior
from mcgta.stages.semivariogram.models import MODELS

EPS = {
    "wasserstein2": 4.0,
    "calibrated": 8.0,
    "mixture": 4.0,
    "euclidean": 4.0,
    "cosine": 0.2,
    "kl": 20.0,
    "js": 0.6,
    "tv": 0.9,
}


def fit(example, **params):
    return MCGTA(**{"n_neighbors": 6, "eps": 4.0, "semivariogram": "empirical", **params}).fit(
        example.X, positions=example.positions
    )


@pytest.fixture(params=["series", "plane"])
def example(request):
    """Each of the two small sets; its first observation in canonical order is in state 0, so labels equal the truth."""
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("covariance", [kind for kind in COVARIANCES if kind != "min_cov_det"])
def test_every_covariance_finds_the_two_clusters(example, covariance):
    np.testing.assert_array_equal(fit(example, covariance=covariance).labels_, example.truth)


def test_the_minimum_covariance_determinant_finds_the_two_clusters(series):
    model = MCGTA(n_neighbors=6, eps=4.0, covariance="min_cov_det", semivariogram="empirical")
    model.fit(series.X[:40], positions=series.positions[:40])
    np.testing.assert_array_equal(model.labels_, series.truth[:40])


@pytest.mark.parametrize("dissimilarity", DISSIMILARITIES)
def test_every_dissimilarity_finds_the_two_clusters(example, dissimilarity):
    model = fit(example, dissimilarity=dissimilarity, eps=EPS[dissimilarity])
    np.testing.assert_array_equal(model.labels_, example.truth)
    assert (model.local_models_ is None) == (dissimilarity in ("euclidean", "cosine"))
    sampled = dissimilarity in ("js", "tv")
    assert 0 < model.dissimilarity_error_ < 0.05 if sampled else model.dissimilarity_error_ == 0


@pytest.mark.parametrize("name", [*MODELS, "empirical"])
def test_every_semivariogram_finds_the_two_clusters(example, name):
    model = fit(example, semivariogram=name)
    np.testing.assert_array_equal(model.labels_, example.truth)
    assert model.semivariogram_.model == name


@pytest.mark.parametrize("clusterer", CLUSTERERS)
def test_every_clusterer_finds_the_two_clusters(example, clusterer):
    model = fit(example, clusterer=clusterer, min_cluster_size=30)
    np.testing.assert_array_equal(model.labels_, example.truth)


def test_a_clusterer_object_finds_the_two_clusters_and_is_left_as_it_was(example):
    clusterer = AgglomerativeClustering(2, metric="precomputed", linkage="average")
    model = fit(example, clusterer=clusterer, eps="auto", penalty="no_hinge")
    np.testing.assert_array_equal(model.labels_, example.truth)
    assert not hasattr(clusterer, "labels_")


@pytest.mark.parametrize("weights", ["uniform", *KERNELS])
def test_every_weighting_finds_the_two_clusters(example, weights):
    np.testing.assert_array_equal(fit(example, weights=weights).labels_, example.truth)


@pytest.mark.parametrize("lags", [1, 2])
def test_stacked_lags_find_the_two_clusters(example, lags):
    model = fit(example, lags=lags, eps=10.0)
    np.testing.assert_array_equal(model.labels_, example.truth)
    assert model.local_models_.means.shape == (len(example.truth), 2 * (lags + 1))


@pytest.mark.parametrize("strength", [None, 3.0])
def test_a_mixture_prior_finds_the_two_clusters(example, strength):
    model = fit(example, prior=GaussianMixturePrior(n_components=2, strength=strength))
    np.testing.assert_array_equal(model.labels_, example.truth)
    assert isinstance(model.prior_, MixturePrior)
    assert model.prior_.shares.shape == (2,)


def _measure(a, b):
    return float(np.hypot(*(a - b)))


@pytest.mark.parametrize(
    ("metric", "make"),
    [
        ("auto", lambda p: p),
        ("euclidean", lambda p: p),
        ("time", lambda p: p[:, 0]),
        ("haversine", lambda p: np.column_stack([174 + p[:, 0], 10 + p[:, 1]])),
        (SpaceTime(time_scale=2.0), lambda p: np.column_stack([p[:, 0], p[:, 1], p[:, 1] / 2])),
        (
            SpaceTime(time_scale=2.0, space="haversine"),
            lambda p: np.column_stack([p[:, 0], p[:, 1], p[:, 1]]),
        ),
        ("precomputed", lambda p: np.linalg.norm(p[:, None] - p[None], axis=2)),
        (_measure, lambda p: p),
    ],
    ids=["auto", "euclidean", "time", "haversine", "spacetime", "spacetime-sphere", "precomputed", "callable"],
)
def test_every_metric_finds_the_two_clusters(plane, metric, make):
    X, positions, truth = plane.X[:32], plane.positions[:32], plane.truth[:32]  # a row of four islands
    model = MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical", metric=metric)
    labels = model.fit_predict(X, positions=make(positions))
    assert model.n_clusters_ == 2
    np.testing.assert_array_equal(labels, truth if labels[0] == truth[0] else 1 - truth)


def test_the_fitted_attributes_have_their_shapes_and_types(series):
    model = fit(series, semivariogram="exponential")
    count = len(series.truth)
    assert model.labels_.shape == (count,)
    assert model.labels_.dtype == np.int64
    assert model.probabilities_.shape == (count,)
    assert np.all((model.probabilities_ >= 0) & (model.probabilities_ <= 1))
    assert isinstance(model.local_models_, LocalModels)
    assert model.local_models_.covariances.shape == (count, 2, 2)
    assert isinstance(model.semivariogram_, Semivariogram)
    assert np.all(np.isin(model.core_sample_indices_, np.arange(count)))
    assert np.all(np.diff(model.core_sample_indices_) > 0)
    assert isinstance(model.objective_, Objective)
    assert model.objective_.total == pytest.approx(model.objective_.dissimilarity + model.objective_.penalty)
    assert model.objective_.pairs == 2 * (60 * 59 // 2)
    assert model.noise_share_ == 0.0
    assert model.failed_ == {}
    assert (model.n_clusters_, model.n_neighbors_, model.min_samples_, model.eps_) == (2, 6, 6, 4.0)
    assert isinstance(model.positions_, Positions)
    np.testing.assert_array_equal(model.positions_.coordinates[:, 0], series.positions)
    assert model.prior_ is None
    assert model.n_features_in_ == 2
    assert not hasattr(model, "feature_names_in_")


def test_the_objective_is_the_sum_of_the_pair_tests_within_clusters(series):
    model = fit(series, beta=2.0, margin=0.1)
    tests = [
        model.pair_test(i, j)
        for label in (0, 1)
        for rows in [np.flatnonzero(model.labels_ == label).tolist()]
        for k, i in enumerate(rows)
        for j in rows[:k]
    ]
    assert model.objective_.total == pytest.approx(sum(test.loss for test in tests))
    assert model.objective_.penalty == pytest.approx(sum(test.penalty for test in tests))
    assert model.objective_.penalty > 0
    share = sum(test.passes for test in tests) / len(tests)
    assert model.goodness_of_fit().share == pytest.approx(share)


def test_rows_of_too_small_a_group_are_in_failed_with_a_reason_and_labelled_noise(series):
    groups = np.array(["long"] * 116 + ["short"] * 4)
    with pytest.warns(UserWarning, match=r"4 of 120 observations have no model and are labelled noise; row 116: fewer"):
        model = MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical").fit(
            series.X, positions=series.positions, groups=groups
        )
    assert sorted(model.failed_) == [116, 117, 118, 119]
    assert "n_neighbors=6" in model.failed_[117]
    assert np.all(model.labels_[116:] == -1)
    assert np.all(model.probabilities_[116:] == 0)
    assert model.noise_share_ == pytest.approx(4 / 120)
    assert np.all(np.isnan(model.local_models_.means[116:]))
    with pytest.raises(ValueError, match=r"j=117 has no model: fewer than n_neighbors=6"):
        model.pair_test(0, 117)


def test_a_row_of_zeros_has_no_angle_and_is_labelled_noise(series):
    X = series.X.copy()
    X[7] = 0
    with pytest.warns(UserWarning, match=r"row 7: its features are all zero"):
        model = MCGTA(n_neighbors=6, dissimilarity="cosine", eps=0.2, semivariogram="empirical").fit(
            X, positions=series.positions
        )
    assert list(model.failed_) == [7]
    assert model.labels_[7] == -1
    np.testing.assert_array_equal(np.delete(model.labels_, 7), np.delete(series.truth, 7))


@pytest.fixture
def counted(monkeypatch):
    """Count the calls of each stage that comes before the loss, and the pairs that are compared."""
    calls = dict.fromkeys(["find_neighborhoods", "fit_local_models", "empirical_semivariogram", "compared"], 0)

    def count(name, function):
        def counting(*args, **kwargs):
            calls[name] += 1
            return function(*args, **kwargs)

        return counting

    for name in ("find_neighborhoods", "fit_local_models", "empirical_semivariogram"):
        monkeypatch.setattr(algorithm, name, count(name, getattr(algorithm, name)))
    compare = algorithm.compare

    def counting_pairs(*args, **kwargs):
        made = compare(*args, **kwargs)
        inner = made.comparison
        made.comparison = Compiled(
            count("compared", inner.tile_kernel), count("compared", inner.pairs_kernel), inner.size
        )
        return made

    monkeypatch.setattr(algorithm, "compare", counting_pairs)
    return calls


CHANGES = {"beta": 3.0, "margin": 0.2, "penalty": "unconditional", "eps": 3.0, "min_samples": 4, "min_cluster_size": 5}


@pytest.mark.parametrize("change", CHANGES)
def test_refit_repeats_no_stage_before_the_loss_and_gives_what_fit_gives(series, counted, change):
    first = fit(series)
    before = dict(counted)
    assert min(before.values()) >= 1
    again = first.refit(**{change: CHANGES[change]})
    assert counted == before
    fresh = fit(series, **{change: CHANGES[change]})
    assert counted["fit_local_models"] == before["fit_local_models"] + 1
    np.testing.assert_array_equal(again.labels_, fresh.labels_)
    np.testing.assert_array_equal(again.probabilities_, fresh.probabilities_)
    assert again.objective_.total == fresh.objective_.total
    assert again.get_params() == fresh.get_params()


def test_refit_leaves_the_first_estimator_as_it_was(series):
    first = fit(series)
    labels, strengths = first.labels_.copy(), first.probabilities_.copy()
    other = first.refit(min_samples=1000)
    assert np.all(other.labels_ == -1)
    np.testing.assert_array_equal(first.labels_, labels)
    np.testing.assert_array_equal(first.probabilities_, strengths)
    assert first.min_samples == "auto"


def test_refit_can_change_the_clusterer_and_hinge(series):
    clusterer = AgglomerativeClustering(2, metric="precomputed", linkage="average")
    other = fit(series).refit(clusterer=clusterer, penalty="no_hinge", eps="auto")
    np.testing.assert_array_equal(other.labels_, series.truth)
    assert math.isnan(other.eps_)


def test_models_and_semivariogram_passed_back_in_are_not_computed_again(series, counted):
    first = fit(series, semivariogram="exponential")
    before = dict(counted)
    again = fit(series, semivariogram=first.semivariogram_).refit(local_models=first.local_models_, beta=2.0)
    for name in ("find_neighborhoods", "fit_local_models"):
        assert counted[name] == before[name] + 1 == 2, name  # by the fit, not by the refit
    assert counted["empirical_semivariogram"] == before["empirical_semivariogram"] == 1
    fresh = fit(series, semivariogram="exponential", beta=2.0)
    np.testing.assert_array_equal(again.labels_, fresh.labels_)
    assert again.objective_.total == fresh.objective_.total
    assert again.semivariogram_ is first.semivariogram_


def test_models_passed_back_in_follow_the_order_of_the_rows(series):
    shuffled = np.random.default_rng(0).permutation(len(series.truth))
    X, positions = series.X[shuffled], series.positions[shuffled]
    first = MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical").fit(X, positions=positions)
    again = first.refit(local_models=first.local_models_)
    np.testing.assert_array_equal(again.labels_, first.labels_)
    np.testing.assert_array_equal(again.local_models_.means, first.local_models_.means)


def test_progress_writes_one_line_a_stage_to_standard_error(series, capsys):
    fit(series, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines.pop(4).startswith("mcgta: table backend: ")
    stages = ["neighbourhoods", "local models", "dissimilarity", "semivariogram", "loss", "clustering"]
    assert len(lines) == len(stages)
    for line, stage in zip(lines, stages, strict=True):
        assert line.startswith(f"mcgta: {stage}")
        assert line.endswith(" s")


def test_progress_is_silent_by_default(series, capsys):
    fit(series)
    assert capsys.readouterr() == ("", "")


def test_a_progress_function_receives_each_stage_from_nothing_to_all(series):
    told = []
    fit(series, progress=lambda name, share: told.append((name, share)))
    stages = list(dict.fromkeys(name for name, _ in told))
    assert stages == ["neighbourhoods", "local models", "dissimilarity", "semivariogram", "loss", "clustering"]
    for stage in stages:
        shares = [share for name, share in told if name == stage]
        assert shares[0] == 0
        assert shares[-1] == 1
        assert shares == sorted(shares)


def test_a_pipeline_passes_positions_on_to_fit(series):
    pipeline = make_pipeline(StandardScaler(), MCGTA(n_neighbors=6, eps=0.5, semivariogram="empirical"))
    labels = pipeline.fit_predict(series.X, mcgta__positions=series.positions)
    np.testing.assert_array_equal(labels, series.truth)
    model = pipeline[-1]
    np.testing.assert_array_equal(model.positions_.coordinates[:, 0], series.positions)
    np.testing.assert_array_equal(pipeline.predict(series.X, positions=series.positions), labels)


def test_get_params_names_every_rule_and_clone_copies_them():
    model = MCGTA(n_neighbors=12, beta=0.5, clusterer="optics")
    assert set(model.get_params()) == set(RULES)
    copy = clone(model)
    assert copy is not model
    assert copy.get_params() == model.get_params()
    assert copy.set_params(beta=2.0, eps=1.5) is copy
    assert (copy.beta, copy.eps, model.beta) == (2.0, 1.5, 0.5)
    with pytest.raises(ValueError, match="Invalid parameter 'bta'"):
        copy.set_params(bta=1)


def test_the_constructor_neither_checks_nor_changes_its_parameters():
    edges = [0, 1, 2]
    assert MCGTA(n_neighbors=-1, bins=edges).bins is edges


def test_random_state_decides_what_is_random_and_nothing_else(series):
    draws = [fit(series, dissimilarity="js", eps=0.6, random_state=seed) for seed in (0, 0, 1)]
    totals = [model.objective_.total for model in draws]
    assert totals[0] == totals[1] != totals[2]
    drawn = [fit(series, dissimilarity="js", eps=0.6, random_state=np.random.default_rng(seed)) for seed in (3, 3, 4)]
    totals = [model.objective_.total for model in drawn]
    assert totals[0] == totals[1] != totals[2]
    exact = [fit(series, random_state=seed).objective_.total for seed in (0, np.random.RandomState(3), None)]
    assert exact[0] == exact[1] == exact[2]


def test_the_summary_attributes_are_plain_numbers(series):
    model = fit(series)
    for name in ("n_clusters_", "n_neighbors_", "min_samples_"):
        assert type(getattr(model, name)) is int, name
    for name in ("noise_share_", "eps_", "dissimilarity_error_"):
        assert type(getattr(model, name)) is float, name
    assert isinstance(model.semivariogram_.range_, numbers.Real)


def test_the_goodness_of_fit_prints_its_shares(series):
    fitness = fit(series).goodness_of_fit()
    lines = str(fitness).splitlines()
    assert lines[0] == f"{fitness.share:.1%} of {2 * (60 * 59 // 2)} pairs within clusters pass"
    assert len(lines) == 1 + np.count_nonzero(fitness.pairs)


def test_what_is_read_before_a_fit_says_that_there_is_none():
    for name in ("labels_", "n_clusters_", "feature_names_in_", "single_linkage_tree_"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(MCGTA(), name)
        assert not hasattr(MCGTA(), name)
