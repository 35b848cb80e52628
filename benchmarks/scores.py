"""Runs on data of one kind as a line of a table: means, limits, the fit with K given, and peers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from peers.registry import PEERS
from results import Limits
from rows import PARTS, Part, Row
from runs import REGIONS_JOIN_RATIO, Run

ROUNDING = 0.05
"""Per cent by which a value may fall short of one that was printed with one decimal."""


class Mean(NamedTuple):
    """Mean and standard deviation over runs."""

    middle: float
    spread: float


@dataclass(frozen=True)
class PeerScore:
    """What a peer has found: mean ARI and AMI over the runs that it ended, how many these are, and why others have none."""

    ari: float | None
    ami: float | None
    seconds: float | None
    ended: int
    asked: int
    note: str


@dataclass(frozen=True)
class Score:
    """A line of the table: runs on data of one kind, and a number that is to be large."""

    row: Row
    runs: Sequence[Run]
    lacking: str = ""

    @property
    def part(self) -> Part:
        """The part of the table that it belongs to."""
        return PARTS[self.row.part]

    @property
    def value(self) -> float | None:
        """The value that is limited; None where there are no runs."""
        return self.columns()["value"].middle if self.runs else None

    @property
    def reached(self) -> str:
        """Which of the two limits the values reach."""
        columns = self.columns()
        if not columns:
            return "not measured"
        values = [(columns["value"].middle, self.row.limits)]
        values += [(columns["ami"].middle, self.row.ami)] if "ami" in columns else []
        return reached(values)

    @property
    def held(self) -> str:
        """Whether the value is no worse than before; "" where there is none to compare with."""
        if self.value is None or self.row.before is None:
            return ""
        return "yes" if self.value >= self.row.before - ROUNDING else "no"

    @property
    def given_reached(self) -> str:
        """Whether the fit with K given is at least as good as that without."""
        columns = self.columns()
        if "given" not in columns:
            return ""
        return "yes" if columns["given"].middle >= columns["unlabelled"].middle - ROUNDING else "no"

    @property
    def note(self) -> str:
        """What is missing, and the messages of fits that failed."""
        given = [run.given.failed for run in self.runs if run.given is not None]
        notes = [self.lacking, _failures([run.failed for run in self.runs]), _failures(given, "K given: ")]
        return "; ".join(filter(None, notes))

    def columns(self) -> dict[str, Mean]:
        """Return mean and standard deviation over runs of each column; seconds over those that did not fail.

        ``given`` is over problems of several clusters, ``unlabelled`` the same without K.
        """
        told = [run for run in self.runs if run.given is not None]
        columns: dict[str, list[float]] = {
            "count": [float(run.count) for run in self.runs],
            "value": [self._found(run, run.clusters, run.ari) for run in self.runs],
            "assigned": [self._found(run, run.assigned_clusters, run.assigned) for run in self.runs],
            "ami": [] if self.part.one else [run.ami for run in self.runs],  # of one class it says nothing
            "best": [] if self.part.one else [max(run.best.ari, run.ari) for run in self.runs if run.best is not None],
            "clusters": [float(run.clusters) for run in self.runs],
            "true": [float(run.true) for run in self.runs],
            "noise": [run.noise for run in self.runs],
            "seconds": [run.seconds for run in self.runs if not run.failed],
            "given": [run.given.ari for run in told if run.given is not None],
            "given_ami": [run.given.ami for run in told if run.given is not None],
            "unlabelled": [run.ari for run in told],
        }
        return {name: Mean(float(np.mean(values)), _spread(values)) for name, values in columns.items() if values}

    def peers(self) -> dict[str, PeerScore]:
        """Return what each peer has found that was run here."""
        found = {}
        for peer in PEERS:
            runs = [run.peers[peer.name] for run in self.runs if peer.name in run.peers]
            if not runs:
                continue
            ended = [run for run in runs if not run.note]
            values = [100.0 * (run.clusters == 1) if self.part.one else run.ari for run in ended]
            found[peer.name] = PeerScore(
                _mean(values),
                None if self.part.one else _mean(run.ami for run in ended),
                _mean(run.seconds for run in ended),
                len(ended),
                len(runs),
                _failures([run.note for run in runs]),
            )
        return found

    def time_ratio(self) -> float | None:
        """Return the time of the fits over that of fits of levels alone; None where there are none."""
        pairs = [(run.seconds, run.level_seconds) for run in self.runs if run.level_seconds > 0 and not run.failed]
        ours, levels = np.sum(pairs, axis=0) if pairs else (np.nan, np.nan)
        return float(ours / levels) if pairs else None

    def record(self) -> dict[str, Any]:
        """Return what is written to the file of results."""
        row = self.row
        return {
            "name": row.name,
            "title": row.title,
            "part": self.part.title,
            "runs": len(self.runs),
            "must": row.limits.must,
            "aim": row.limits.aim,
            "must_ami": row.ami.must,
            "aim_ami": row.ami.aim,
            "before": row.before,
            "reached": self.reached,
            "held": self.held,
            "given_reached": self.given_reached,
            "one": self.part.one,
            "note": self.note,
            **self.columns(),
            "peers": {name: vars(peer) for name, peer in self.peers().items()},
            "time_ratio": self.time_ratio(),
        }

    def _found(self, run: Run, clusters: int, ari: float) -> float:
        if not self.part.one:
            return ari
        no_regions = self.part.kinds and run.join_ratio > REGIONS_JOIN_RATIO
        return 100.0 * (clusters == 1 or no_regions)


def reached(values: Iterable[tuple[float, Limits]]) -> str:
    """Return which of two limits all values reach: "aim", "must" or "no"; "" where there are no limits."""
    limited = [(value, limits) for value, limits in values if limits != Limits()]
    if not limited:
        return ""
    for name in ("aim", "must"):
        wanted = [(value, getattr(limits, name)) for value, limits in limited]
        if all(limit is not None and value >= limit for value, limit in wanted):
            return name
    return "no"


def selection_records(score: Score, labels: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield for each problem what was chosen, what was best among the candidates, and what evidence said of both."""
    for run, label in zip(score.runs, labels, strict=True):
        best = run.best
        if run.failed or best is None:
            continue
        yield {
            "name": label,
            "row": score.row.name,
            "true": run.true,
            "family": run.family if run.source == "evidence" else run.source,
            "clusters": run.clusters,
            "ari": run.ari,
            "ami": run.ami,
            "gain": _finite(run.gain),
            "seen": run.seen,
            "best_family": best.family,
            "best_clusters": best.clusters,
            "best_ari": best.ari,
            "best_ami": best.ami,
            "best_gain": _finite(best.gain),
        }


def _failures(messages: Sequence[str], what: str = "") -> str:
    """Say how many have failed, and why."""
    failed = [message for message in messages if message]
    return f"{what}{len(failed)} failed: {', '.join(sorted(set(failed)))}" if failed else ""


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return float(np.mean(listed)) if listed else None


def _spread(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
