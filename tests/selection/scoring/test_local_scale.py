"""Scales that come and go: found where they do, and not where they stay."""

import numpy as np
import pytest
from scipy.signal import lfilter

from mcgta.selection.scoring.local_scale import find_log_scales


def start_of_one(count):
    """One series."""
    return np.arange(count) == 0


@pytest.mark.parametrize("d", [1, 3])
def test_a_volatility_that_comes_and_goes_is_followed(d):
    rng = np.random.default_rng(d)
    logs = 2.0 * lfilter([1.0], [1.0, -0.97], rng.normal(scale=0.15, size=1500))
    found = find_log_scales(rng.chisquare(d, 1500) * np.exp(logs), d, start_of_one(1500))
    assert np.corrcoef(found, logs)[0, 1] > 0.6


@pytest.mark.parametrize("seed", range(3))
def test_scales_that_stay_are_left_alone_under_light_and_heavy_tails(seed):
    rng = np.random.default_rng(seed)
    gaussian = rng.chisquare(3, 1500)
    heavy = gaussian * 4.0 / rng.chisquare(4, 1500)
    assert find_log_scales(gaussian, 3, start_of_one(1500)) is None
    assert find_log_scales(heavy, 3, start_of_one(1500)) is None


def test_every_series_begins_with_a_scale_of_one():
    rng = np.random.default_rng(5)
    logs = 3.0 * np.sin(np.arange(1200) / 40)
    starts = np.arange(1200) % 300 == 0
    found = find_log_scales(rng.chisquare(2, 1200) * np.exp(logs), 2, starts)
    np.testing.assert_array_equal(found[starts], 0.0)
