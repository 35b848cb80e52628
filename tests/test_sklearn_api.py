"""The estimator is a scikit-learn clusterer."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from mcgta import MCGTA
from mcgta.settings import RULES

ROW_ORDER_IS_TIME = (
    "without positions the order of the rows is time, and these rows come in no order that means anything"
)
EXPECTED = {
    "check_clustering": f"it wants blobs found again after shuffling; {ROW_ORDER_IS_TIME}",
    "check_methods_sample_order_invariance": f"it shuffles the rows of predict; {ROW_ORDER_IS_TIME}",
    "check_methods_subset_invariance": "it predicts single rows; a model of a row needs its neighbours in time",
}


def outcomes(estimator: MCGTA) -> dict[str, str]:
    """What each check says; of several runs of one check the first that fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(estimator, on_fail=None, on_skip=None)
    said: dict[str, str] = {}
    for result in found:
        if not said.get(result["check_name"], "").startswith("failed"):
            said[result["check_name"]] = f"{result['status']}: {result['exception']!r}"
    return said


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        pytest.param({"refine": "none"}, set(EXPECTED), id="dbscan"),
        pytest.param({"eps": 0.5}, set(), id="radius"),  # the checks set n_clusters, so labels are by evidence here
        pytest.param({}, set(), id="search"),
    ],
)
def test_every_check_of_scikit_learn_passes_but_the_explained_ones(params: dict[str, Any], expected: set[str]) -> None:
    said = outcomes(MCGTA(**params))
    assert {name: said[name] for name in said if said[name].startswith("failed") and name not in expected} == {}
    assert {name for name in said if said[name].startswith("failed")} == expected  # none without need
    assert len(said) > 35


@pytest.mark.parametrize(
    "params", [{"clusterer": "hdbscan", "refine": "none"}, {"clusterer": "optics", "refine": "none"}]
)
def test_the_checks_pass_with_other_clusterers(params: dict[str, Any]) -> None:
    said = outcomes(MCGTA(**params))
    failed = {name: outcome for name, outcome in said.items() if outcome.startswith("failed")}
    assert set(failed) <= set(EXPECTED), failed


def test_each_parameter_is_declared_documented_and_checked() -> None:
    names = set(inspect.signature(MCGTA).parameters)
    assert names == set(RULES)
    documented = {line.split(" : ")[0].strip() for line in (MCGTA.__doc__ or "").splitlines() if " : " in line}
    assert names <= documented


def test_a_clone_has_the_same_parameters_and_nothing_fitted() -> None:
    model = MCGTA(n_neighbors=7, beta=2.0, eps=0.5).fit(np.random.default_rng(0).normal(size=(60, 2)))
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "labels_")
