"""The estimator is a scikit-learn clusterer."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from mcgta import MCGTA
from mcgta.parameters import RULES

ROW_ORDER_IS_TIME = (
    "without positions the order of the rows is time, and these rows come in no order that means anything"
)
EXPECTED = {
    "check_clustering": f"it wants blobs found again after shuffling; {ROW_ORDER_IS_TIME}",
    "check_methods_sample_order_invariance": f"it shuffles the rows of predict; {ROW_ORDER_IS_TIME}",
    "check_methods_subset_invariance": "it predicts single rows; a model of a row needs its neighbours in time",
}


@pytest.fixture(scope="module")
def results() -> dict[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(MCGTA(), on_fail=None, on_skip=None)
    outcomes: dict[str, str] = {}
    for result in found:
        if not outcomes.get(result["check_name"], "").startswith("failed"):
            outcomes[result["check_name"]] = f"{result['status']}: {result['exception']!r}"
    return outcomes


def test_every_check_of_scikit_learn_passes_but_the_explained_ones(results: dict[str, str]) -> None:
    failed = {
        name: outcome for name, outcome in results.items() if outcome.startswith("failed") and name not in EXPECTED
    }
    assert failed == {}
    assert len(results) > 35


def test_no_check_is_expected_to_fail_without_need(results: dict[str, str]) -> None:
    assert {name for name in EXPECTED if results[name].startswith("failed")} == set(EXPECTED)


@pytest.mark.parametrize("clusterer", ["hdbscan", "optics"])
def test_the_checks_pass_with_other_clusterers(clusterer: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(MCGTA(clusterer=clusterer), on_fail=None, on_skip=None)
    failed = {result["check_name"]: result["exception"] for result in found if result["status"] == "failed"}
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
