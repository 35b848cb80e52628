"""What the columns of a table stand for: as the user says, and guessed where that is unambiguous."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from mcgta.files.feature_columns import choose_features, why_no_feature
from mcgta.files.problems import AmbiguousRoles, FileProblem, say_flag
from mcgta.files.role_doubts import refuse_doubtful_degrees, refuse_doubtful_times
from mcgta.files.role_guesses import (
    clock_of,
    coordinate_columns,
    could_be_group,
    degree_pairs,
    is_numeric,
    time_candidates,
)
from mcgta.files.table import FileTable, Roles, refuse_unknown

MAX_TIME_COLUMNS = 2
"""A date and a time of day."""

_NOT_WANTED = "left out as you say"


def guess_roles(table: FileTable, given: Roles | None = None) -> Roles:
    """Return what each column of a table is taken for.

    Parameters
    ----------
    table : what was read from a file
    given : what the user says: names of columns; ``features`` and the keys of ``ignored`` may be patterns such as ``temp*``.
        None for nothing

    Returns
    -------
    Roles
        as given, and what else is unambiguous from the first 20,000 rows. Without any time and place the order of the rows is
        the time. Every column that has no role is in ``ignored`` with the reason.

    Raises
    ------
    AmbiguousRoles
        where several columns could have a role, with the flags that decide
    FileProblem
        for names that the table does not have, and where no column is left as a feature
    """
    given = _resolve(table, given or Roles())
    wanted = [name for name in table.columns if name not in given.ignored]
    roles = _with_group(table, given, wanted)
    roles = _with_position(table, roles, _free(wanted, roles))
    return _with_features(table, roles, _free(wanted, roles))


def _free(names: Iterable[str], roles: Roles) -> list[str]:
    """Return the columns that have no role yet."""
    return [name for name in names if name not in roles.used and name not in roles.features]


def _resolve(table: FileTable, given: Roles) -> Roles:
    """Check the names that the user gives, and replace patterns by the columns they stand for."""
    known = [*table.columns] + ([table.geometry.name] if table.geometry is not None else [])
    for name in given.used:
        refuse_unknown(name, known, table.name)
    _refuse_halves(given)
    ignored = _match(table, tuple(given.ignored), "ignored")
    features = [name for name in _match(table, given.features, "features") if name not in ignored]
    for name in given.used:
        said = [role for role, names in (("ignored", given.ignored), ("a feature", given.features)) if name in names]
        if said:
            raise FileProblem(f"column {name!r} is given as a position or group, and as {said[0]}; give it once")
    if len({*given.used}) < len(given.used):
        twice = next(name for name in given.used if given.used.count(name) > 1)
        raise FileProblem(f"column {twice!r} is given twice; a column has one role")
    features = [name for name in features if name not in given.used]
    if given.features and not features:
        raise FileProblem(f"features={','.join(given.features)}: all of these columns are ignored or positions")
    reasons = {name: _NOT_WANTED for name in ignored if name not in given.used}
    return replace(given, features=tuple(features), ignored=reasons)


def _refuse_halves(given: Roles) -> None:
    """Refuse a longitude without a latitude, and places said in two ways."""
    for first, second in (("lon", "lat"), ("lat", "lon"), ("x", "y"), ("y", "x"), ("z", "x")):
        if getattr(given, first) is not None and getattr(given, second) is None:
            raise FileProblem(f"{first}={getattr(given, first)!r} is given without {second}; both are needed")
    ways = [said for said, is_given in (("lon", given.lon), ("x", given.x), ("position", given.position)) if is_given]
    if len(ways) > 1:
        raise FileProblem(f"the place is given as {' and as '.join(ways)}; give it once")
    if len(given.time) > MAX_TIME_COLUMNS:
        raise FileProblem(f"time={','.join(given.time)}: one column is the time, or two, a date and a time of day")


def _match(table: FileTable, patterns: Sequence[str], said: str) -> list[str]:
    """Return the columns that patterns stand for, in the order of the patterns."""
    found: list[str] = []
    for pattern in patterns:
        names = [pattern] if pattern in table.columns else [n for n in table.columns if fnmatchcase(n, pattern)]
        if not names and any(sign in pattern for sign in "*?["):
            raise FileProblem(
                f"{said}: no column of {table.name} is like {pattern!r}; it has {', '.join(table.columns)}"
            )
        if not names:
            refuse_unknown(pattern, table.columns, table.name)
        found += [name for name in names if name not in found]
    return found


def _with_group(table: FileTable, given: Roles, wanted: Sequence[str]) -> Roles:
    """Take the group that is given, or that the file declares, and suggest others."""
    declared = table.declared.group
    group = given.group
    if group is None and declared in wanted and declared not in given.used + given.features:
        group = declared
    roles = replace(given, group=group)
    if group is not None:
        return roles
    suggested = tuple(name for name in _free(wanted, roles) if could_be_group(table, name))
    return replace(roles, group_suggestions=suggested)


def _with_position(table: FileTable, roles: Roles, free: Sequence[str]) -> Roles:
    """Take the time or the place that is given, that the file declares, or that is unambiguous."""
    if roles.time or roles.places:
        return roles
    if table.geometry is not None:
        return replace(roles, position=(table.geometry.name,))
    declared = table.declared
    if (declared.time or declared.places) and all(name in free for name in (*declared.time, *declared.places)):
        if declared.time and declared.places:
            _refuse_both(declared.time, declared.places, say_flag("position", *declared.places))
        return replace(roles, time=declared.time, position=declared.position)
    time = _guess_time(table, roles, free)
    placed = _guess_place(table, roles, [name for name in free if name not in time])
    if time and placed.places:
        named = (("lon", placed.lon), ("lat", placed.lat), ("x", placed.x), ("y", placed.y))
        flags = " ".join(say_flag(flag, name) for flag, name in named if name is not None)
        _refuse_both(time, placed.places, flags)
    return replace(placed, time=time)


def _refuse_both(time: tuple[str, ...], places: tuple[str, ...], flags: str) -> None:
    candidates = (",".join(time), ",".join(places))
    said = f"the position could be the time ({', '.join(time)}) or the place ({', '.join(places)})"
    raise AmbiguousRoles("position", candidates, (say_flag("time", *time), flags), said)


def _guess_time(table: FileTable, roles: Roles, free: Sequence[str]) -> tuple[str, ...]:
    groups = roles.group_suggestions if roles.group is None else (roles.group,)
    found = time_candidates(table, free, groups)
    if len(found) > 1:
        raise AmbiguousRoles("time", tuple(found), tuple(say_flag("time", name) for name in found))
    if not found:
        refuse_doubtful_times(table, free)
        return ()
    clock = clock_of(table, found[0], [name for name in free if name != found[0]])
    return (found[0],) if clock is None else (found[0], clock)


def _guess_place(table: FileTable, roles: Roles, free: Sequence[str]) -> Roles:
    pairs = degree_pairs(table, free)
    if len(pairs) > 1:
        flags = tuple(f"{say_flag('lon', lon)} {say_flag('lat', lat)}" for lon, lat in pairs)
        said = f"{len(pairs)} pairs of columns could be the place: {'; '.join(', '.join(pair) for pair in pairs)}"
        raise AmbiguousRoles("place", tuple(",".join(pair) for pair in pairs), flags, said)
    if pairs:
        return replace(roles, lon=pairs[0][0], lat=pairs[0][1])
    refuse_doubtful_degrees(table, free)
    coordinates = coordinate_columns(table, free)
    if not roles.features and not _has_features(table, [name for name in free if name not in coordinates.values()]):
        return roles  # x and y are all there is to cluster
    return replace(roles, x=coordinates.get("x"), y=coordinates.get("y"), z=coordinates.get("z"))


def _has_features(table: FileTable, names: Sequence[str]) -> bool:
    return any(is_numeric(table, name) and why_no_feature(table, name) is None for name in names)


def _with_features(table: FileTable, roles: Roles, free: Sequence[str]) -> Roles:
    """Take the features that are given, that the file declares, or all columns that are fit for it."""
    declared = tuple(name for name in table.declared.features if name in free)
    if roles.features or declared:
        features = roles.features or declared
        for name in roles.features:
            table.numbers(name)
        unused = {name: _why_unused(table, name) for name in free if name not in features}
    else:
        features, unused = choose_features(table, free)
    ignored = {name: (roles.ignored | unused)[name] for name in table.columns if name in roles.ignored | unused}
    if not features:
        said = "; ".join(f"{name}: {reason}" for name, reason in ignored.items())
        cure = "name some by --features"
        if table.format == "CSV" and len(table.columns) == 1:
            cure = "cells of several columns must be separated by commas, semicolons or tabs"
        raise FileProblem(f"{table.name}: no column is left as a feature ({said}); {cure}")
    return replace(roles, features=features, ignored=ignored)


def _why_unused(table: FileTable, name: str) -> str:
    """Return why a column is ignored where the features are given."""
    if table.kinds[name] != "text":
        return "not among the features"
    return "text" if name in table.bad_cells else why_no_feature(table, name) or "text"
