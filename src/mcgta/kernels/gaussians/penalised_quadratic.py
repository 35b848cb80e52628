"""The minimum of a quadratic model with a penalty on the sizes of its parameters, exactly.

The model is::

    g^T (x - x_0) + (x - x_0)^T H (x - x_0) / 2 + sum_p held_p |x_p|

Descent in one parameter at a time finds out which are not 0, and these solve their equations by elimination (after Lee, Battle,
Raina and Ng 2007): descent alone would take thousands of turns where H is nearly singular. Both only ever lower the model. A
parameter that reaches 0 on the way stays there until the others have settled: else it could leave and come back for ever.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.kernels.simd.compiled import helper

_ROUNDS = 200  # of lowering the quadratic model
_SETTLED = 1e-11  # slope by standard errors of a parameter that is 0, up to which it stays there
_SOLUTION_IN_TURNS = 4  # parameters for which solving their equations takes as long as a turn of descent in each
_LEAST_PIVOT = 1e-14  # of equations with a unit diagonal: less is a direction of no curvature


@helper
def _descend(hessian: Any, held: Any, x: Any, residual: Any) -> bool:
    """Minimise the model in one parameter after another, once; return whether any has come to 0 or left it.

    ``residual`` is the gradient of the model's smooth part at x, and is kept up to date.
    """
    number = x.size
    changed = False
    for p in range(number):
        curvature = hessian[p, p]
        free = x[p] - residual[p] / curvature
        cut = held[p] / curvature
        there = free - min(max(free, -cut), cut)
        move = there - x[p]
        if move != 0.0:
            for q in range(number):
                residual[q] += move * hessian[p, q]
            changed = changed or x[p] * there <= 0.0
            x[p] = there
    return changed


@helper
def _solve(hessian: Any, listed: Any, size: int, system: Any, room: Any) -> None:
    """Solve the equations of the first ``size`` listed parameters for the step in place, scaled to a unit diagonal."""
    step = room[0]
    scale = room[1]
    column = room[2]
    for a in range(size):
        scale[a] = 1.0 / np.sqrt(hessian[listed[a], listed[a]])
        step[a] *= scale[a]
        for b in range(a + 1):
            system[a, b] = hessian[listed[a], listed[b]] * scale[a] * scale[b]
    for j in range(size):
        reciprocal = 1.0 / np.sqrt(max(system[j, j], _LEAST_PIVOT))
        system[j, j] = reciprocal
        step[j] *= reciprocal
        for i in range(j + 1, size):
            column[i] = system[i, j] * reciprocal
            system[i, j] = column[i]
            step[i] -= column[i] * step[j]
        for i in range(j + 1, size):
            factor = column[i]
            for k in range(j + 1, i + 1):
                system[i, k] -= factor * column[k]
    for j in range(size - 1, -1, -1):
        value = step[j]
        for k in range(j + 1, size):
            value -= system[k, j] * step[k]
        step[j] = value * system[j, j]
    for a in range(size):
        step[a] *= scale[a]


@helper
def _solve_signs(hessian: Any, held: Any, x: Any, residual: Any, system: Any, listed: Any, room: Any) -> bool:
    """Go to where the model is least with parameters that are 0 kept there, up to the first that reaches 0 on the way.

    Returns whether none does.
    """
    step = room[0]
    number = x.size
    size = 0
    for p in range(number):
        if x[p] != 0.0:
            listed[size] = p
            step[size] = -residual[p] - np.sign(x[p]) * held[p]
            size += 1
    _solve(hessian, listed, size, system, room)
    length = 1.0
    first = -1
    for a in range(size):
        p = listed[a]
        if held[p] > 0.0 and x[p] * (x[p] + length * step[a]) < 0.0:
            length = -x[p] / step[a]
            first = p
    for a in range(size):
        p = listed[a]
        move = length * step[a] if p != first else -x[p]
        x[p] = x[p] + move if p != first else 0.0
        for q in range(number):
            residual[q] += move * hessian[p, q]
    return first < 0


@helper
def minimise_penalised(hessian: Any, held: Any, x: Any, residual: Any, system: Any, listed: Any, room: Any) -> None:
    """Minimise the model, beginning at x.

    Parameters
    ----------
    hessian : (P, P) H, symmetric and positive definite
    held : (P,) the penalty of each parameter, >= 0
    x : (P,) the start, overwritten by the minimum; not 0 where there is no penalty
    residual : (P,) gradient of the smooth part at the start, overwritten by that at the minimum
    system, listed, room : (P, P), (P,) of integers and (3, P) to work in
    """
    for _ in range(_ROUNDS):
        for _ in range(1 + x.size // _SOLUTION_IN_TURNS):
            if not _descend(hessian, held, x, residual):
                break
        for _ in range(x.size):
            if _solve_signs(hessian, held, x, residual, system, listed, room):
                break
        settled = True
        for p in range(x.size):
            if x[p] == 0.0 and abs(residual[p]) > held[p] + _SETTLED * np.sqrt(hessian[p, p]):
                settled = False
        if settled:
            return
