"""On real measurements, too, the tree and the tiles give what scikit-learn and SciPy give on the dense loss."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.cluster import DBSCAN, OPTICS

from builders.clusterings import cluster
from mcgta import MCGTA
from mcgta.clustering.brute_force import BruteForceSearch
from mcgta.clustering.labels import number_by_first_member, small_to_noise
from mcgta.clustering.tree_search import TreeSearch
from mcgta.kernels.tree.hierarchy import hierarchy_labels
from mcgta.runtime.types import Array
from mcgta.stages.loss import Loss

FOLDER = Path(os.environ.get("MCGTA_DATA", Path(__file__).parents[2] / "shared" / "data"))
NAMES = ("pavement", "vehicle", "inat_subset")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all((FOLDER / f"{name}.npz").exists() for name in NAMES),
        reason="the benchmark data are not at hand; MCGTA_DATA names their folder",
    ),
]

PIECES = {
    "pavement": ("pavement", slice(None), slice(None)),
    "pavement, 5 columns": ("pavement", slice(None), slice(5)),
    "vehicle, beginning": ("vehicle", slice(0, 2500), slice(None)),
    "vehicle, middle": ("vehicle", slice(7000, 9500), slice(None)),
    "vehicle, end": ("vehicle", slice(-2500, None), slice(None)),
    "iNat subset": ("inat_subset", slice(None), slice(None)),
    "iNat subset, 4 columns": ("inat_subset", slice(None), slice(4)),
}


@pytest.fixture(scope="module", params=PIECES)
def piece(request: pytest.FixtureRequest) -> tuple[Loss, Array]:
    """The loss of a piece of data, and its table."""
    name, rows, columns = PIECES[request.param]
    with np.load(FOLDER / f"{name}.npz") as arrays:
        X = arrays["X"][rows, columns].astype(float)
        where = {"positions": arrays["coords"]} if "coords" in arrays else {}
    metric = "haversine" if where else "auto"
    fitted = MCGTA(n_neighbors=30, metric=metric, beta=0.5, margin=0.01, eps=1.0).fit(X, **where)
    held = fitted.fitted_.derived.prepared.loss
    return replace(held, dissimilarity=replace(held.dissimilarity, cached=None)), held.matrix()


@pytest.mark.parametrize("share", [0.002, 0.02, 0.1])
@pytest.mark.parametrize("min_samples", [5, 30])
def test_dbscan_is_scikit_learns(piece: tuple[Loss, Array], share: float, min_samples: int) -> None:
    loss, matrix = piece
    eps = float(np.quantile(matrix[np.triu_indices(len(matrix), 1)], share))
    theirs = DBSCAN(eps=eps, min_samples=min_samples, metric="precomputed").fit(matrix)
    ways = (TreeSearch.of, BruteForceSearch.of) if (share, min_samples) == (0.02, 30) else (TreeSearch.of,)
    for near in (way(loss) for way in ways):
        found = cluster(near, eps=eps, min_samples=min_samples)
        np.testing.assert_array_equal(found.labels, number_by_first_member(theirs.labels_))
        np.testing.assert_array_equal(np.flatnonzero(found.core), theirs.core_sample_indices_)


def test_the_spanning_tree_weighs_what_scipys_does(piece: tuple[Loss, Array]) -> None:
    loss, matrix = piece
    core = np.partition(matrix, 19, axis=1)[:, 19]
    above = np.triu(np.maximum(np.maximum(matrix, core[:, None]), core) + 1.0, 1)  # SciPy takes zeros for no edge
    expected = np.sort(minimum_spanning_tree(above).data) - 1.0
    labels = []
    for near in (TreeSearch.of(loss), BruteForceSearch.of(loss)):
        i, j, weights, distances, _ = near.spanning_tree(20)
        np.testing.assert_array_equal(distances, core)
        np.testing.assert_allclose(np.sort(weights), expected, rtol=0, atol=1e-12 * max(1.0, expected.max()))
        labels.append(number_by_first_member(hierarchy_labels(i, j, weights, min_cluster_size=20)))
    np.testing.assert_array_equal(labels[0], labels[1])


def test_optics_is_scikit_learns(piece: tuple[Loss, Array]) -> None:
    loss, matrix = piece
    few = np.arange(min(len(loss), 1000))  # scikit-learn takes half a minute for 3,000
    parts = tuple(part[few] for part in loss.dissimilarity.parts)
    loss = replace(loss, dissimilarity=replace(loss.dissimilarity, parts=parts), positions=loss.positions.take(few))
    with np.errstate(divide="ignore", invalid="ignore"):  # scikit-learn divides by reachabilities, of which some are 0
        theirs = OPTICS(min_samples=20, min_cluster_size=20, metric="precomputed").fit(matrix[np.ix_(few, few)])
    for near in (TreeSearch.of(loss), BruteForceSearch.of(loss)):
        found = cluster(near, "optics", min_samples=20)
        np.testing.assert_array_equal(found.ordering, theirs.ordering_)
        np.testing.assert_array_equal(found.reachability, theirs.reachability_)
        np.testing.assert_array_equal(found.labels, number_by_first_member(small_to_noise(theirs.labels_, 20)))
