"""Numbers of bins and lags that no data can use are refused by name, before memory is."""

import numpy as np
import pytest

from mcgta import MCGTA, config_context, read_positions
from mcgta.stages import compare_features, empirical_semivariogram
from mcgta.stages.lags import stack_lags

X = np.random.default_rng(0).normal(size=(60, 2))


def fit(**params):
    return MCGTA(n_neighbors=6, **{"eps": 1.0, **params}).fit(X)


@pytest.mark.parametrize("bins", [10_001, 10**9, 2**63, 2**70])
def test_too_many_bins_are_refused(bins):
    with pytest.raises(ValueError, match=f"^bins={bins} is not allowed: bins must be .*10000"):
        fit(bins=bins)
    with pytest.raises(ValueError, match=f"^bins={bins} is not allowed: bins must be from 1 to 10000"):
        empirical_semivariogram(compare_features(X), read_positions(None, 60), bins=bins)


def test_too_many_edges_are_refused():
    edges = np.linspace(0, 30, 10_002)
    with pytest.raises(ValueError, match=r"^bins gives the edges of 10001 bins; at most 10000 are allowed"):
        fit(bins=edges)
    with pytest.raises(ValueError, match=r"^bins gives the edges of 10001 bins; at most 10000 are allowed"):
        empirical_semivariogram(compare_features(X), read_positions(None, 60), bins=edges)
    assert fit(bins=edges[:-1]).semivariogram_.counts.size == 10_000


@pytest.mark.parametrize("edges", [[3.0], [1.0, 1.0], [0.0, np.nan], [0.0, np.inf], [[0.0, 1.0]]])
def test_edges_that_do_not_increase_are_refused(edges):
    with pytest.raises(ValueError, match=r"^bins=.* is not allowed: edges must be at least two numbers that increase"):
        empirical_semivariogram(compare_features(X), read_positions(None, 60), bins=edges)


@pytest.mark.parametrize("lags", [60, 10**6, 2**40])
def test_more_lags_than_other_observations_are_refused(lags):
    with pytest.raises(ValueError, match=f"^lags={lags} is not allowed: there are only 60 .* lags must be at most 59"):
        fit(lags=lags)


def test_more_lags_than_others_in_the_largest_group_are_refused():
    groups = np.repeat([0, 1], [20, 40])
    with pytest.raises(ValueError, match=r"^lags=40 .* only 40 observations in the largest group, .* at most 39"):
        MCGTA(n_neighbors=6, eps=1.0, lags=40).fit(X, groups=groups)


def test_lags_that_do_not_fit_into_memory_are_named():
    with config_context(max_memory="10kB"), pytest.raises(MemoryError, match=r"^lags=9 makes 20 features of 2: "):
        fit(lags=9)


def test_lags_are_not_stacked_beyond_the_memory_there_is(monkeypatch):
    monkeypatch.setattr("mcgta.stages.lags.budget", lambda: 60 * 8 * 3 * 5)
    positions = read_positions(None, 60)
    assert stack_lags(X, positions, 4).shape == (60, 10)
    with pytest.raises(MemoryError, match=r"^lags=5 of 60 observations with 2 features need .* lags must be at most 4"):
        stack_lags(X, positions, 5)
