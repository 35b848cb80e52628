"""A hidden Markov model of one or several time series."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from mcgta.baselines.base import K_RULE, Baseline, Task, need, standardise
from mcgta.baselines.plain import COVARIANCE_TYPES, STARTS_RULE
from mcgta.runtime.rules import INF, Rule
from mcgta.runtime.types import Array, Index, Labels
from mcgta.runtime.warnings import warn

_PRIOR = 1e-2  # added to the sums of squares of each state; hmmlearn's


class HMM(Baseline):
    """A hidden Markov model with Gaussian states, by hmmlearn.

    It maximises the likelihood of series whose state changes from row to row by fixed chances, each state with its own
    Gaussian, and returns the likeliest path of states. Prefer it for time series at even steps whose number of states is
    known: it learns how long states last.

    Each group is a series of its own. Times only order the rows: steps and gaps between them are not seen. Features are
    scaled to variance one, so that hmmlearn's weak priors do not depend on their unit; that of covariances is on the diagonal
    alone, so that it does not depend on their sign either.

    Parameters
    ----------
    n_clusters : K states
    covariance_type : "full", "tied" (one for all), "diag" or "spherical"
    n_init : starts, of which the likeliest is kept
    max_iter : steps of expectation-maximisation
    tol : they stop when the log-likelihood gains less than this
    random_state : seed of the starts

    Notes
    -----
    After ``fit`` there are ``converged_``, ``n_iter_``, ``log_likelihood_`` and ``bic_`` of the scaled features, and
    ``transitions_`` (K, K), the chance of each state, in rows, to be followed by each, numbered as in ``labels_``; states that
    no row is in come last.
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": K_RULE,
        "covariance_type": Rule(words=COVARIANCE_TYPES),
        "n_init": STARTS_RULE,
        "max_iter": Rule(integer=(1, INF)),
        "tol": Rule(real=(0, INF), above=True),
    }
    _metrics: ClassVar[tuple[str, ...] | None] = ("time",)

    converged_: bool
    log_likelihood_: float
    transitions_: Array
    n_iter_: int
    bic_: float

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        covariance_type: str = "full",
        n_init: int = 3,
        max_iter: int = 200,
        tol: float = 0.01,
        random_state: Any = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.covariance_type = covariance_type
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _label(self, task: Task) -> Labels:
        hmm = need("hmmlearn.hmm", "hmmlearn", "HMM")
        X = standardise(task.X)
        lengths = [rows.size for rows in task.series]
        # hmmlearn would add one number to all entries of a full covariance, which pulls features towards each other.
        prior = _PRIOR * np.eye(X.shape[1]) if self.covariance_type in ("full", "tied") else _PRIOR
        models = []
        failure = None
        with threadpool_limits(1), _quiet(), np.errstate(all="ignore"):
            for seed in np.random.SeedSequence(task.seed).generate_state(self.n_init).tolist():
                model = hmm.GaussianHMM(
                    self.n_clusters,
                    self.covariance_type,
                    covars_prior=prior,
                    n_iter=self.max_iter,
                    tol=self.tol,
                    random_state=seed,
                )
                try:
                    model.fit(X, lengths)
                    # A state that is never left leaves its row empty; whatever stands there is as likely.
                    left = model.transmat_.sum(axis=1, keepdims=True) > 0
                    model.transmat_ = np.where(left, model.transmat_, 1.0 / self.n_clusters)
                    likelihood = float(model.score(X, lengths))
                    if not np.isfinite(likelihood):
                        raise ValueError(f"the log-likelihood is {likelihood}")
                    models.append((likelihood, model))
                except ValueError as error:  # where a state has lost all its rows
                    failure = error
            if not models:
                raise ValueError(
                    f"n_clusters={self.n_clusters} states are too many for these {len(X)} rows: hmmlearn failed in each of "
                    f"n_init={self.n_init} starts ({failure}); n_clusters must be smaller"
                ) from failure
            self.log_likelihood_, best = max(models, key=lambda pair: pair[0])
            labels = np.asarray(best.predict(X, lengths), dtype=np.int64)
        states = _numbered(labels, task.rows, self.n_clusters)
        self.transitions_ = np.asarray(best.transmat_)[np.ix_(states, states)]
        self.n_iter_ = int(best.monitor_.iter)
        self.bic_ = float(best.bic(X, lengths))
        history = list(best.monitor_.history)
        # hmmlearn calls a model that has used up its steps converged.
        self.converged_ = len(history) > 1 and history[-1] - history[-2] < self.tol
        if not self.converged_:
            warn(
                f"HMM did not converge in max_iter={self.max_iter} steps; raise it, or tol={self.tol}",
                ConvergenceWarning,
            )
        return labels


def _numbered(labels: Labels, rows: Index, count: int) -> list[int]:
    """Return hmmlearn's states in the order in which they come first among the user's rows, and then those that do not."""
    given = np.empty_like(labels)
    given[rows] = labels
    seen = list(dict.fromkeys(given.tolist()))
    return [*seen, *sorted(set(range(count)) - set(seen))]


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep hmmlearn from logging; what it has to say is in ``converged_``."""
    logger = logging.getLogger("hmmlearn")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
