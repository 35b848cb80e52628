"""Local mixtures and their distance, straight from the definition; nothing of the package is imported here."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from naive.algorithm import responsibilities


def transport_cost(a, b, costs):
    """The least cost of turning shares a into shares b, as a linear programme over all K^2 amounts."""
    size = len(a)
    leaving = np.kron(np.eye(size), np.ones(size))
    arriving = np.kron(np.ones(size), np.eye(size))
    found = linprog(
        np.ravel(costs),
        A_eq=np.vstack([leaving, arriving]),
        b_eq=np.concatenate([a, b]),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status == 0, found.message
    return found.fun


def local_shares(X, shares, means, covariances, members, weights):
    """The weighted mean of the neighbours' posterior probabilities of the components, one observation after the other."""
    out = []
    for near, weight in zip(members, weights, strict=True):
        total = np.zeros(len(shares))
        for row, w in zip(near, weight, strict=True):
            total += w * np.array(responsibilities(X[row], shares, means, covariances))
        out.append(total)
    return np.array(out)
