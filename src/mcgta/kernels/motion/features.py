"""Features of motion, summed over blocks of steps or projected step by step, without a table of all of them.

The features of a step are, in this order:

1. indicators: does a filter of taps, dilated, over a mixture of channels exceed a threshold there;
2. products of a channel with itself some steps apart, written at the middle of the two;
3. products of a channel some steps ago with an innovation, for each pair of channels;
4. squared innovations.

A series comes in pieces, between which nothing is carried over: filters repeat the first and last value of a piece, products
that reach out of it are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import helper, kernel


@helper
def _respond(padded: Any, taps: Any, dilation: int, out: Any, length: int) -> None:
    """Write what a dilated filter gives at each step of a piece, which is padded at both ends by half the filter."""
    for t in range(length):
        out[t] = taps[0] * padded[t]
    for k in range(1, taps.size):
        shift = k * dilation
        tap = taps[k]
        for t in range(length):
            out[t] += tap * padded[t + shift]


@helper
def _add(
    feature: Any, j: int, first: int, length: int, width: int, block: int, weights: Any, sums: Any, out: Any
) -> None:
    """Add a piece's values of feature j to the sums of its blocks, and to the projections of its steps."""
    if sums.shape[0] > 0:
        for b in range(length // width):
            total = 0.0
            for t in range(b * width, (b + 1) * width):
                total += feature[t]
            sums[block + b, j] = total
    for m in range(out.shape[0]):
        weight = weights[j, m]
        for t in range(length):
            out[m, first + t] += weight * feature[t]


@kernel(
    "void(float64[:, ::1], float64[:, ::1], int64[::1], int64, float64[:, ::1], int64[::1], float64[:, ::1], float64[::1], "
    "int64[::1], int64, float64[:, ::1], float64[:, ::1], float64[:, ::1])",
    reorder=True,
)
def motion_features(
    x: Any,
    innovations: Any,
    starts: Any,
    width: int,
    taps: Any,
    dilations: Any,
    mixtures: Any,
    thresholds: Any,
    lags: Any,
    order: int,
    weights: Any,
    sums: Any,
    out: Any,
) -> None:
    """Sum the features of motion over blocks of ``width`` steps, and add their projections on ``weights`` to steps.

    Parameters
    ----------
    x, innovations : (c, T) channels, and what their past does not foretell
    starts : (P + 1,) first step of each piece, and T
    taps, dilations, mixtures, thresholds : (n, taps), (n,), (n, c) and (n,) of the filters
    lags : of the products of a channel with itself
    order : lags 1 ... order of the products with innovations
    weights : (features, J) of the projections
    sums : (blocks, features), or (0, 0) where they are not wanted; what is left of a piece after its last block has no part
    out : (J, T), or (0, 0) where projections are not wanted
    """
    c = x.shape[0]
    longest = 0
    for p in range(starts.size - 1):
        longest = max(longest, starts[p + 1] - starts[p])
    reach = 0
    for j in range(dilations.size):
        reach = max(reach, dilations[j] * (taps.shape[1] - 1))
    padded = np.empty(longest + reach)
    feature = np.empty(longest)
    block = 0
    for p in range(starts.size - 1):
        first = starts[p]
        length = starts[p + 1] - first
        for j in range(dilations.size):
            half = dilations[j] * ((taps.shape[1] - 1) // 2)
            for t in range(length):
                padded[half + t] = mixtures[j, 0] * x[0, first + t]
            for a in range(1, c):
                share = mixtures[j, a]
                if share != 0.0:
                    for t in range(length):
                        padded[half + t] += share * x[a, first + t]
            for t in range(half):
                padded[t] = padded[half]
                padded[half + length + t] = padded[half + length - 1]
            _respond(padded, taps[j], dilations[j], feature, length)
            threshold = thresholds[j]
            for t in range(length):
                feature[t] = 1.0 if feature[t] > threshold else 0.0
            _add(feature, j, first, length, width, block, weights, sums, out)
        j = dilations.size
        for i in range(lags.size):
            lag = lags[i]
            before = lag // 2
            for a in range(c):
                feature[:length] = 0.0
                for t in range(length - lag):
                    feature[t + before] = x[a, first + t] * x[a, first + t + lag]
                _add(feature, j, first, length, width, block, weights, sums, out)
                j += 1
        for lag in range(1, order + 1):
            for a in range(c):
                for b in range(c):
                    feature[:length] = 0.0
                    for t in range(lag, length):
                        feature[t] = x[a, first + t - lag] * innovations[b, first + t]
                    _add(feature, j, first, length, width, block, weights, sums, out)
                    j += 1
        for a in range(c):
            for t in range(length):
                feature[t] = innovations[a, first + t] * innovations[a, first + t]
            _add(feature, j, first, length, width, block, weights, sums, out)
            j += 1
        block += length // width
