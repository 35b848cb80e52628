"""Rows and those next to them: blocks of series, and of trees over places."""

import numpy as np
import pytest

from mcgta.positions.reading import read_positions
from mcgta.selection.scoring.neighbor_graph import connect_rows, cut_forest, cut_series


def test_series_are_cut_every_so_many_rows_and_where_they_begin():
    starts = np.zeros(12, dtype=bool)
    starts[[0, 7]] = True
    assert cut_series(starts, 3).tolist() == [0, 0, 0, 1, 1, 1, 2, 3, 3, 3, 4, 4]


@pytest.mark.parametrize("groups", [None, np.arange(300) // 100])
def test_blocks_of_places_hang_together_and_are_about_as_large_as_asked_for(groups):
    positions = read_positions(np.random.default_rng(1).normal(size=(300, 2)), 300, groups=groups)
    edges = connect_rows(positions, 0).edges
    blocks = cut_forest(edges, 300, 20)
    sizes = np.bincount(blocks)
    assert 300 / 60 <= sizes.size <= 300 / 5
    inside = edges[blocks[edges[:, 0]] == blocks[edges[:, 1]]]
    # A tree of n rows has n - 1 edges, so a block hangs together where as many are within it.
    np.testing.assert_array_equal(np.bincount(blocks[inside[:, 0]], minlength=sizes.size), sizes - 1)


def test_rows_of_series_are_next_to_those_before_and_after_them():
    positions = read_positions(None, 6, groups=[0, 0, 0, 0, 1, 1])
    graph = connect_rows(positions, 0)
    assert graph.edges.tolist() == [[0, 1], [1, 2], [2, 3], [4, 5]]
    assert graph.neighbors[1, :4].tolist() == [0, 2, -1, 3]
    assert graph.predecessors[3, :4].tolist() == [2, 1, 0, -1]
