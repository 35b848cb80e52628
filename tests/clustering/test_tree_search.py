"""Clusters, nearest losses and strengths by the tree and by tiles, against scikit-learn, SciPy and NumPy on the dense table."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from sklearn.cluster import DBSCAN, HDBSCAN

from builders.clusterings import cluster
from builders.losses import draw_loss, make_loss
from mcgta.clustering.brute_force import BruteForceSearch
from mcgta.clustering.clustering import densities
from mcgta.clustering.labels import number_by_first_member
from mcgta.clustering.model_tree import serves
from mcgta.clustering.registry import find_clusters
from mcgta.clustering.tree_search import TreeSearch
from mcgta.kernels.gaussians.wasserstein import embed, features_of, wasserstein2_tile
from mcgta.kernels.tree.build import FAN, LEAF, bound_boxes, build_tree, spread_fans, turn_points
from mcgta.runtime.parallel import threads


def agrees(loss, eps, min_samples, n_jobs=1):
    # scikit-learn wants a radius above zero
    theirs = DBSCAN(eps=max(eps, 1e-300), min_samples=min_samples, metric="precomputed").fit(loss.matrix())
    labels = number_by_first_member(theirs.labels_)
    for near in (TreeSearch.of(loss), BruteForceSearch.of(loss)):
        with threads(n_jobs):
            found = cluster(near, "dbscan", eps=eps, min_samples=min_samples)
        np.testing.assert_array_equal(found.labels, labels)
        np.testing.assert_array_equal(np.flatnonzero(found.core), theirs.core_sample_indices_)
        np.testing.assert_array_equal(found.radii, np.full(labels.max() + 1, eps))
        assert found.comparisons >= 0
    return labels


@settings(max_examples=250, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(40, 220),
    d=st.one_of(st.integers(1, 6), st.integers(7, 16)),
    place=st.sampled_from(["steps", "irregular", "plane", "sphere"]),
    grouped=st.booleans(),
    repeats=st.sampled_from(["none", "none", "rounded", "clumps"]),
    beta=st.sampled_from([0.0, 0.5, 1.0, 5.0]),
    margin=st.sampled_from([0.0, 0.1, 1.0, -1.0]),
    model=st.sampled_from(["spherical", "exponential", "gaussian", "stable", "matern", "empirical"]),
    penalty=st.sampled_from(["within_range", "unconditional"]),
    min_samples=st.integers(1, 25),
    share=st.floats(0, 1),
    kind=st.sampled_from(["wasserstein2", "calibrated"]),
)
def test_labels_and_cores_are_those_of_the_dense_table(
    seed, count, d, place, grouped, repeats, beta, margin, model, penalty, min_samples, share, kind
):
    options = {"beta": beta, "margin": margin, "model": model, "penalty_kind": penalty, "kind": kind}
    loss = draw_loss(seed, count, d, place, grouped, repeats, **options)
    values = np.sort(loss.matrix(), axis=None)
    eps = values[int(share**3 * (values.size - 1))]  # one of the losses: as near a tie as can be
    agrees(loss, float(eps), min_samples, n_jobs=1 + seed % 2)


@pytest.mark.parametrize("d", [8, 10, 12, 16, 18])
def test_many_features_agree_too(d):
    loss = draw_loss(d, 150, d, "steps", False, "none")
    values = np.quantile(loss.matrix(), [0.02, 0.1, 0.3])
    for eps in values:
        agrees(loss, float(eps), 5)


@pytest.mark.parametrize("eps", [0.0, 1e-300, 1e9])
def test_no_cluster_and_one_cluster(eps):
    loss = draw_loss(1, 120, 3, "steps", False, "none")
    assert agrees(loss, eps, 8).max() == (0 if eps > 1 else -1)


@pytest.mark.parametrize("kind", ["wasserstein2", "calibrated"])
@pytest.mark.parametrize("margin", [0.0, 2.0])
def test_hundreds_of_equal_models_agree(margin, kind):
    X = np.zeros((400, 2))
    X[::2] = np.random.default_rng(0).normal(size=(1, 2))
    loss = make_loss(X, margin=margin, beta=1.0, kind=kind)
    for eps in (0.0, 1e-12, 0.5):
        agrees(loss, eps, 10)


def test_small_clusters_are_dropped():
    loss = draw_loss(3, 200, 2, "steps", False, "none")
    eps = float(np.quantile(loss.matrix(), 0.05))
    expected = find_clusters(loss.matrix(), "dbscan", eps=eps, min_samples=3, min_cluster_size=12)
    found = cluster(TreeSearch.of(loss), eps=eps, min_samples=3, min_cluster_size=12)
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.core, expected.core)


@pytest.mark.parametrize("kind", ["wasserstein2", "calibrated"])
@pytest.mark.parametrize("place", ["steps", "plane", "sphere"])
@pytest.mark.parametrize(("d", "min_samples"), [(1, 1), (2, 7), (3, 20), (5, 4), (9, 12)])
def test_nearest_losses_and_strengths_are_those_of_the_dense_table(place, d, min_samples, kind):
    loss = draw_loss(d, 180, d, place, False, "none", beta=1.0, kind=kind)
    matrix, tree = loss.matrix(), TreeSearch.of(loss)
    distances, _ = tree.core_distances(np.ones(len(loss), dtype=bool), min_samples)
    np.testing.assert_array_equal(distances, np.partition(matrix, min_samples - 1, axis=1)[:, min_samples - 1])
    clustering = find_clusters(matrix, "dbscan", eps=float(np.quantile(matrix, 0.2)), min_samples=min_samples)
    inside = clustering.labels >= 0
    for others in (False, True):
        of_table, by_tiles, by_tree = (
            near.cluster_reachability(clustering.labels, clustering.core, clustering.core_distances, others=others)
            for near in (BruteForceSearch.of_table(matrix), BruteForceSearch.of(loss), tree)
        )
        assert np.isinf(of_table[~inside]).all()
        np.testing.assert_array_equal(by_tiles, of_table)
        np.testing.assert_array_equal(by_tree, of_table)


def reachability(loss, min_samples):
    matrix = loss.matrix()
    core = np.partition(matrix, min_samples - 1, axis=1)[:, min_samples - 1]
    return np.maximum(np.maximum(matrix, core[:, None]), core)


@settings(max_examples=120, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(40, 200),
    d=st.integers(1, 6),
    place=st.sampled_from(["steps", "irregular", "plane", "sphere"]),
    repeats=st.sampled_from(["none", "rounded", "clumps"]),
    beta=st.sampled_from([0.0, 0.5, 5.0]),
    margin=st.sampled_from([0.0, 1.0]),
    min_samples=st.integers(1, 25),
    kind=st.sampled_from(["wasserstein2", "calibrated"]),
)
def test_the_spanning_tree_weighs_what_scipys_does(seed, count, d, place, repeats, beta, margin, min_samples, kind):
    loss = draw_loss(seed, count, d, place, False, repeats, beta=beta, margin=margin, kind=kind)
    dense = reachability(loss, min_samples)
    above = np.triu(dense + 1.0, 1)  # SciPy takes zeros for edges that are not there
    expected = np.sort(minimum_spanning_tree(above).data) - 1.0
    for near in (TreeSearch.of(loss), BruteForceSearch.of(loss)):
        i, j, weights, core, _ = near.spanning_tree(min_samples)
        np.testing.assert_array_equal(core, np.partition(loss.matrix(), min_samples - 1, axis=1)[:, min_samples - 1])
        np.testing.assert_array_equal(weights, dense[i, j])
        np.testing.assert_allclose(np.sort(weights), expected, rtol=0, atol=1e-12 * max(1.0, expected.max()))
        assert connected_components(coo_array((np.ones(i.size), (i, j)), dense.shape))[0] == 1
    by_tree, by_tiles = (
        cluster(near, "hdbscan", min_samples=min_samples, min_cluster_size=5).labels
        for near in (TreeSearch.of(loss), BruteForceSearch.of(loss))
    )
    np.testing.assert_array_equal(by_tree, by_tiles)  # whatever edges tie


def test_hdbscan_gives_scikit_learns_labels_where_weights_differ():
    compared = 0
    for seed in range(40):
        place = ["irregular", "plane", "sphere"][seed % 3]
        # Equal neighbourhoods would make equal models, and more samples edges as heavy as a core distance.
        loss = draw_loss(seed, 160, 2 + seed % 4, place, False, "none", beta=0.5, weights="triangular")
        weights = TreeSearch.of(loss).spanning_tree(2).weight
        if np.unique(weights).size < weights.size:
            continue
        found = cluster(TreeSearch.of(loss), "hdbscan", min_samples=2, min_cluster_size=5)
        theirs = HDBSCAN(min_samples=2, min_cluster_size=5, metric="precomputed", copy=True).fit(loss.matrix())
        np.testing.assert_array_equal(found.labels, number_by_first_member(theirs.labels_))
        compared += found.labels.max() > 0
    assert compared >= 6


@pytest.mark.parametrize("clusterer", ["dbscan", "hdbscan"])
@pytest.mark.parametrize("seed", range(4))
def test_what_a_clustering_leaves_open_is_found_alike(clusterer, seed):
    loss = draw_loss(seed, 160, 2 + seed % 4, ["steps", "plane"][seed % 2], False, "none", beta=0.5)
    eps = float(np.quantile(loss.matrix(), 0.1)) if clusterer == "dbscan" else None
    found = cluster(TreeSearch.of(loss), clusterer, eps=eps, min_samples=4, min_cluster_size=5)
    by_table = BruteForceSearch.of_table(loss.matrix())
    expected = densities(by_table, found, 4)
    where = (expected.labels, expected.core, expected.core_distances)
    for near in (TreeSearch.of(loss), BruteForceSearch.of(loss)):
        again = densities(near, found, 4)
        np.testing.assert_array_equal(again.core_distances, expected.core_distances)
        np.testing.assert_array_equal(again.radii, expected.radii)
        np.testing.assert_array_equal(near.cluster_reachability(*where), by_table.cluster_reachability(*where))
    assert np.isfinite(expected.core_distances[found.core]).all()


@pytest.mark.parametrize("clusterer", ["hdbscan", "optics"])
@pytest.mark.parametrize("make", [TreeSearch.of, BruteForceSearch.of])
def test_too_few_are_noise(clusterer, make):
    loss = draw_loss(1, 50, 2, "steps", False, "none")
    found = cluster(make(loss), clusterer, min_samples=60, min_cluster_size=5)
    assert (found.labels == -1).all()
    assert found.comparisons == 0


def test_only_wanted_rows_are_looked_at():
    loss = draw_loss(5, 90, 2, "steps", False, "none")
    wanted = np.arange(len(loss)) % 3 == 0
    distances, exact = TreeSearch.of(loss).core_distances(wanted, 5)
    assert np.isfinite(distances[wanted]).all()
    assert np.isinf(distances[~wanted]).all()
    assert 0 < exact < len(loss) ** 2 / 2


def test_few_pairs_are_compared_where_clusters_are_clear():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2)) * 0.1 + 10 * np.repeat(rng.integers(0, 3, 30), 100)[:, None]
    loss = make_loss(X, n=20, beta=0.0)
    found = cluster(TreeSearch.of(loss), eps=5.0, min_samples=10)
    assert found.comparisons < 1e-3 * len(loss) ** 2 / 2


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(1, 300),
    columns=st.integers(1, 5),
    distinct=st.sampled_from([1, 3, 1000]),
    seed=st.integers(0, 999),
)
def test_the_tree_holds_every_point_once_in_boxes_that_fit(count, columns, distinct, seed):
    points = np.random.default_rng(seed).integers(0, distinct, (count, columns)).astype(float)
    order, nodes = build_tree(points, np.ones(columns))
    assert sorted(order.tolist()) == list(range(count))
    boxes = bound_boxes(points[order], nodes)
    for first, last, child in nodes.tolist():
        inside = points[order[first:last]]
        at = nodes.tolist().index([first, last, child])
        np.testing.assert_array_equal(boxes[at], np.r_[inside.min(axis=0), inside.max(axis=0)])
        if child < 0:
            assert last - first <= LEAF or (inside == inside[0]).all()
        else:
            assert nodes[child, 0] == first
            assert nodes[child, 1] == nodes[child + 1, 0]
            assert nodes[child + 1, 1] == last


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
def test_bounds_hold_for_every_pair(d):
    loss = draw_loss(10 + d, 150, d, "steps", False, "none")
    (packed,) = loss.dissimilarity.parts
    exact = wasserstein2_tile(packed, packed)
    z = embed(packed, spectra=True)
    assert features_of(packed) == d
    parts = [
        ((z[:, None, part] - z[None, :, part]) ** 2).sum(axis=2)
        for part in np.split(np.arange(z.shape[1]), [d, z.shape[1] - d])
    ]
    slack = 1e-12 * packed[:, d].max()
    assert (parts[0] + np.maximum(parts[1] / 2, parts[2]) <= exact + slack).all()
    assert (exact <= parts[0] + parts[1] + slack).all()


def test_what_a_tree_cannot_do_is_refused():
    loss = draw_loss(2, 60, 2, "steps", False, "none", penalty_kind="no_hinge")
    assert not serves(loss)
    with pytest.raises(ValueError, match="wasserstein2"):
        TreeSearch.of(loss)


@pytest.mark.parametrize("make", [TreeSearch.of, BruteForceSearch.of])
def test_what_is_known_of_rows_is_taken_for_granted_and_the_rest_found_out(make):
    loss = draw_loss(4, 150, 3, "plane", False, "none")
    eps = float(np.quantile(loss.matrix(), 0.1))
    near = make(loss)
    core, exact = near.core_rows(eps, 6)
    known = np.where(np.arange(len(loss)) % 3 == 0, -1, core)
    again, fewer = near.core_rows(eps, 6, known=known)
    np.testing.assert_array_equal(again, core)
    assert fewer < exact
    known[1] = 1 - core[1]
    assert near.core_rows(eps, 6, known=known)[0][1] != core[1]


def test_places_far_beyond_the_spread_of_their_models_cost_no_bits():
    rng = np.random.default_rng(0)
    angle = np.repeat(np.arange(12), 12) * np.pi / 6
    level = 1e5 * np.column_stack(
        [np.cos(angle), np.sin(angle)]
    )  # a circle, so that many are equally far but for rounding
    loss = make_loss(level + 1e-9 * rng.normal(size=(144, 2)), groups=np.repeat(np.arange(12), 12), n=6, beta=0.0)
    matrix = loss.matrix()
    for min_samples in (20, 60, 100):  # the nearest so many are in other places
        core = np.partition(matrix, min_samples - 1, axis=1)[:, min_samples - 1]
        i, j, weights, distances, _ = TreeSearch.of(loss).spanning_tree(min_samples)
        np.testing.assert_array_equal(distances, core)
        np.testing.assert_array_equal(weights, np.maximum(np.maximum(matrix[i, j], core[i]), core[j]))
        theirs = BruteForceSearch.of_table(matrix).spanning_tree(min_samples)
        np.testing.assert_array_equal(np.sort(weights), np.sort(theirs.weight))
        for found, expected in zip(
            TreeSearch.of(loss).ordering(min_samples),
            BruteForceSearch.of_table(matrix).ordering(min_samples),
            strict=True,
        ):
            if not isinstance(found, int):
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("count", [1, 16, 17, 100, 1000, 3001])
def test_fans_lead_to_every_leaf_once_and_hold_the_boxes_of_their_nodes(count):
    points = np.random.default_rng(count).normal(size=(count, 3))
    order, nodes = build_tree(points, np.ones(3), full=True)
    boxes = bound_boxes(points[order], nodes)
    fans, spokes, wide = spread_fans(nodes, boxes)
    spokes, wide = spokes.reshape(-1, FAN), wide.reshape(-1, 6, FAN)
    seen, stack = [], [0]
    while stack:
        v = stack.pop()
        if fans[v] < 0:
            assert nodes[v, 2] < 0
            seen.append(v)
            continue
        for u, box in zip(spokes[fans[v]], wide[fans[v]].T, strict=True):
            np.testing.assert_array_equal(box, boxes[u] if u >= 0 else [np.inf] * 3 + [-np.inf] * 3)
            stack += [u] if u >= 0 else []
    assert sorted(seen) == np.flatnonzero(nodes[:, 2] < 0).tolist()


@pytest.mark.parametrize("count", [1, 15, 16, 33])
def test_turned_points_stand_side_by_side(count):
    points = np.random.default_rng(0).normal(size=(count, 4))
    turned = turn_points(points).reshape(-1, 4, LEAF).transpose(0, 2, 1).reshape(-1, 4)
    np.testing.assert_array_equal(turned[:count], points)
    assert np.isinf(turned[count:]).all()


def test_tiles_take_memory_in_proportion_to_the_observations():
    def losses(rows, cols):
        return np.abs(np.subtract.outer(rows.astype(float), cols))

    peaks = []
    for count in (2000, 8000):
        near = BruteForceSearch(losses, count, entries=2**14)
        labels = np.arange(count) // 500
        every = np.ones(count, dtype=bool)
        tracemalloc.start()
        near.core_distances(every, 5)
        near.core_rows(3.0, 4)
        near.components(1.0, every)
        near.border(1.0, np.where(np.arange(count) % 2, -1, labels))
        near.cluster_reachability(labels, every, np.zeros(count))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 8 * peaks[0]
    assert peaks[1] < 8000**2  # an eighth of the table


@pytest.mark.parametrize("clusterer", ["dbscan", "hdbscan", "optics"])
@pytest.mark.parametrize("eps", [0.0, 1.0])
def test_piles_of_equal_observations_take_few_comparisons(clusterer, eps):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(8, 2)), 200, axis=0)
    loss = make_loss(
        X, np.zeros((1600, 2)) + np.repeat(np.arange(8), 200)[:, None] / 100, n=20, beta=0.0, model="empirical"
    )
    radius = eps if clusterer == "dbscan" else None
    found = cluster(TreeSearch.of(loss), clusterer, eps=radius, min_samples=10, min_cluster_size=20)
    expected = cluster(
        BruteForceSearch.of_table(loss.matrix()), clusterer, eps=radius, min_samples=10, min_cluster_size=20
    )
    np.testing.assert_array_equal(found.labels, expected.labels)
    # Of two piles that are joined, none of the pairs is known to be farther; OPTICS asks again for every pile.
    assert found.comparisons < {"dbscan": 60, "hdbscan": 400, "optics": 300}[clusterer] * len(loss)
