"""k-means with must-links and cannot-links."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from mcgta.baselines.pck_means import Links, PCKMeans, draw_far, draw_near
from mcgta.baselines.plain import KMeans
from mcgta.positions.reading import read_positions


def read(positions: Any, groups: Any = None) -> Any:
    return read_positions(positions, len(positions), groups=groups, metric="auto")


def stripes() -> tuple[Any, Any]:
    """Two clusters that are long in one direction, which k-means cuts across."""
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1], 100)
    return np.column_stack([rng.uniform(-6, 6, 200), truth * 1.5 + rng.normal(0, 0.1, 200)]), truth


def test_links_make_clusters_that_kmeans_misses() -> None:
    X, truth = stripes()
    rng = np.random.default_rng(2)
    pairs = rng.integers(0, 200, (3000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    model = PCKMeans(2, must_link=pairs[same], cannot_link=pairs[~same]).fit(X)
    assert adjusted_rand_score(truth, KMeans(2).fit(X).labels_) < 0.1
    assert adjusted_rand_score(truth, model.labels_) > 0.95


def test_links_name_rows_as_the_user_ordered_them() -> None:
    X, _ = stripes()
    positions = np.random.default_rng(3).permutation(200).astype(float)
    model = PCKMeans(2, must_link=[(0, 199)], cannot_link=[(0, 1)], weight=1e6).fit(X, positions=positions)
    assert model.labels_[0] == model.labels_[199] != model.labels_[1]
    np.testing.assert_array_equal(model.must_link_, [(0, 199)])
    np.testing.assert_array_equal(model.cannot_link_, [(0, 1)])


def test_without_links_it_is_a_local_optimum_of_kmeans() -> None:
    X = np.random.default_rng(4).normal(size=(150, 2)) + 5.0 * np.arange(150)[:, None] % 3
    model = PCKMeans(3, n_links=0).fit(X)
    centres = np.array([X[model.labels_ == k].mean(axis=0) for k in range(3)])
    squares = ((X[:, None] - centres) ** 2).sum(axis=2)
    np.testing.assert_array_equal(squares.argmin(axis=1), model.labels_)
    assert model.objective_ == pytest.approx(squares.min(axis=1).sum())


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), weight=st.floats(0, 10), n_clusters=st.integers(1, 5))
def test_the_objective_never_increases_and_is_what_it_says(seed: int, weight: float, n_clusters: int) -> None:
    X = np.random.default_rng(seed).normal(size=(60, 2))
    model = PCKMeans(n_clusters, n_links=40, weight=weight, random_state=seed).fit(X)
    assert (np.diff(model.objectives_) <= 1e-9 * model.objectives_[0]).all()
    labels = model.labels_
    spread = ((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()
    slow = sum(((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum() for k in np.unique(labels))
    slow += weight * spread * sum(labels[a] != labels[b] for a, b in model.must_link_)
    slow += weight * spread * sum(labels[a] == labels[b] for a, b in model.cannot_link_)
    assert model.objective_ == pytest.approx(slow)


def test_fees_are_what_broken_links_cost() -> None:
    rng = np.random.default_rng(5)
    must, cannot = rng.permutation(20).reshape(-1, 2), rng.permutation(20).reshape(-1, 2)
    links = Links(20, must, cannot, 2.5)
    labels = rng.integers(0, 3, 20)
    for row in range(20):
        costs = []
        for k in range(3):
            changed = labels.copy()
            changed[row] = k
            costs.append(2.5 * links.broken(changed))
        fees = links.fees(row, labels, 3)
        np.testing.assert_allclose(fees - fees[0], np.array(costs) - costs[0])


@pytest.mark.parametrize("grouped", [False, True])
def test_drawn_links_are_near_or_far_and_within_groups(grouped: bool) -> None:
    rng = np.random.default_rng(6)
    positions = rng.uniform(0, 10, (300, 2))
    places = read(positions, np.sort(rng.integers(0, 3, 300)) if grouped else None)
    near, far = draw_near(places, 100, 1.5, rng), draw_far(places, 100, 6.0, None, rng)
    assert len(near) > 50
    assert len(far) > 50
    assert (places.of_pairs(near[:, 0], near[:, 1]) <= 1.5).all()
    assert (places.of_pairs(far[:, 0], far[:, 1]) >= 6.0).all()
    assert np.isfinite(places.of_pairs(far[:, 0], far[:, 1])).all()
    closest, farthest = draw_near(places, 100, None, rng), draw_far(places, 100, None, None, rng)
    table = places.between(slice(None), slice(None))
    ranks = table.argsort(axis=1).argsort(axis=1)
    assert all(min(ranks[a, b], ranks[b, a]) <= 10 for a, b in closest)
    apart = places.of_pairs(farthest[:, 0], farthest[:, 1])
    assert np.isfinite(apart).all()
    assert apart.mean() > table[np.isfinite(table)].mean() * 1.3


def test_a_radius_without_pairs_gives_no_links() -> None:
    places = read(np.arange(20.0))
    rng = np.random.default_rng(7)
    assert draw_near(places, 10, 0.5, rng).shape == (0, 2)
    assert draw_far(places, 10, 100.0, None, rng).shape == (0, 2)


@pytest.mark.parametrize(("far", "near"), [(None, None), (0.0, None), (None, 3.0), (0.0, 3.0)])
def test_rows_at_one_place_get_no_cannot_links(far: float | None, near: float | None) -> None:
    places = read(np.ones((40, 2)))
    assert draw_far(places, 30, far, near, np.random.default_rng(9)).shape == (0, 2)
    model = PCKMeans(2, far=far, near=near).fit(stripes()[0], positions=np.zeros((200, 2)))
    assert len(model.cannot_link_) == 0
    assert len(model.must_link_) > 0


def test_a_group_in_which_all_are_nearest_gets_no_cannot_links() -> None:
    for size in (1, 2, 11):
        places = read(np.arange(66.0), np.repeat(np.arange(66 // size), size))
        assert draw_far(places, 50, None, None, np.random.default_rng(10)).shape == (0, 2)
    given_ = draw_far(read(np.arange(66.0), np.repeat(np.arange(33), 2)), 50, 1.0, None, np.random.default_rng(10))
    assert len(given_) > 10


def test_cannot_links_lie_beyond_the_reach_of_must_links() -> None:
    rng = np.random.default_rng(11)
    places = read(rng.integers(0, 12, (40, 2)).astype(float))
    table = places.between(slice(None), slice(None))
    found = draw_far(places, 300, None, None, rng)
    reach = np.array([np.sort(np.delete(table[row], row))[9] for row in range(40)])
    assert len(found) > 50
    assert all(table[a, b] > max(reach[a], reach[b]) for a, b in found)
    for far in (None, 1.0):
        beyond = draw_far(places, 300, far, 4.0, rng)
        assert len(beyond) > 50
        assert (table[beyond[:, 0], beyond[:, 1]] > 4.0).all()


def test_where_hardly_any_distance_is_finite_only_infinite_ones_are_far() -> None:
    table = np.full((30, 30), np.inf)
    for k in range(0, 30, 5):
        table[k : k + 5, k : k + 5] = 1.0
    np.fill_diagonal(table, 0.0)
    model = PCKMeans(2, n_links=60, metric="precomputed").fit(stripes()[0][:30], positions=table)
    assert len(model.cannot_link_) > 20
    assert np.isinf(table[model.cannot_link_[:, 0], model.cannot_link_[:, 1]]).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"must_link": [(0, 1), (1, 2)], "cannot_link": [(2, 0)]},
            r"cannot_link holds \(2, 0\), but must-links connect",
        ),
        ({"must_link": [(0, 200)]}, "must_link names rows 0 to 200; it must name rows 0 to 199"),
        ({"cannot_link": [(3, 3)]}, "cannot_link links row 3 with itself"),
        ({"cannot_link": [3, 4]}, r"cannot_link has shape \(2,\)"),
        ({"must_link": [(0.5, 1.0)]}, "type float64; it must hold pairs of row numbers"),
        ({"must_link": [(0, 1), (2,)]}, "must_link holds pairs of different lengths"),
        ({"must_link": [(0, 1)], "near": 2.0}, "near=2.0 has no effect where must_link is given"),
        ({"must_link": [(0, 1)], "cannot_link": [], "n_links": 4}, "n_links=4 has no effect"),
    ],
)
def test_wrong_links_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        PCKMeans(2, **options).fit(stripes()[0])


def test_sweeps_that_did_not_settle_say_so() -> None:
    with pytest.warns(ConvergenceWarning, match="did not settle in max_iter=1"):
        PCKMeans(2, max_iter=1).fit(stripes()[0])


def test_must_links_are_drawn_at_finite_distances_only() -> None:
    rng = np.random.default_rng(8)
    positions = rng.uniform(0, 10, (60, 2))
    table = np.sqrt(((positions[:, None] - positions) ** 2).sum(axis=2))
    table[table > 2] = np.inf
    table[0, 1:] = table[1:, 0] = np.inf
    few = np.isfinite(table).sum(axis=1) <= 10
    assert few.any()
    model = PCKMeans(3, n_links=200, metric="precomputed").fit(rng.normal(size=(60, 2)), positions=table)
    assert np.isfinite(table[model.must_link_[:, 0], model.must_link_[:, 1]]).all()
    assert few[model.must_link_].any()
    assert 0 not in model.must_link_


def test_rows_that_are_all_alike_are_one_cluster() -> None:
    model = PCKMeans(3).fit(np.full((40, 2), 0.1))
    assert model.n_clusters_ == 1
    assert model.objective_ == 0.0


@pytest.mark.parametrize("n_links", [10, 20, None])
def test_clusters_far_apart_are_found_however_few_links_there_are(n_links: int | None) -> None:
    truth = np.repeat(np.arange(5), 60)
    X = np.random.default_rng(0).normal(size=(300, 5)) + 10 * np.eye(5)[truth]
    for seed in range(8):
        found = PCKMeans(5, n_links=n_links, n_init=5, random_state=seed).fit_predict(X)
        assert adjusted_rand_score(truth, found) == 1.0


def test_of_several_starts_the_one_of_least_objective_is_kept() -> None:
    """With sets of linked rows in two of three clusters only, the start from the largest sets misses the third."""
    truth = np.repeat([0, 1, 2], 40)
    X = np.random.default_rng(3).normal(size=(120, 2)) + np.array([[0, 0], [100, 0], [115, 0]])[truth]
    links = {"must_link": [(0, 1), (2, 3), (40, 41), (42, 43)], "cannot_link": []}
    values = [PCKMeans(3, **links, n_init=k).fit(X).objective_ for k in (1, 2, 4, 8)]
    assert values == sorted(values, reverse=True)
    assert values[-1] < 0.5 * values[0]
