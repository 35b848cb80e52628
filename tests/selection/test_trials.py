"""Settings tried on the same observations give what fits with these settings give, and share what they can."""

from functools import partial

import numpy as np
import pytest

import mcgta.pipeline
from mcgta import MCGTA
from mcgta.clustering.backend import SMALL, choose_backend
from mcgta.clustering.dbscan import RADIUS_QUANTILES
from mcgta.clustering.hdbscan import SIZES_IN_MIN_SAMPLES
from mcgta.clustering.tree_search import TreeSearch
from mcgta.datasets import make_regions, make_series
from mcgta.pipeline import Algorithm
from mcgta.selection.auto import settle_plainly
from mcgta.selection.trials import Trials

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
def backend(request, monkeypatch):
    """Make fits and trials take the table, or the tree."""
    small = SMALL if request.param == "table" else 0
    monkeypatch.setattr(mcgta.pipeline, "choose_backend", partial(choose_backend, small=small))
    return request.param


def make_trials(X, positions=None, many=5000, **params):
    """Trials, and where the user's rows are in their order."""
    algorithm = Algorithm(MCGTA(**params).get_params(deep=False))
    data = settle_plainly(algorithm).read(X, None, positions, None)
    return Trials(algorithm, data, many), data.order


def fit_plainly(X, positions, params):
    """A fit without a search; where no radius is set, by way of one that is."""
    if params.get("eps", "auto") != "auto":
        return MCGTA(**params, refine=False).fit(X, positions=positions)
    return MCGTA(**{**params, "eps": 1.0}, refine=False).fit(X, positions=positions).refit(eps="auto")


@pytest.mark.parametrize("clusterer", ["dbscan", "hdbscan", "optics"])
@pytest.mark.parametrize("data", [SERIES, REGIONS], ids=["time", "plane"])
def test_labellings_are_those_of_fits_whatever_was_tried_before(backend, data, clusterer):
    trials, order = make_trials(data.X, data.positions, clusterer=clusterer)
    compared, several = 0, set()
    for setting in AFTER_ONE_ANOTHER:
        found = list(trials.labellings({**setting, "min_cluster_size": None}))
        some = found[1:2] if setting["margin"] == "5%" else found[:: max(1, len(found) // 3)]  # levels take their time
        for more, labels in some:
            model = fit_plainly(data.X, data.positions, {"clusterer": clusterer, **setting, **more})
            np.testing.assert_array_equal(labels, model.labels_[order])
            compared += 1
            several.add(model.n_clusters_)
    assert compared >= 2 * len(AFTER_ONE_ANOTHER)
    assert len(several) > 1


def test_models_are_fitted_once_for_each_number_of_neighbours(backend, monkeypatch):
    fitted, trees, fit, grow = [], [], Algorithm.fit_models, TreeSearch.of
    monkeypatch.setattr(Algorithm, "fit_models", lambda *args: fitted.append(args[1].n_neighbors) or fit(*args))
    monkeypatch.setattr(TreeSearch, "of", lambda loss: trees.append(loss) or grow(loss))
    trials, _ = make_trials(SERIES.X)
    for setting in AFTER_ONE_ANOTHER:
        assert sum(1 for _ in trials.labellings({**setting, "min_cluster_size": None})) > 1
    assert sorted(fitted) == [12, 20]
    assert len(trees) == (3 if backend == "tree" else 0)


def test_how_many_labellings_there_are_of_a_setting():
    setting = {**FIRST, "min_cluster_size": None}
    trials, _ = make_trials(SERIES.X)
    radii = [more["eps"] for more, _ in trials.labellings(setting)]
    assert len(radii) == len(RADIUS_QUANTILES)
    assert (np.diff(radii) > 0).all()
    trials, _ = make_trials(SERIES.X, clusterer="hdbscan")
    assert [more for more, _ in trials.labellings(setting)] == [
        {"min_cluster_size": 20 * size} for size in SIZES_IN_MIN_SAMPLES
    ]
    trials, _ = make_trials(SERIES.X, clusterer="hdbscan", min_cluster_size=17)
    assert [more for more, _ in trials.labellings(FIRST)] == [{"min_cluster_size": 17}]
    trials, _ = make_trials(SERIES.X, clusterer="optics")
    assert next(more["eps"] for more, _ in trials.labellings(setting)) == "auto"


@pytest.mark.parametrize("clusterer", ["dbscan", "hdbscan", "optics"])
def test_of_many_observations_one_radius_is_looked_at(clusterer):
    trials, order = make_trials(SERIES.X, many=100, clusterer=clusterer)
    ((more, labels),) = trials.labellings({**FIRST, "min_cluster_size": None})
    model = fit_plainly(SERIES.X, None, {"clusterer": clusterer, **FIRST, **more})
    np.testing.assert_array_equal(labels, model.labels_[order])


def test_rows_without_a_model_are_noise():
    groups = np.r_[np.zeros(200, dtype=int), np.ones(5, dtype=int)]
    algorithm = Algorithm(MCGTA().get_params(deep=False))
    data = settle_plainly(algorithm).read(SERIES.X[:205], None, None, groups)
    for _, labels in Trials(algorithm, data, 5000).labellings({**FIRST, "min_cluster_size": None}):
        assert labels.shape == (205,)
        assert (labels[200:] == -1).all()
