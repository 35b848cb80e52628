"""The slow twin of the block-Toeplitz graphical lasso: plain ADMM, one matrix at a time, entries found by loops."""

from __future__ import annotations

import numpy as np


def parameters(blocks, d):
    """Lists of entries (i, j) that are equal in a symmetric block-Toeplitz matrix."""
    found = {}
    for i in range(blocks * d):
        for j in range(blocks * d):
            a, f = divmod(i, d)
            b, g = divmod(j, d)
            name = min((b - a, f, g), (a - b, g, f))
            found.setdefault(name, []).append((i, j))
    return [tuple(np.array(entries).T) for entries in found.values()]


def objective(cov, precision, alpha):
    """The objective; the diagonal is not penalised."""
    off = ~np.eye(len(cov), dtype=bool)
    return -np.linalg.slogdet(precision)[1] + (cov * precision).sum() + alpha * np.abs(precision[off]).sum()


def lasso(cov, alpha, blocks, turns=3000):
    """The block-Toeplitz precision that minimises the objective."""
    n = len(cov)
    entries = parameters(blocks, n // blocks)
    Z = np.zeros((n, n))
    dual = np.zeros((n, n))
    for rows, columns in entries:
        if rows[0] == columns[0]:
            Z[rows, columns] = 1 / cov[rows, columns].mean()
    rho = np.diag(cov).min() ** 2
    for _ in range(turns):
        values, vectors = np.linalg.eigh(rho * (Z - dual) - cov)
        X = (vectors * ((values + np.sqrt(values**2 + 4 * rho)) / (2 * rho))) @ vectors.T
        for rows, columns in entries:
            mean = (X + dual)[rows, columns].mean()
            if rows[0] != columns[0]:
                mean = np.sign(mean) * max(abs(mean) - alpha / rho, 0.0)
            Z[rows, columns] = mean
        dual += X - Z
    return Z.copy()
