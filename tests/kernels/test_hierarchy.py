"""Single linkage, HDBSCAN and DBSCAN's components from a minimum spanning tree, against scikit-learn and SciPy."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import squareform
from sklearn.cluster import DBSCAN, HDBSCAN

from mcgta.clustering.labels import number_by_first_member
from mcgta.clustering.registry import find_clusters
from mcgta.kernels.tree.hierarchy import condense, hierarchy_labels, labels_at, linkage_labels, single_linkage

SHAPES = ["blobs", "noise", "chain", "nested", "matrix"]


def draw(seed, shape):
    """Distances of 2 to 200 observations without ties, and parameters of HDBSCAN."""
    rng = np.random.default_rng([seed, SHAPES.index(shape)])
    count = int(rng.integers(2, 201))
    min_samples = int(rng.integers(1, min(count, 9) + 1))
    min_cluster_size = int(rng.integers(2, 13))
    if shape == "matrix":  # need not be a metric
        distances = np.triu(rng.exponential(size=(count, count)), 1)
        return distances + distances.T, min_samples, min_cluster_size
    if shape == "blobs":
        centers = rng.normal(scale=3, size=(rng.integers(1, 6), 2))
        X = centers[rng.integers(0, len(centers), count)] + rng.normal(size=(count, 2)) * rng.choice([0.1, 0.5, 1])
    elif shape == "noise":
        X = rng.uniform(size=(count, 2))
    elif shape == "chain":
        X = np.cumsum(rng.exponential(size=(count, 1)) ** 2, axis=0)
    else:
        X = sum(scale * rng.normal(size=(4, 2))[rng.integers(0, 4, count)] for scale in (8, 2, 0.5))
        X = X + 0.1 * rng.normal(size=(count, 2))
    return np.linalg.norm(X[:, None] - X[None], axis=2), min_samples, min_cluster_size


def reachability(distances, min_samples):
    """Mutual reachability and core distances, an observation being the nearest to itself."""
    core = np.sort(distances, axis=1)[:, min_samples - 1]
    reach = np.maximum(distances, np.maximum(core[:, None], core[None]))
    np.fill_diagonal(reach, 0)
    return reach, core


def spanning_tree(reach):
    tree = minimum_spanning_tree(np.triu(reach, 1)).tocoo()
    return tree.row, tree.col, tree.data


def prim(reach):
    """The same for weights that may be zero."""
    count = len(reach)
    best, source, outside = reach[0].copy(), np.zeros(count, int), np.arange(count) > 0
    edges = []
    while outside.any():
        new = np.flatnonzero(outside)[np.argmin(best[outside])]
        edges.append((source[new], new, best[new]))
        outside[new] = False
        nearer = reach[new] < best
        best[nearer], source[nearer] = reach[new][nearer], new
    i, j, weight = zip(*edges, strict=True)
    return np.array(i), np.array(j), np.array(weight)


def fit_sklearn(distances, min_samples, min_cluster_size, epsilon=0.0):
    """A fitted HDBSCAN, or None where it fails: NumPy 2.4 takes away what its search for epsilon relies on.

    See https://github.com/scikit-learn/scikit-learn/issues/33219.
    """
    model = HDBSCAN(
        min_cluster_size=min_cluster_size,
        min_samples=min_samples,
        cluster_selection_epsilon=epsilon,
        metric="precomputed",
        copy=True,
    )
    try:
        return model.fit(distances)
    except TypeError as error:
        if epsilon == 0 or "0-dimensional" not in str(error):
            raise
        return None


class Cluster:
    """One of the slow twin's, with its members as a set."""

    def __init__(self, members, birth, around=None):
        self.members, self.birth, self.around, self.within = members, birth, around, []
        self.stability = 0.0


def naive_labels(linkage, least, epsilon):
    """HDBSCAN's labels from merges: sets of members, recursion, and the rules one after the other."""
    count = len(linkage) + 1
    members = {a: {a} for a in range(count)}
    for k, (left, right, _, _) in enumerate(linkage):
        members[count + k] = members[int(left)] | members[int(right)]

    def parts(node, weight):
        """What a node falls apart into when all edges of that weight are removed."""
        if node < count or linkage[node - count, 2] < weight:
            return [node]
        left, right = linkage[node - count, :2].astype(int)
        return parts(left, weight) + parts(right, weight)

    root = Cluster(members[2 * count - 2], 0.0)
    stack = [(2 * count - 2, root)]
    while stack:
        node, cluster = stack.pop()
        if node < count:
            continue
        weight = linkage[node - count, 2]
        density = 1 / weight if weight > 0 else np.inf
        children = parts(node, weight)
        large = [child for child in children if len(members[child]) >= least]
        for child in children:
            leaving = len(members[child]) if len(large) != 1 or child not in large else 0
            cluster.stability += sum((density - cluster.birth) for _ in range(leaving)) if leaving else 0.0
        if len(large) > 1:
            cluster.within = [Cluster(members[child], density, cluster) for child in large]
            stack += list(zip(large, cluster.within, strict=True))
        elif large:
            stack.append((large[0], cluster))

    def best(cluster):
        parts = [best(child) for child in cluster.within]
        total = sum(value for value, _ in parts)
        if total > cluster.stability:
            return total, [found for _, chosen in parts for found in chosen]
        return cluster.stability, [cluster]

    chosen = [found for child in root.within for found in best(child)[1]]
    if epsilon > 0:
        chosen = [widen(cluster, root, epsilon) if 1 / cluster.birth < epsilon else cluster for cluster in chosen]
    labels = np.full(count, -1)
    for k, cluster in enumerate(sorted(set(chosen), key=lambda cluster: -len(cluster.members))):
        labels[list(cluster.members)] = k
    return labels


def widen(cluster, root, epsilon):
    while cluster.around is not root:
        cluster = cluster.around
        if 1 / cluster.birth > epsilon:
            break
    return cluster


def epsilons(linkage):
    return [0.0, *np.quantile(linkage[:, 2], [0.2, 0.5, 0.8, 0.95])]


@pytest.mark.parametrize("shape", SHAPES)
def test_labels_are_those_of_scikit_learn_where_no_merges_are_tied(shape):
    compared = 0
    for seed in range(80):
        distances, min_samples, size = draw(seed, shape)
        min_samples = min_samples if seed % 3 == 0 else min(min_samples, 2)  # up to 2 there are no ties
        edges = spanning_tree(reachability(distances, min_samples)[0])
        if np.unique(edges[2]).size < len(edges[2]):
            continue
        for epsilon in (0.0, np.median(edges[2]), edges[2].max()):
            expected = fit_sklearn(distances, min_samples, size, epsilon)
            if expected is not None:
                found = hierarchy_labels(*edges, min_cluster_size=size, epsilon=epsilon)
                np.testing.assert_array_equal(number_by_first_member(found), number_by_first_member(expected.labels_))
                compared += 1
    assert compared > 90


@pytest.mark.parametrize("shape", SHAPES)
def test_labels_follow_their_rows_wherever_these_stand(shape):
    tied = 0
    for seed in range(40):
        distances, _, size = draw(seed, shape)
        if seed % 2:
            distances = np.round(distances, 1)
        min_samples = min(5, len(distances))
        reach, _ = reachability(distances, min_samples)
        i, j, weight = prim(reach)
        tied += np.unique(weight).size < weight.size
        expected = hierarchy_labels(i, j, weight, min_cluster_size=size)
        mixed = np.random.default_rng(seed).permutation(len(distances))
        found = hierarchy_labels(*prim(reach[np.ix_(mixed, mixed)]), min_cluster_size=size)
        np.testing.assert_array_equal(number_by_first_member(found), number_by_first_member(expected[mixed]))
    assert tied > 20


@pytest.mark.parametrize("shape", SHAPES)
def test_labels_for_any_epsilon_are_those_of_the_slow_twin(shape):
    widened = 0
    for seed in range(60):
        distances, min_samples, size = draw(seed, shape)
        merges = single_linkage(*spanning_tree(reachability(distances, min_samples)[0]))
        plain = linkage_labels(merges, min_cluster_size=size)
        for epsilon in epsilons(merges):
            found = linkage_labels(merges, min_cluster_size=size, epsilon=epsilon)
            np.testing.assert_array_equal(
                number_by_first_member(found), number_by_first_member(naive_labels(merges, size, epsilon))
            )
            widened += not np.array_equal(number_by_first_member(found), number_by_first_member(plain))
    assert widened > 0


def test_equal_observations_are_a_dense_place():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        places = rng.normal(size=(rng.integers(2, 12), 2)) * 3
        which = rng.integers(0, len(places), rng.integers(4, 150))
        distances = np.linalg.norm(places[which][:, None] - places[which][None], axis=2)
        min_samples, size = int(rng.integers(1, 4)), int(rng.integers(2, 8))
        i, j, weight = prim(reachability(distances, min_samples)[0])
        found = hierarchy_labels(i, j, weight, min_cluster_size=size)
        np.testing.assert_array_equal(
            number_by_first_member(found),
            number_by_first_member(naive_labels(single_linkage(i, j, weight), size, 0.0)),
            err_msg=f"{seed}",
        )
        piles = [np.flatnonzero(which == place) for place in range(len(places))]
        large = [pile for pile in piles if pile.size >= max(size, min_samples)]
        if len(large) > 1:  # nothing is denser, so each is a cluster
            for pile in large:
                assert len(set(found[pile])) == 1
                assert found[pile[0]] >= 0
            assert len({found[pile[0]] for pile in large}) == len(large)


def test_an_observation_between_two_clusters_belongs_to_neither():
    x = np.r_[0, 0.25, 0.5, 5, 9.5, 9.75, 10]
    reach, _ = reachability(np.abs(x[:, None] - x[None]), 2)
    assert number_by_first_member(hierarchy_labels(*prim(reach), min_cluster_size=3)).tolist() == [0, 0, 0, -1, 1, 1, 1]


@pytest.mark.parametrize("shape", SHAPES)
def test_heights_and_sizes_are_those_of_scipy(shape):
    for seed in range(60):
        distances, min_samples, _ = draw(seed, shape)
        reach = reachability(distances, min_samples)[0]
        found = single_linkage(*spanning_tree(reach))
        expected = scipy_linkage(squareform(reach, checks=False), "single")
        np.testing.assert_array_equal(found[:, 2], expected[:, 2])
        if np.unique(found[:, 2]).size == len(found):
            np.testing.assert_array_equal(found, expected)


def test_the_order_and_direction_of_edges_do_not_matter():
    rng = np.random.default_rng(0)
    i = np.arange(1, 300)
    j = (rng.random(299) * i).astype(int)
    weight = rng.integers(0, 5, 299) / 4  # many are tied
    expected = single_linkage(i, j, weight)
    order, turned = rng.permutation(299), rng.random(299) < 0.5
    found = single_linkage(np.where(turned, j, i)[order], np.where(turned, i, j)[order], weight[order])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_cut_gives_the_components_of_the_table_and_the_core_of_dbscan(shape):
    for seed in range(60):
        distances, min_samples, _ = draw(seed, shape)
        reach, core = reachability(distances, min_samples)
        merges = single_linkage(*spanning_tree(reach))
        for eps in (0.0, *np.quantile(merges[:, 2], [0, 0.3, 0.7, 1]), merges[seed % len(merges), 2], np.inf):
            found = labels_at(merges, core, eps)
            _, components = connected_components(reach <= eps, directed=False)
            np.testing.assert_array_equal(found, number_by_first_member(np.where(core <= eps, components, -1)))
            if 0 < eps < np.inf:
                model = DBSCAN(eps=eps, min_samples=min_samples, metric="precomputed").fit(distances)
                labels = np.full(len(core), -1)
                labels[model.core_sample_indices_] = model.labels_[model.core_sample_indices_]
                np.testing.assert_array_equal(found, number_by_first_member(labels))


def test_clusters_are_listed_from_the_root_with_their_sizes():
    merges = single_linkage([0, 1, 3, 4, 2], [1, 2, 4, 5, 3], [1, 1.5, 1, 2, 10])
    found = condense(merges, 3)
    assert found.parent.tolist() == [-1, 0, 0]
    assert found.size.tolist() == [6, 3, 3]
    np.testing.assert_allclose(found.birth, [0, 0.1, 0.1])
    np.testing.assert_allclose(found.stability, [0.6, 3 * (1 / 1.5 - 0.1), 3 * (0.5 - 0.1)])
    assert found.home.tolist() == [1, 1, 1, 2, 2, 2]


def test_few_observations_are_noise():
    assert hierarchy_labels([], [], [], min_cluster_size=2).tolist() == [-1]
    assert hierarchy_labels([0], [1], [0.0], min_cluster_size=2).tolist() == [-1, -1]
    assert hierarchy_labels([0, 1], [1, 2], [1.0, 2.0], min_cluster_size=9, epsilon=5.0).tolist() == [-1] * 3
    assert labels_at(single_linkage([], [], []), np.array([0.5]), 0.5).tolist() == [0]


@pytest.mark.parametrize(
    ("edges", "options", "message"),
    [
        (([0, 0, 1], [1, 2, 2], [1.0, 2.0, 3.0]), {}, "no spanning tree: only 2"),
        (([0, 1], [1, 2], [1.0, -1.0]), {}, "1 entries that are negative or NaN"),
        (([0, 1], [1, 2], [1.0, np.nan]), {}, "1 entries that are negative or NaN"),
        (([0, 1, 2], [1, 2, 0], [1.0, 2.0]), {}, "shape"),
        (([0, 1], [1, 2], [1.0, 2.0]), {"min_cluster_size": 1}, "min_cluster_size=1"),
        (([0, 1], [1, 2], [1.0, 2.0]), {"epsilon": -1.0}, r"epsilon=-1\.0"),
    ],
)
def test_what_is_no_tree_is_refused(edges, options, message):
    with pytest.raises(ValueError, match=message):
        hierarchy_labels(*edges, **{"min_cluster_size": 2, **options})


def test_rows_and_nodes_that_do_not_exist_are_refused():
    with pytest.raises(IndexError, match="rows 1 to 7"):
        single_linkage([0, 1], [1, 7], [1.0, 2.0])
    with pytest.raises(ValueError, match="not made before"):
        condense(np.array([[0, 9, 1.0, 2]]), 2)
    with pytest.raises(ValueError, match=r"not \(N - 1, 4\)"):
        condense(np.zeros((3, 3)), 2)
    with pytest.raises(ValueError, match=r"core is of shape \(3,\)"):
        labels_at(single_linkage([0], [1], [1.0]), np.zeros(3), 1.0)


def test_long_chains_and_stars_take_no_recursion():
    count = 200_000
    rows = np.arange(1, count)
    weight = rows / count  # each observation joins the same cluster, the deepest tree there is
    for other in (rows - 1, np.zeros_like(rows)):
        merges = single_linkage(rows, other, weight)
        assert (linkage_labels(merges, min_cluster_size=2) == -1).all()  # only the root
        assert np.count_nonzero(labels_at(merges, np.zeros(count), 0.5)) == count - count // 2 - 1


def test_a_radius_of_hdbscan_joins_what_parts_below_it():
    distances, _, _ = draw(3, "blobs")
    counts = [
        find_clusters(distances, "hdbscan", eps=eps, min_samples=2, min_cluster_size=3).labels.max() + 1
        for eps in np.quantile(distances, [1e-4, 0.05, 0.2, 0.5])
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == find_clusters(distances, "hdbscan", min_samples=2, min_cluster_size=3).labels.max() + 1
