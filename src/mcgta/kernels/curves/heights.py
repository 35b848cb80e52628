"""Heights of a semivariogram, gamma(h) = nugget + partial sill * rise(h / length), one distance at a time.

Contract
--------
A curve is a code, ``parameters`` (nugget, sill, partial sill, length, shape, ceiling) and a table of two columns ``x`` and
``y``, which are empty unless said otherwise. With u = h / length, for u >= 0:

    SPHERICAL     rise = u (3 - u^2) / 2 up to u = 1, then 1
    EXPONENTIAL   rise = 1 - exp(-u)
    GAUSSIAN      rise = 1 - exp(-u^2)
    STABLE        rise = 1 - exp(-u^shape)
    MATERN        rise = 1 - 2^(1 - shape) / Gamma(shape) u^shape K_shape(u), from the table of :func:`matern_table`
    EMPIRICAL     gamma is the line through (x, y), x rising from 0 and y not falling, level on either side

No height exceeds the ceiling, which is the sill, or the nugget if that is more; at infinity it is the sill, and at zero the
nugget. Lengths are those of these formulas; GSTools has others for some models. One function,
:func:`curve_height`, is called in all kernels, so a height has the same bits wherever it is computed.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import gammaln, kv

from mcgta.kernels.simd.compiled import kernel, literal_helper, native, scalar, snippet
from mcgta.runtime.types import Array

SPHERICAL, EXPONENTIAL, GAUSSIAN, STABLE, MATERN, EMPIRICAL = range(6)
"""Codes of the curves."""

Curve = tuple[int, Array, Array, Array]
"""Code, parameters, x and y."""

# The grid in log u goes up to u = 70, where the rise is 1 - 1e-14 or more.
_FIRST = -14.0
_PER_UNIT = 256.0
_STEPS = 4672
_SMALLEST = math.exp(_FIRST)

_expm1 = scalar(math.expm1, 1)
_pow = scalar(math.pow, 2)
_log = scalar(math.log, 1)


@literal_helper
def curve_height(code: Any, parameters: Any, x: Any, y: Any, h: Any) -> Any:
    """Return gamma(h) for one distance h >= 0; for use in kernels. It has few branches, since each takes time to compile."""
    if not h < np.inf:
        return parameters[1] if h > 0.0 else h
    if code == EMPIRICAL:
        height = _on_line(x, y, h)
    else:
        u = abs(h) / parameters[3]
        if code == SPHERICAL:
            rise = 1.0 if u >= 1.0 else 0.5 * u * (3.0 - u * u)
        elif code == MATERN:
            rise = _matern_rise(parameters[4], x, y, u)
        else:
            rise = -_expm1(-u if code == EXPONENTIAL else -(u * u) if code == GAUSSIAN else -_pow(u, parameters[4]))
        height = parameters[0] + parameters[2] * rise
    return height if height <= parameters[5] else parameters[5]


@snippet
def _on_line(x: Any, y: Any, h: Any) -> Any:
    """np.interp(h, x, y), with its bits."""
    low = 0
    high = x.shape[0]
    while high - low > 1:  # x[low] <= h < x[high]
        middle = (low + high) >> 1
        if x[middle] <= h:
            low = middle
        else:
            high = middle
    return (y[high] - y[low]) / (x[high] - x[low]) * (h - x[low]) + y[low] if high < x.shape[0] else y[low]


@snippet
def _matern_rise(shape: Any, slopes: Any, heights: Any, u: Any) -> Any:
    """Piecewise cubic in log u; a power of u below the table, 1 above."""
    if u < _SMALLEST:
        return heights[0] * _pow(u / _SMALLEST, 2.0 if shape > 1.0 else 2.0 * shape)
    place = (_log(u) - _FIRST) * _PER_UNIT
    if place >= _STEPS:
        return 1.0
    k = np.int64(place)
    s = place - k
    rise = heights[k + 1] - heights[k]
    start = slopes[k]
    bend = slopes[k] + slopes[k + 1] - 2.0 * rise
    return heights[k] + s * (start + s * (rise - start - bend + s * bend))


@kernel("void(int64, float64[::1], float64[::1], float64[::1], float64[::1], float64[::1])", literal=True)
def _heights(code: Any, parameters: Any, x: Any, y: Any, h: Any, out: Any) -> None:
    for k in range(h.shape[0]):
        out[k] = curve_height(code, parameters, x, y, h[k])


def curve_heights(curve: Curve, h: Array) -> Array:
    """Return gamma at distances of any shape."""
    out = np.empty(h.shape)
    code, *arrays = curve
    _heights(code, *map(native, arrays), native(h).reshape(-1), out.reshape(-1))
    return out


def curve_of(code: int, nugget: float, sill: float, length: float, shape: float = np.nan) -> Curve:
    """Return the curve with this code; ``length`` is that of the formula, > 0."""
    x: Array = np.empty(0)
    y: Array = x
    if code == MATERN:
        x, y = matern_table(shape)
    return code, np.array([nugget, sill, max(sill - nugget, 0.0), length, shape, max(sill, nugget)]), x, y


def line_through(x: Array, y: Array, sill: float) -> Curve:
    """Return the curve that joins points by straight lines, x rising from 0 and y not falling, cut off at the sill."""
    return EMPIRICAL, np.array([y[0], sill, sill - y[0], np.nan, np.nan, sill]), native(x), native(y)


@lru_cache(maxsize=8)
def matern_table(shape: float) -> tuple[Array, Array]:
    """Slopes and heights of the rise of the Matern model on an even grid in log u, for a monotone cubic between grid points.

    The rise is off by less than 1e-10, for shapes from 0.2 to 20 and all u: the cubic by (1 / 256)^4 / 384 times the largest
    fourth derivative in log u, about 20; the power of u below the grid, u^(2 min(shape, 1)), by the next term of the series,
    u^2, or by the whole rise there where the two terms are alike, 1e-11 either way.
    """
    t = _FIRST + np.arange(_STEPS + 1) / _PER_UNIT
    u = np.exp(t)
    scale = np.exp((1.0 - shape) * math.log(2.0) - gammaln(shape) + shape * t)
    heights = np.maximum.accumulate(np.clip(1.0 - scale * kv(shape, u), 0.0, 1.0))
    slopes = scale * u * kv(shape - 1.0, u) / _PER_UNIT
    steps = np.diff(heights)
    # Where the steps are rounding errors; elsewhere a smooth curve keeps well within this bound (Fritsch and Carlson 1980).
    slopes = np.minimum(slopes, 3.0 * np.minimum(np.append(steps, steps[-1]), np.append(steps[0], steps)))
    return slopes, heights
