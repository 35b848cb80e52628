"""Rules of parameters: numbers of every kind, words and their nearest suggestion."""

import re

import numpy as np
import pytest

from mcgta import MCGTA
from mcgta.runtime.rules import INF, Rule, check_value

COUNT = Rule(words=("auto",), integer=(2, INF))
SHARE = Rule(real=(0, 1), above=True)


@pytest.mark.parametrize("value", [2, 2**63 - 1, np.int8(5), np.uint64(7), np.int64(9), "auto"])
def test_integers_of_every_kind_are_allowed(value):
    check_value("bins", value, COUNT)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30, np.uint64(2**63)])
def test_an_integer_of_more_than_64_bits_is_refused_by_name(value):
    said = f"bins={value!r} is not allowed: bins must be 'auto', or an integer >= 2; integers must fit in 64 bits"
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        check_value("bins", value, COUNT)


def test_an_integer_of_thousands_of_digits_is_refused_by_name_and_not_written_out():
    with pytest.raises(ValueError, match=r"^bins=<an integer of 33220 bits> is not allowed: bins must be"):
        check_value("bins", 10**10_000, COUNT)
    with pytest.raises(ValueError, match=r"^share=<an integer of 33220 bits> is not allowed: share must be"):
        check_value("share", 10**10_000, SHARE)


@pytest.mark.parametrize("value", [5.0, np.float64(5), np.float32(5)])
def test_a_float_in_place_of_an_integer_is_refused_with_the_integer_as_suggestion(value):
    with pytest.raises(ValueError, match=r"bins=.* must be 'auto', or an integer >= 2; did you mean 5\?$"):
        check_value("bins", value, COUNT)


@pytest.mark.parametrize("value", [1, 1.0, 5.5, np.nan, np.inf, True, None, 1 + 0j, [5]])
def test_a_value_that_is_no_count_is_refused_without_a_suggestion(value):
    with pytest.raises(ValueError, match=r"must be 'auto', or an integer >= 2$"):
        check_value("bins", value, COUNT)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int64(1)])
def test_numbers_within_bounds_are_allowed(value):
    check_value("share", value, SHARE)


@pytest.mark.parametrize("value", [0, 0.0, 2, -1, np.nan, np.inf, False])
def test_numbers_outside_bounds_are_refused(value):
    with pytest.raises(ValueError, match=r"^share=.* is not allowed: share must be a number > 0 and <= 1$"):
        check_value("share", value, SHARE)


def test_an_integer_next_to_a_bound_that_no_float_can_tell_apart_is_compared_exactly():
    rule = Rule(integer=(0, 2**53))
    check_value("seed", 2**53, rule)
    with pytest.raises(ValueError, match="seed=9007199254740993"):
        check_value("seed", 2**53 + 1, rule)


@pytest.mark.parametrize(
    ("value", "near"), [("hdbscann", "hdbscan"), ("OPTICS", "optics"), ("Db-Scan", "dbscan"), ("zzz", None)]
)
def test_an_unknown_word_is_refused_with_the_nearest_one(value, near):
    rule = Rule(words=("dbscan", "hdbscan", "optics"))
    said = "one of 'dbscan', 'hdbscan', 'optics'" + (rf"; did you mean '{near}'\?$" if near else "$")
    with pytest.raises(ValueError, match=f"^clusterer={value!r} is not allowed: clusterer must be {said}"):
        check_value("clusterer", value, rule)


@pytest.mark.parametrize("name", ["n_neighbors", "bins", "lags", "min_samples", "min_cluster_size", "n_jobs"])
def test_a_huge_integer_for_any_parameter_of_the_estimator_is_refused_by_name(series, name):
    with pytest.raises(ValueError, match=f"^{name}=9223372036854775808 is not allowed"):
        MCGTA(**{name: 2**63}).fit(series.X)


def test_a_size_that_no_machine_has_is_no_size():
    with pytest.raises(ValueError, match="max_memory="):
        check_value("max_memory", "9" * 400 + "GB", Rule(size=True))


@pytest.mark.parametrize(("value", "allowed"), [(0.999, True), (1, False), (1.0, False), (0, False)])
def test_either_bound_may_be_excluded(value, allowed):
    rule = Rule(real=(0, 1), above=True, below=True)
    assert rule.accepts(value) is allowed
    assert rule.describe() == "a number > 0 and < 1"
