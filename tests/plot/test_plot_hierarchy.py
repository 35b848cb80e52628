"""Reachability and the condensed tree: what is drawn is what is in the tree, however many observations there are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex

from builders.descriptions import labelled
from mcgta import MCGTA, plot
from mcgta.drawing.palette import cluster_color
from mcgta.plot.branches import LEVELS, grow_branches
from mcgta.plot.hierarchy import MOST_BRANCHES, MOST_COLUMNS, column_heights
from naive import plots as naive


@pytest.mark.parametrize(("n", "columns"), [(1, 1), (7, 7), (50, 7), (301, 100)])
def test_columns_are_those_of_the_slow_twin(n, columns):
    rng = np.random.default_rng(n)
    heights = rng.gamma(2.0, size=n)
    labels = rng.integers(-1, 3, n)
    edges = np.linspace(0, n, columns + 1).astype(np.int64)
    mean, largest, common = column_heights(heights, labels, edges)
    slow = naive.column_heights(heights.tolist(), labels.tolist(), edges.tolist())
    np.testing.assert_allclose(mean, [each[0] for each in slow])
    assert largest.tolist() == [each[1] for each in slow]
    assert common.tolist() == [each[2] for each in slow]


def test_columns_of_reachability_are_in_the_order_of_optics(visited):
    axes = plot.reachability(visited)
    columns = [each for each in axes.collections if isinstance(each, PolyCollection)][-1]
    tops = np.array([path.vertices[:, 1].max() for path in columns.get_paths()])
    heights = visited.reachability_[visited.ordering_]
    drawn = np.isfinite(heights)
    np.testing.assert_allclose(tops[drawn], heights[drawn])
    assert tops[~drawn] == pytest.approx(axes.get_ylim()[1])
    labels = visited.labels_[visited.ordering_].tolist()
    assert [to_hex(color) for color in columns.get_facecolors()] == [cluster_color(label) for label in labels]


def test_reachability_has_a_line_at_the_radius(visited):
    axes = plot.reachability(visited)
    assert axes.lines[0].get_ydata()[0] == visited.eps_
    assert axes.texts[0].get_text() == f"eps {visited.eps_:.3g}"
    assert axes.get_ylabel() == "reachability [loss]"


def test_valleys_between_high_walls_are_on_a_logarithmic_scale(visited):
    assert plot.reachability(visited).get_yscale() == "log"
    fit = visited.fitted_
    even = replace(fit.labelling, reachability=np.linspace(1, 2, fit.labelling.reachability.size))
    axes = plot.reachability(replace(fit, labelling=even))
    assert axes.get_yscale() == "linear"
    assert axes.get_ylim()[0] == 0


def test_reachability_of_equal_observations_is_drawn(visited):
    fit = visited.fitted_
    flat = replace(fit.labelling, reachability=np.zeros(fit.labelling.reachability.size), eps=np.nan)
    axes = plot.reachability(replace(fit, labelling=flat))
    assert axes.get_ylim() == (0, 1)
    assert not axes.lines


def test_reachability_of_many_observations_has_a_bounded_number_of_columns():
    rng = np.random.default_rng(0)
    n = 200_000
    fit = labelled(np.zeros((n, 1)), rng.integers(-1, 4, n))
    optics = replace(fit.labelling, ordering=rng.permutation(n), reachability=rng.gamma(2.0, size=n))
    axes = plot.reachability(replace(fit, labelling=optics))
    assert max(len(each.get_paths()) for each in axes.collections) <= min(MOST_COLUMNS, axes.figure.bbox.width)
    assert len(axes.get_children()) < 30


def test_reachability_needs_optics(plain):
    with pytest.raises(ValueError, match="fit with clusterer='optics' and refine='none'"):
        plot.reachability(plain)


@pytest.fixture(scope="module")
def grown(plain):
    fit = plain.fitted_
    labels = fit.labelling.labels[fit.comparable]
    return grow_branches(plain.condensed_tree_, labels, plain.n_clusters_, MOST_BRANCHES), labels


def test_branches_hold_the_observations_of_the_slow_twin(plain, grown):
    found, labels = grown
    tree = plain.condensed_tree_
    merges = list(zip(tree.parent.tolist(), tree.child.tolist(), tree.lambda_val.tolist(), strict=True))
    n = labels.size
    assert len(found.branches) > 1
    for number, branch in enumerate(found.branches):
        for level in range(1, branch.losses.size):
            rows = naive.rows_in_branch(merges, n, n + number, float(branch.losses[level]))
            counts = np.bincount(
                np.where(labels[rows] < 0, plain.n_clusters_, labels[rows]), minlength=plain.n_clusters_ + 1
            )
            assert branch.counts[level].tolist() == counts.tolist()
        assert branch.counts[0].sum() == len(naive.rows_in_branch(merges, n, n + number, np.inf))


def test_branches_get_narrower_downwards_and_children_stand_within_their_parent(grown):
    found, labels = grown
    for branch in found.branches:
        widths = branch.counts.sum(axis=1)
        assert (np.diff(branch.losses) <= 0).all()
        assert (np.diff(widths) <= 0).all()
        assert branch.losses.size <= LEVELS + 2
        assert all(abs(child - branch.middle) <= widths[0] / 2 for child in branch.children)
    assert found.branches[0].counts[0].sum() == labels.size


def test_branches_that_part_are_joined_to_their_parent_by_a_line(plain, grown):
    axes = plot.condensed_tree(plain)
    lines = next(each for each in axes.collections if isinstance(each, LineCollection)).get_segments()
    parting = [branch for branch in grown[0].branches if branch.children]
    assert len(lines) == len(parting)
    assert lines[0][:, 1] == pytest.approx(parting[0].losses[-1])


def test_branches_of_the_condensed_tree_have_the_colours_and_numbers_of_clusters(plain):
    axes = plot.condensed_tree(plain)
    shapes = next(each for each in axes.collections if isinstance(each, PolyCollection))
    assert {to_hex(color) for color in shapes.get_facecolors()} >= {cluster_color(k) for k in range(plain.n_clusters_)}
    assert sorted(text.get_text() for text in axes.texts) == [str(k) for k in range(plain.n_clusters_)]


def test_a_cluster_that_no_branch_is_like_has_no_number(plain):
    fit = plain.fitted_
    alternating = replace(fit.labelling, labels=np.arange(fit.labelling.labels.size) % 3)
    assert not plot.condensed_tree(replace(fit, labelling=alternating)).texts


def test_few_of_many_branches_are_drawn(plain, grown):
    found = grow_branches(plain.condensed_tree_, grown[1], plain.n_clusters_, 2)
    assert len(found.branches) == 2
    assert found.left_out == len(grown[0].branches) - 2


def test_the_condensed_tree_needs_as_many_observations_as_make_one_core():
    X = np.random.default_rng(0).normal(size=(12, 2))
    model = MCGTA(n_neighbors=5, min_samples=13, eps=1.0, semivariogram="empirical", progress=False).fit(X)
    with pytest.raises(ValueError, match="needs min_samples=13 observations that can be compared, and this fit has 12"):
        plot.condensed_tree(model)
