"""Probabilities of clusters, given those of a labelling."""

import itertools
import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp, softmax

from mcgta import MCGTA, load
from mcgta.datasets import make_regions, make_series
from mcgta.kernels.evidence.chances import path_chances, sweep_chances
from mcgta.observations.observations import sort_observations
from mcgta.positions.reading import read_positions
from mcgta.selection import cluster_models, probabilities
from mcgta.selection.cluster_models import choose_rows, estimate_cluster_models
from mcgta.selection.probabilities import membership_probabilities
from mcgta.selection.relabelling import RELABEL_STEPS, Relabeller
from mcgta.selection.sampling import sample_rows
from mcgta.selection.scoring.scored_labelling import fit_clusters, score
from mcgta.selection.scoring.scoring_data import ScoringData
from mcgta.selection.scoring.tails import Tails
from mcgta.selection.search import search
from naive import selection as naive

SEEDS = st.integers(0, 2**32 - 1)


def sorted_series(X, positions=None, groups=None):
    """Features and positions in canonical order, and that order."""
    places = read_positions(positions, len(X), groups=groups)
    data = sort_observations(X, places, n_neighbors=2, lags=0, seed=0)
    return data.X, data.positions, data.order


def find_sorted(X, places, labels, *, mixed=False):
    """Probabilities by clusters that are estimated from the labels; all in canonical order."""
    clusters = estimate_cluster_models(X, places, labels, seed=0, mixed=mixed)
    return membership_probabilities(X, places, labels, clusters)


def find(data, labels, positions=None, groups=None, *, mixed=False):
    """Probabilities in the order of the rows given."""
    X, places, order = sorted_series(data, positions, groups)
    found = np.empty((len(data), labels.max() + 1))
    found[order] = find_sorted(X, places, labels[order], mixed=mixed)
    return found


def paths(stay, enter, first, cost):
    """Probabilities, by all labellings written out."""
    count, size = stay.shape
    every = list(itertools.product(range(size), repeat=count))
    logs = np.array([naive.path_score(stay, enter, first, cost, path) for path in every])
    chance = np.exp(logs - logsumexp(logs))
    return np.array([[chance[[p[t] == k for p in every]].sum() for k in range(size)] for t in range(count)])


def forward_backward(stay, enter, first, cost):
    found = np.empty(stay.shape)
    path_chances(stay, enter, first, cost, found)
    return found


@given(
    seed=SEEDS,
    count=st.integers(1, 6),
    size=st.integers(1, 3),
    cost=st.sampled_from([0.0, 0.5, 3.0, 12.0]),
    spread=st.sampled_from([0.0, 1.0, 30.0]),
)
@settings(max_examples=100, derandomize=True, deadline=None)
def test_probabilities_along_series_are_those_of_all_labellings(seed, count, size, cost, spread):
    rng = np.random.default_rng(seed)
    enter = rng.normal(0, 2, (count, size))
    stay = enter + spread * rng.normal(size=(count, size))
    first = np.r_[True, rng.random(count - 1) < 0.3]
    found = forward_backward(stay, enter, first, cost)
    np.testing.assert_allclose(found, paths(stay, enter, first, cost), rtol=1e-9, atol=1e-300)


def test_what_is_very_improbable_at_first_can_win_later():
    enter = np.array([[0.0, -2000.0, -3000.0], [-5000.0, 0.0, -100.0], [0.0, 0.0, 0.0]])
    stay = np.array([[0.0, 0.0, 0.0], [-5000.0, -9000.0, -9000.0], [0.0, 0.0, -9000.0]])
    first = np.array([True, False, False])
    found = forward_backward(stay, enter, first, 2.0)
    np.testing.assert_allclose(found, paths(stay, enter, first, 2.0), atol=1e-12)


def test_a_long_series_keeps_its_sums():
    rng = np.random.default_rng(0)
    enter = rng.normal(0, 40, (50_000, 4))
    found = forward_backward(enter, enter, np.r_[True, np.zeros(len(enter) - 1, dtype=bool)], 9.0)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


def test_series_know_nothing_of_each_other():
    rng = np.random.default_rng(1)
    enter, stay = rng.normal(0, 1, (2, 30, 3))
    first = np.zeros(30, dtype=bool)
    first[[0, 11]] = True
    whole = forward_backward(stay, enter, first, 1.0)
    parts = [forward_backward(stay[s].copy(), enter[s].copy(), first[s], 1.0) for s in (slice(0, 11), slice(11, 30))]
    np.testing.assert_allclose(whole, np.concatenate(parts), rtol=1e-12)


@given(seed=SEEDS, together=st.floats(0, 6))
@settings(max_examples=25, derandomize=True, deadline=None)
def test_a_sweep_is_that_of_one_row_after_another(seed, together):
    rng = np.random.default_rng(seed)
    worth, chances = rng.normal(0, 2, (20, 3)), rng.dirichlet(np.ones(3), 20)
    listed = np.where(rng.random((20, 5)) < 0.8, rng.integers(0, 20, (20, 5)), -1)
    expected, largest = chances.copy(), 0.0
    for i in range(20):
        beside = [expected[j] for j in listed[i] if j >= 0]
        new = softmax(worth[i] + together * np.mean(beside, axis=0)) if beside else softmax(worth[i])
        largest = max(largest, np.abs(new - expected[i]).max())
        expected[i] = new
    change = sweep_chances(worth, listed, together, chances)
    np.testing.assert_allclose(chances, expected, rtol=1e-10)
    assert change == pytest.approx(largest, rel=1e-9)


def test_densities_around_are_those_that_labels_are_visited_by():
    rng = np.random.default_rng(3)
    positions = rng.uniform(0, 5, (60, 2))
    X, places, _ = sorted_series(rng.normal(size=(60, 2)), positions)
    labels = rng.integers(-1, 3, 60)
    scoring_data = ScoringData.of(X, places)
    correlations = np.array([3, len(scoring_data.correlation_grid) - 2])
    tails = Tails(degrees_of_freedom=4.0)
    relabeller = Relabeller(scoring_data, correlations, tails, likelihood_weight=0.7)
    known = np.maximum(labels, 0)
    clusters = fit_clusters(scoring_data.whiten_by(known, correlations), known, tails).gaussians
    found = relabeller.neighbor_log_densities(labels, clusters)
    distances = places.between(np.arange(60), np.arange(60))
    by = [
        (
            scoring_data.correlation_grid.families[t],
            scoring_data.correlation_grid.lengths[t],
            scoring_data.correlation_grid.nuggets[t],
        )
        for t in correlations
    ]
    for i, k in itertools.product(range(0, 60, 7), range(3)):
        root = np.linalg.inv(clusters.inverse[k])
        centre = clusters.means[k], root @ root.T, 0.0
        of = (4.0, 0.0, 1.0)
        worth = naive.suitability(
            scoring_data.X, i, k, labels, scoring_data.neighbors, distances, centre, by, of, 0.0, 0.7, 8
        )
        assert found[i, k] == pytest.approx(worth, rel=1e-6, abs=1e-6)


def series(seed=0, count=600, **options):
    made = make_series(count, n_clusters=3, random_state=seed, **options)
    return made, made.labels.copy()


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("make", [make_series, make_regions])
def test_rows_sum_to_one_and_noise_has_probabilities_too(make, mixed):
    made = make(500, n_clusters=3, random_state=1)
    labels = made.labels.copy()
    noise = np.random.default_rng(0).random(500) < 0.2
    labels[noise] = -1
    found = find(made.X, labels, made.positions, mixed=mixed)
    assert found.shape == (500, 3)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    right = found.argmax(axis=1) == made.labels
    assert right[noise].mean() > (0.6 if mixed else 0.9)


def test_noise_has_no_part_in_the_clusters():
    made, labels = series()
    labels[200:260] = -1
    wild = made.X.copy()
    wild[200:260] *= 1e3
    calm = find(made.X, labels, mixed=True)
    np.testing.assert_allclose(find(wild, labels, mixed=True)[:200], calm[:200], rtol=1e-9)


def test_without_position_they_are_those_of_a_mixture():
    made, labels = series(2)
    X, places, _ = sorted_series(made.X)
    scoring_data = ScoringData.of(X, places)
    scored = score(scoring_data, labels, correlations=np.zeros(5, dtype=np.int64))
    whitened = scoring_data.whiten_by(labels, scored.correlations)
    fitted = fit_clusters(whitened, labels, scored.tails, steps=RELABEL_STEPS)
    clusters, counts = fitted.gaussians, fitted.counts
    logs = np.empty((600, 3))
    for k in range(3):
        off = (clusters.inverse[k] @ (scoring_data.X - clusters.means[k][:, None])) ** 2
        logs[:, k] = scored.tails.log_density(off.sum(axis=0), 5) - clusters.log_root[k]
    expected = softmax(logs + np.log((counts + 0.5) / (counts.sum() + 1.5)), axis=1)
    np.testing.assert_allclose(find(made.X, labels, mixed=True), expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("correlation", [0.0, 0.7])
@pytest.mark.parametrize("part", [37, 150])
def test_parts_of_series_give_what_the_whole_gives(monkeypatch, correlation, part):
    made, labels = series(3, correlation=correlation)
    labels[100:120] = -1
    groups = np.repeat([0, 1, 2], [250, 50, 300])
    whole = find(made.X, labels, groups=groups)
    monkeypatch.setattr(probabilities, "LABELLED_AT_A_TIME_ROWS", part)
    np.testing.assert_allclose(find(made.X, labels, groups=groups), whole, atol=1e-9)


@pytest.mark.parametrize("smooth", [False, True])
def test_parts_of_a_map_give_what_the_whole_gives(monkeypatch, smooth):
    made = make_regions(500, n_clusters=3, random_state=2)
    X = made.X
    if smooth:  # features follow their neighbours
        X = X + 2 * np.sin(made.positions @ np.random.default_rng(0).normal(size=(2, 5)))
    whole = find(X, made.labels, made.positions)
    monkeypatch.setattr(probabilities, "LABELLED_AT_A_TIME_ROWS", 90)
    np.testing.assert_allclose(find(X, made.labels, made.positions), whole, atol=1e-9)


@pytest.mark.parametrize("time", [True, False])
def test_clusters_of_many_are_estimated_from_a_sample_with_some_of_each(monkeypatch, time):
    made = (make_series if time else make_regions)(800, n_clusters=3, random_state=0)
    labels = np.where(np.arange(800) < 20, 3, made.labels)
    labels[50:90] = -1
    every = find(made.X, labels, made.positions)
    monkeypatch.setattr(cluster_models, "MAX_SEARCHED_ROWS", 100)
    monkeypatch.setattr(cluster_models, "sample_rows", partial(sample_rows, most=100, size=250))
    _, places, order = sorted_series(made.X, made.positions)
    rows = choose_rows(places, labels[order], seed=0)
    held = np.bincount(labels[order][rows])
    assert 200 < rows.size < 760
    assert (np.diff(rows) > 0).all()
    assert (held >= np.minimum(50, np.bincount(labels[labels >= 0]))).all()
    some = find(made.X, labels, made.positions)
    assert (some.argmax(axis=1) == every.argmax(axis=1)).mean() > 0.9


@pytest.mark.parametrize("make", [make_series, make_regions])
def test_the_order_of_rows_does_not_matter(make):
    made = make(300, n_clusters=2, random_state=5)
    order = np.random.default_rng(0).permutation(300)
    one = MCGTA(eps=1.0, refine="all").fit(made.X, positions=made.positions)
    two = MCGTA(eps=1.0, refine="all").fit(made.X[order], positions=made.positions[order])
    np.testing.assert_array_equal(two.membership_probabilities_, one.membership_probabilities_[order])


def test_one_cluster_is_certain_and_without_clusters_there_is_none():
    X = make_series(200, n_clusters=1, random_state=0).X
    one = MCGTA(eps=1e9).fit(X)
    assert one.n_clusters_ == 1
    np.testing.assert_array_equal(one.membership_probabilities_, np.ones((200, 1)))
    none = MCGTA(eps=0.0).fit(X)
    assert none.n_clusters_ == 0
    assert none.membership_probabilities_.shape == (200, 0)


def test_where_no_feature_varies_clusters_are_as_probable_as_they_are_large():
    labels = np.repeat([0, 1, -1], [29, 9, 2])
    found = find(np.repeat([[1.0, 2.0], [5.0, 6.0]], [38, 2], axis=0), labels)
    np.testing.assert_allclose(found, np.tile([29.5 / 39, 9.5 / 39], (40, 1)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [make_series, make_regions])
def test_refined_labels_are_the_most_probable_of_nearly_all(make, seed):
    made = make(600, n_clusters=3, random_state=seed)
    model = MCGTA(eps=1.0, refine="all", semivariogram="empirical").fit(made.X, positions=made.positions)
    assert model.n_clusters_ > 1
    assert (model.membership_probabilities_.argmax(axis=1) == model.labels_).mean() >= 0.97


@pytest.mark.parametrize("seed", [58, 60])
def test_labels_are_the_most_probable_where_regions_overlap_too(seed):
    made = make_regions(1200, random_state=seed)
    model = MCGTA(refine="all", progress=False).fit(made.X, positions=made.positions)
    assert model.cluster_models_.overlap > 0
    assert (model.membership_probabilities_.argmax(axis=1) == model.labels_).mean() >= 0.995


def test_observations_without_a_model_have_probabilities():
    made, _ = series(4, 300)
    groups = np.repeat(["long", "short"], [296, 4])
    with pytest.warns(UserWarning, match="4 of 300 observations have no model"):
        model = MCGTA(n_neighbors=20, eps=3.0, semivariogram="empirical", lags=1).fit(made.X, groups=groups)
    assert model.n_clusters_ > 0
    np.testing.assert_allclose(model.membership_probabilities_.sum(axis=1), 1.0, rtol=1e-12)


def test_they_are_kept_but_not_pickled_and_are_the_same_when_computed_again():
    made, _ = series(5, 300)
    model = MCGTA(eps=1.0, refine="all").fit(made.X)
    found = model.membership_probabilities_
    kept = model.fitted_.derived.probabilities
    np.testing.assert_array_equal(model.membership_probabilities_, found)
    assert model.fitted_.derived.probabilities is kept
    again = pickle.loads(pickle.dumps(model))
    assert "probabilities" not in vars(again.fitted_.derived)
    np.testing.assert_array_equal(again.membership_probabilities_, found)
    model.append(make_series(20, random_state=9).X)
    assert model.membership_probabilities_.shape[0] == 320


def test_a_fit_out_of_a_file_has_the_same(tmp_path):
    made, _ = series(5, 300)
    model = MCGTA(n_neighbors=20, eps=0.6, min_samples=10, semivariogram="empirical").fit(made.X)
    assert model.n_clusters_ > 1
    model.save(tmp_path / "fit.mcgta")
    np.testing.assert_array_equal(
        load(tmp_path / "fit.mcgta").membership_probabilities_, model.membership_probabilities_
    )


@pytest.mark.parametrize("options", [{}, {"segment_lengths": (3, 12), "separation": 1.5}, {"correlation": 0.5}])
def test_along_time_about_as_many_are_right_as_the_probabilities_say(options):
    top, right = [], []
    for seed in range(6):
        made = make_series(1000, n_clusters=3, random_state=seed, **options)
        X, places, _ = sorted_series(made.X)
        labels = search(X, places)[1].labels
        name = np.array([np.bincount(made.labels[labels == k]).argmax() for k in range(labels.max() + 1)])
        found = find_sorted(X, places, labels)
        top.append(found.max(axis=1))
        right.append(name[found.argmax(axis=1)] == made.labels)
    top, right = np.concatenate(top), np.concatenate(right)
    unsure = (top > 0.6) & (top < 0.9)
    assert unsure.sum() > 60
    assert abs(right[unsure].mean() - top[unsure].mean()) < 0.12
    assert right[top > 0.99].mean() > 0.99
