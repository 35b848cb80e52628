"""As many clusters as are asked for: by the radius of DBSCAN, by the stability of HDBSCAN, or by an object's own parameter."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering

from builders.clusterings import cluster
from builders.losses import draw_loss
from mcgta.clustering.brute_force import BruteForceSearch
from mcgta.clustering.clusterer import ClusterOptions
from mcgta.clustering.clustering import densities
from mcgta.clustering.condensed_tree import select_clusters
from mcgta.clustering.labels import number_by_first_member
from mcgta.clustering.linkage import SingleLinkage
from mcgta.clustering.registry import CLUSTERERS, get_clusterer
from mcgta.clustering.tree_search import TreeSearch
from mcgta.kernels.tree.hierarchy import condense
from naive import clusters as naive_clusters


def table(seed, count, *, tied=False):
    """Losses of a few blobs, or of small integers full of ties, which need not be a metric."""
    rng = np.random.default_rng(seed)
    if tied:
        raw = np.triu(rng.integers(0, 7, (count, count)).astype(float), 1)
        return raw + raw.T
    centers = rng.normal(scale=3, size=(rng.integers(1, 6), 2))
    points = centers[rng.integers(0, len(centers), count)] + 0.7 * rng.normal(size=(count, 2))
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def cut(search, n_clusters, clusterer="dbscan", **options):
    return get_clusterer(clusterer).cut(search, ClusterOptions(**options), n_clusters)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_the_cut_is_the_best_of_all_heights(seed, tied):
    rng = np.random.default_rng(seed)
    M = table(seed, int(rng.integers(5, 26)), tied=tied)
    min_samples, size = int(rng.integers(1, 5)), int(rng.choice([1, 1, 2, 4, 7]))
    linkage = SingleLinkage.of(BruteForceSearch.of_table(M), min_samples)
    assert np.unique(linkage.heights).tolist() == naive_clusters.merge_heights(M, min_samples)
    for n_clusters in range(1, 7):
        expected = naive_clusters.cut(M, min_samples, size, n_clusters)
        if expected is None:
            with pytest.raises(
                ValueError, match=f"n_clusters={n_clusters} is not possible with min_samples={min_samples}"
            ):
                linkage.cut(n_clusters, min_cluster_size=size)
            continue
        found = linkage.cut(n_clusters, min_cluster_size=size)
        assert (found.labels.tolist(), found.eps) == expected


@pytest.mark.parametrize("clusterer", CLUSTERERS)
@pytest.mark.parametrize("seed", range(3))
def test_tree_and_tiles_cut_as_the_table_does(clusterer, seed):
    loss = draw_loss(seed, 160, 2 + seed, ["steps", "plane", "irregular"][seed], False, "none", beta=0.5)
    searches = BruteForceSearch.of_table(loss.matrix()), BruteForceSearch.of(loss), TreeSearch.of(loss)
    for n_clusters in (1, 2, 4):
        of_table, *others = (cut(search, n_clusters, clusterer, min_samples=4) for search in searches)
        assert np.unique(of_table.labels[of_table.labels >= 0]).tolist() == list(range(n_clusters))
        for other in others:
            np.testing.assert_array_equal(other.labels, of_table.labels)
            np.testing.assert_array_equal(other.core, of_table.core)
            assert other.eps == of_table.eps or np.isnan([other.eps, of_table.eps]).all()


def test_the_cut_of_dbscan_is_dbscan_with_its_radius():
    M = table(3, 60)
    search = BruteForceSearch.of_table(M)
    for n_clusters in (1, 2, 3, 5):
        found = cut(search, n_clusters, min_samples=4)
        again = cluster(search, eps=found.eps, min_samples=4)
        np.testing.assert_array_equal(found.labels, again.labels)
        np.testing.assert_array_equal(found.core, again.core)
        np.testing.assert_array_equal(found.radii, again.radii)
        settled = densities(search, found, 4)
        assert np.isfinite(settled.core_distances[found.core]).all()


def test_a_cut_of_many_heights_takes_one_list_of_close_pairs_and_no_search_of_the_border(monkeypatch):
    search = BruteForceSearch.of_table(table(1, 400))
    asked, listed = [], BruteForceSearch.closer_pairs
    monkeypatch.setattr(BruteForceSearch, "border", lambda *_: pytest.fail("a search of the border"))
    monkeypatch.setattr(BruteForceSearch, "closer_pairs", lambda *args: asked.append(args) or listed(*args))
    for size in (None, 30):
        assert cut(search, 3, min_samples=4, min_cluster_size=size).labels.max() == 2
    assert len(asked) == 2


@pytest.mark.parametrize("kind", ["wasserstein2", "calibrated"])
@pytest.mark.parametrize("repeats", ["none", "rounded", "clumps"])
@pytest.mark.parametrize("place", ["steps", "plane", "sphere"])
@pytest.mark.parametrize("min_samples", [1, 2, 9])
def test_close_pairs_are_those_of_the_table(place, repeats, min_samples, kind):
    loss = draw_loss(min_samples, 180, 3, place, False, repeats, beta=1.0, kind=kind)
    matrix = loss.matrix()
    core = np.partition(matrix, min_samples - 1, axis=1)[:, min_samples - 1]
    closer = (matrix < core[:, None]) & ~np.eye(len(matrix), dtype=bool)
    rows, others = np.nonzero(closer)
    for search in (BruteForceSearch.of_table(matrix), BruteForceSearch.of(loss), TreeSearch.of(loss)):
        found = search.closer_pairs(core, min_samples)
        order = np.lexsort((found.others, found.rows))
        np.testing.assert_array_equal(found.rows, rows)
        np.testing.assert_array_equal(found.others[order], others)
        np.testing.assert_array_equal(found.losses[order], matrix[rows, others])


def test_the_error_says_how_many_clusters_there_can_be():
    x = np.array([0.0, 0, 10, 10, 20, 20])  # three pairs, joined all at once
    search = BruteForceSearch.of_table(np.abs(x[:, None] - x[None]))
    for n_clusters, said in (
        (2, "there are 1 or 3 clusters, depending on the merge height"),
        (4, "there are at most 3 clusters at any merge height"),
    ):
        with pytest.raises(ValueError, match=f"n_clusters={n_clusters} is not possible with min_samples=2: {said}"):
            cut(search, n_clusters, min_samples=2)
    with pytest.raises(ValueError, match="min_cluster_size=3: no merge height has exactly so many"):
        cut(search, 3, min_samples=2, min_cluster_size=3)
    for clusterer in CLUSTERERS:
        with pytest.raises(ValueError, match="min_samples=7 must be from 1 to the number of observations, 6"):
            cut(search, 2, clusterer, min_samples=7)


@pytest.mark.parametrize("seed", range(30))
def test_the_clusters_of_hdbscan_are_those_of_the_largest_total_stability(seed):
    M = table(seed, 60)
    condensed = condense(SingleLinkage.of(BruteForceSearch.of_table(M), 2).linkage, 3)
    every = naive_clusters.antichains(condensed.parent.tolist())
    for n_clusters in range(1, 6):
        sets = [chosen for chosen in every if len(chosen) == n_clusters]
        labels = select_clusters(condensed, n_clusters)
        if not sets:
            assert labels is None
            continue
        best = max(sets, key=lambda chosen: condensed.stability[list(chosen)].sum())
        expected = np.full(len(M), -1)
        for k, c in enumerate(best):
            inside = condensed.home == c
            for child in range(c + 1, condensed.parent.size):  # parents come before their children
                around = child
                while around > c:
                    around = condensed.parent[around]
                inside |= (condensed.home == child) & (around == c)
            expected[inside] = k
        np.testing.assert_array_equal(number_by_first_member(labels), number_by_first_member(expected))


def test_as_many_clusters_as_hdbscan_finds_by_itself_are_the_same_ones():
    compared = 0
    for seed in range(20):
        search = BruteForceSearch.of_table(table(seed, 80))
        own = cluster(search, "hdbscan", min_samples=3)
        if own.labels.max() >= 0:
            again = cut(search, int(own.labels.max()) + 1, "hdbscan", min_samples=3)
            np.testing.assert_array_equal(again.labels, own.labels)
            compared += 1
    assert compared > 5


def test_clusters_that_hdbscan_may_not_split_are_not_chosen():
    x = np.concatenate([np.arange(5) / 10 + start for start in (0.0, 2.0, 50.0, 53.0)])
    search = BruteForceSearch.of_table(np.abs(x[:, None] - x[None]))
    labels = cut(search, 4, "hdbscan", min_samples=2, min_cluster_size=4).labels
    assert labels.tolist() == np.repeat(np.arange(4), 5).tolist()
    linkage = SingleLinkage.of(search, 2).linkage
    assert select_clusters(condense(linkage, 4), 4, epsilon=2.0) is None  # two of them part at 1.6
    three = select_clusters(condense(linkage, 4), 3, epsilon=2.0)
    assert number_by_first_member(three).tolist() == np.repeat([0, 0, 1, 2], 5).tolist()


def test_places_without_any_distance_are_the_most_stable():
    x = np.concatenate([np.zeros(5), np.full(5, 30.0), 60 + np.arange(5), 90 + np.arange(5)])
    search = BruteForceSearch.of_table(np.abs(x[:, None] - x[None]))
    labels = cut(search, 2, "hdbscan", min_samples=2).labels
    assert labels[:10].tolist() == [0] * 5 + [1] * 5
    assert (labels[10:] == -1).all()


def test_hdbscan_without_a_split_takes_the_clusters_of_a_radius():
    x = np.arange(30.0) ** 1.1
    search = BruteForceSearch.of_table(np.abs(x[:, None] - x[None]))
    assert cluster(search, "hdbscan", min_samples=3).labels.max() == -1
    assert (cut(search, 1, "hdbscan", min_samples=3).labels == 0).all()


def test_an_object_gets_the_number_of_clusters_on_a_copy():
    search = BruteForceSearch.of_table(table(2, 40))
    average = AgglomerativeClustering(7, metric="precomputed", linkage="average")
    found = cut(search, 3, average)
    expected = AgglomerativeClustering(3, metric="precomputed", linkage="average").fit_predict(search.table)
    np.testing.assert_array_equal(found.labels, number_by_first_member(expected))
    assert average.n_clusters == 7
    with pytest.raises(ValueError, match="has no parameter n_clusters"):
        cut(search, 3, DBSCAN(metric="precomputed"))


def test_an_object_that_does_not_keep_to_the_number_is_refused():
    class Two:
        n_clusters = 2

        def fit_predict(self, matrix):
            return np.arange(len(matrix)) % 2

    with pytest.raises(ValueError, match="returned 2 clusters"):
        cut(BruteForceSearch.of_table(np.zeros((6, 6))), 3, Two())
