"""Squared mixture Wasserstein distance (Delon and Desolneux 2020), for tiles of pairs or lists of them.

Mixtures with shares a and b of the same K components differ by the least cost of turning one into the other,

    MW = min sum_kl P_kl c_kl,   P >= 0,   P 1 = a,   P^T 1 = b,

where c_kl is W2 squared of the components k and l. Shares are multiples of 2^-40 that sum to one, so that all sums and
differences of them are exact: two mixtures with equal shares differ by zero, and every augmentation ships something.

What the two have in common need not stay where it is: squares of distances break the triangle inequality, so a way from k to l
by way of h can be cheaper, and then moves what the two have of h. A pair is solved in one or two steps.

1.  Only the differences a - b are shipped, from components with a surplus to those with a deficit, at the costs of the
    cheapest ways. This is a relaxation: it is the answer if no component hands on more than the two have of it in common.
2.  Else all shares are shipped at the costs c, beginning with what the two have in common.

Both by successive shortest paths (Jewell 1958) with the prices of Edmonds and Karp (1972), which begin at zero or better.

Contract
--------
``shares``    (N, K) of :func:`round_shares`
``costs``     (K, K) symmetric, non-negative, zero diagonal
``shortest``  (K, K) costs of the cheapest ways, ``hops`` (K, K) the first component on each, after its beginning
Results are non-negative, symmetric to the last bit, and do not depend on other pairs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mcgta.kernels.simd.compiled import helper, kernel, native, native_rows
from mcgta.runtime.types import Array, Index

SHARE_UNITS = 2.0**40
"""Units that one is divided into; shares are whole numbers of them."""

_NO_PAIRS = np.empty(0, dtype=np.int64)


class GroundCosts(NamedTuple):
    """Costs between K components: direct, by the cheapest way, and the first step of that way; see the contract."""

    costs: Array
    shortest: Array
    hops: Index


def round_shares(shares: Array) -> Array:
    """Return shares (N, K) in whole units that sum to one; the largest of each row takes what rounding leaves."""
    units = np.floor(shares * SHARE_UNITS)
    rest = SHARE_UNITS - units.sum(axis=1)
    units[np.arange(len(units)), units.argmax(axis=1)] += rest
    return units / SHARE_UNITS


def find_ground_costs(costs: Array) -> GroundCosts:
    """Find the cheapest ways between components, given direct costs (Floyd 1962)."""
    if not (np.isfinite(costs).all() and (costs >= 0).all()):
        raise ValueError("costs between components must be finite numbers >= 0")
    shortest = np.array(costs, dtype=np.float64)
    hops = np.tile(np.arange(len(shortest)), (len(shortest), 1))
    for middle in range(len(shortest)):
        detour = shortest[:, middle, None] + shortest[None, middle, :]
        cheaper = detour < shortest
        shortest[cheaper] = detour[cheaper]
        hops = np.where(cheaper, hops[:, middle, None], hops)
    return GroundCosts(native(costs), shortest, np.ascontiguousarray(hops))


def mixture_tile(ground: GroundCosts, left: Array, right: Array) -> Array:
    """MW of each mixture of ``left`` (R, K) from each of ``right`` (C, K), as a table (R, C)."""
    out = np.empty((left.shape[0], right.shape[0]))
    _compare(native(left), native(right), *ground, _NO_PAIRS, _NO_PAIRS, out)
    return out


def mixture_pairs(ground: GroundCosts, shares: Array, i: Index, j: Index) -> Array:
    """MW of the mixtures i[k] and j[k], as (len(i),)."""
    out = np.empty((1, i.shape[0]))
    if i.size:
        given = native(shares)
        _compare(given, given, *ground, native_rows(i, len(given)), native_rows(j, len(given)), out)
    return out[0]


@kernel(
    "void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], int64[:, ::1], int64[::1], int64[::1], "
    "float64[:, ::1])"
)
def _compare(left: Any, right: Any, costs: Any, shortest: Any, hops: Any, i: Any, j: Any, out: Any) -> None:
    """Compare all of left with all of right, or the pairs (i[k], j[k]) where i is not empty."""
    count = costs.shape[0]
    masses = (np.empty(count), np.empty(count), np.empty((count, count)), np.empty(count))
    prices = (np.empty((count, count)), np.empty(count), np.empty(count), np.empty(count), np.empty(count))
    path = (np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64))
    ends = (np.empty(count, np.int64), np.empty(count, np.int64))
    ground = (costs, shortest, hops)
    listed = i.shape[0] > 0
    for row in range(out.shape[0]):
        for column in range(out.shape[1]):
            a = left[i[column]] if listed else left[row]
            b = right[j[column]] if listed else right[column]
            out[row, column] = _transport(a, b, ground, ends, masses, prices, path)


@helper
def _transport(a: Any, b: Any, ground: Any, ends: Any, masses: Any, prices: Any, path: Any) -> float:
    """Return the least cost of turning shares a into shares b."""
    count = a.shape[0]
    first = 0
    while first < count and a[first] == b[first]:
        first += 1
    if first == count:
        return 0.0
    if a[first] < b[first]:  # one order for both ways round
        a, b = b, a
    value = _ship_differences(a, b, ground, ends, masses, prices, path)
    return value if value >= 0.0 else _ship_all(a, b, ground[0], masses, prices, path)


@helper
def _ship_differences(a: Any, b: Any, ground: Any, ends: Any, masses: Any, prices: Any, path: Any) -> float:
    """Return the least cost by the cheapest ways; -1 where a component hands on more than the two have in common."""
    _, shortest, hops = ground
    sources, sinks = ends
    supply, demand, flow, handed = masses
    local, u, v, _, _ = prices
    m = n = 0
    for k in range(a.shape[0]):
        handed[k] = 0.0
        if a[k] > b[k]:
            sources[m] = k
            supply[m] = a[k] - b[k]
            m += 1
        elif b[k] > a[k]:
            sinks[n] = k
            demand[n] = b[k] - a[k]
            n += 1
    for q in range(n):
        v[q] = np.inf
    for p in range(m):
        for q in range(n):
            local[p, q] = shortest[sources[p], sinks[q]]
            flow[p, q] = 0.0
            v[q] = min(v[q], local[p, q])
    for p in range(m):
        u[p] = np.inf
        for q in range(n):
            u[p] = min(u[p], local[p, q] - v[q])
    _ship(m, n, masses, prices, path)
    value = 0.0
    over = False
    for p in range(m):
        for q in range(n):
            if flow[p, q] > 0.0:
                value += flow[p, q] * local[p, q]
                k = hops[sources[p], sinks[q]]
                while k != sinks[q]:
                    handed[k] += flow[p, q]
                    over = over or handed[k] > min(a[k], b[k])
                    k = hops[k, sinks[q]]
    return -1.0 if over else value


@helper
def _ship_all(a: Any, b: Any, costs: Any, masses: Any, prices: Any, path: Any) -> float:
    """Return the least cost by direct ways, beginning with what the two have in common; prices of zero suit that."""
    supply, demand, flow, _ = masses
    local, u, v, _, _ = prices
    count = a.shape[0]
    for p in range(count):
        common = min(a[p], b[p])
        supply[p] = a[p] - common
        demand[p] = b[p] - common
        u[p] = 0.0
        v[p] = 0.0
        for q in range(count):
            local[p, q] = costs[p, q]
            flow[p, q] = 0.0
        flow[p, p] = common
    _ship(count, count, masses, prices, path)
    value = 0.0
    for p in range(count):
        for q in range(count):
            value += flow[p, q] * local[p, q]
    return value


@helper
def _ship(m: int, n: int, masses: Any, prices: Any, path: Any) -> None:
    """Ship every supply at the least cost, in place.

    Prices u (m,) and v (n,) keep c - u - v >= 0, and at zero where something is shipped. Each round looks for the cheapest way
    from a source to a sink with a demand; it may take back what was shipped before.
    """
    supply, demand, flow, _ = masses
    local, u, v, cost_to, cost_of = prices
    before, back, seen, joined = path
    for source in range(m):
        while supply[source] > 0.0:
            for p in range(m):
                joined[p] = 0
            for q in range(n):
                cost_to[q] = local[source, q] - u[source] - v[q]
                before[q] = source
                seen[q] = 0
            joined[source] = 1
            cost_of[source] = 0.0
            end = -1
            while end < 0:
                nearest = -1
                least = np.inf
                for q in range(n):
                    if seen[q] == 0 and cost_to[q] < least:
                        least = cost_to[q]
                        nearest = q
                if demand[nearest] > 0.0:
                    end = nearest
                    break
                seen[nearest] = 1
                for p in range(m):
                    if joined[p] == 0 and flow[p, nearest] > 0.0:
                        joined[p] = 1
                        cost_of[p] = least
                        back[p] = nearest
                        for q in range(n):
                            if seen[q] == 0:
                                cost = least + (local[p, q] - u[p] - v[q])
                                if cost < cost_to[q]:
                                    cost_to[q] = cost
                                    before[q] = p
            total = cost_to[end]
            for q in range(n):
                if seen[q] == 1:
                    v[q] -= total - cost_to[q]
            for p in range(m):
                if joined[p] == 1:
                    u[p] += total - cost_of[p]
            amount = min(supply[source], demand[end])
            p = before[end]
            while p != source:
                amount = min(amount, flow[p, back[p]])
                p = before[back[p]]
            supply[source] -= amount
            demand[end] -= amount
            q = end
            p = before[q]
            flow[p, q] += amount
            while p != source:
                q = back[p]
                flow[p, q] -= amount
                p = before[q]
                flow[p, q] += amount
