"""Baselines are scikit-learn clusterers."""

from __future__ import annotations

import warnings

import pytest
from sklearn.utils.estimator_checks import check_estimator

from mcgta.baselines import (
    DBSCAN,
    GMM,
    HDBSCAN,
    HMM,
    MDSTDBSCAN,
    SKATER,
    STDBSCAN,
    STICC,
    TICC,
    Baseline,
    KMeans,
    PCKMeans,
    WindowedGMM,
)

# It wants blobs found again in rows that come in no order, which is time here; windows of such rows tell nothing.
NOT_IN_TIME = {"WindowedGMM": {"check_clustering"}, "TICC": {"check_clustering"}}

# FastTICC is not among them: its package fails on tables as small as scikit-learn's.
MODELS = [
    KMeans(),
    GMM(),
    DBSCAN(),
    HDBSCAN(),
    HMM(),
    PCKMeans(),
    SKATER(),
    STDBSCAN(),
    MDSTDBSCAN(eps_time=10.0),
    WindowedGMM(2, 5),
    TICC(),
    STICC(),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_every_check_of_scikit_learn_passes_but_the_explained_ones(model: Baseline) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(model, on_fail=None, on_skip=None)
    failed = {result["check_name"]: result["exception"] for result in found if result["status"] == "failed"}
    assert set(failed) == NOT_IN_TIME.get(type(model).__name__, set()), failed
    assert len(found) > 35
