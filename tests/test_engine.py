"""A fit by the tree is the fit from the table, to the last label."""

from functools import partial

import numpy as np
import pytest

import mcgta.algorithm
from mcgta import MCGTA, load
from mcgta.datasets import make_regions, make_series
from mcgta.stages.clustering import find_clusters
from mcgta.stages.engine import SMALL, Engine, choose_engine


@pytest.fixture
def by_tree(monkeypatch):
    """Make fits of any size take the tree."""

    def switch(on=True):
        monkeypatch.setattr(mcgta.algorithm, "choose_engine", partial(choose_engine, small=0 if on else SMALL))

    return switch


def cases():
    series = make_series(500, n_clusters=3, separation=1.5, segment_lengths=(20, 40), random_state=1)
    regions = make_regions(450, n_clusters=3, random_state=2)
    yield "series", series.X, {}
    yield "groups", series.X, {"groups": np.arange(500) // 250}
    yield "irregular", series.X, {"positions": np.cumsum(np.random.default_rng(0).exponential(size=500))}
    yield "plane", regions.X, {"positions": regions.positions}


CASES = {name: (X, where) for name, X, where in cases()}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("options", [{}, {"beta": 0.0}, {"margin": 0.3, "eps": 0.2}, {"min_cluster_size": 30}])
def test_the_tree_gives_what_the_table_gives(by_tree, name, options):
    X, where = CASES[name]
    by_tree(False)
    dense = MCGTA(n_neighbors=20, **options).fit(X, **where)
    by_tree()
    tree = MCGTA(n_neighbors=20, **options).fit(X, **where)
    assert (dense.engine_.name, tree.engine_.name) == ("dense", "tree")
    np.testing.assert_array_equal(tree.labels_, dense.labels_)
    np.testing.assert_array_equal(tree.core_sample_indices_, dense.core_sample_indices_)
    np.testing.assert_allclose(tree.strengths_, dense.strengths_, rtol=0, atol=1e-12)
    assert tree.objective_.pairs == dense.objective_.pairs
    assert tree.objective_.total == pytest.approx(dense.objective_.total, rel=1e-12)
    assert (tree.eps_, tree.n_clusters_, tree.noise_share_) == (dense.eps_, dense.n_clusters_, dense.noise_share_)
    assert tree.engine_.pairs == dense.engine_.pairs == dense.engine_.exact_pairs


@pytest.mark.parametrize("name", CASES)
def test_hdbscan_by_the_tree_is_that_of_the_table(by_tree, name):
    X, where = CASES[name]
    fits = []
    for on in (False, True):
        by_tree(on)
        fits.append(MCGTA(n_neighbors=20, clusterer="hdbscan", min_samples=2, min_cluster_size=25).fit(X, **where))
    dense, tree = fits
    assert tree.engine_.name == "tree"
    np.testing.assert_array_equal(tree.labels_, dense.labels_)
    np.testing.assert_allclose(tree.strengths_, dense.strengths_, rtol=0, atol=1e-12)
    assert tree.objective_.total == pytest.approx(dense.objective_.total, rel=1e-12)
    assert tree.n_clusters_ > 0


@pytest.mark.parametrize("on", [False, True])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("options", [{}, {"min_samples": 5, "min_cluster_size": 12}, {"clusterer": "hdbscan"}])
def test_labels_at_another_radius_are_those_of_a_fit_with_it(by_tree, on, name, options):
    X, where = CASES[name]
    by_tree(on)
    model = MCGTA(n_neighbors=20, **options).fit(X, **where)
    for eps in (0.0, 0.05, 0.1, 0.3, 1.0, 100.0):
        fresh = model.refit(clusterer="dbscan", eps=eps)
        np.testing.assert_array_equal(model.labels_at(eps), fresh.labels_)


def test_no_radius_makes_a_core_of_too_few(by_tree):
    by_tree()
    model = MCGTA(n_neighbors=10, min_samples=200, eps=1.0).fit(CASES["series"][0][:100])
    assert (model.labels_at(1e9) == -1).all()


def test_a_radius_that_is_none_is_refused():
    X, _ = CASES["series"]
    model = MCGTA(n_neighbors=20).fit(X)
    for eps in (-1, np.nan, np.inf, "auto", True, None):
        with pytest.raises(ValueError, match="eps="):
            model.labels_at(eps)


def test_labels_at_work_for_any_dissimilarity_and_after_a_file(tmp_path):
    X, _ = CASES["series"]
    model = MCGTA(dissimilarity="euclidean", eps=2.0, min_samples=4, semivariogram="empirical").fit(X)
    np.testing.assert_array_equal(model.labels_at(2.0), model.labels_)
    model.save(tmp_path / "fit")
    np.testing.assert_array_equal(load(tmp_path / "fit").labels_at(1.0), model.refit(eps=1.0).labels_)


def test_new_observations_go_where_the_table_sends_them(by_tree):
    data = make_series(700, n_clusters=3, separation=1.5, segment_lengths=(20, 40), random_state=5)
    times = np.arange(700.0)
    seen = times % 7 != 3
    fits = []
    for on in (False, True):
        by_tree(on)
        fits.append(MCGTA(n_neighbors=20).fit(data.X[seen], positions=times[seen]))
    predicted = [model.predict(data.X[~seen], positions=times[~seen]) for model in fits]
    np.testing.assert_array_equal(predicted[1], predicted[0])
    assert (predicted[0] >= 0).any()


def test_a_refit_uses_the_tree_again(by_tree):
    by_tree()
    X, _ = CASES["series"]
    model = MCGTA(n_neighbors=20).fit(X)
    again = model.refit(eps=0.5 * model.eps_, beta=0.2, margin=0.1)
    assert again._tree.tree is model._tree.tree
    fresh = MCGTA(n_neighbors=20, eps=0.5 * model.eps_, beta=0.2, margin=0.1).fit(X)
    np.testing.assert_array_equal(again.labels_, fresh.labels_)
    np.testing.assert_array_equal(again.strengths_, fresh.strengths_)


@pytest.mark.parametrize("asked", [False, True])
def test_a_fit_by_the_tree_survives_a_file(by_tree, tmp_path, asked):
    by_tree()
    X, _ = CASES["series"]
    model = MCGTA(n_neighbors=20).fit(X)
    if asked:
        assert model.strengths_.size == len(X)
    model.save(tmp_path / "fit")
    again = load(tmp_path / "fit")
    assert again.engine_ == model.engine_
    assert (again._strengths is None) != asked
    np.testing.assert_array_equal(again.strengths_, model.strengths_)
    assert again.objective_.total == model.objective_.total


def test_threads_and_row_order_change_nothing(by_tree):
    by_tree()
    X, where = CASES["plane"]
    one = MCGTA(n_neighbors=20, n_jobs=1).fit(X, **where)
    two = MCGTA(n_neighbors=20, n_jobs=2).fit(X, **where)
    mixed = np.random.default_rng(3).permutation(len(X))
    other = MCGTA(n_neighbors=20).fit(X[mixed], positions=where["positions"][mixed])
    np.testing.assert_array_equal(two.labels_, one.labels_)
    np.testing.assert_array_equal(two.strengths_, one.strengths_)
    np.testing.assert_array_equal(other.labels_, one.labels_[mixed])
    assert two.engine_.exact_pairs == one.engine_.exact_pairs


def test_large_sets_take_the_tree_by_themselves_and_agree_with_scikit_learn():
    data = make_series(SMALL + 200, n_clusters=3, separation=1.5, segment_lengths=(20, 60), random_state=4)
    model = MCGTA(n_neighbors=20, min_samples=10).fit(data.X)
    assert model.engine_.name == "tree"
    assert 0 < model.engine_.exact_share < 0.2
    loss = model._restore().loss
    expected = find_clusters(loss.matrix(), "dbscan", eps=model.eps_, min_samples=10)
    np.testing.assert_array_equal(model.labels_, expected.labels)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"clusterer": "optics"}, "optics"),
        ({"dissimilarity": "kl"}, "'kl'"),
        ({"hinge": False}, "hinge"),
        ({"measured": False}, "positions"),
    ],
)
def test_what_the_tree_cannot_do_is_left_to_the_table_with_a_reason(options, said):
    usual = {"clusterer": "dbscan", "dissimilarity": "wasserstein2", "hinge": True, "measured": True}
    chosen = choose_engine(10**6, **{**usual, **options})
    assert chosen.name == "dense"
    assert said in str(chosen)
    assert choose_engine(10**6, **usual).name == "tree"
    assert choose_engine(SMALL, **usual).name == "dense"


def test_what_does_not_fit_is_refused_with_the_arithmetic():
    X = np.zeros((SMALL + 1, 3))
    with pytest.raises(
        MemoryError, match=r"4001 observations of 3 features need about 8 x \d+ bytes each.*at most \d+"
    ):
        MCGTA(max_memory="1MB").fit(X)
    with pytest.raises(MemoryError, match="tables of all pairs"):
        MCGTA(max_memory="1MB", clusterer="optics").fit(X)


def test_an_engine_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="engine 'quantum'"):
        Engine("quantum", "why not")
    assert Engine("tree", "").exact_share == 0.0
