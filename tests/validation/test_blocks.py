"""Held-out blocks: a partition into contiguous pieces, with a gap around them where one is wanted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mcgta import MCGTA, BlockSplit, read_positions
from mcgta.positions.metrics import SpaceTime


def split(splitter, positions, groups=None):
    return list(splitter.split(np.zeros((len(positions), 1)), groups=groups, positions=positions))


@st.composite
def times(draw):
    """Times, some of them equal, in any order."""
    distinct = draw(st.integers(12, 40))
    values = draw(st.lists(st.integers(0, distinct - 1), max_size=30))
    rows = np.array([*range(distinct), *values], dtype=float)
    return np.random.default_rng(draw(st.integers(0, 99))).permutation(rows)


@pytest.mark.filterwarnings("ignore:positions.*repeated")
@given(t=times(), n_splits=st.integers(2, 4), per_fold=st.integers(1, 3))
def test_every_row_is_held_out_once_and_trained_on_otherwise(t, n_splits, per_fold):
    folds = split(BlockSplit(n_splits, n_blocks=n_splits * per_fold), t)
    assert len(folds) == n_splits
    np.testing.assert_array_equal(np.sort(np.concatenate([held for _, held in folds])), np.arange(t.size))
    for train, held in folds:
        np.testing.assert_array_equal(np.sort(np.concatenate([train, held])), np.arange(t.size))
        assert held.size > 0


@pytest.mark.filterwarnings("ignore:positions.*repeated")
@given(t=times(), n_splits=st.integers(2, 4), per_fold=st.integers(1, 3))
def test_along_time_folds_are_as_many_stretches_as_they_have_blocks(t, n_splits, per_fold):
    fold = np.empty(t.size, dtype=int)
    for k, (_, held) in enumerate(split(BlockSplit(n_splits, n_blocks=n_splits * per_fold), t)):
        fold[held] = k
    by_time = fold[np.argsort(t, kind="stable")]
    assert np.count_nonzero(np.diff(by_time)) + 1 == n_splits * per_fold
    for value in np.unique(t):  # rows at one time stay together
        assert np.unique(fold[t == value]).size == 1


@settings(deadline=None)  # the first example loads a kernel
@given(t=times().map(dict.fromkeys).map(list).map(np.array), gap=st.floats(0.5, 3))
def test_a_gap_leaves_out_exactly_the_neighbours_of_what_is_held_out(t, gap):
    for train, held in split(BlockSplit(2, n_blocks=2, gap=gap), t):
        near = np.abs(t[:, None] - t[held][None]).min(axis=1) <= gap
        np.testing.assert_array_equal(train, np.flatnonzero(~near))


@pytest.mark.parametrize("metric", ["euclidean", "haversine", "spacetime", "on the globe and in time", "precomputed"])
def test_a_gap_is_measured_by_the_metric(metric):
    rng = np.random.default_rng(3)
    positions, params, gap = rng.uniform(0, 10, (90, 2)), None, 1.5
    if metric == "haversine":
        gap = 150_000.0
    elif metric in ("spacetime", "on the globe and in time"):
        positions = np.column_stack([positions, rng.uniform(0, 4, 90)])
        params = {"time_scale": 2.0, "space": "euclidean"}
        if metric != "spacetime":
            metric, params, gap = "spacetime", {"time_scale": 1e5, "space": "haversine"}, 200_000.0
    elif metric == "precomputed":
        positions = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    places = read_positions(positions, 90, metric=SpaceTime(**params) if params else metric)
    splitter = BlockSplit(3, n_blocks=6, gap=gap, metric=SpaceTime(**params) if params else metric)
    for train, held in split(splitter, positions):
        near = places.between(np.arange(90), held).min(axis=1) <= gap
        np.testing.assert_array_equal(train, np.flatnonzero(~near))
        assert 0 < train.size < 90 - held.size


@given(seed=st.integers(0, 1000), n_blocks=st.integers(2, 9))
def test_in_the_plane_blocks_are_boxes_that_do_not_overlap(seed, n_blocks):
    points = np.random.default_rng(seed).uniform(0, 5, (60, 2))
    boxes = [
        (points[held].min(axis=0), points[held].max(axis=0))
        for _, held in split(BlockSplit(n_blocks, n_blocks=n_blocks), points)
    ]
    for k, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:k]:
            assert ((high < other_low) | (other_high < low)).any()


def test_blocks_hold_about_as_many_rows_each():
    sizes = [held.size for _, held in BlockSplit(5).split(np.zeros((1000, 1)))]
    assert sizes == [200] * 5


def test_blocks_of_precomputed_distances_are_compact():
    t = np.random.default_rng(0).permutation(np.arange(60.0))
    table = np.abs(t[:, None] - t[None])
    for _, held in split(BlockSplit(3, n_blocks=3, metric="precomputed"), table):
        assert np.ptp(t[held]) == held.size - 1


def test_whole_groups_are_held_out_and_folds_are_about_equally_large():
    groups = np.repeat(list("abcdef"), [50, 30, 20, 20, 10, 10])
    folds = split(BlockSplit(3), np.arange(140.0), groups)
    assert sorted("".join(np.unique(groups[held])) for _, held in folds) == ["a", "bef", "cd"]
    for train, held in folds:
        assert set(groups[train]).isdisjoint(groups[held])


def test_groups_are_cut_on_request_and_a_gap_stays_within_its_group():
    groups = np.repeat(["a", "b"], 12)
    positions = np.concatenate([np.arange(12.0), np.arange(12.0)])
    for train, held in split(BlockSplit(2, n_blocks=2, gap=2, whole_groups=False), positions, groups):
        for name in "ab":
            mine, others = positions[held][groups[held] == name], positions[train][groups[train] == name]
            assert mine.size == 6
            assert others.size == 4
            assert np.ptp(mine) == 5


def test_splits_depend_on_positions_and_not_on_the_order_of_rows():
    t = np.arange(40.0)
    order = np.random.default_rng(1).permutation(40)
    for (_, held), (_, shuffled) in zip(split(BlockSplit(4), t), split(BlockSplit(4), t[order]), strict=True):
        np.testing.assert_array_equal(t[held], np.sort(t[order][shuffled]))


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"n_splits": 1}, "n_splits=1 is not allowed: n_splits must be an integer >= 2"),
        ({"n_splits": 2.5}, "n_splits=2.5 is not allowed"),
        ({"n_blocks": 3}, "n_blocks=3 is not allowed: n_blocks must be an integer >= 5, or None"),
        ({"gap": -1}, "gap=-1 is not allowed: gap must be a number >= 0"),
        ({"gap": float("inf")}, "gap=inf is not allowed"),
        ({"whole_groups": "yes"}, "whole_groups='yes' is not allowed: whole_groups must be True or False"),
    ],
)
def test_bad_parameters_are_refused_when_the_splitter_is_made(params, said):
    with pytest.raises(ValueError, match=said):
        BlockSplit(**params)


def test_what_cannot_be_split_is_refused():
    with pytest.raises(ValueError, match="20 blocks cannot be cut from 8 distinct positions"):
        list(BlockSplit(5).split(np.zeros((8, 1))))
    with pytest.raises(ValueError, match=r"n_splits=5 with 2 groups.*whole_groups=False"):
        split(BlockSplit(5), np.arange(20.0), np.repeat(["a", "b"], 10))
    with pytest.raises(ValueError, match="n_blocks=6 has no effect where whole groups are held out"):
        split(BlockSplit(2, n_blocks=6), np.arange(20.0), np.repeat(["a", "b"], 10))
    with pytest.raises(ValueError, match="gap=50 leaves no rows to train on in fold 0"):
        split(BlockSplit(2, gap=50), np.arange(20.0))
    with pytest.raises(ValueError, match="positions has 3 rows but X has 20"):
        list(BlockSplit(2).split(np.zeros((20, 1)), positions=np.arange(3.0)))


def test_it_is_shown_and_cloned_like_a_splitter_of_scikit_learn():
    search = GridSearchCV(MCGTA(), {}, cv=BlockSplit(3, gap=2.0))
    assert clone(search).cv.gap == 2.0
    assert repr(BlockSplit(3, gap=2.0)).startswith("BlockSplit(gap=2.0,")
    assert BlockSplit(3).get_n_splits() == 3
