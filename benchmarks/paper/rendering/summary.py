"""Records of one method, data set and setting, over seeds: their means, or a word where there is no number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from paper.running.cells import SETTINGS, STATUSES, Cell
from paper.running.records import Record

WORDS = {
    "unsuitable": "-",
    "not converged": "NC",
    "time": "time",
    "memory": "memory",
    "failed": "failed",
    "missing data": "no data",
    "missing package": "not installed",
}
"""What stands in place of a number, by status."""

NOT_RUN = "not run"
MARKS = {"capped": "†", "not converged": "‡"}
"""What stands behind a number that is not all it could be, by status."""

_RESULTS = ("ok", "capped", "not converged")


@dataclass(frozen=True)
class Summary:
    """What is known of one method with one kind of settings on one data set.

    Attributes
    ----------
    records : those there are, by seed
    planned : how many there should be
    """

    records: Sequence[Record] = ()
    planned: int = 0

    @property
    def results(self) -> list[Record]:
        """Those records that have a result."""
        return [one for one in self.records if one["status"] in _RESULTS and one.get("ari") is not None]

    @property
    def whole(self) -> bool:
        """Whether every seed has a result, so that means can be compared: seeds make other data, which may be harder."""
        return 0 < len(self.results) >= max(self.planned, len(self.records))

    def values(self, name: str) -> list[float]:
        """What results have under this name."""
        return [float(one[name]) for one in self.results if one.get(name) is not None]

    def mean(self, name: str) -> float | None:
        """Return the mean over seeds, or None where there is no result."""
        values = self.values(name)
        return fmean(values) if values else None

    def spread(self, name: str) -> float | None:
        """Return the standard deviation over seeds, or None where there are not two results."""
        values = self.values(name)
        return stdev(values) if len(values) > 1 else None

    @property
    def word(self) -> str:
        """What to show where there is no result: the most frequent of the reasons, or that nothing was run."""
        reasons = [one["status"] for one in self.records if one not in self.results]
        if not reasons:
            return NOT_RUN
        first = max(STATUSES, key=lambda status: (reasons.count(status), -STATUSES.index(status)))
        return WORDS.get(first, first)

    @property
    def mark(self) -> str:
        """What to show behind a mean: whether some results were capped or did not converge, and whether some are missing."""
        statuses = {one["status"] for one in self.results}
        marks = "".join(mark for status, mark in MARKS.items() if status in statuses)
        most = max(self.planned, len(self.records))
        return marks + (f" ({len(self.results)} of {most})" if len(self.results) < most else "")

    def show(self, name: str, form: str = "z.2f", *, spread: bool = True) -> str:
        """Return mean ± standard deviation, or the word in its place; "z" in ``form`` makes 0 of -0."""
        middle = self.mean(name)
        around = self.spread(name)
        if middle is None:
            return self.word
        text = f"{middle:{form}}"
        if spread and around is not None:
            text += f" ± {around:{form}}"
        return text


class Board:
    """All summaries of one table, found by data set, method and setting; what is not there is a summary of nothing.

    Parameters
    ----------
    table : name, or names of which, at each place, the first that has a record is taken
    records : of any tables
    cells : that are planned, of any tables
    """

    def __init__(self, table: str | Sequence[str], records: Iterable[Record], cells: Iterable[Cell] = ()) -> None:
        self._tables = (table,) if isinstance(table, str) else tuple(table)
        self._records: dict[tuple[str, ...], dict[int, Record]] = {}
        self._planned: dict[tuple[str, ...], set[int]] = {}
        for cell in cells:
            if cell.table in self._tables:
                self._planned.setdefault(_place(cell.fields()), set()).add(cell.seed)
        for record in records:
            if record["table"] in self._tables:
                self._records.setdefault(_place(record), {})[record["seed"]] = record
        places = [*self._planned, *self._records]
        self.data = _unique(place[1] for place in places)
        self.methods = _unique(place[2] for place in places)

    def __bool__(self) -> bool:
        return bool(self.data)

    def at(self, data: str, method: str, setting: str) -> Summary:
        """Return what is known of one place."""
        for table in self._tables:
            place = (table, data, method, setting)
            records = self._records.get(place, {})
            planned = self._planned.get(place, set())
            if records:
                return Summary([records[seed] for seed in sorted(records)], len(planned | set(records)))
        return Summary()

    def settings(self, data: str, method: str) -> list[str]:
        """Return the settings that were run or are planned."""
        known = {place[1:] for place in (*self._planned, *self._records)}
        return [setting for setting in SETTINGS if (data, method, setting) in known]

    def was_run(self, data: str | None = None, method: str | None = None) -> bool:
        """Whether there is a record of the data set, or of the method."""
        return any(data in (None, place[1]) and method in (None, place[2]) for place in self._records)

    def has_data(self, data: str) -> bool:
        """Whether the data set's files were there for a cell, as far as is known."""
        ends = {one["status"] for place, runs in self._records.items() if place[1] == data for one in runs.values()}
        return ends != {"missing data"}

    def extent(self, data: str, name: str) -> tuple[int, int] | None:
        """Return the least and the largest that records of the data set have under this name; None where none has."""
        every = [one.get(name) for place, runs in self._records.items() if place[1] == data for one in runs.values()]
        values = [int(value) for value in every if value is not None]
        return (min(values), max(values)) if values else None


def best(values: Iterable[float | None], choose: Callable[[Iterable[float]], float] = max) -> float | None:
    """Return the largest of those that are there, or what else ``choose`` chooses."""
    known = [value for value in values if value is not None]
    return choose(known) if known else None


def _place(fields: Record) -> tuple[str, ...]:
    return fields["table"], fields["data"], fields["method"], fields["setting"]


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
