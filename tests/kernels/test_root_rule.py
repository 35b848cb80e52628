"""Quadrature rules for the square root."""

import mpmath
import numpy as np
import pytest

from mcgta.kernels.gaussians.root_rule import COUNTS, GROUP, NODES, SPREADS, STARTS, WEIGHTS, root_rule


def rational(x, nodes, weights):
    return (x[:, None] / (x[:, None] + nodes)) @ weights


@pytest.mark.parametrize("k", range(len(COUNTS)))
def test_each_rule_is_the_root_over_its_spread_and_no_worse_than_the_end_below(k):
    here = slice(STARTS[k], STARTS[k] + COUNTS[k])
    nodes, weights = NODES[here], WEIGHTS[here]
    assert COUNTS[k] % GROUP == 0
    assert (nodes > 0).all()
    assert (weights > 0).all()
    x = np.exp(-np.linspace(0, np.log(SPREADS[k]), 5001))
    np.testing.assert_allclose(rational(x, nodes, weights), np.sqrt(x), rtol=2e-15)
    below = np.append(x[-1] * np.geomspace(1e-30, 1, 50), 0.0)
    assert np.abs(rational(below, nodes, weights) - np.sqrt(below)).max() <= SPREADS[k] ** -0.5


@pytest.mark.parametrize(("count", "spread"), [(4, 1.5), (8, 30.0), (12, 1e3), (40, 1e9)])
def test_nodes_and_weights_are_those_of_the_elliptic_functions(count, spread):
    nodes, weights = root_rule(count, spread)
    with mpmath.workdps(40):
        small = 1 / mpmath.mpf(spread)
        quarter = mpmath.ellipk(1 - small)
        for j in range(count):
            u = (j + mpmath.mpf(1) / 2) * quarter / count
            sn, cn, dn = (mpmath.ellipfun(kind, u, m=1 - small) for kind in ("sn", "cn", "dn"))
            node = small * (sn / cn) ** 2
            weight = 2 / mpmath.pi * quarter / count * mpmath.sqrt(small) * dn / cn**2
            assert nodes[j] == pytest.approx(float(node), rel=1e-13)
            assert weights[j] == pytest.approx(float(weight), rel=1e-13)
