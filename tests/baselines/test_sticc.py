"""STICC: clusters of places with their surroundings, where near places prefer one label."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import label as components
from sklearn.cluster import AgglomerativeClustering
from sklearn.feature_extraction.image import grid_to_graph
from sklearn.metrics import adjusted_rand_score

from mcgta.baselines.inverse_covariance import start_labels
from mcgta.baselines.sticc import STICC, Forest, nearest_places, subregions
from mcgta.clustering.labels import number_by_first_member
from mcgta.kernels.tree.forest import open_rings
from mcgta.positions.positions import Positions
from mcgta.positions.reading import read_positions
from mcgta.runtime.types import Array, Index, Labels

SIDE, PATCH = 24, 6


def patchwork(seed: int = 0, shift: float = 1.5) -> tuple[Array, Array, Labels]:
    """A grid of patches of three kinds with lanes between them; each kind comes back elsewhere. Places are jittered."""
    rng = np.random.default_rng(seed)
    rows, cols = np.divmod(np.arange(SIDE * SIDE), SIDE)
    y = (rows // PATCH + 2 * (cols // PATCH)) % 3
    centres = shift * np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    X = centres[y] + rng.normal(size=(y.size, 3))
    lanes = np.column_stack([rows // PATCH, cols // PATCH])
    return X, np.column_stack([rows, cols]) + lanes + rng.uniform(-0.3, 0.3, (y.size, 2)), y


def contiguity(labels: Labels) -> float:
    """Share of joins of the grid whose ends have one label."""
    grid = labels.reshape(SIDE, SIDE)
    joins = np.concatenate([(grid[1:] == grid[:-1]).ravel(), (grid[:, 1:] == grid[:, :-1]).ravel()])
    return float(joins.mean())


def places(coordinates: Array, groups: Labels | None = None) -> Positions:
    return read_positions(coordinates, len(coordinates), groups=groups, metric="auto")


def test_consistency_raises_agreement_and_contiguity() -> None:
    X, positions, y = patchwork()
    found = [STICC(3, beta=beta, n_init=3).fit(X, positions=positions).labels_ for beta in (0.0, 1.5)]
    alone = STICC(3, subregion=1, beta=0.0, n_init=3).fit(X, positions=positions).labels_
    agreement = [adjusted_rand_score(y, labels) for labels in (alone, *found)]
    joins = [contiguity(labels) for labels in (alone, *found)]
    assert agreement == sorted(agreement)
    assert joins == sorted(joins)
    assert agreement[0] < agreement[1] - 0.1
    assert agreement[1] < agreement[2] - 0.05
    assert agreement[2] > 0.85


def test_patterns_that_come_back_elsewhere_share_a_label_as_no_regions_can() -> None:
    X, positions, y = patchwork(shift=2.0)
    labels = STICC(3, beta=3.0, n_init=3).fit(X, positions=positions).labels_
    assert adjusted_rand_score(y, labels) > 0.9
    for k in range(3):
        parts, count = components((labels == k).reshape(SIDE, SIDE))
        sizes = np.bincount(parts.ravel())[1:]
        assert (sizes >= PATCH * PATCH // 2).sum() >= 2, f"label {k} in {count} parts"
    joined = AgglomerativeClustering(3, connectivity=grid_to_graph(SIDE, SIDE)).fit_predict(X)
    assert adjusted_rand_score(y, joined) < 0.6


def naive_least(costs: Array, nearest: Index, beta: float) -> float:
    rows, size = costs.shape
    least = np.inf
    for z in itertools.product(range(size), repeat=rows):
        paid = sum(beta for i in range(rows) if nearest[i] >= 0 and z[i] != z[nearest[i]])
        least = min(least, sum(costs[i, z[i]] for i in range(rows)) + paid)
    return least


@given(st.integers(2, 7), st.integers(1, 3), st.floats(0, 2), st.integers(0, 10**6), st.booleans())
@settings(max_examples=80, deadline=None)
def test_labels_are_the_best_of_all(rows: int, size: int, beta: float, seed: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    coordinates = rng.integers(0, 3, (rows, 2)).astype(float) if ties else rng.normal(size=(rows, 2))
    positions = places(coordinates, groups=rng.integers(0, 2, rows))
    forest = Forest(nearest_places(positions.take(positions.order(np.zeros((rows, 1))))), beta)
    costs = rng.normal(size=(rows, size))
    labels = forest.best(costs)
    found = costs[np.arange(rows), labels].sum() + forest.price(labels)
    assert found == pytest.approx(naive_least(costs, forest.nearest, beta), abs=1e-9)


@given(st.integers(2, 60), st.integers(0, 10**6), st.booleans())
@settings(max_examples=80, deadline=None)
def test_every_place_points_to_a_nearest_one_and_rings_are_pairs(rows: int, seed: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    coordinates = rng.integers(0, 4, (rows, 2)).astype(float) if ties else rng.normal(size=(rows, 2))
    positions = places(coordinates)
    positions = positions.take(positions.order(np.zeros((rows, 1))))
    nearest = nearest_places(positions)
    distances = np.linalg.norm(positions.coordinates[:, None] - positions.coordinates[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    np.testing.assert_allclose(distances[np.arange(rows), nearest], distances.min(axis=1))
    assert open_rings(nearest.copy()) == 0


def test_a_ring_of_three_is_opened() -> None:
    nearest = np.array([3, 2, 4, 0, 1, 4, -1])
    assert open_rings(nearest) == 1
    assert nearest.tolist() == [3, 2, 1, 0, 1, 4, -1]
    costs = np.random.default_rng(0).normal(size=(7, 3))
    forest = Forest(nearest, 0.7)
    labels = forest.best(costs)
    found = costs[np.arange(7), labels].sum() + forest.price(labels)
    assert found == pytest.approx(naive_least(costs, nearest, 0.7))


@given(st.integers(3, 40), st.integers(1, 3), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_a_subregion_is_the_place_and_then_its_nearest(rows: int, size: int, seed: int) -> None:
    coordinates = np.random.default_rng(seed).normal(size=(rows, 2))
    members = subregions(places(coordinates), size)
    for i in range(rows):
        assert members[i].tolist() == np.argsort(np.linalg.norm(coordinates - coordinates[i], axis=1))[:size].tolist()


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4), st.floats(0, 5), st.floats(0.005, 1.0))
@settings(max_examples=20, deadline=None)
def test_the_objective_never_increases(seed: int, k: int, subregion: int, beta: float, sparsity: float) -> None:
    rng = np.random.default_rng(seed)
    X, positions = rng.normal(size=(60, 2)) * rng.choice([1, 3], (60, 1)), rng.normal(size=(60, 2))
    init = ("gmm", "kmeans")[seed % 2]
    model = STICC(k, subregion=subregion, beta=beta, sparsity=sparsity, init=init, random_state=seed)
    model.fit(X, positions=positions)
    assert (np.diff(model.objective_) <= 1e-7 * np.abs(model.objective_[0])).all()
    assert model.n_clusters_ == len(model.precisions_) <= k


def test_neighbours_tell_what_a_place_alone_does_not() -> None:
    """Places come in pairs that are alike in one half of the map only; single places have one distribution."""
    rng = np.random.default_rng(0)
    centres = rng.uniform(0, 1, (200, 2))
    positions = np.repeat(centres, 2, axis=0) + 1e-3 * rng.normal(size=(400, 2))
    y = np.repeat(centres[:, 0] > 0.5, 2).astype(int)
    shared = np.repeat(rng.normal(size=(200, 2)), 2, axis=0) + 0.1 * rng.normal(size=(400, 2))
    X = np.where(y[:, None] == 0, shared, np.sqrt(1.01) * rng.normal(size=(400, 2)))
    found = [STICC(2, subregion=size, sparsity=0.01, init="gmm").fit(X, positions=positions).labels_ for size in (1, 2)]
    assert adjusted_rand_score(y, found[0]) < 0.1
    assert adjusted_rand_score(y, found[1]) > 0.7


def test_the_order_of_rows_does_not_change_labels() -> None:
    X, positions, _ = patchwork()
    positions = positions.round()  # many ties
    order = np.random.default_rng(1).permutation(len(X))
    plain = STICC(3).fit(X, positions=positions)
    mixed = STICC(3).fit(X[order], positions=positions[order])
    assert adjusted_rand_score(plain.labels_[order], mixed.labels_) == 1.0
    np.testing.assert_array_equal(plain.objective_, mixed.objective_)


def test_groups_share_clusters_but_no_neighbours() -> None:
    X, positions, _ = patchwork(shift=2.0)
    twice = np.concatenate([positions, positions])
    groups = np.repeat(["a", "b"], len(X))
    labels = STICC(3, beta=3.0).fit(np.concatenate([X, X]), positions=twice, groups=groups).labels_
    np.testing.assert_array_equal(labels[: len(X)], labels[len(X) :])


def test_a_table_of_distances_will_do() -> None:
    X, positions, _ = patchwork()
    table = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    known = STICC(3).fit(X, positions=positions).labels_
    measured = STICC(3, metric="precomputed").fit(X, positions=table).labels_
    assert adjusted_rand_score(known, measured) > 0.999


@pytest.mark.parametrize("metric", ["haversine", "time"])
def test_places_on_the_globe_and_times_will_do(metric: str) -> None:
    X, positions, y = patchwork(shift=2.0)
    given_ = positions / 100 if metric == "haversine" else np.argsort(np.argsort(y, kind="stable")).astype(float)
    assert adjusted_rand_score(y, STICC(3, metric=metric).fit_predict(X, positions=given_)) > 0.85


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_clusters": 41}, "n_clusters=41 but there are only 40 observations"),
        ({"subregion": 0}, "subregion=0 is not allowed: subregion must be an integer >= 1"),
        (
            {"subregion": 21},
            "subregion=21 but group '0' has an observation with fewer than 20 neighbours, of 20 observations",
        ),
        ({"beta": float("nan")}, "beta=nan is not allowed: beta must be a number >= 0"),
        ({"sparsity": -0.1}, "sparsity=-0.1 is not allowed: sparsity must be a number > 0"),
        ({"init": "means"}, "init='means' is not allowed.*did you mean 'kmeans'"),
        ({"tol": -1.0}, "tol=-1.0 is not allowed"),
    ],
)
def test_bad_parameters_are_named(params: dict[str, object], message: str) -> None:
    X, positions, _ = patchwork()
    with pytest.raises(ValueError, match=message):
        STICC(**params).fit(X[:40], positions=positions[:40], groups=np.repeat([0, 1], 20))  # type: ignore[arg-type]


def test_an_observation_that_is_alone_in_its_group_has_no_neighbour_to_agree_with() -> None:
    X, positions, _ = patchwork()
    groups = np.repeat([0, 1], [99, 1])
    model = STICC(2, subregion=1, beta=1e6).fit(X[:100], positions=positions[:100], groups=groups)
    assert model.labels_.size == 100
    with pytest.raises(ValueError, match="subregion=2 but group '1' has an observation with fewer than 1 neighbours"):
        STICC(2, subregion=2).fit(X[:100], positions=positions[:100], groups=groups)


def test_runs_after_the_first_begin_elsewhere() -> None:
    rows = np.random.default_rng(4).normal(size=(400, 3))
    first = [number_by_first_member(start_labels(rows, 4, "kmeans", seed, first=True)) for seed in range(6)]
    later = [number_by_first_member(start_labels(rows, 4, "kmeans", seed, first=False)) for seed in range(6)]

    def distinct(found: list[Labels]) -> int:
        return len({labels.tobytes() for labels in found})

    assert distinct(later) > distinct(first)
