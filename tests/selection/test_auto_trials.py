"""Settings tried on the same observations give what fits with these settings give, and share what they can."""

from __future__ import annotations

import numpy as np
import pytest

import mcgta.pipeline
import mcgta.selection.trials
from mcgta import MCGTA, config_context
from mcgta.clustering.dbscan import RADIUS_QUANTILES
from mcgta.clustering.hdbscan import SIZES_IN_MIN_SAMPLES
from mcgta.clustering.registry import get_clusterer
from mcgta.clustering.tree_search import TreeSearch
from mcgta.datasets import make_regions, make_series
from mcgta.pipeline import StageCache, choose_backend_for, open_search, prepare, read
from mcgta.settings import Settings

pytestmark = pytest.mark.filterwarnings("ignore:semivariogram. no spherical model fits:UserWarning")

SERIES = make_series(240, n_clusters=3, segment_lengths=(20, 40), random_state=1)
REGIONS = make_regions(240, n_clusters=3, spacing=5.0, random_state=1)
FIRST = {"n_neighbors": 20, "dissimilarity": "wasserstein2", "beta": 1.0, "margin": 0.0, "min_samples": 20}
AFTER_ONE_ANOTHER = (
    FIRST,
    {**FIRST, "beta": 0.0},
    {**FIRST, "margin": 0.2, "min_samples": 8},
    {**FIRST, "margin": "5%", "min_samples": 8},
    {**FIRST, "dissimilarity": "calibrated", "margin": 0.1},
    {**FIRST, "n_neighbors": 12, "min_samples": 5},
    FIRST,
)


@pytest.fixture(params=["table", "tree"])
def backend(request):
    """Make fits and trials take the table, or the tree."""
    with config_context(table_rows=240 if request.param == "table" else 0):
        yield request.param


def read_data(X, positions=None, groups=None):
    return read(X, None, positions, groups, Settings(n_neighbors=20).plain())


def propose(data, cache, *, min_cluster_size=None, **params):
    """Yield the settings that a clusterer proposes and their labels, in canonical order."""
    settings = Settings(min_cluster_size=min_cluster_size, **params)
    data = data.with_neighbors(int(settings.n_neighbors))
    backend = choose_backend_for(data.raw.shape, settings)
    prepared = prepare(data, settings, cache, backend=backend, quiet=True)
    search = open_search(prepared, backend, cache)
    for more, labels in settings.clustering_algorithm.proposals(search, prepared.options):
        yield more, prepared.spread_out(labels)


def fit_plainly(X, positions, params):
    """A fit without a search; where no radius is set, by way of one that is."""
    if params.get("eps", "auto") != "auto":
        return MCGTA(**params, refine="none").fit(X, positions=positions)
    return MCGTA(**{**params, "eps": 1.0}, refine="none").fit(X, positions=positions).refit(eps="auto")


@pytest.mark.parametrize("clusterer", ["dbscan", "hdbscan", "optics"])
@pytest.mark.parametrize("data", [SERIES, REGIONS], ids=["time", "plane"])
def test_proposals_are_those_of_fits_whatever_was_tried_before(backend, data, clusterer):
    rows = read_data(data.X, data.positions)
    cache = StageCache()
    compared = 0
    several = set()
    for setting in AFTER_ONE_ANOTHER:
        proposed = list(propose(rows, cache, clusterer=clusterer, **setting))
        # levels take their time
        some = proposed[1:2] if setting["margin"] == "5%" else proposed[:: max(1, len(proposed) // 3)]
        for more, labels in some:
            model = fit_plainly(data.X, data.positions, {"clusterer": clusterer, **setting, **more})
            np.testing.assert_array_equal(labels, model.labels_[rows.order])
            compared += 1
            several.add(model.n_clusters_)
    assert compared >= 2 * len(AFTER_ONE_ANOTHER)
    assert len(several) > 1


def test_models_are_fitted_once_for_each_number_of_neighbours(backend, monkeypatch):
    fitted = []
    trees = []
    fit = mcgta.pipeline.fit_local_models
    grow = TreeSearch.of

    def count_fits(X, neighborhoods, **options):
        fitted.append(neighborhoods.n_neighbors)
        return fit(X, neighborhoods, **options)

    def count_trees(loss):
        trees.append(loss)
        return grow(loss)

    monkeypatch.setattr(mcgta.pipeline, "fit_local_models", count_fits)
    monkeypatch.setattr(TreeSearch, "of", count_trees)
    rows = read_data(SERIES.X)
    cache = StageCache()
    for setting in (setting for setting in AFTER_ONE_ANOTHER if setting["margin"] != "5%"):  # whose null is fitted, too
        assert sum(1 for _ in propose(rows, cache, **setting)) > 1
    assert sorted(fitted) == [12, 20]
    assert len(trees) == (3 if backend == "tree" else 0)


def test_a_fit_uses_the_models_of_the_search_again(monkeypatch):
    fitted = []
    fit = mcgta.pipeline.fit_local_models

    def count_fits(X, neighborhoods, **options):
        fitted.append(neighborhoods.n_neighbors)
        return fit(X, neighborhoods, **options)

    monkeypatch.setattr(mcgta.pipeline, "fit_local_models", count_fits)
    model = MCGTA(refine="none").fit(SERIES.X)
    assert len(fitted) == len(set(fitted)) > 1
    assert model.n_neighbors_ in fitted


def test_how_many_labellings_there_are_of_a_setting():
    rows = read_data(SERIES.X)
    radii = [more["eps"] for more, _ in propose(rows, StageCache(), **FIRST)]
    assert len(radii) == len(RADIUS_QUANTILES)
    assert (np.diff(radii) > 0).all()
    sizes = [more for more, _ in propose(rows, StageCache(), clusterer="hdbscan", **FIRST)]
    assert sizes == [{"min_cluster_size": 20 * size} for size in SIZES_IN_MIN_SAMPLES]
    given = [more for more, _ in propose(rows, StageCache(), clusterer="hdbscan", min_cluster_size=17, **FIRST)]
    assert given == [{"min_cluster_size": 17}]
    assert next(more["eps"] for more, _ in propose(rows, StageCache(), clusterer="optics", **FIRST)) == "auto"


@pytest.mark.parametrize("clusterer", ["dbscan", "hdbscan", "optics"])
def test_of_many_observations_one_radius_is_looked_at(monkeypatch, clusterer):
    monkeypatch.setattr(mcgta.selection.trials, "MAX_SEARCHED_ROWS", 100)
    monkeypatch.setattr(mcgta.selection.trials, "MAX_AGREEING_ROWS", 100)
    monkeypatch.setattr(
        type(get_clusterer(clusterer)), "proposals", lambda *_: pytest.fail("several radii are looked at")
    )
    model = MCGTA(clusterer=clusterer, refine="none", **FIRST).fit(SERIES.X)
    chosen = fit_plainly(SERIES.X, None, {"clusterer": clusterer, **model.choice_.settings})
    np.testing.assert_array_equal(chosen.labels_, model.labels_)


@pytest.mark.parametrize("clusterer", ["dbscan", "hdbscan", "optics"])
def test_the_best_trial_is_the_fit_with_its_settings(backend, clusterer):
    model = MCGTA(clusterer=clusterer, refine="none").fit(SERIES.X)
    again = fit_plainly(SERIES.X, None, {"clusterer": clusterer, **model.choice_.settings})
    np.testing.assert_array_equal(again.labels_, model.labels_)


def test_rows_without_a_model_are_noise():
    groups = np.r_[np.zeros(200, dtype=int), np.ones(5, dtype=int)]
    rows = read_data(SERIES.X[:205], groups=groups)
    proposed = list(propose(rows, StageCache(), **FIRST))
    assert len(proposed) > 1
    for _, labels in proposed:
        assert labels.shape == (205,)
        assert (labels[200:] == -1).all()
