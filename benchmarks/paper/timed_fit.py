"""One plain fit of a method, timed once its code, and that of its packages, is compiled and loaded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from mcgta.estimator import MCGTA
from paper.methods import FAILURES, Attempts, Method
from paper.running.cells import Attempt
from problems.problem import Problem

_WARM_ROWS = 400
_PLAIN_BETAS = {"mcgta-wo": 0.0, "mcgta": 1.0}
_EPS_QUANTILE = 0.6  # of the merge heights
_NEIGHBORS = 30


def timed_attempts(name: str, method: Method, problem: Problem, seed: int) -> Attempts:
    """Return one attempt: ours with plain settings, or with none at all, a peer with K given, or else by its rule.

    What comes before, on a piece of the data, is not timed.
    """
    setting = "free" if method.given is None else "given"
    attempts = method.attempts(setting, problem, seed)  # refuses what does not suit
    if name in _PLAIN_BETAS:
        return _plain(problem, seed, _PLAIN_BETAS[name])
    _exhaust(method.attempts(setting, _piece(problem), seed))
    return attempts


def _plain(problem: Problem, seed: int, beta: float) -> Attempts:
    """Ours at n = 30, with a radius that is found before the clock starts."""
    options: dict[str, Any] = {"dissimilarity": "wasserstein2", "beta": beta, "margin": 0.0, "min_samples": _NEIGHBORS}
    plain = partial(MCGTA, n_neighbors=_NEIGHBORS, standardize=False, random_state=seed, progress=False, **options)
    first = plain(eps=1.0)
    problem.fit(first)
    eps = float(np.quantile(first.single_linkage_tree_[:, 2], _EPS_QUANTILE))

    def attempts() -> Iterator[Attempt]:
        yield Attempt({"n_neighbors": _NEIGHBORS, **options, "eps": eps}, problem.fit(plain(eps=eps)))

    return attempts()


def _piece(problem: Problem) -> Problem:
    """Return every few rows, which are of all clusters."""
    return problem.take(np.arange(0, len(problem.X), max(1, len(problem.X) // _WARM_ROWS)))


def _exhaust(attempts: Attempts) -> None:
    with suppress(*FAILURES):  # what fails on the piece may do on the whole, and else fails there, too
        for _ in attempts:
            pass
