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

Both by successive shortest paths (Jewell 1958) with the prices of Edmonds and Karp (1972).

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

from mcgta.kernels.simd.compiled import kernel, literal_helper, native, native_rows
from mcgta.runtime.types import Array, Index

SHARE_UNITS = 2.0**40
"""Units that one is divided into; shares are whole numbers of them."""

_NO_PAIRS = np.empty(0, dtype=np.int64)

# Where the parts of the workspaces begin, in K.
_SUPPLY, _DEMAND, _U, _V, _COST_TO, _COST_OF, _COMMON, _PASSED, _PRICE, _TABLES = range(10)
_SOURCES, _SINKS, _BEFORE, _BACK, _LEFT, _JOINED, _INTEGERS = range(7)


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
    _compare(native(left), native(right), *ground, _NO_PAIRS, _NO_PAIRS, out, *_room(left))
    return out


def mixture_pairs(ground: GroundCosts, shares: Array, i: Index, j: Index) -> Array:
    """MW of the mixtures i[k] and j[k], as (len(i),)."""
    out = np.empty((1, i.shape[0]))
    if i.size:
        given = native(shares)
        rows = native_rows(i, len(given)), native_rows(j, len(given))
        _compare(given, given, *ground, *rows, out, *_room(given))
    return out[0]


def _room(shares: Array) -> tuple[Array, Index]:
    """Return room for a problem of K sources and sinks: B for numbers and C for components; see the offsets above."""
    count = shares.shape[1]
    return np.empty(_TABLES * count + 3 * count * count), np.empty(_INTEGERS * count, dtype=np.int64)


@kernel(
    "void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], int64[:, ::1], int64[::1], int64[::1], "
    "float64[:, ::1], float64[::1], int64[::1])",
    literal=True,
)
def _compare(
    left: Any, right: Any, costs: Any, shortest: Any, hops: Any, i: Any, j: Any, out: Any, B: Any, C: Any
) -> None:
    """Compare all of left with all of right, or the pairs (i[k], j[k]) where i is not empty."""
    listed = i.shape[0] > 0
    for row in range(out.shape[0]):
        for column in range(out.shape[1]):
            a = i[column] if listed else row
            b = j[column] if listed else column
            out[row, column] = _transport(left, a, right, b, costs, shortest, hops, B, C)


@literal_helper
def _transport(left: Any, a: int, right: Any, b: int, costs: Any, shortest: Any, hops: Any, B: Any, C: Any) -> float:
    """Return the least cost of turning the shares left[a] into right[b]."""
    count = costs.shape[0]
    m = n = 0
    sign = 0.0
    for k in range(count):
        change = left[a, k] - right[b, k]
        if change != 0.0:
            if sign == 0.0:
                sign = 1.0 if change > 0.0 else -1.0  # one order for both ways round
            change *= sign
            if change > 0.0:
                C[_SOURCES * count + m] = k
                B[_SUPPLY * count + m] = change
                m += 1
            else:
                C[_SINKS * count + n] = k
                B[_DEMAND * count + n] = -change
                n += 1
        B[_COMMON * count + k] = min(left[a, k], right[b, k])
    if m == 0:
        return 0.0
    _ship_differences(shortest, m, n, B, C)
    value = _cost_by_ways(hops, m, n, B, C)
    if value < 0.0:
        value = _ship_all(costs, shortest, hops, m, n, B, C)
    return value


@literal_helper
def _ship_differences(shortest: Any, m: int, n: int, B: Any, C: Any) -> None:
    """Ship the differences by the cheapest ways."""
    count = shortest.shape[0]
    costs = _TABLES * count
    flow = costs + count * count
    u = _U * count
    v = _V * count
    for q in range(n):
        B[v + q] = np.inf
    for p in range(m):
        source = C[_SOURCES * count + p]
        for q in range(n):
            cost = shortest[source, C[_SINKS * count + q]]
            B[costs + p * count + q] = cost
            B[flow + p * count + q] = 0.0
            B[v + q] = min(B[v + q], cost)
    for p in range(m):
        least = np.inf
        for q in range(n):
            least = min(least, B[costs + p * count + q] - B[v + q])
        B[u + p] = least
    _ship(count, m, n, B, C)


@literal_helper
def _cost_by_ways(hops: Any, m: int, n: int, B: Any, C: Any) -> float:
    """Return the cost of what was shipped; -1 where a component hands on more than the two have of it in common."""
    count = hops.shape[0]
    costs = _TABLES * count
    flow = costs + count * count
    for k in range(count):
        B[_PASSED * count + k] = 0.0
    value = 0.0
    for p in range(m):
        for q in range(n):
            amount = B[flow + p * count + q]
            if amount > 0.0:
                value += amount * B[costs + p * count + q]
                last = C[_SINKS * count + q]
                k = hops[C[_SOURCES * count + p], last]
                while k != last:
                    B[_PASSED * count + k] += amount
                    if B[_PASSED * count + k] > B[_COMMON * count + k]:
                        return -1.0
                    k = hops[k, last]
    return value


@literal_helper
def _ship_all(direct: Any, shortest: Any, hops: Any, m: int, n: int, B: Any, C: Any) -> float:
    """Return the least cost by direct ways, beginning with as much of what was shipped as components can hand on.

    The price of a component is the least of the cheapest way to a sink less the price there. With these prices every step of a
    way in use is tight, and so is staying, so that what is kept of the differences is part of an optimum.
    """
    count = direct.shape[0]
    costs = _TABLES * count
    flow = costs + count * count
    kept = flow + count * count
    supply = _SUPPLY * count
    demand = _DEMAND * count
    common = _COMMON * count
    price = _PRICE * count
    for q in range(n):
        B[price + q] = B[_V * count + q]
        for p in range(m):
            B[kept + p * count + q] = B[flow + p * count + q]
    for k in range(count):
        B[supply + k] = 0.0
        B[demand + k] = 0.0
        least = np.inf
        for q in range(n):
            least = min(least, shortest[k, C[_SINKS * count + q]] - B[price + q])
        B[_U * count + k] = least
        B[_V * count + k] = -least
        for h in range(count):
            B[costs + k * count + h] = direct[k, h]
            B[flow + k * count + h] = 0.0
    for p in range(m):
        first = C[_SOURCES * count + p]
        for q in range(n):
            wanted = B[kept + p * count + q]
            if wanted > 0.0:
                last = C[_SINKS * count + q]
                amount = wanted
                k = hops[first, last]
                while k != last:
                    amount = min(amount, B[common + k])
                    k = hops[k, last]
                B[supply + first] += wanted - amount
                B[demand + last] += wanted - amount
                here = first
                while here != last:
                    k = hops[here, last]
                    B[flow + here * count + k] += amount
                    if k != last:
                        B[common + k] -= amount
                    here = k
    for k in range(count):
        B[flow + k * count + k] = B[common + k]
    _ship(count, count, count, B, C)
    value = 0.0
    for p in range(count * count):
        value += B[flow + p] * B[costs + p]
    return value


@literal_helper
def _ship(count: int, m: int, n: int, B: Any, C: Any) -> None:
    """Ship every supply at the least cost, in place.

    Prices keep c - u - v >= 0, and at zero where something is shipped.
    """
    costs = _TABLES * count
    flow = costs + count * count
    for source in range(m):
        while B[_SUPPLY * count + source] > 0.0:
            least = np.inf
            nearest = 0
            for q in range(n):
                cost = B[costs + source * count + q] - B[_V * count + q]
                if cost < least:
                    least = cost
                    nearest = q
            amount = B[_SUPPLY * count + source]
            if B[_DEMAND * count + nearest] >= amount:  # often, and nothing has to be taken back
                B[_U * count + source] = least
                B[_SUPPLY * count + source] = 0.0
                B[_DEMAND * count + nearest] -= amount
                B[flow + source * count + nearest] += amount
            elif not _ship_from(count, m, n, source, B, C):
                return


@literal_helper
def _ship_from(count: int, m: int, n: int, source: int, B: Any, C: Any) -> bool:
    """Ship from a source to the sinks that are cheapest to reach, in turn (Dijkstra 1959), until it or a way is used up.

    A way may take back what was shipped before: it goes from a sink back to where its shares are from, and on from there.
    """
    costs = _TABLES * count
    flow = costs + count * count
    u = _U * count
    v = _V * count
    cost_to = _COST_TO * count
    cost_of = _COST_OF * count
    before = _BEFORE * count
    back = _BACK * count
    left = _LEFT * count
    joined = _JOINED * count
    for p in range(m):
        C[joined + p] = 0
    C[joined + source] = 1
    B[cost_of + source] = 0.0
    own = B[u + source]
    for q in range(n):
        B[cost_to + q] = B[costs + source * count + q] - own - B[v + q]
        C[before + q] = source
        C[left + q] = q
    rest = n  # sinks that the search has not come to, which stand first in the list
    least = 0.0
    while rest > 0:
        least = np.inf
        place = 0
        for k in range(rest):
            cost = B[cost_to + C[left + k]]
            if cost < least:
                least = cost
                place = k
        nearest = C[left + place]
        if B[_DEMAND * count + nearest] > 0.0 and _augment(count, source, nearest, B, C):
            break
        rest -= 1
        C[left + place] = C[left + rest]
        C[left + rest] = nearest
        for p in range(m):
            if B[flow + p * count + nearest] > 0.0 and C[joined + p] == 0:
                C[joined + p] = 1
                C[back + p] = nearest
                B[cost_of + p] = least
                offset = least - B[u + p]
                for k in range(rest):
                    q = C[left + k]
                    cost = B[costs + p * count + q] - B[v + q] + offset
                    if cost < B[cost_to + q]:
                        B[cost_to + q] = max(cost, least)
                        C[before + q] = p
    for k in range(rest, n):
        q = C[left + k]
        B[v + q] -= least - B[cost_to + q]
    for p in range(m):
        if C[joined + p] == 1:
            B[u + p] += least - B[cost_of + p]
    return rest > 0  # as it always is, since supplies and demands have the same sum


@literal_helper
def _augment(count: int, source: int, sink: int, B: Any, C: Any) -> bool:
    """Ship as much as possible from a source to a sink along the way that was found; return whether the search has to end.

    It goes on where only the demand is used up.
    """
    flow = _TABLES * count + count * count
    before = _BEFORE * count
    back = _BACK * count
    amount = min(B[_SUPPLY * count + source], B[_DEMAND * count + sink])
    p = C[before + sink]
    while p != source:
        q = C[back + p]
        amount = min(amount, B[flow + p * count + q])
        p = C[before + q]
    B[_SUPPLY * count + source] -= amount
    B[_DEMAND * count + sink] -= amount
    ends = B[_SUPPLY * count + source] == 0.0 or B[_DEMAND * count + sink] > 0.0
    q = sink
    p = C[before + q]
    B[flow + p * count + q] += amount
    while p != source:
        q = C[back + p]
        B[flow + p * count + q] -= amount
        ends = ends or B[flow + p * count + q] == 0.0
        p = C[before + q]
        B[flow + p * count + q] += amount
    return ends
