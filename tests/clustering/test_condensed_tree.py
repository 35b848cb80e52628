"""The condensed tree in the form of the hdbscan package."""

import numpy as np
import pytest

from mcgta.clustering.brute_force import BruteForceSearch
from mcgta.clustering.condensed_tree import condensed_tree
from mcgta.clustering.linkage import SingleLinkage
from mcgta.kernels.tree.hierarchy import condense


def draw_linkage(seed, *, tied=False):
    rng = np.random.default_rng(seed)
    points = rng.normal(scale=3, size=(4, 2))[rng.integers(0, 4, 50)] + 0.6 * rng.normal(size=(50, 2))
    if tied:
        points = np.round(points)
    M = np.linalg.norm(points[:, None] - points[None], axis=2)
    return SingleLinkage.of(BruteForceSearch.of_table(M), 3)


def naive_leaving_density(linkage, row, least):
    """One over the least height at which the row is in a component of as many rows as a cluster needs."""
    members = [{k} for k in range(len(linkage) + 1)]
    for left, right, height, _ in linkage:
        members.append(members[int(left)] | members[int(right)])
        if row in members[-1] and len(members[-1]) >= least:
            return 1 / height if height > 0 else np.inf
    return 1 / linkage[-1, 2]


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_every_observation_and_cluster_leaves_its_parent_once(seed, tied):
    linkage = draw_linkage(seed, tied=tied).linkage
    tree, clusters = condensed_tree(linkage, 4), condense(linkage, 4)
    assert sorted(tree.child.tolist()) == [*range(50), *range(51, 50 + clusters.parent.size)]
    assert (np.diff(tree.parent) >= 0).all()
    for parent, child, density, size in zip(tree.parent, tree.child, tree.lambda_val, tree.child_size, strict=True):
        if child < 50:
            assert (parent, size) == (50 + clusters.home[child], 1)
            assert density == naive_leaving_density(linkage, child, 4)
        else:
            assert (parent, density, size) == (
                50 + clusters.parent[child - 50],
                clusters.birth[child - 50],
                clusters.size[child - 50],
            )


@pytest.mark.parametrize("seed", range(8))
def test_sizes_and_stabilities_follow_from_the_rows(seed):
    linkage = draw_linkage(seed).linkage
    tree, clusters = condensed_tree(linkage, 4), condense(linkage, 4)
    for c in range(clusters.parent.size):
        rows = tree.parent == 50 + c
        assert tree.child_size[rows].sum() == clusters.size[c]
        mass = ((tree.lambda_val[rows] - clusters.birth[c]) * tree.child_size[rows]).sum()
        assert mass == pytest.approx(clusters.stability[c], rel=1e-12)


def test_the_rows_are_one_structured_array():
    tree = condensed_tree(draw_linkage(1).linkage, 4)
    rows = tree.to_numpy()
    assert rows.dtype.names == ("parent", "child", "lambda_val", "child_size")
    assert len(rows) == len(tree)
    for name in rows.dtype.names:
        np.testing.assert_array_equal(rows[name], getattr(tree, name))


def test_too_few_observations_are_all_of_the_root():
    linkage = draw_linkage(2).linkage
    tree = condensed_tree(linkage, 60)
    assert (tree.parent == 50).all()
    np.testing.assert_array_equal(tree.lambda_val, 1 / linkage[-1, 2])
