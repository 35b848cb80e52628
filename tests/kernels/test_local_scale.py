"""Scales that come and go: against plain loops."""

import numpy as np
import pytest

from mcgta.kernels.evidence.local_scale import follow_scales
from naive import selection as naive


@pytest.mark.parametrize("gain", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("persistence", [0.0, 0.9, 0.995])
@pytest.mark.parametrize("d", [1, 4])
def test_scales_are_those_of_plain_loops(d, persistence, gain):
    rng = np.random.default_rng(d)
    distances = rng.chisquare(d, 200) * np.exp(3.0 * np.sin(np.arange(200) / 15))
    first = np.arange(200) % 70 == 0
    found = np.empty(200)
    total = follow_scales(distances, d, first, persistence, gain, 8.0, found)
    expected, expected_total = naive.follow_scales(distances, d, first, persistence, gain, 8.0)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert total == pytest.approx(expected_total)
