"""The ordering of OPTICS by the tree, against scikit-learn on the dense table: every entry of every array is the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.cluster import compute_optics_graph

from builders.losses import draw_loss, make_loss
from builders.work import on_threads
from mcgta.clustering.tree_search import TreeSearch
from mcgta.runtime.progress import reporting


def agrees(loss, min_samples, n_jobs=1):
    unused = {"p": 2, "metric_params": None, "algorithm": "auto", "leaf_size": 30, "n_jobs": None}
    graph = {"min_samples": min_samples, "max_eps": np.inf, "metric": "precomputed", **unused}
    with config_context(assume_finite=True):  # else it looks through the table for every row
        expected = compute_optics_graph(loss.matrix(), **graph)
    ordering, reachability, core, predecessor, exact = on_threads(
        n_jobs, lambda: TreeSearch.of(loss).ordering(min_samples)
    )
    for found, dense in zip((ordering, core, reachability, predecessor), expected, strict=True):
        np.testing.assert_array_equal(found, dense)
    return exact


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(40, 220),
    d=st.integers(1, 6),
    place=st.sampled_from(["steps", "irregular", "plane", "sphere"]),
    grouped=st.booleans(),
    repeats=st.sampled_from(["none", "none", "rounded", "clumps"]),
    beta=st.sampled_from([0.0, 0.5, 1.0, 5.0]),
    margin=st.sampled_from([0.0, 0.1, 1.0, -1.0]),
    model=st.sampled_from(["spherical", "exponential", "gaussian", "stable", "matern", "empirical"]),
    penalty=st.sampled_from(["within_range", "unconditional"]),
    min_samples=st.integers(2, 25),
    kind=st.sampled_from(["wasserstein2", "calibrated"]),
)
def test_the_ordering_is_that_of_the_dense_table(
    seed, count, d, place, grouped, repeats, beta, margin, model, penalty, min_samples, kind
):
    options = {"beta": beta, "margin": margin, "model": model, "penalty_kind": penalty, "kind": kind}
    agrees(draw_loss(seed, count, d, place, grouped, repeats, **options), min_samples, n_jobs=1 + seed % 2)


@pytest.mark.parametrize("kind", ["wasserstein2", "calibrated"])
@pytest.mark.parametrize("margin", [0.0, 2.0])
@pytest.mark.parametrize("min_samples", [2, 10, 250])
def test_hundreds_of_equal_models_stand_in_the_order_of_rows(margin, min_samples, kind):
    X = np.zeros((400, 2))
    X[::2] = np.random.default_rng(0).normal(size=(1, 2))
    X[300:] += 1
    agrees(make_loss(X, margin=margin, beta=1.0, kind=kind), min_samples)


@pytest.mark.parametrize("d", [2, 3, 9])
def test_the_least_and_the_most_samples_agree(d):
    loss = draw_loss(d, 130, d, "steps", False, "none")
    agrees(loss, 2)
    agrees(loss, len(loss))


@pytest.mark.parametrize("unit", [1e-9, 1e-7, 1e5])
def test_fifteen_decimals_are_many_or_few_in_any_unit(unit):
    rng = np.random.default_rng(4)
    X = unit * (rng.normal(size=(150, 2)) + 4 * np.repeat(rng.integers(0, 3, 15), 10)[:, None])
    agrees(make_loss(X, beta=0.0), 5)


@pytest.mark.parametrize("place", ["steps", "plane"])
def test_thousands_of_rows_agree_with_few_pairs_compared(place):
    loss = draw_loss(7, 3000, 3, place, False, "none")
    assert agrees(loss, 10) < 0.1 * len(loss) ** 2 / 2


def test_progress_is_told_until_the_end():
    shares = []
    loss = draw_loss(8, 200, 2, "steps", False, "none")
    with reporting(lambda stage, share: shares.append((stage, share))):
        TreeSearch.of(loss).ordering(5)
    assert shares[-2:] == [("ordering", 0.0), ("ordering", 1.0)]


@pytest.mark.parametrize("min_samples", [0, 61])
def test_more_samples_than_rows_are_refused(min_samples):
    loss = draw_loss(2, 60, 2, "steps", False, "none")
    with pytest.raises(ValueError, match=f"min_samples={min_samples}"):
        TreeSearch.of(loss).ordering(min_samples)
