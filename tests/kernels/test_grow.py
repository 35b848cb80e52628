"""Regions that grow along edges, and trees cut into pieces."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_matrix
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.spatial import Delaunay
from sklearn.cluster import AgglomerativeClustering

from mcgta.kernels.evidence.grow import grow
from mcgta.kernels.evidence.subtrees import cut_subtrees
from naive import selection as naive

SOME = settings(max_examples=30, derandomize=True, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


def regions(X, edges, wanted):
    found, edges = np.empty(len(X), dtype=np.int64), np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    left = grow(X, edges[:, 0].copy(), edges[:, 1].copy(), wanted, found)
    assert left == np.unique(found).size
    assert (found[found] == found).all()  # regions are named by a row in them
    return found


def triangles(rng, count):
    """Edges of places on a plane, each once."""
    corners = Delaunay(rng.uniform(0, 1, (count, 2))).simplices
    pairs = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]])
    return np.unique(np.sort(pairs, axis=1), axis=0)


@given(seed=SEEDS, count=st.integers(1, 14), edges=st.integers(0, 30), wanted=st.integers(1, 6), d=st.integers(1, 3))
@SOME
def test_regions_are_those_of_merging_the_cheapest_pair_again_and_again(seed, count, edges, wanted, d):
    rng = np.random.default_rng(seed)
    X, pairs = rng.normal(size=(count, d)), rng.integers(0, count, (edges, 2))  # some twice, some from a row to itself
    assert naive.partition(regions(X, pairs, wanted)) == naive.grow(X, pairs.tolist(), wanted)


@pytest.mark.parametrize("wanted", [1, 2, 7, 40, 300])
def test_regions_are_those_of_scikit_learn(wanted):
    rng = np.random.default_rng(wanted)
    X, pairs = rng.normal(size=(300, 2)), triangles(rng, 300)
    near = csr_matrix((np.ones(len(pairs)), pairs.T), shape=(300, 300))
    expected = AgglomerativeClustering(wanted, connectivity=near + near.T, linkage="ward").fit(X).labels_
    assert naive.partition(regions(X, pairs, wanted)) == naive.partition(expected)


@given(seed=SEEDS, wanted=st.integers(1, 30))
@SOME
def test_regions_hang_together_and_equal_rows_do_not_matter(seed, wanted):
    rng = np.random.default_rng(seed)
    pairs = triangles(rng, 60)
    found = regions(rng.integers(0, 2, (60, 1)).astype(float), pairs, wanted)
    assert np.unique(found).size == wanted
    assert all(naive.connected(rows, pairs.tolist()) for rows in naive.partition(found))


def test_what_no_edge_joins_stays_apart():
    assert np.unique(regions(np.zeros((6, 1)), [(0, 1), (3, 4)], 1)).tolist() == [0, 2, 3, 5]


def forest(rng, count, most):
    """A random forest: rows so that each comes after its parent, and the parents."""
    parent = np.array(
        [-1 if i == 0 or rng.random() < 0.05 else rng.integers(max(0, i - most), i) for i in range(count)]
    )
    names = rng.permutation(count)
    out = np.full(count, -1)
    out[names] = np.where(parent >= 0, names[parent], -1)
    return names, out


@given(seed=SEEDS, count=st.integers(1, 80), size=st.integers(1, 20), most=st.integers(1, 10))
@SOME
def test_pieces_of_trees_hang_together_and_are_large_enough_but_for_one_at_a_root(seed, count, size, most):
    order, parent = forest(np.random.default_rng(seed), count, most)
    piece = np.empty(count, dtype=np.int64)
    cut_subtrees(order, parent, size, piece)
    edges = [(i, parent[i]) for i in range(count) if parent[i] >= 0]
    for rows in naive.partition(piece):
        top = piece[min(rows)]
        assert top in rows
        assert naive.connected(rows, edges)
        assert len(rows) >= size or parent[top] < 0
        assert parent[top] not in rows


def test_pieces_of_a_tree_of_places_are_not_much_larger_than_asked_for():
    rng = np.random.default_rng(1)
    pairs = triangles(rng, 2000)
    graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(2000, 2000)).tocsr()
    assert connected_components(graph, directed=False)[0] == 1
    chain = np.arange(2000)
    order, before = breadth_first_order(graph, 0, directed=False)
    parent = np.where(before < 0, -1, before).astype(np.int64)
    piece = np.empty(2000, dtype=np.int64)
    cut_subtrees(order.astype(np.int64), parent, 40, piece)
    sizes = np.bincount(piece)
    assert np.median(sizes[sizes > 0]) < 80
    cut_subtrees(chain, chain - 1, 40, piece)
    assert set(np.bincount(piece)) <= {0, 40}
