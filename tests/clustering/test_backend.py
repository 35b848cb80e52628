"""A fit by the tree is the fit from the table, to the last label."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering

from mcgta import MCGTA, config_context, load
from mcgta.clustering.backend import Backend, choose_backend, reconsider
from mcgta.clustering.labels import number_by_first_member
from mcgta.clustering.registry import CLUSTERERS, get_clusterer
from mcgta.clustering.tree_search import TreeSearch
from mcgta.datasets import make_regions, make_series
from mcgta.pipeline import listed_neighbors
from mcgta.runtime.config import Config
from mcgta.settings import Settings
from mcgta.stages import LocalModels
from mcgta.stages.dissimilarity.registry import get_dissimilarity

TREE = {"table_rows": 0}
"""Options with which fits of any size take the tree, or tiles."""


def cases():
    series = make_series(500, n_clusters=3, separation=1.5, segment_lengths=(20, 40), random_state=1)
    regions = make_regions(450, n_clusters=3, random_state=2)
    yield "series", series.X, {}
    yield "groups", series.X, {"groups": np.arange(500) // 250}
    yield "irregular", series.X, {"positions": np.cumsum(np.random.default_rng(0).exponential(size=500))}
    yield "plane", regions.X, {"positions": regions.positions}


CASES = {name: (X, where) for name, X, where in cases()}
RADII = {"series": 0.58, "groups": 0.58, "irregular": 0.58, "plane": 0.31}
CALIBRATED = {"dissimilarity": "calibrated", "eps": 0.6, "margin": "10%"}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "options", [{}, {"beta": 0.0}, {"margin": 0.3, "eps": 0.2}, {"min_cluster_size": 30}, CALIBRATED]
)
def test_the_tree_gives_what_the_table_gives(name, options):
    X, where = CASES[name]
    options = {"n_neighbors": 20, "eps": RADII[name], **options}
    dense = MCGTA(**options).fit(X, **where)
    with config_context(**TREE):
        tree = MCGTA(**options).fit(X, **where)
    assert (dense.backend_.name, tree.backend_.name) == ("table", "tree")
    np.testing.assert_array_equal(tree.labels_, dense.labels_)
    np.testing.assert_array_equal(tree.core_sample_indices_, dense.core_sample_indices_)
    np.testing.assert_allclose(tree.probabilities_, dense.probabilities_, rtol=0, atol=1e-12)
    assert tree.objective_.pairs == dense.objective_.pairs
    assert tree.objective_.total == pytest.approx(dense.objective_.total, rel=1e-12)
    assert (tree.eps_, tree.n_clusters_, tree.noise_share_) == (dense.eps_, dense.n_clusters_, dense.noise_share_)
    assert tree.backend_.pairs == dense.backend_.pairs == dense.backend_.exact_pairs


@pytest.mark.parametrize("name", CASES)
def test_hdbscan_by_the_tree_is_that_of_the_table(name):
    X, where = CASES[name]
    options = {"n_neighbors": 20, "clusterer": "hdbscan", "eps": 0.0, "min_samples": 2, "min_cluster_size": 25}
    dense = MCGTA(**options).fit(X, **where)
    with config_context(**TREE):
        tree = MCGTA(**options).fit(X, **where)
    assert tree.backend_.name == "tree"
    np.testing.assert_array_equal(tree.labels_, dense.labels_)
    np.testing.assert_allclose(tree.probabilities_, dense.probabilities_, rtol=0, atol=1e-12)
    assert tree.objective_.total == pytest.approx(dense.objective_.total, rel=1e-12)
    assert tree.n_clusters_ > 0


@pytest.mark.parametrize("config", [{}, TREE], ids=["table", "tree"])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "options", [{}, {"min_samples": 5, "min_cluster_size": 12}, {"clusterer": "hdbscan", "eps": 0.0}]
)
def test_labels_at_another_radius_are_those_of_a_fit_with_it(config, name, options):
    X, where = CASES[name]
    with config_context(**config):
        model = MCGTA(**{"n_neighbors": 20, "eps": RADII[name], **options}).fit(X, **where)
        for eps in (0.0, 0.05, 0.1, 0.3, 1.0, 100.0):
            fresh = model.refit(clusterer="dbscan", eps=eps)
            np.testing.assert_array_equal(model.dbscan_clustering(eps), fresh.labels_)


def test_no_radius_makes_a_core_of_too_few():
    with config_context(**TREE):
        model = MCGTA(n_neighbors=10, min_samples=200, eps=1.0).fit(CASES["series"][0][:100])
        assert (model.dbscan_clustering(1e9) == -1).all()
    assert model.single_linkage_tree_.shape == (0, 4)


def test_a_radius_that_is_none_is_refused():
    X, _ = CASES["series"]
    model = MCGTA(n_neighbors=20, eps=0.58).fit(X)
    for eps in (-1, np.nan, np.inf, "auto", True, None):
        with pytest.raises(ValueError, match="eps="):
            model.dbscan_clustering(eps)


def test_labels_at_another_radius_are_there_for_any_dissimilarity_and_after_a_file(tmp_path):
    X, _ = CASES["series"]
    model = MCGTA(dissimilarity="euclidean", eps=2.0, min_samples=4, semivariogram="empirical").fit(X)
    np.testing.assert_array_equal(model.dbscan_clustering(2.0), model.labels_)
    model.save(tmp_path / "fit")
    np.testing.assert_array_equal(load(tmp_path / "fit").dbscan_clustering(1.0), model.refit(eps=1.0).labels_)


def test_new_observations_go_where_the_table_sends_them():
    data = make_series(700, n_clusters=3, separation=1.5, segment_lengths=(20, 40), random_state=5)
    times = np.arange(700.0)
    seen = times % 7 != 3
    predicted = []
    for config in ({}, TREE):
        with config_context(**config):
            model = MCGTA(n_neighbors=20, eps=0.47).fit(data.X[seen], positions=times[seen])
            predicted.append(model.predict(data.X[~seen], positions=times[~seen]))
    np.testing.assert_array_equal(predicted[1], predicted[0])
    assert (predicted[0] >= 0).any()


def test_a_refit_uses_the_tree_again():
    X, _ = CASES["series"]
    with config_context(**TREE):
        model = MCGTA(n_neighbors=20, eps=0.58).fit(X)
        again = model.refit(eps=0.5 * model.eps_, beta=0.2, margin=0.1)
        assert again.fitted_.derived.tree.models is model.fitted_.derived.tree.models
        fresh = MCGTA(n_neighbors=20, eps=0.5 * model.eps_, beta=0.2, margin=0.1).fit(X)
    np.testing.assert_array_equal(again.labels_, fresh.labels_)
    np.testing.assert_array_equal(again.probabilities_, fresh.probabilities_)


@pytest.mark.parametrize("asked", [False, True])
def test_a_fit_by_the_tree_survives_a_file(tmp_path, asked):
    X, _ = CASES["series"]
    with config_context(**TREE):
        model = MCGTA(n_neighbors=20, eps=0.58).fit(X)
    if asked:
        assert model.probabilities_.size == len(X)
    model.save(tmp_path / "fit")
    again = load(tmp_path / "fit")
    assert again.backend_ == model.backend_
    np.testing.assert_array_equal(again.probabilities_, model.probabilities_)
    assert again.objective_.total == model.objective_.total


def test_threads_and_row_order_change_nothing():
    X, where = CASES["plane"]
    mixed = np.random.default_rng(3).permutation(len(X))
    with config_context(**TREE):
        one = MCGTA(n_neighbors=20, eps=0.31, n_jobs=1).fit(X, **where)
        two = MCGTA(n_neighbors=20, eps=0.31, n_jobs=2).fit(X, **where)
        other = MCGTA(n_neighbors=20, eps=0.31).fit(X[mixed], positions=where["positions"][mixed])
    np.testing.assert_array_equal(two.labels_, one.labels_)
    np.testing.assert_array_equal(two.probabilities_, one.probabilities_)
    np.testing.assert_array_equal(other.labels_, one.labels_[mixed])
    assert two.backend_.exact_pairs == one.backend_.exact_pairs


def test_large_sets_take_the_tree_by_themselves_and_agree_with_scikit_learn():
    data = make_series(Config.table_rows + 200, n_clusters=3, separation=1.5, segment_lengths=(20, 60), random_state=4)
    model = MCGTA(n_neighbors=20, min_samples=10, eps=0.55).fit(data.X)
    assert model.backend_.name == "tree"
    assert 0 < model.backend_.exact_share < 0.2
    loss = model.fitted_.derived.prepared.loss
    theirs = DBSCAN(eps=model.eps_, min_samples=10, metric="precomputed").fit(loss.matrix())
    np.testing.assert_array_equal(model.labels_, number_by_first_member(theirs.labels_))


USUAL = {
    "clusterer": get_clusterer("dbscan"),
    "dissimilarity": get_dissimilarity("wasserstein2"),
    "measured": True,
    "fits": True,
}


def test_few_take_the_table_and_many_the_tree():
    assert choose_backend(Config.table_rows, **USUAL).name == "table"
    assert choose_backend(Config.table_rows, **{**USUAL, "fits": False}).name == "tree"
    for clusterer in CLUSTERERS.values():
        assert choose_backend(10**6, **{**USUAL, "clusterer": clusterer}).name == "tree"


@pytest.mark.parametrize(
    ("options", "said"), [({"dissimilarity": get_dissimilarity("kl")}, "'kl'"), ({"measured": False}, "positions")]
)
def test_what_the_tree_cannot_do_is_left_to_the_table_or_to_tiles_with_a_reason(options, said):
    for fits, name in ((True, "table"), (False, "tiled")):
        chosen = choose_backend(10**6, **{**USUAL, **options, "fits": fits})
        assert chosen.name == name
        assert said in str(chosen)


def test_objects_get_the_table():
    average = AgglomerativeClustering(metric="precomputed", linkage="average")
    chosen = choose_backend(10**6, **{**USUAL, "clusterer": get_clusterer(average), "fits": False})
    assert chosen.name == "table"
    assert "AgglomerativeClustering" in str(chosen)


def test_bounds_that_leave_much_open_make_the_tree_give_way_to_tiles():
    tree = Backend("tree", "many")
    assert reconsider(tree, 0.01) is tree
    assert reconsider(tree, 0.5).name == "tiled"
    assert "50%" in reconsider(tree, 0.5).reason


@pytest.mark.parametrize(("clusterer", "eps"), [("dbscan", 0.31), ("hdbscan", 0.0), ("optics", 0.31)])
def test_tiles_are_taken_where_bounds_do_not_help_and_give_the_same(monkeypatch, clusterer, eps):
    X, where = CASES["plane"]
    options = {"n_neighbors": 20, "clusterer": clusterer, "eps": eps, "min_samples": 5}
    dense = MCGTA(**options).fit(X, **where)
    monkeypatch.setattr(TreeSearch, "open_share", lambda *_, **__: 0.9)
    told = []
    with config_context(**TREE):
        tiled = MCGTA(**options, progress=lambda stage, share: told.append(stage)).fit(X, **where)
    assert (dense.backend_.name, tiled.backend_.name) == ("table", "tiled")
    assert "tree" in told
    assert tiled.fitted_.derived.tree is None
    np.testing.assert_array_equal(tiled.labels_, dense.labels_)
    np.testing.assert_array_equal(tiled.probabilities_, dense.probabilities_)
    np.testing.assert_array_equal(tiled.dbscan_clustering(0.1), dense.dbscan_clustering(0.1))
    np.testing.assert_array_equal(tiled.refit(eps="auto").labels_, dense.refit(eps="auto").labels_)
    assert tiled.objective_.total == pytest.approx(dense.objective_.total, rel=1e-12)


@pytest.mark.parametrize("clusterer", ["dbscan", "hdbscan", "optics"])
@pytest.mark.parametrize("dissimilarity", ["kl", "euclidean", "cosine"])
def test_other_dissimilarities_without_room_for_a_table_are_read_in_tiles(clusterer, dissimilarity):
    X, where = CASES["series"]
    options = {"n_neighbors": 20, "clusterer": clusterer, "dissimilarity": dissimilarity, "min_samples": 4}
    options["semivariogram"] = "empirical"
    dense = MCGTA(**options).fit(X, **where)
    with config_context(max_memory="4MB"):
        tiled = MCGTA(**options).fit(X, **where)
    assert (dense.backend_.name, tiled.backend_.name) == ("table", "tiled")
    assert "does not fit" in tiled.backend_.reason
    np.testing.assert_array_equal(tiled.labels_, dense.labels_)
    np.testing.assert_allclose(tiled.probabilities_, dense.probabilities_, atol=1e-9)
    assert tiled.fitted_.derived.prepared.loss.dissimilarity.cached is None


def test_given_distances_are_read_in_tiles_too():
    X, where = CASES["plane"]
    distances = np.linalg.norm(where["positions"][:, None] - where["positions"][None], axis=2)
    options = {"n_neighbors": 20, "metric": "precomputed", "eps": 0.1}
    dense = MCGTA(**options).fit(X, positions=distances)
    size = 8 * len(X) ** 2
    with config_context(max_memory=6 * size):
        tiled = MCGTA(**options).fit(X, positions=distances)
    assert (dense.backend_.name, tiled.backend_.name) == ("table", "tiled")
    np.testing.assert_array_equal(tiled.labels_, dense.labels_)
    with (
        config_context(max_memory=4 * size),
        pytest.raises(MemoryError, match="up to 4 tables of all pairs, 4 x 8 x 450"),
    ):
        MCGTA(**options).fit(X, positions=distances)


@pytest.mark.parametrize(("d", "name"), [(1, "tree"), (8, "tiled")])
def test_the_data_decide_whether_bounds_help(d, name):
    rng = np.random.default_rng(0)
    turned = np.linalg.qr(rng.normal(size=(700, d, d)))[0]  # covariances that differ by directions only
    scales = np.exp(np.linspace(-1, 1, d)) * (rng.uniform(1, 9, (700, 1)) if d == 1 else 1.0)
    models = LocalModels(
        np.zeros((700, d)), np.einsum("nij,nj,nkj->nik", turned, np.broadcast_to(scales, (700, d)), turned)
    )
    options = {"clusterer": "hdbscan", "min_samples": 5, "semivariogram": "empirical", "eps": 0.0}
    with config_context(**TREE):
        model = MCGTA(**options).fit(rng.normal(size=(700, d))).refit(local_models=models)
    assert model.backend_.name == name
    assert ("bounds leave" in model.backend_.reason) == (name == "tiled")


def test_what_does_not_fit_is_refused_with_the_arithmetic():
    X = np.zeros((Config.table_rows + 1, 3))
    average = AgglomerativeClustering(metric="precomputed", linkage="average")
    with config_context(max_memory="1MB"):
        with pytest.raises(
            MemoryError, match=r"2001 observations of 3 features need 8 x \d+ bytes for each.*at most \d+"
        ):
            MCGTA().fit(X)
        with pytest.raises(MemoryError, match=r"up to 6 tables of all pairs, 6 x 8 x 2001\^2 bytes"):
            MCGTA(clusterer=average).fit(X)


def test_a_backend_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="backend 'quantum'"):
        Backend("quantum", "why not")
    assert Backend("tree", "").exact_share == 0.0


def test_lists_of_neighbours_count_where_neighbourhoods_are_no_windows():
    series, plane = np.zeros(9), np.zeros((9, 2))
    for options, positions, listed in (
        ({}, None, 0),
        ({}, series, 0),
        ({"weights": "gaussian"}, series, 30),
        ({"n_neighbors": 12}, plane, 12),
        ({"metric": "precomputed", "n_neighbors": 5}, np.zeros((9, 9)), 5),
        ({"dissimilarity": "euclidean"}, plane, 0),
    ):
        assert listed_neighbors(positions, Settings(**options)) == listed
    X, where = CASES["plane"]
    said = r"450 observations of \d features need 8 x \d+ bytes for each"
    with config_context(max_memory="1MB"), pytest.raises(MemoryError, match=said):
        MCGTA(n_neighbors=200).fit(X, **where)


def test_a_radius_needs_losses_that_are_not_negative():
    X, _ = CASES["series"]
    average = AgglomerativeClustering(3, metric="precomputed", linkage="average")
    model = MCGTA(n_neighbors=20, penalty="no_hinge", clusterer=average).fit(X)
    with pytest.raises(ValueError, match="penalty='no_hinge'"):
        model.dbscan_clustering(0.1)
