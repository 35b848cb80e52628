"""Quadrature rules for the square root: sums of simple fractions with positive nodes and weights.

    x^1/2 = (2 / pi) int_0^inf x / (x + t^2) dt ~ sum_j w_j x / (x + s_j)

For x from 1 / c to c, t = c^-1/2 sc(u | 1 - c^-2) makes the integrand periodic in u and analytic around the real line, so
the midpoint rule converges geometrically: with N nodes the relative error is about 4 exp(-2 pi^2 N / (3 + 2 ln c)),
all over the interval (Hale, Higham and Trefethen 2008, method 3). The elliptic function is evaluated by theta series in the
nome of the small modulus (Jacobi's imaginary transformation), where sines turn hyperbolic. Up to the middle of the
interval few terms matter; beyond it, nodes are the reciprocals of those before.

Contract
--------
Rule k has ``COUNTS[k]`` nodes, groups of 16, and as many weights, from ``STARTS[k]`` on in ``NODES`` and ``WEIGHTS``. Its
relative error is 1e-15 for x from ``1 / SPREADS[k]`` to 1; below that, its absolute error is at most ``SPREADS[k]^-1/2``.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ellipk, ellipkm1

from mcgta.runtime.types import Array

GROUP = 16
_ERROR = 4e-16
_TERMS = 8  # of the theta series, the nome being at most 0.02


def root_rule(count: int, spread: float) -> tuple[Array, Array]:
    """Return an even number of nodes and weights for the root of x, for x from 1 / spread to 1."""
    quarter = ellipk(1.0 / spread)
    other = ellipkm1(1.0 / spread)
    nome = np.exp(-np.pi * other / quarter)
    step = np.pi * other / (2.0 * quarter * count)
    v = np.append(np.arange(count // 2) + 0.5, count / 2) * step  # the last is the middle of the interval
    n = np.arange(_TERMS)[:, None]
    odd = 2 * n + 1
    even = 2 * n + 2
    upper = (-1.0) ** n * nome ** (n * (n + 1))
    lower = -2.0 * (-1.0) ** n * nome ** ((n + 1) ** 2)
    top = (upper * np.sinh(odd * v)).sum(axis=0)
    top_slope = (upper * odd * np.cosh(odd * v)).sum(axis=0)
    bottom = 1 + (lower * np.cosh(even * v)).sum(axis=0)
    bottom_slope = (lower * even * np.sinh(even * v)).sum(axis=0)
    t = top / bottom
    slope = t * (top_slope / top - bottom_slope / bottom) * step * 2.0 / np.pi
    t, slope = t[:-1] / t[-1], slope[:-1] / t[-1]
    nodes = np.append(t, 1.0 / t[::-1]) ** 2
    weights = np.append(slope, (slope / t**2)[::-1])
    return nodes * spread**-0.5, weights * spread**-0.25


COUNTS = np.arange(GROUP, 145, GROUP)
SPREADS = np.exp(2.0 * np.pi**2 * COUNTS / np.log(4.0 / _ERROR) - 3.0)
STARTS = np.cumsum(COUNTS) - COUNTS
_rules = [root_rule(int(count), float(spread)) for count, spread in zip(COUNTS, SPREADS, strict=True)]
NODES = np.concatenate([nodes for nodes, _ in _rules])
WEIGHTS = np.concatenate([weights for _, weights in _rules])
