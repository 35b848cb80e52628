"""The registry of clusterers: complete rows, a new one in a few lines, and names that do not exist."""

import inspect

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering, SpectralClustering

from builders.clusterings import cluster
from mcgta import MCGTA
from mcgta.clustering.brute_force import BruteForceSearch
from mcgta.clustering.clusterer import Clusterer, ClusterOptions
from mcgta.clustering.clustering import Clustering
from mcgta.clustering.registry import CLUSTERERS, find_clusters, get_clusterer
from mcgta.datasets import make_series


def blobs(seed=0, count=90):
    rng = np.random.default_rng(seed)
    points = rng.permutation(np.concatenate([rng.normal(c, 0.5, (count // 3, 2)) for c in ((0, 0), (4, 1), (9, 0))]))
    return BruteForceSearch.of_table(np.linalg.norm(points[:, None] - points[None], axis=2))


class Halves(Clusterer):
    """The first half of the rows and the second one."""

    name = "halves"

    def cluster(self, search: BruteForceSearch, options: ClusterOptions) -> Clustering:
        return Clustering.of_members(2 * np.arange(len(search)) // len(search), options.eps)


def test_a_new_clusterer_is_a_class_and_a_row(monkeypatch):
    monkeypatch.setitem(CLUSTERERS, "halves", Halves())
    data = make_series(120, n_clusters=2, segment_lengths=(20, 40), random_state=0)
    model = MCGTA(n_neighbors=10, clusterer="halves", eps=1.0).fit(data.X)
    assert model.labels_.tolist() == [0] * 60 + [1] * 60
    assert model.predict(data.X[:3], positions=np.arange(3.0)).tolist() == [0, 0, 0]
    ((setting, labels),) = Halves().proposals(blobs(), ClusterOptions())
    assert (setting, labels.max()) == ({}, 1)
    assert Halves().cut(blobs(), ClusterOptions(), 3).labels.max() == 2


@pytest.mark.parametrize("name", CLUSTERERS)
def test_every_row_is_complete(name):
    clusterer = CLUSTERERS[name]
    assert clusterer.name == name
    assert type(clusterer).__doc__
    flags = ("needs_eps", "needs_table", "needs_nonnegative", "takes_options", "takes_known_core", "tunes_eps")
    assert all(isinstance(getattr(clusterer, flag), bool) for flag in flags)
    assert clusterer.least_min_samples >= 1
    search, options = blobs(), ClusterOptions(min_samples=4)
    assert clusterer.cluster(search, options).labels.shape == (90,)
    assert clusterer.cut(search, options, 3).labels.max() == 2
    assert [labels.shape for labels in clusterer.at_radii(search, options, (0.5, 1.0))] == [(90,), (90,)]
    assert clusterer.smallest_cluster(options) >= 1


@pytest.mark.parametrize("name", CLUSTERERS)
def test_proposals_are_what_clustering_with_these_settings_gives(name):
    search, several = blobs(), set()
    parameters = inspect.signature(MCGTA).parameters
    for setting, labels in CLUSTERERS[name].proposals(search, ClusterOptions(min_samples=4)):
        assert set(setting) <= set(parameters)
        options = {key: None if value == "auto" else value for key, value in setting.items()}
        np.testing.assert_array_equal(cluster(search, name, min_samples=4, **options).labels, labels)
        several.add(repr(setting))
    assert len(several) > 2


@pytest.mark.parametrize("name", CLUSTERERS)
def test_labels_at_several_radii_are_those_of_each(name):
    search, radii = blobs(), (0.3, 0.6, 5.0)
    for min_samples in (4, 91):
        found = list(CLUSTERERS[name].at_radii(search, ClusterOptions(min_samples=min_samples), radii))
        for labels, eps in zip(found, radii, strict=True):
            np.testing.assert_array_equal(labels, cluster(search, name, eps=eps, min_samples=min_samples).labels)


@pytest.mark.parametrize("clusterer", ["dbscam", "DBSCAN", "", 3, None, DBSCAN, object()])
def test_what_is_no_clusterer_is_refused(clusterer):
    with pytest.raises(ValueError, match="is not allowed: clusterer must be one of 'dbscan', 'hdbscan', 'optics'"):
        get_clusterer(clusterer)
    with pytest.raises(ValueError, match="clusterer="):
        find_clusters(np.zeros((3, 3)), clusterer)


def test_the_nearest_name_is_suggested():
    for wrong, right in (("HDBSCAN", "hdbscan"), ("optic", "optics"), ("dbscam", "dbscan")):
        with pytest.raises(ValueError, match=f"did you mean '{right}'"):
            get_clusterer(wrong)


def test_objects_that_would_misread_the_losses_are_refused():
    with pytest.raises(ValueError, match="affinities"):
        get_clusterer(SpectralClustering(affinity="precomputed"))
    with pytest.raises(ValueError, match="must be made with metric='precomputed'"):
        get_clusterer(AgglomerativeClustering(metric="euclidean"))


def test_objects_say_what_they_need():
    average = get_clusterer(AgglomerativeClustering(metric="precomputed", linkage="average"))
    assert (average.name, average.needs_table, average.takes_options) == ("AgglomerativeClustering", True, False)
    assert not average.needs_nonnegative
    assert get_clusterer(DBSCAN(metric="precomputed")).needs_nonnegative
    with pytest.raises(ValueError, match="takes no radius"):
        average.at_radii(blobs(), ClusterOptions(), (1.0,))


def test_objects_need_the_table():
    average = AgglomerativeClustering(metric="precomputed", linkage="average")
    with pytest.raises(ValueError, match="needs the table of all losses"):
        cluster(BruteForceSearch(lambda rows, cols: np.zeros((rows.size, cols.size)), 4), average)


def test_labels_that_are_none_are_refused():
    class Wrong:
        def fit_predict(self, matrix):
            return np.zeros(len(matrix) + 1)

    with pytest.raises(ValueError, match=r"fit_predict returned float64 of shape \(5,\), not 4 integers"):
        find_clusters(np.zeros((4, 4)), Wrong())
