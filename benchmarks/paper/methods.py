"""The methods of the tables, and how each is set: with K given, tuned by the labels, and without labels.

*Given*: K is known, everything else is at its default, one fit. *Tuned*: a grid around what the labels favour, every fit an
attempt, of which the best is kept; each method has a grid over what it is said to depend on. Ours has the most settings, as
those of one neighbourhood share their models, and peers also get K. *Free*: settings without labels, by a rule that is stated
with the method.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import joblib
import numpy as np
from sklearn.metrics import silhouette_score

from mcgta.estimator import MCGTA
from mcgta.validation.grid import QUANTILES
from mcgta.validation.tune import TABLED, tune
from paper.running.cells import Attempt, Unsuitable
from problems.problem import SPACE, TIME, Problem

Params = dict[str, Any]
Grid = Callable[[Problem], Iterable[Params]]
Attempts = Iterator[Attempt]

FAILURES = (ValueError, ArithmeticError, RuntimeError, np.linalg.LinAlgError)  # of one setting; others are tried
_MAX_CLUSTERS = 8
_SILHOUETTE_ROWS = 2_000
_MAX_REMEMBERED = 32  # results


class _Shared:
    """Remembers, in the manner of joblib's Memory, what fits of one cell have in common; every cell has its own process."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def cache(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that looks up what it was asked before."""

        def remember(*args: Any, **named: Any) -> Any:
            key = f"{function.__qualname__} {joblib.hash((args, named))}"
            if key not in self._known:
                if len(self._known) == _MAX_REMEMBERED:
                    del self._known[next(iter(self._known))]
                self._known[key] = function(*args, **named)
            return self._known[key]

        return remember


_SHARED = _Shared()


@dataclass(frozen=True)
class Method:
    """A row of the table of baselines.

    Attributes
    ----------
    title : for tables
    kinds : of problems that it suits
    given, tuned, free : problem and seed -> attempts; None where the setting makes no sense
    rule : how settings are found without labels, for documents
    random : whether the seed matters where the data do not depend on it
    """

    title: str
    given: Callable[[Problem, int], Attempts] | None
    tuned: Callable[[Problem, int], Attempts] | None
    free: Callable[[Problem, int], Attempts] | None
    kinds: tuple[str, ...] = (TIME, SPACE)
    rule: str = ""
    random: bool = True

    def attempts(self, setting: str, problem: Problem, seed: int) -> Attempts:
        """Return the attempts of one setting; raise Unsuitable where there are none."""
        if problem.kind not in self.kinds:
            raise Unsuitable(f"{self.title} is for {' and '.join(self.kinds)}")
        solve = {"given": self.given, "tuned": self.tuned, "free": self.free}[setting]
        if solve is None:
            why = {"given": "takes no number of clusters", "tuned": "has nothing to tune", "free": "has no rule"}
            raise Unsuitable(why[setting])
        return solve(problem, seed)


@dataclass(frozen=True)
class Peer:
    """A baseline and its grids.

    Attributes
    ----------
    place : "module:class" in :mod:`mcgta.baselines`; imported when it is run, since some need optional packages
    fixed : parameters that stay
    grid : problem -> parameters to try, beside K where ``counts`` is true
    counts : whether it takes ``n_clusters``
    """

    place: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    grid: Grid = lambda problem: [{}]
    counts: bool = True

    def make(self, seed: int, params: Mapping[str, Any]) -> Any:
        """Return the estimator."""
        module, name = self.place.split(":")
        kind = getattr(import_module(f"mcgta.baselines.{module}"), name)
        shared = {"random_state": seed, "memory": _SHARED}
        return kind(
            **{**self.fixed, **params}, **{name: shared[name] for name in shared if name in kind().get_params()}
        )

    def attempt(self, problem: Problem, seed: int, params: Params) -> tuple[Attempt, Any]:
        """Fit with these parameters."""
        model = self.make(seed, params)
        labels = problem.fit(model)
        return Attempt({**self.fixed, **params}, labels, converged=bool(getattr(model, "converged_", True))), model

    def given(self, problem: Problem, seed: int) -> Attempts:
        """K is known."""
        yield self.attempt(problem, seed, {"n_clusters": problem.clusters})[0]

    def tuned(self, problem: Problem, seed: int) -> Attempts:
        """Every setting of the grid, with K as it is first, then one fewer and up to two more.

        A setting that fails is an attempt without labels, which says why.
        """
        counts = [{}] if not self.counts else [{"n_clusters": k} for k in _around(problem.clusters)]
        for count, params in itertools.product(counts, list(self.grid(problem))):
            try:
                yield self.attempt(problem, seed, {**count, **params})[0]
            except FAILURES as error:
                yield Attempt({**count, **params}, None, note=str(error), converged=False)

    def by_silhouette(self, problem: Problem, seed: int) -> Attempts:
        """K of the greatest silhouette of the features."""
        rows = np.random.default_rng(seed).permutation(len(problem.X))[:_SILHOUETTE_ROWS]

        def worth(attempt: Attempt, model: Any) -> float:
            labels = attempt.labels[rows] if attempt.labels is not None else np.zeros(rows.size)
            several = 1 < len(np.unique(labels)) < rows.size
            return float(silhouette_score(problem.X[rows], labels)) if several else -1.0

        yield from self._best_count(problem, seed, range(2, _MAX_CLUSTERS + 1), worth)

    def by_bic(self, problem: Problem, seed: int) -> Attempts:
        """K of the least Bayesian information criterion, which the estimator keeps as ``bic_``."""
        yield from self._best_count(problem, seed, range(1, _MAX_CLUSTERS + 1), lambda _, model: -float(model.bic_))

    def _best_count(
        self, problem: Problem, seed: int, counts: Iterable[int], worth: Callable[[Attempt, Any], float]
    ) -> Attempts:
        """Yield the best so far after each number of clusters, so that a cap leaves something; of equal ones the first.

        A number that fails is passed over; where all do, the last failure is the cell's.
        """
        best: tuple[float, Attempt] | None = None
        failure: Exception | None = None
        for k in counts:
            try:
                attempt, model = self.attempt(problem, seed, {"n_clusters": k})
            except FAILURES as error:
                failure = error
                continue
            value = worth(attempt, model)
            if best is None or value > best[0]:
                best = value, attempt
            yield best[1]
        if best is None and failure is not None:
            raise failure

    def by_rule(self, rule: Callable[[Problem], Params]) -> Callable[[Problem, int], Attempts]:
        """Parameters by a rule that looks at features and positions."""

        def attempts(problem: Problem, seed: int) -> Attempts:
            yield self.attempt(problem, seed, rule(problem))[0]

        return attempts


def _around(count: int) -> list[int]:
    return list(dict.fromkeys([count, max(2, count - 1), count + 1, count + 2]))


def product(**values: Iterable[Any]) -> list[Params]:
    """Return every combination of the values, the first name changing slowest."""
    names = list(values)
    return [dict(zip(names, choice, strict=True)) for choice in itertools.product(*values.values())]


def peer_method(
    title: str, peer: Peer, *, by: str = "", radii: Callable[[Problem], Params] | None = None, **rest: Any
) -> Method:
    """Return the row of a peer, whose settings without labels are found by silhouette, by BIC, or by a rule for radii."""
    free = peer.by_rule(radii) if radii else {"silhouette": peer.by_silhouette, "bic": peer.by_bic}.get(by)
    return Method(title, peer.given if peer.counts else None, peer.tuned, free, **rest)


_COARSE = {
    "margin_in_sills": (0.25, 0.0),
    "min_samples_in_neighbors": (1.5, 0.5),
    "eps_quantile": QUANTILES[::2],
}
"""What is left of the grid of ours where there are so many observations that the whole of it would take hours."""


def neighborhood_sizes(problem: Problem) -> tuple[int, ...]:
    """Sizes of the neighbourhood to tune over, most promising first: where there are many observations, larger ones, too."""
    return (30, 20, 45) if len(problem.X) <= TABLED else (90, 30, 180)


def tune_mcgta(grid: Mapping[str, Any], **fixed: Any) -> Callable[[Problem, int], Attempts]:
    """Tune ours by all labels: an attempt for each size of the neighbourhood and each other value that changes models.

    Beyond what a table of pairs is kept for, each beta is an attempt, too, so that a cap leaves something, and the grid is
    coarser; every size comes before the next beta, so that with and without the constraint the same are tried. A setting
    that fails is an attempt without labels, which says why.
    """

    def attempts(problem: Problem, seed: int) -> Attempts:
        full = {"n_neighbors": neighborhood_sizes(problem), **grid}
        names = ["n_neighbors", "dissimilarity", "covariance", "clusterer"]
        if len(problem.X) > TABLED:
            names.insert(0, "beta")
            full |= {name: values for name, values in _COARSE.items() if len(full.get(name, ())) > 1}
        outer = {name: full[name] for name in names if name in full}
        inner = {name: values for name, values in full.items() if name not in outer}
        for models in product(**outer):
            estimator = MCGTA(
                metric=problem.metric, standardize=False, random_state=seed, refine="none", progress=False, **fixed
            )
            try:
                tuning = tune(
                    problem.X,
                    problem.truth,
                    positions=problem.positions,
                    groups=problem.groups,
                    estimator=estimator,
                    grid={**{name: [value] for name, value in models.items()}, **inner},
                    folds=4,
                    progress=False,
                )
            except FAILURES as error:
                yield Attempt({**fixed, **models}, None, note=str(error), converged=False)
                continue
            held_out = f"{100 * tuning.score:.1f} ± {100 * tuning.spread:.1f}"
            note = f"held out in blocks: {held_out} of {len(tuning.settings)} settings"
            yield Attempt({**fixed, **tuning.best_params}, tuning.best_estimator.labels_, note)

    return attempts


def free_mcgta(**fixed: Any) -> Callable[[Problem, int], Attempts]:
    """Fit ours without labels; what is not ``fixed`` is chosen by the estimator."""

    def attempts(problem: Problem, seed: int) -> Attempts:
        model = MCGTA(standardize=False, random_state=seed, progress=False, **fixed)
        labels = problem.fit(model)
        chosen = {
            "n_neighbors": model.n_neighbors_,
            "dissimilarity": model.dissimilarity_,
            "beta": model.beta_,
            "margin": model.margin_,
            "min_samples": model.min_samples_,
            "eps": model.eps_,
            "refined": model.labels_source_ == "evidence",
        }
        yield Attempt({**fixed, **chosen}, labels)

    return attempts
