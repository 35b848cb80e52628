"""The calibrated goodness-of-fit test of a fit: p-values, and margins and radii given as significance levels."""

import numpy as np
import pytest
from scipy import stats

from mcgta import MCGTA, GaussianMixturePrior, load
from mcgta.clustering.labels import number_by_first_member
from mcgta.datasets import make_series
from mcgta.runtime.rules import read_level
from mcgta.stages.within_clusters import count_within, draw_within, pairs_within
from naive import algorithm as naive

LEVELS = {"eps": "5%", "margin": "5%"}


def make(n=12, **params):
    return MCGTA(**{"n_neighbors": n, "eps": 1.1, "covariance": "empirical", "semivariogram": "empirical", **params})


@pytest.fixture(scope="module")
def two_states():
    return make_series(240, n_clusters=2, separation=1.5, segment_lengths=(20, 40), random_state=20)


@pytest.fixture(scope="module")
def fitted(two_states):
    return make().fit(two_states.X)


# ------------------------------------------------------------------------------------------------------------ p-values


@pytest.mark.parametrize("covariance", ["empirical", "graphical_lasso", "shrunk"])
@pytest.mark.parametrize("d", [1, 3, 6])
@pytest.mark.parametrize("lag", ["disjoint", "half", "next"])
def test_p_values_of_one_gaussian_are_about_uniform(covariance, d, lag):
    """One series for each pair of windows, so that pairs are independent."""
    n, series = 20, 400
    step = {"disjoint": n, "half": n // 2, "next": 1}[lag]
    rng = np.random.default_rng(d)
    X = rng.normal(size=(series * 2 * n, d)) @ rng.normal(size=(d, d))
    model = make(n, covariance=covariance, eps=1.0).fit(X, groups=np.repeat(np.arange(series), 2 * n))
    start = 2 * n * np.arange(series) + n // 2
    p = model.p_value(start, start + step)
    assert stats.kstest(p, "uniform").statistic < 0.09
    assert np.mean(p <= 0.05) == pytest.approx(0.05, abs=0.035)


def test_observations_of_other_states_get_small_p_values(series):
    model = make(8).fit(series.X, positions=series.positions)
    i, j = np.triu_indices(120, 1)
    p, same = model.p_value(i, j), series.truth[i] == series.truth[j]
    assert p[~same].max() < 0.01
    assert np.median(p[same]) > 0.3


def test_a_p_value_is_that_of_the_equation(fitted):
    models, windows = fitted.local_models_, [np.arange(row, row + 12) for row in range(229)]
    null = fitted.fitted_.derived.significance.null
    first = [max(0, min(row - 6, 228)) for row in range(240)]
    for i, j in [(20, 23), (20, 100), (50, 200), (7, 8)]:
        shared = len(set(windows[first[i]]) & set(windows[first[j]])) / 12
        covs = models.covariances[i], models.covariances[j]
        W = naive.wasserstein2(models.means[i], covs[0], models.means[j], covs[1])
        ratio = W / ((1 - shared) * (naive.chance(covs[0], 12) + naive.chance(covs[1], 12)) / 2)
        assert fitted.p_value(i, j) == pytest.approx(float(null.p_value(ratio, shared)))
        assert 0 < fitted.p_value(i, j) <= 1


def test_rows_broadcast_and_the_same_neighbourhood_gives_one(fitted):
    assert isinstance(fitted.p_value(3, 100), float)
    table = fitted.p_value(np.arange(5)[:, None], np.arange(100, 107))
    assert table.shape == (5, 7)
    assert table[3, 0] == fitted.p_value(3, 100) == fitted.p_value(100, np.int64(3))
    assert fitted.p_value(0, 0) == 1.0
    assert fitted.p_value(0, 3) == 1.0  # both have the first window
    assert fitted.p_value([], []).shape == (0,)


@pytest.mark.parametrize("weights", ["uniform", "triangular"])
def test_p_values_depend_neither_on_row_order_nor_threads_nor_the_file(two_states, plane, weights, tmp_path):
    for X, positions in ((two_states.X, np.arange(240.0)), (plane.X, plane.positions)):
        model = make(8, weights=weights).fit(X, positions=positions)
        i, j = np.triu_indices(len(X), 1)
        p = model.p_value(i, j)
        order = np.random.default_rng(0).permutation(len(X))
        again = make(8, weights=weights, n_jobs=2).fit(X[order], positions=positions[order])
        back = np.argsort(order)
        np.testing.assert_array_equal(again.p_value(back[i], back[j]), p)
        model.save(tmp_path / "model.mcgta")
        np.testing.assert_array_equal(load(tmp_path / "model.mcgta").p_value(i, j), p)


def test_rotated_features_and_other_units_give_the_same_p_values(two_states, fitted):
    d = two_states.X.shape[1]
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(d, d)))[0]
    i, j = np.triu_indices(240, 1)
    expected = fitted.p_value(i, j)
    for X in (two_states.X @ turn, 1e-4 * two_states.X, two_states.X + 100.0):
        found = make().fit(X).p_value(i, j)
        assert np.mean(np.abs(found - expected) > 1e-6) < 1e-3  # rounding may pass a simulated ratio


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"dissimilarity": "kl"}, "dissimilarity='wasserstein2'.* only, not for 'kl'"),
        ({"dissimilarity": "euclidean"}, "not for 'euclidean'"),
        ({"prior": GaussianMixturePrior(1)}, r"prior=GaussianMixturePrior\(n_components=1, "),
    ],
)
def test_what_has_no_null_distribution_says_so(two_states, params, said):
    model = make(eps=1.0, **params).fit(two_states.X)
    with pytest.raises(ValueError, match=f"p_value needs.*{said}"):
        model.p_value(0, 1)
    with pytest.raises(ValueError, match=f"level=0.05 is.*{said}"):
        model.goodness_of_fit(level=0.05)
    for name in LEVELS:
        with pytest.raises(ValueError, match=f"{name}='5%' is.*{said}"):
            make(**{"eps": 1.0, **params, name: "5%"}).fit(two_states.X)


@pytest.mark.parametrize(
    ("i", "said"),
    [
        (240, "i=240 is not a row"),
        (-1, "i=-1 is not"),
        (1.5, "i=1.5 must be rows, integers"),
        ("a", "i='a' must be rows"),
    ],
)
def test_what_is_no_row_is_refused(fitted, i, said):
    with pytest.raises(ValueError, match=said):
        fitted.p_value(i, 0)


@pytest.mark.filterwarnings("ignore:.*have no model")
def test_rows_without_a_model_are_refused_and_others_tested(two_states):
    groups = np.r_[np.zeros(5), np.ones(235)]
    model = make().fit(two_states.X, groups=groups)
    with pytest.raises(ValueError, match="j=2 has no model: fewer than"):
        model.p_value(10, [10, 2])
    assert 0 < model.p_value(10, 200) < 1


def test_constant_observations_are_tested_too():
    X = np.repeat([[1.0, 2.0], [3.0, 5.0]], 60, axis=0)
    model = make(8, eps=0.1).fit(X)
    assert model.p_value(10, 40) == 1
    assert model.p_value(10, 100) < 0.01


# ------------------------------------------------------------------------------------------------------- goodness of fit


def test_pairs_within_clusters_are_drawn_by_rank():
    labels = np.random.default_rng(2).integers(-1, 4, 60)
    count = count_within(labels)
    i, j = draw_within(labels, np.arange(count))
    every = {
        (int(rows[a]), int(cols[b]))
        for rows, cols, halved in pairs_within(labels, 7)
        for a in range(rows.size)
        for b in range(a + 1 if halved else 0, cols.size)
    }
    assert set(zip(i.tolist(), j.tolist(), strict=True)) == every
    assert len(every) == count
    assert (i < j).all()
    few = np.array([0, 3, 3, count - 1])
    np.testing.assert_array_equal(draw_within(labels, few), (i[few], j[few]))


def test_ranks_of_very_many_pairs_are_found():
    size = 2**25
    labels = np.zeros(size, dtype=np.int8)
    i, j = draw_within(labels, np.array([0, size * (size - 1) // 2 - 1, size * (size - 1) // 2 - size]))
    assert (i.tolist(), j.tolist()) == ([0, size - 2, size - 3], [1, size - 1, size - 2])


def test_the_share_of_pairs_that_pass_at_a_level_is_that_of_their_p_values(fitted):
    found = fitted.goodness_of_fit(level="5%")
    i, j = np.triu_indices(240, 1)
    inside = (fitted.labels_[i] == fitted.labels_[j]) & (fitted.labels_[i] >= 0)
    p = fitted.p_value(i[inside], j[inside])
    assert (found.level, found.tested, found.accepted) == (0.05, p.size, np.count_nonzero(p > 0.05))
    assert found.accepted_share == pytest.approx(np.mean(p > 0.05))
    assert not found.sampled
    assert "pass the calibrated test at level 0.05" in str(found)
    plain = fitted.goodness_of_fit()
    assert "calibrated" not in str(plain)
    assert np.isnan(plain.accepted_share)
    np.testing.assert_array_equal(plain.passed, found.passed)


def test_many_pairs_are_sampled_and_that_is_said(fitted, monkeypatch):
    whole = fitted.goodness_of_fit(level=0.2)
    monkeypatch.setattr("mcgta.inference.pair_test._MOST_TESTED_PAIRS", 2000)
    some = fitted.goodness_of_fit(level=0.2)
    assert (some.tested, some.sampled) == (2000, True)
    assert "of a sample of 2000 pass" in str(some)
    assert some.accepted_share == pytest.approx(whole.accepted_share, abs=0.05)
    assert some.accepted == fitted.goodness_of_fit(level=0.2).accepted


@pytest.mark.parametrize("level", [0, 1, -0.1, "0%", "100%", "5", "five", np.nan, True])
def test_a_level_is_between_0_and_1(fitted, level):
    with pytest.raises(
        ValueError, match=r"level=.* must be a number > 0 and < 1, or a significance level above 0% and"
    ):
        fitted.goodness_of_fit(level=level)


# ------------------------------------------------------------------------------------ levels in the place of numbers


@pytest.mark.parametrize(
    ("text", "level"),
    [("5%", 0.05), ("0.5%", 0.005), (" 20 % ", 0.2), (".1%", 0.001), ("99.9%", 0.999), ("5.%", 0.05)],
)
def test_levels_are_read(text, level):
    assert read_level(text) == pytest.approx(level)


@pytest.mark.parametrize("text", ["0%", "100%", "-5%", "5", "auto", "%", "1e-3%", "5%%", 0.05, None])
def test_what_is_no_level_is_none(text):
    assert read_level(text) is None


@pytest.mark.parametrize("name", ["eps", "margin"])
@pytest.mark.parametrize("value", ["0%", "100%", "5", "five percent"])
def test_a_wrong_level_says_what_is_allowed(two_states, name, value):
    said = f"{name}='{value}' is not allowed: {name} must be .*significance level above 0% and below 100%.*'5%'"
    with pytest.raises(ValueError, match=said):
        make(**{name: value}).fit(two_states.X)


def test_a_level_is_the_share_of_same_model_pairs_beyond_the_radius():
    rng = np.random.default_rng(4)
    n, windows = 20, 200
    X = rng.normal(size=(windows * n, 3))
    model = make(n, eps="20%", min_samples=5).fit(X, groups=np.repeat(np.arange(windows), n))
    dissimilarity = model.fitted_.derived.prepared.loss.dissimilarity
    W = dissimilarity.of_pairs(n * np.arange(0, windows, 2), n * np.arange(1, windows, 2))
    assert np.mean(model.eps_ < W) == pytest.approx(0.2, abs=0.1)
    assert model.refit(eps="1%").eps_ > model.refit(eps="5%").eps_ > model.eps_


@pytest.mark.parametrize("place", ["time", "plane"])
def test_the_margin_of_a_level_is_the_quantile_over_pairs_within_the_range(two_states, plane, place):
    """Against all pairs, one by one, each with random ratios."""
    X, positions = (two_states.X, np.arange(240.0)) if place == "time" else (plane.X, plane.positions % 7.1)
    model = make(8, margin="20%").fit(X, positions=positions)
    prepared = model.fitted_.derived.prepared
    significance = model.fitted_.derived.significance
    near = significance.neighborhoods
    places = prepared.loss.positions
    curve = model.semivariogram_
    indices, weights = near.part(slice(None))
    rng, slack = np.random.default_rng(0), []
    for i in range(len(X)):
        for j in range(i + 1, len(X)):
            distance = naive.euclidean(places.coordinates[i], places.coordinates[j])
            if distance <= curve.range_:
                shared = naive.overlap(indices[i], weights[i], indices[j], weights[j])
                ratio = significance.null.quantile(rng.random(4), shared)
                c = naive.chance(model.local_models_.covariances[prepared.rows[i if rng.random() < 0.5 else j]], 8)
                slack += (2 * float(curve(distance)) - (1 - shared) * c * ratio).tolist()
    exceed = np.mean(np.array(slack) < model.margin_)
    assert exceed == pytest.approx(0.2, abs=0.02)
    assert model.refit(margin="1%").margin_ < model.refit(margin="5%").margin_ < model.margin_


@pytest.mark.parametrize("clusterer", ["dbscan", "hdbscan", "optics"])
def test_levels_give_the_labels_of_the_numbers_they_stand_for(two_states, clusterer):
    model = make(clusterer=clusterer, **LEVELS).fit(two_states.X)
    same = make(clusterer=clusterer, eps=model.eps_, margin=model.margin_).fit(two_states.X)
    np.testing.assert_array_equal(model.labels_, same.labels_)
    np.testing.assert_array_equal(model.probabilities_, same.probabilities_)
    assert same.margin_ == model.margin_
    assert model.pair_test(0, 50) == same.pair_test(0, 50)
    np.testing.assert_array_equal(model.predict(two_states.X[:40] + 0.1), same.predict(two_states.X[:40] + 0.1))
    assert model.get_params()["eps"] == "5%"


def test_levels_survive_a_file_and_a_refit(two_states, tmp_path):
    model = make(**LEVELS).fit(two_states.X)
    model.save(tmp_path / "model.mcgta")
    again = load(tmp_path / "model.mcgta")
    assert (again.eps_, again.margin_, again.margin) == (model.eps_, model.margin_, "5%")
    new = again.refit(margin="1%")
    fresh = make(eps="5%", margin="1%").fit(two_states.X)
    assert (new.eps_, new.margin_) == (fresh.eps_, fresh.margin_)
    np.testing.assert_array_equal(new.labels_, fresh.labels_)
    assert again.refit(margin=0.25, eps=1.0).margin_ == 0.25


@pytest.mark.parametrize("clusterer", ["dbscan", "hdbscan"])
def test_appending_keeps_the_numbers_unless_told_to_refresh(two_states, clusterer):
    model = make(clusterer=clusterer, **LEVELS).fit(two_states.X[:180])
    before = model.eps_, model.margin_
    model.append(two_states.X[180:220])
    assert (model.eps_, model.margin_) == before
    model.append(two_states.X[220:], refresh=True)
    fresh = make(clusterer=clusterer, **LEVELS).fit(two_states.X)
    assert (model.eps_, model.margin_) == (fresh.eps_, fresh.margin_)
    assert (model.eps_, model.margin_) != before
    np.testing.assert_array_equal(number_by_first_member(model.labels_), fresh.labels_)  # clusters keep their numbers
    np.testing.assert_array_equal(model.p_value(np.arange(200), 230), fresh.p_value(np.arange(200), 230))


def test_levels_do_not_depend_on_the_order_of_rows(plane):
    order = np.random.default_rng(3).permutation(128)
    one = make(8, **LEVELS).fit(plane.X, positions=plane.positions)
    two = make(8, n_jobs=2, **LEVELS).fit(plane.X[order], positions=plane.positions[order])
    assert (one.eps_, one.margin_) == (two.eps_, two.margin_)


def test_a_margin_needs_pairs_within_the_range(two_states, fitted):
    short = type(fitted.semivariogram_)(
        **{**fitted.semivariogram_._archive_state(), "range_": 1e-3, "model": "empirical"}
    )
    with pytest.raises(ValueError, match=r"no pair of observations lies within the range, 0.001 step; give a number"):
        make(semivariogram=short, margin="5%").fit(two_states.X)


def test_models_passed_in_are_tested_by_the_parameters_of_the_fit(fitted):
    again = fitted.refit(local_models=fitted.local_models_)
    assert again.p_value(3, 100) == fitted.p_value(3, 100)
    bare = type(fitted.local_models_)(fitted.local_models_.means, fitted.local_models_.covariances)
    with pytest.raises(ValueError, match="do not tell their sizes"):
        fitted.refit(local_models=bare).p_value(3, 100)
