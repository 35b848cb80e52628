"""Stability: clusters that are there are found again when blocks are left out, and others are not."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import AgglomerativeClustering
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

import mcgta
from mcgta import MCGTA, stability
from mcgta.positions.metrics import SpaceTime
from mcgta.stages.dissimilarity.kind import Kind
from mcgta.stages.dissimilarity.precomputed import precomputed_kind
from mcgta.validation import stability as resampling
from mcgta.validation.blocks import cut_blocks
from mcgta.validation.stability import Stability, compare

CENTRES = 6 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


def segments(count=12, length=50, *, states=3, seed=1):
    """A series of segments, each in one of three states that are far apart."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(rng.permutation(np.arange(count) % states), length)
    return rng.normal(size=(labels.size, 2)) + CENTRES[labels], labels


def gaussian(count=600, seed=0):
    return np.random.default_rng(seed).normal(size=(count, 2))


def clear(**params):
    return MCGTA(**{"n_neighbors": 15, "eps": 0.6, "semivariogram": "empirical", **params})


def same(one, other):
    for name in ("clusters", "spread", "observations", "agreement", "numbers", "drawn"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def slow_jaccard(labels, other):
    """The largest similarity of each cluster, from sets."""
    members = [[set(np.flatnonzero(x == k)) for k in range(x.max() + 1)] for x in (labels, other)]
    return [max((len(a & b) / len(a | b) for b in members[1] if a | b), default=0.0) for a in members[0]]


def slow_matches(labels, other):
    """The most observations that any one-to-one matching of the clusters puts into matching ones; noise matches noise."""
    size = max(labels.max(), other.max()) + 1
    found = [
        sum(k >= 0 and way[k] == j for k, j in zip(labels, other, strict=True)) for way in permutations(range(size))
    ]
    return max(found) + sum((labels < 0) & (other < 0))


labellings = st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), min_size=1, max_size=25)


@given(labellings)
def test_similarities_and_matches_are_those_of_sets_and_of_all_matchings(pairs):
    labels, other = np.array(pairs, dtype=np.int64).T
    jaccard, matched = compare(labels, other, labels.max() + 1)
    np.testing.assert_allclose(jaccard, slow_jaccard(labels, other))
    assert matched.sum() == slow_matches(labels, other)


def test_a_labelling_matches_itself_under_other_numbers():
    labels = np.array([0, 0, 1, 1, -1, 2])
    jaccard, matched = compare(labels, np.array([2, 2, 0, 0, -1, 1]), 3)
    np.testing.assert_array_equal(jaccard, 1.0)
    assert matched.all()


@pytest.mark.parametrize("metric", ["time", "space"])
def test_clusters_that_are_far_apart_are_stable(metric):
    X, truth = segments()
    positions = None
    if metric == "space":  # a strip for each state
        positions = np.column_stack([np.random.default_rng(2).uniform(0, 3, truth.size), 5.0 * truth + X[:, 0] / 100])
    model = clear().fit(X, positions=positions)
    assert adjusted_rand_score(truth, model.labels_) > 0.6
    found = stability(model, n_resamples=8)
    assert found.verdicts == ("stable",) * 3
    assert found.agreement.mean() > 0.8
    assert np.nanmean(found.observations) > 0.9
    assert np.median(found.numbers) == 3
    assert "clusters 0, 1, 2 are stable" in str(found)


def test_one_gaussian_cut_in_too_many_clusters_is_not_stable():
    forced = AgglomerativeClustering(5, metric="precomputed", linkage="complete")
    model = MCGTA(n_neighbors=20, clusterer=forced).fit(gaussian())
    found = stability(model, n_resamples=8)
    np.testing.assert_array_equal(found.numbers, 5)
    assert found.clusters.mean() < 0.7
    assert found.agreement.mean() < 0.5
    assert "stable" not in found.verdicts
    assert "doubtful" in str(found) or "dissolve" in str(found)


def test_dense_places_of_one_gaussian_come_and_go_or_are_not_put_to_a_test():
    model = MCGTA(n_neighbors=20, min_samples=10, eps=0.02).fit(gaussian())
    assert model.n_clusters_ > 3
    found = stability(model)
    assert "untested" in found.verdicts
    assert not {"stable", "fairly stable"} & set(found.verdicts)
    assert np.unique(found.numbers).size > 1


def test_a_cluster_in_one_block_is_untested_and_one_in_several_is_not():
    X, _ = segments(states=2)
    X[10:40] += 30.0
    found = stability(clear().fit(X), n_resamples=8)
    np.testing.assert_array_less(1.9, found.spread[found.spread != found.spread.min()])
    assert found.spread.min() < 1.1
    assert found.verdicts[int(found.spread.argmin())] == "untested"
    assert found.verdicts.count("stable") == 2


def test_a_search_finds_clear_clusters_again_and_leaves_one_alone():
    X, _ = segments(8, 40, states=2)
    found = stability(MCGTA(progress=False).fit(X), n_resamples=2)
    assert found.verdicts == ("stable",) * 2
    one = stability(MCGTA(progress=False).fit(gaussian(240)), n_resamples=2)
    np.testing.assert_array_equal(one.numbers, 1)
    np.testing.assert_array_equal(one.clusters, 1.0)
    assert "cluster 0 is stable (Jaccard 1.00); always 1 cluster" in str(one)
    assert "ARI" not in str(one)


def test_noise_matches_noise():
    model = MCGTA(n_neighbors=20, eps=0.0).fit(gaussian(300))
    assert model.n_clusters_ == 0
    found = stability(model, n_resamples=3)
    assert found.clusters.shape == (0,)
    np.testing.assert_array_equal(found.observations[~np.isnan(found.observations)], 1.0)
    np.testing.assert_array_equal(found.agreement, 1.0)
    assert "no clusters" in str(found)


def test_observations_that_are_not_drawn_are_unknown_and_others_are_compared_as_often_as_drawn():
    found = stability(clear().fit(segments()[0]), n_resamples=2, share=0.3)
    assert 0 < np.isnan(found.observations).sum() < 600
    known = found.observations[~np.isnan(found.observations)]
    assert set(np.unique(known)) <= {0.0, 0.5, 1.0}
    assert found.drawn.max() < 250


def test_no_neighbourhood_reaches_over_a_gap(monkeypatch):
    X, _ = segments()
    seen = []

    genuine = resampling.fit_observations

    def watched(given, names, asked):
        seen.append((given.positions.coordinates[:, 0], given.positions.groups))
        return genuine(given, names, asked)

    model = clear().fit(X, groups=np.arange(600) // 300)
    monkeypatch.setattr(resampling, "fit_observations", watched)
    stability(model, n_resamples=4)
    assert len(seen) == 4
    for steps, groups in seen:
        together = np.diff(groups) == 0
        np.testing.assert_array_equal(np.diff(steps)[together], 1.0)
        assert np.unique(groups).size == 1 + np.count_nonzero(~together)  # no name is used twice


def test_blocks_have_a_size_and_small_groups_are_blocks():
    groups = np.r_[np.zeros(100), np.ones(7), np.full(40, 2)]
    blocks = cut_blocks(mcgta.read_positions(None, 147, groups=groups), 20)
    np.testing.assert_array_equal(np.bincount(blocks), [20] * 5 + [7] + [20] * 2)
    assert np.all(np.diff(blocks) >= 0)
    crowded = mcgta.read_positions(np.repeat([[0.0, 0.0], [0.0, 1.0]], 50, axis=0), 100)
    np.testing.assert_array_equal(np.bincount(cut_blocks(crowded, 10)), [50, 50])


def test_many_series_are_left_out_whole():
    X, _ = segments(24, 25)
    found = stability(clear(n_neighbors=8).fit(X, groups=np.repeat(np.arange(24), 25)), n_resamples=6)
    assert found.blocks == 24
    assert np.all(found.drawn == 17 * 25)
    assert found.verdicts == ("stable",) * 3


@pytest.mark.filterwarnings("ignore:.*have no model and are labelled noise")
def test_groups_that_are_too_small_for_models_are_noise_in_a_resample_of_their_own_too():
    groups = np.r_[np.repeat(np.arange(20), 10), np.full(40, 20)]
    found = stability(clear(n_neighbors=30).fit(gaussian(240), groups=groups), n_resamples=6, share=0.2)
    assert 0 in found.numbers
    small = found.observations[:200]
    np.testing.assert_array_equal(small[~np.isnan(small)], 1.0)


@pytest.mark.parametrize("seed", [0, 1])
def test_neither_threads_nor_the_order_of_rows_change_the_result(seed):
    X, truth = segments(8, 40)
    rng = np.random.default_rng(seed)
    positions = np.column_stack([rng.uniform(0, 3, truth.size), 3.0 * truth + rng.uniform(0, 3, truth.size)])
    first = stability(clear(eps=0.3).fit(X, positions=positions), n_resamples=3, random_state=seed)
    same(first, stability(clear(eps=0.3).fit(X, positions=positions), n_resamples=3, random_state=seed, n_jobs=2))
    mixed = rng.permutation(truth.size)
    other = stability(clear(eps=0.3).fit(X[mixed], positions=positions[mixed]), n_resamples=3, random_state=seed)
    np.testing.assert_array_equal(other.observations, first.observations[mixed])
    np.testing.assert_array_equal(other.clusters, first.clusters)
    np.testing.assert_array_equal(other.agreement, first.agreement)
    another = stability(clear(eps=0.3).fit(X, positions=positions), n_resamples=3, random_state=seed + 5)
    assert not np.array_equal(np.isnan(another.observations), np.isnan(first.observations))


@pytest.mark.parametrize("metric", ["haversine", "spacetime", "precomputed", "callable"])
def test_every_metric_will_do(metric):
    X, truth = segments(8, 40)
    rng = np.random.default_rng(3)
    places = np.column_stack([rng.uniform(0, 3, truth.size), 5.0 * truth + rng.uniform(0, 3, truth.size)])
    plain = stability(clear().fit(X, positions=places), n_resamples=3)
    if metric == "spacetime":
        model = clear(metric=SpaceTime(time_scale=1.0)).fit(X, positions=places)
        same(stability(model, n_resamples=3), plain)
        return
    if metric == "precomputed":
        places = np.linalg.norm(places[:, None] - places[None], axis=2)
    chosen = (lambda a, b: float(np.linalg.norm(a - b))) if metric == "callable" else metric
    found = stability(clear(metric=chosen).fit(X, positions=places), n_resamples=3)
    assert found.clusters.shape == plain.clusters.shape == (3,)
    assert min(found.clusters.min(), plain.clusters.min()) > 0.85


def test_dates_and_a_fit_from_a_file_give_the_same(tmp_path):
    X, _ = segments(8, 40)
    steps = np.arange(len(X))
    model = clear().fit(X, positions=np.datetime64("2024-01-01") + steps)
    model.save(tmp_path / "model.mcgta")
    found = stability(model, n_resamples=3)
    same(stability(mcgta.load(tmp_path / "model.mcgta"), n_resamples=3), found)
    same(stability(clear().fit(X, positions=86400.0 * steps), n_resamples=3), found)


def test_the_result_comes_back_from_a_file(tmp_path):
    found = stability(clear().fit(segments()[0]), n_resamples=3)
    found.save(tmp_path / "stability.mcgta")
    again = mcgta.load(tmp_path / "stability.mcgta")
    assert isinstance(again, Stability)
    same(again, found)
    assert str(again) == str(found)


def test_a_result_that_does_not_fit_together_is_refused():
    count = np.ones(2, dtype=np.int64)
    with pytest.raises(ValueError, match="one number for each resample"):
        Stability(np.ones(1), np.ones(1), np.ones(4), np.ones(3), count, count, 4, 0.7)
    with pytest.raises(ValueError, match="clusters must be one axis of shares"):
        Stability(np.full(1, 2.0), np.ones(1), np.ones(4), np.ones(2), count, count, 4, 0.7)


def test_the_words_say_what_became_of_each_cluster():
    similarity = np.array([0.95, 0.9, 0.8, 0.6, 0.482, np.nan, 0.99])
    spread = np.array([5, 5, 5, 5, 1, 1, 1.5])
    numbers, drawn = np.array([4, 4, 3, 5]), np.full(4, 70)
    observations = np.r_[np.full(90, 1.0), np.full(10, 0.2)]
    words = str(Stability(similarity, spread, observations, np.full(4, 0.934), numbers, drawn, 20, 0.7))
    assert words == (
        "4 resamples of 70 % of the observations: ARI 0.93 on average; "
        "clusters 0, 1 are stable (Jaccard 0.90 to 0.95); "
        "cluster 2 is fairly stable (Jaccard 0.80); "
        "cluster 6 is untested (Jaccard 0.99): found again where drawn, but in little more than one block, which is drawn as a "
        "whole or not at all; "
        "cluster 3 is doubtful (Jaccard 0.60): there is something, but its members are uncertain; "
        "cluster 4 dissolves (Jaccard 0.48): not found again; "
        "cluster 5 was never drawn; "
        "3 to 5 clusters, mostly 4; 10 % of the observations are mostly put elsewhere"
    )


def test_a_resample_of_many_has_a_limit_and_says_so(monkeypatch):
    monkeypatch.setattr(resampling, "MOST", 200)
    found = stability(clear(n_neighbors=5).fit(segments()[0]), n_resamples=3)
    assert 150 < found.drawn.min() <= found.drawn.max() <= 200
    assert found.blocks > 30
    assert "of 3" in str(found)
    assert "(at most 200 are drawn)" in str(found)


def test_progress_is_told_and_an_interrupt_ends_it():
    told = []
    model = clear().fit(segments(8, 40)[0])
    stability(model, n_resamples=3, progress=lambda *what: told.append(what))
    assert told[0] == ("resamples", 0.0)
    assert told[-1] == ("resamples", 1.0)

    class Interrupted(AgglomerativeClustering):
        times = 0

        def fit_predict(self, X, y=None):
            Interrupted.times += 1
            if Interrupted.times == 3:
                raise KeyboardInterrupt
            return super().fit_predict(X)

    model = clear(eps="auto", clusterer=Interrupted(2, metric="precomputed", linkage="average")).fit(gaussian(200))
    with pytest.raises(KeyboardInterrupt):
        stability(model, n_resamples=9)
    assert Interrupted.times == 3


def test_the_model_stays_as_it_was_and_its_later_parameters_do_not_count():
    model = clear().fit(segments(8, 40)[0])
    labels = model.labels_.copy()
    first = stability(model, n_resamples=3)
    same(stability(model.set_params(eps=99.0), n_resamples=3), first)
    np.testing.assert_array_equal(model.labels_, labels)
    assert not hasattr(model, "stability_")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_resamples": 1}, "n_resamples=1 is not allowed: n_resamples must be an integer >= 2"),
        ({"n_resamples": 2.5}, "n_resamples=2.5 is not allowed"),
        ({"share": 0.0}, "share=0.0 is not allowed: share must be a number > 0 and < 1"),
        ({"share": 1}, "share=1 is not allowed"),
        ({"share": True}, "share=True is not allowed"),
        ({"share": float("nan")}, "share=nan is not allowed"),
        ({"share": "70%"}, "share='70%' is not allowed"),
        ({"random_state": "x"}, "random_state='x' is not allowed"),
        ({"n_jobs": 0}, "n_jobs=0 is not allowed"),
        ({"progress": 3}, "progress=3 is not allowed"),
    ],
)
def test_bad_parameters_are_named(options, said):
    model = clear().fit(gaussian(100))
    with pytest.raises(ValueError, match=f"^{said}"):
        stability(model, **options)


def test_bad_models_are_refused():
    with pytest.raises(ValueError, match="must be an MCGTA that is fitted"):
        stability("model")
    with pytest.raises(NotFittedError):
        stability(MCGTA())
    with pytest.raises(
        ValueError, match="100 observations with n_neighbors_=30 make 3 blocks, and resamples need at least 4"
    ):
        stability(clear(n_neighbors=30).fit(gaussian(100)))


def test_a_fit_that_fails_says_in_which_resample():
    class Broken(AgglomerativeClustering):
        whole = True

        def fit_predict(self, X, y=None):
            if Broken.whole:
                Broken.whole = False
                return super().fit_predict(X)
            raise ValueError("no")

    model = clear(eps="auto", clusterer=Broken(2, metric="precomputed", linkage="average")).fit(gaussian(200))
    with pytest.raises(ValueError, match="no") as caught:
        stability(model, n_resamples=2)
    assert caught.value.__notes__[0].startswith("in resample 0 of 2, which has ")


def test_a_fit_with_given_models_is_refused():
    X = np.random.default_rng(0).normal(size=(200, 2)) + 6 * np.repeat([0, 1, 0, 1], 50)[:, None]
    model = MCGTA(n_neighbors=10, eps=0.6).fit(X)
    with pytest.raises(ValueError, match="model was refitted with local_models"):
        stability(model.refit(local_models=model.local_models_), n_resamples=2)


def test_a_table_of_dissimilarities_is_cut_to_the_rows_of_the_resample():
    X, _ = segments()
    shuffled = np.random.default_rng(0).permutation(600)
    X = X[shuffled]
    table = ((X[:, None] - X) ** 2).sum(axis=2)
    model = clear(dissimilarity=table, eps=1.0, min_samples=5).fit(X, positions=shuffled)
    found = stability(model, n_resamples=3)
    same(
        found,
        stability(clear(dissimilarity="euclidean", eps=1.0, min_samples=5).fit(X, positions=shuffled), n_resamples=3),
    )
    assert found.verdicts == ("stable",) * 3


def test_a_kind_that_compares_rows_by_their_numbers_is_refused():
    X, _ = segments()
    table = ((X[:, None] - X) ** 2).sum(axis=2)
    kind = Kind("mine", "rows", precomputed_kind(table).build)
    with pytest.raises(ValueError, match="model has dissimilarity='mine', which compares rows by their numbers"):
        stability(clear(dissimilarity=kind, eps=1.0).fit(X), n_resamples=2)


def test_resamples_are_measured_by_the_metric_that_the_fit_has_chosen(monkeypatch):
    X, _ = segments()
    rng = np.random.default_rng(0)
    places = pd.DataFrame({"lon": rng.uniform(10, 11, 600), "lat": rng.uniform(50, 51, 600), "time": np.arange(600.0)})
    model = clear(metric=SpaceTime(time_scale=100.0)).fit(X, positions=places)
    seen = []
    genuine = resampling.fit_observations
    monkeypatch.setattr(
        resampling, "fit_observations", lambda *args: seen.append(args[0].positions.metric) or genuine(*args)
    )
    stability(model, n_resamples=2)
    assert seen == [SpaceTime(time_scale=100.0, space="haversine")] * 2


@pytest.mark.parametrize("positions", [None, pd.date_range("2026-01-01", periods=600, freq="h")])
def test_a_given_semivariogram_keeps_its_unit(positions):
    X, _ = segments()
    first = clear().fit(X, positions=positions)
    model = clear(semivariogram=first.semivariogram_).fit(X, positions=positions)
    assert stability(model, n_resamples=2).verdicts == ("stable",) * 3
