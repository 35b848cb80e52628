"""Rows with missing values: left out of the observations, or completed, before Algorithm 1 sees them.

A row that is left out keeps its place in what the user gets back, labelled noise. The stages know complete observations only,
and the numbers of their rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcgta.observations.features import name_columns
from mcgta.observations.imputation import Imputed, impute
from mcgta.positions.distances import read_distance_matrix
from mcgta.positions.metrics import Metric, get_metric
from mcgta.positions.positions import Positions
from mcgta.positions.reading import count_rows, read_groups, read_positions
from mcgta.positions.tables import Table, read_table
from mcgta.runtime.archive import Archived
from mcgta.runtime.types import Array, Index, Mask
from mcgta.runtime.warnings import warn
from mcgta.settings import Settings

NO_POSITION = "missing position"
NO_VALUE = "missing value"

_ABSENT = {"i": -1, "f": np.nan, "b": False}
"""What stands in the place of rows that were left out, by the kind of numbers."""


class MissingValueWarning(UserWarning):
    """Rows were left out, or cells imputed, because values are missing."""


@dataclass(frozen=True, eq=False)
class Missing(Archived):
    """What was missing in the user's N rows, and what became of it.

    Attributes
    ----------
    n_rows : N
    rows : (D,) those that were left out, ascending
    reasons : why, by row
    positions : of the rows left out, as far as they are known, else NaN; infinitely far from others where a table holds
        distances
    cells : (C, 2) row and column of features that were imputed
    """

    n_rows: int
    rows: Index
    reasons: dict[int, str]
    positions: Positions
    cells: Index

    def __post_init__(self) -> None:
        if self.rows.ndim != 1 or self.rows.min(initial=0) < 0 or self.rows.max(initial=-1) >= self.n_rows:
            raise ValueError(f"rows names one that does not exist: there are {self.n_rows}")
        if (np.diff(self.rows) <= 0).any():
            raise ValueError("rows must ascend")
        if list(self.reasons) != self.rows.tolist() or len(self.positions) != self.rows.size:
            raise ValueError("every row that was left out must have a reason and a position")
        if self.cells.ndim != 2 or self.cells.shape[1] != 2 or self.cells.min(initial=0) < 0:
            raise ValueError(f"cells has shape {self.cells.shape}, expected pairs of row and column")
        if self.cells[:, 0].max(initial=-1) >= self.n_rows or np.isin(self.cells[:, 0], self.rows).any():
            raise ValueError("cells must be of rows that were not left out")

    def __str__(self) -> str:
        said = []
        if self.rows.size:
            row, reason = next(iter(self.reasons.items()))
            said.append(f"{self.rows.size} of {self.n_rows} rows are left out and labelled -1; row {row}: {reason}")
        if self.cells.size:
            rows = np.unique(self.cells[:, 0]).size
            said.append(f"{len(self.cells)} missing cells in {rows} of {self.n_rows} rows are imputed")
        return "; ".join(said)

    def count_reasons(self) -> dict[str, int]:
        """Return how many rows were left out because they have no position, and how many because of a feature."""
        lost = sum(reason.startswith(NO_POSITION) for reason in self.reasons.values())
        return {NO_POSITION: lost, NO_VALUE: self.rows.size - lost}

    @property
    def kept(self) -> Index:
        """(M,) the other rows, ascending."""
        return np.setdiff1d(np.arange(self.n_rows), self.rows, assume_unique=True)

    def spread_out(self, values: NDArray[Any], absent: Any = None) -> NDArray[Any]:
        """Return values of all N rows, given those (M, ...) of the rows that were kept.

        Others get ``absent``: by default -1 for integers, NaN for other numbers, and False.
        """
        absent = _ABSENT[values.dtype.kind] if absent is None else absent
        out = np.full((self.n_rows, *values.shape[1:]), absent, dtype=values.dtype)
        out[self.kept] = values
        return out

    def spread_positions(self, places: Positions) -> Positions:
        """Return the positions of all N rows, given those of the rows that were kept."""
        if self.rows.size == 0:
            return places
        own = self.positions
        back = np.argsort(np.concatenate([self.kept, self.rows]))
        labels = np.concatenate([places.group_names[places.groups], own.group_names[own.groups]])
        names, codes = np.unique(labels[back], return_inverse=True)
        matrix = None
        if places.matrix is not None:
            matrix = _never_near(self.n_rows)
            matrix[np.ix_(self.kept, self.kept)] = places.matrix
        coordinates = np.concatenate([places.coordinates, own.coordinates])[back]
        return replace(places, coordinates=coordinates, groups=codes.astype(np.int64), group_names=names, matrix=matrix)

    def followed_by(self, other: Missing) -> Missing:
        """Return what is missing in these rows and in those of ``other``, which come after them."""
        shift = np.array([self.n_rows, 0])
        return Missing(
            self.n_rows + other.n_rows,
            np.concatenate([self.rows, other.rows + self.n_rows]),
            {**self.reasons, **{self.n_rows + row: reason for row, reason in other.reasons.items()}},
            _followed_by(self.positions, other.positions),
            np.concatenate([self.cells, other.cells + shift]),
        )

    @classmethod
    def nothing(cls, n_rows: int, places: Positions) -> Missing:
        """Return the record of rows of which nothing is missing; ``places`` says how positions are measured."""
        none = np.empty(0, dtype=np.int64)
        return cls(n_rows, none, {}, places.take(none), np.empty((0, 2), dtype=np.int64))


@dataclass(frozen=True, eq=False)
class GivenRows:
    """The user's N rows, some of which may have missing values.

    Attributes
    ----------
    X : (N, d) features, NaN where they are missing
    names : of the features, where they have some
    places : (N, p) positions, NaN where they are missing; a table of distances, complete; None where there are none
    groups : (N,) labels of the groups; None for a single one, or where positions know their groups
    """

    X: Array
    names: Sequence[Any] | None
    places: Table | Positions | Array | None
    groups: NDArray[Any] | None

    @property
    def without_position(self) -> Mask:
        """(N,) whether the position of a row is missing."""
        if isinstance(self.places, Positions):
            return np.asarray(np.isnan(self.places.coordinates).any(axis=1))
        return self.places.missing if isinstance(self.places, Table) else np.zeros(len(self.X), dtype=bool)

    def positions_of(self, rows: Index) -> Any:
        """Return positions of some rows as :func:`mcgta.read_positions` takes them."""
        if isinstance(self.places, Table):
            return self.places.take_rows(rows)
        if isinstance(self.places, Positions):
            return self.places.take(rows)
        return None if self.places is None else self.places[np.ix_(rows, rows)]

    def groups_of(self, rows: Index) -> Any:
        """Return the group of some rows."""
        return None if self.groups is None else self.groups[rows]

    def incomplete(self, rule: str) -> dict[int, str]:
        """Tell which rows are left out by a rule, and why: those that miss anything, or for "impute" a position."""
        gaps = np.isnan(self.X)
        lost = self.without_position
        rows = np.flatnonzero(lost if rule == "impute" else lost | gaps.any(axis=1))
        told: dict[bytes, str] = {}
        reasons = {}
        for row in rows.tolist():
            key = gaps[row].tobytes() + lost[row].tobytes()
            if key not in told:
                told[key] = self._reason(np.flatnonzero(gaps[row]).tolist(), lost=bool(lost[row]))
            reasons[row] = told[key]
        return reasons

    def _reason(self, columns: list[int], *, lost: bool) -> str:
        said = [NO_POSITION] if lost else []
        if columns:
            said.append(f"{NO_VALUE} in {name_columns(columns, self.names)}")
        return ", ".join(said)

    def record(self, reasons: dict[int, str], cells: Index, places: Positions) -> Missing:
        """Return the record of what is missing; ``places`` are those of the rows that were kept."""
        rows = np.array(list(reasons), dtype=np.int64)
        matrix = None if places.matrix is None else _never_near(rows.size)
        if isinstance(self.places, Positions):
            return Missing(len(self.X), rows, reasons, replace(self.places.take(rows), matrix=matrix), cells)
        known = rows[~self.without_position[rows]]
        coordinates = np.full((rows.size, places.coordinates.shape[1]), np.nan)
        if isinstance(self.places, Table) and known.size:
            read = quiet_positions(self.places.take_rows(known), known.size, None, places)
            coordinates[np.isin(rows, known)] = read.coordinates
        groups = np.zeros(rows.size, dtype=np.int64)
        names = places.group_names
        if self.groups is not None and rows.size:
            groups, names = read_groups(self.groups[rows], rows.size)
        left = replace(places, coordinates=coordinates, groups=groups, group_names=names, matrix=matrix)
        return Missing(len(self.X), rows, reasons, left, cells)


@dataclass(frozen=True, eq=False)
class CompleteRows:
    """Rows without missing values, as a fit takes them.

    Attributes
    ----------
    X : (M, d) features
    positions, groups : of these rows, as :func:`mcgta.read_positions` takes them
    rows : (M,) their numbers among those that the user gave; None where these are all
    given : the user's rows; None where nothing is missing
    reasons : why rows were left out
    cells : (C, 2) the user's row and column of features that were imputed
    """

    X: Array
    positions: Any
    groups: Any
    rows: Index | None = None
    given: GivenRows | None = None
    reasons: dict[int, str] | None = None
    cells: Index | None = None

    @property
    def n_rows(self) -> int:
        """N, rows that the user gave."""
        return len(self.X if self.given is None else self.given.X)

    @property
    def numbers(self) -> Index:
        """(M,) numbers of the rows among those that the user gave."""
        return np.arange(len(self.X)) if self.rows is None else self.rows

    def spread_out(self, values: NDArray[Any], absent: Any) -> NDArray[Any]:
        """Return values of all rows of the user, given those (M, ...) of these; others get ``absent``."""
        if self.rows is None:
            return values
        out = np.full((self.n_rows, *values.shape[1:]), absent, dtype=values.dtype)
        out[self.rows] = values
        return out

    def record(self, places: Positions) -> Missing | None:
        """Return what was missing, given the positions that were read; None where nothing was."""
        if self.given is None or self.reasons is None or self.cells is None:
            return None
        return self.given.record(self.reasons, self.cells, places)


def complete_rows(
    X: Array, names: Sequence[Any] | None, positions: Any, groups: Any, settings: Settings
) -> CompleteRows:
    """Return the rows to fit by ``settings.missing``; what was missing is said in a warning."""
    if settings.missing == "error":
        return CompleteRows(X, positions, groups)
    given = read_given(X, names, positions, groups, get_metric(settings.metric))
    reasons = given.incomplete(settings.missing)
    gaps = np.isnan(X)
    if not reasons and not gaps.any():
        return CompleteRows(X, given.places, groups)
    empty = np.flatnonzero(gaps.all(axis=0))
    if empty.size:
        raise ValueError(f"X: {name_columns(empty.tolist(), names)} has no value at all; leave it out")
    rows = np.setdiff1d(np.arange(len(X)), list(reasons))
    if rows.size < 2:
        row, reason = next(iter(reasons.items()))
        raise ValueError(f"missing={settings.missing!r} leaves {rows.size} of {len(X)} rows; row {row}: {reason}")
    if reasons and settings.dissimilarity_kind.compares == "rows":
        raise ValueError(
            f"missing={settings.missing!r} leaves out {len(reasons)} rows, but dissimilarity is a table of all rows; drop them "
            "from X, positions and the table alike"
        )

    def fill(features: Array) -> Imputed:
        places = quiet_positions(given.positions_of(rows), rows.size, given.groups_of(rows), settings.metric)
        return impute(features, places, np.nanmedian(given.X, axis=0))

    return complete(given, rows, reasons, fill)


def complete(
    given: GivenRows, rows: Index, reasons: dict[int, str], fill: Callable[[Array], Imputed], what: str = ""
) -> CompleteRows:
    """Return some of the given rows, missing features filled in; the warning calls them by ``what`` they are."""
    features = given.X[rows]
    how = ""
    gaps = np.argwhere(np.isnan(features))
    if len(gaps):
        features, how = fill(features)
    cells = np.column_stack([rows[gaps[:, 0]], gaps[:, 1]]).astype(np.int64)
    _tell(given, reasons, cells, what, how)
    numbers = rows if reasons else None
    return CompleteRows(features, given.positions_of(rows), given.groups_of(rows), numbers, given, reasons, cells)


def read_given(
    X: Array, names: Sequence[Any] | None, positions: Any, groups: Any, metric: Metric, *, like: Positions | None = None
) -> GivenRows:
    """Read positions and groups of rows that may have missing values; groups must be known for all.

    Without positions the order of the rows is time, where the metric, or the fit that they are to be ``like``, allows that.
    """
    count = len(X)
    labels = None
    codes = np.zeros(count, dtype=np.int64)
    if groups is not None:
        codes, group_names = read_groups(groups, count)
        labels = group_names[codes]
    if isinstance(positions, Positions) and like is None:
        return GivenRows(X, names, positions, labels)
    if positions is None:
        row_order = metric.takes_row_order and (like is None or like.unit == "step")
        return GivenRows(X, names, count_rows(codes) if row_order else None, labels)
    if not metric.has_coordinates:
        return GivenRows(X, names, read_distance_matrix(positions, count) if like is None else None, labels)
    origin = None if like is None else like.origin
    return GivenRows(X, names, read_table(positions, count, origin, timed=metric.takes_time_column, gaps=True), labels)


def quiet_positions(positions: Any, count: int, groups: Any, metric: Any) -> Positions:
    """Read positions as a metric does, or as those of a fit were; what there is to say of them is said by the fit."""
    known: dict[str, Any] = {"like": metric} if isinstance(metric, Positions) else {"metric": metric}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_positions(positions, count, groups=groups, **known)


def _tell(given: GivenRows, reasons: dict[int, str], cells: Index, what: str, how: str) -> None:
    said = []
    if reasons:
        row, reason = next(iter(reasons.items()))
        said.append(
            f"{len(reasons)} of {len(given.X)} {what}rows have missing values and are labelled -1; row {row}: {reason}"
        )
    if len(cells):
        columns = name_columns(np.unique(cells[:, 1]).tolist(), given.names)
        rows = np.unique(cells[:, 0]).size
        said.append(
            f"{len(cells)} missing values in {rows} of {len(given.X)} {what}rows are imputed {how}, in {columns}"
        )
    warn("; ".join(said), MissingValueWarning)


def _never_near(count: int) -> Array:
    """Return distances of observations that are infinitely far apart."""
    return np.where(np.eye(count, dtype=bool), 0.0, np.inf)


def _followed_by(one: Positions, two: Positions) -> Positions:
    """Put positions of rows that are no observations one after the other; their distances are not known."""
    labels = np.concatenate([one.group_names[one.groups], two.group_names[two.groups]])
    names, codes = np.unique(labels, return_inverse=True) if labels.size else (one.group_names, one.groups)
    matrix = None if one.matrix is None else _never_near(len(one) + len(two))
    coordinates = np.concatenate([one.coordinates, two.coordinates])
    return replace(one, coordinates=coordinates, groups=codes.astype(np.int64), group_names=names, matrix=matrix)
