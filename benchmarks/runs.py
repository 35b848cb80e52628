"""How well fits without settings find what is known, run by run, and as lines of a table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta import MCGTA
from mcgta.runtime.types import Labels
from measuring.scoring import score
from problems.problem import Problem


@dataclass(frozen=True)
class Run:
    """One fit; a fit that failed has found no cluster.

    Attributes
    ----------
    count, true : numbers of observations and of true clusters
    ari, ami : in per cent, noise being a class of its own
    clusters : number found
    assigned, assigned_clusters : ARI and number of clusters when noise is assigned
    noise : share in per cent
    seconds : of the processor, for the fit without settings
    failed : what the error said
    """

    count: int
    true: int
    ari: float = 0.0
    ami: float = 0.0
    clusters: int = 0
    assigned: float = 0.0
    assigned_clusters: int = 0
    noise: float = 100.0
    seconds: float = float("nan")
    failed: str = ""


def fit_and_score(problem: Problem, *, n_jobs: int = 1) -> Run:
    """Fit with no parameter set, and compare with the truth, which the fit does not see."""
    count = len(problem.X)
    start = time.process_time()
    try:
        model = MCGTA(n_jobs=n_jobs, progress=False)
        labels = problem.fit(model)
        seconds = time.process_time() - start
        assigned = _assign(problem, model)
    except Exception as error:  # a set that cannot be fitted is a result, and the others go on
        return Run(count, problem.clusters, failed=f"{type(error).__name__}: {error}")
    scores = score(problem.truth, labels)
    scores_assigned = score(problem.truth, assigned)
    return Run(
        count,
        problem.clusters,
        ari=scores["ari"],
        ami=scores["ami"],
        clusters=scores["clusters"],
        assigned=scores_assigned["ari"],
        assigned_clusters=scores_assigned["clusters"],
        noise=scores["noise"],
        seconds=seconds,
    )


def _assign(problem: Problem, model: MCGTA) -> Labels:
    """Return the labels of a fit that assigns the noise of the clusterer; where there is none, the same labels."""
    if model.labels_source_ == "evidence" or model.noise_share_ == 0:
        return model.labels_
    return problem.fit(MCGTA(n_jobs=model.n_jobs, progress=False, refine="noise"))


@dataclass(frozen=True)
class Score:
    """A line of the table: runs on data of one kind, and a number that is to be large.

    Attributes
    ----------
    name, title : of the data
    runs : one for each seed
    must, aim : the least value wanted and the one aimed at, in per cent; None where there is none
    one : whether the value is the share of runs that found one cluster; else it is the mean ARI
    """

    name: str
    title: str
    runs: Sequence[Run]
    must: float | None = None
    aim: float | None = None
    one: bool = False

    @property
    def value(self) -> float | None:
        """The value that ``must`` and ``aim`` limit; None where there are no runs."""
        return self.columns()["value"][0] if self.runs else None

    @property
    def reached(self) -> str:
        """Which of the two limits the value reaches."""
        if self.value is None:
            return "not measured"
        for name, limit in (("aim", self.aim), ("must", self.must)):
            if limit is not None and self.value >= limit:
                return name
        return "" if self.must is None and self.aim is None else "no"

    @property
    def note(self) -> str:
        """The messages of fits that failed."""
        messages = sorted({run.failed for run in self.runs if run.failed})
        return f"{sum(bool(run.failed) for run in self.runs)} failed: {'; '.join(messages)}" if messages else ""

    def columns(self) -> dict[str, tuple[float, float]]:
        """Return mean and standard deviation over runs of each column; seconds over those that did not fail."""
        columns = {
            "count": [float(run.count) for run in self.runs],
            "value": [100.0 * (run.clusters == 1) if self.one else run.ari for run in self.runs],
            "assigned": [100.0 * (run.assigned_clusters == 1) if self.one else run.assigned for run in self.runs],
            "ami": [run.ami for run in self.runs],
            "clusters": [float(run.clusters) for run in self.runs],
            "true": [float(run.true) for run in self.runs],
            "noise": [run.noise for run in self.runs],
            "seconds": [run.seconds for run in self.runs if not run.failed],
        }
        if self.one:
            del columns["ami"]  # of a labelling with one class it says nothing
        return {name: (float(np.mean(values)), _spread(values)) for name, values in columns.items() if values}

    def record(self) -> dict[str, Any]:
        """Return what is written to the file of results."""
        limits = {"must": self.must, "aim": self.aim, "reached": self.reached, "one": self.one, "note": self.note}
        return {"name": self.name, "title": self.title, "runs": len(self.runs), **limits, **self.columns()}


def _spread(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def score_head(*, one: bool = False) -> str:
    """Return the head of the printed table."""
    value = "one cluster" if one else "ARI"
    names = ("", "N", value, "noise assigned", "AMI", "clusters", "true", "noise", "seconds", "must", "aim", "reached")
    return _FORM.format(*names).rstrip()


def score_line(score: Score) -> str:
    """Return a line of the printed table, its note below."""
    columns = score.columns() if score.runs else {}

    def shown(name: str, form: str = ".1f", *, spread: bool = True) -> str:
        if name not in columns:
            return ""
        middle, around = columns[name]
        return f"{middle:{form}} ± {around:{form}}" if spread and len(score.runs) > 1 else f"{middle:{form}}"

    size = shown("count", ",.0f", spread=False)
    shares = (shown("value", spread=not score.one), shown("assigned", spread=not score.one), shown("ami"))
    counts = (shown("clusters"), shown("true", spread=False), shown("noise", ".0f"), shown("seconds", ".2f"))
    limits = ("" if limit is None else f"{limit:g}" for limit in (score.must, score.aim))
    line = _FORM.format(score.title, size, *shares, *counts, *limits, score.reached).rstrip()
    return f"{line}\n    {score.note}" if score.note else line


_FORM = "{:<40} {:>6} {:>13} {:>14} {:>13} {:>12} {:>5} {:>9} {:>14} {:>5} {:>5} {}"
