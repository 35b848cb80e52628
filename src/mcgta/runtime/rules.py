"""Rules for parameters: the values that are allowed, declared in one place and checked by one function."""

from __future__ import annotations

import difflib
import numbers
import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.runtime.sizes import read_size

_PERCENT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*%\s*")
_MOST_BITS_SHOWN = 128
_INT64 = np.iinfo(np.int64)
INF = float("inf")


@dataclass(frozen=True)
class Rule:
    """The values that one parameter may have.

    Attributes
    ----------
    words : texts that are allowed; a registry, whose keys they are, may grow later
    integer, real : bounds (low, high) of allowed numbers, low included, high included unless infinite; integers must
        also fit in 64 bits
    above, below : whether the low bound, or the high one, is itself excluded
    none, flag, function : whether None, True/False, or a callable is allowed
    kinds : classes whose instances are allowed
    method : an object with this method is allowed; its name, and what it takes
    folder : a text or path that names a folder is allowed
    edges : an increasing sequence of numbers is allowed
    table : an array, a frame or nested lists are allowed
    size : a text that says how many bytes is allowed
    level : a text that gives a significance level is allowed
    """

    words: Collection[str] = ()
    integer: tuple[float, float] | None = None
    real: tuple[float, float] | None = None
    above: bool = False
    below: bool = False
    none: bool = False
    flag: bool = False
    function: bool = False
    kinds: tuple[type, ...] = ()
    method: tuple[str, str] | None = None
    folder: bool = False
    edges: bool = False
    table: bool = False
    size: bool = False
    level: bool = False

    def accepts(self, value: Any) -> bool:
        """Whether ``value`` is allowed."""
        if value is None:
            return self.none
        if isinstance(value, (bool, np.bool_)):
            return self.flag
        if isinstance(value, str):
            return (
                value in self.words
                or (self.folder and bool(value))
                or (self.size and read_size(value) is not None)
                or (self.level and read_level(value) is not None)
            )
        if _is_too_long(value):
            return False
        if isinstance(value, numbers.Integral) and self.integer:
            return self._within(int(value), self.integer)
        if isinstance(value, numbers.Real) and self.real:
            return self._within(float(value), self.real)
        if isinstance(value, type):
            return False
        return (
            isinstance(value, self.kinds)
            or (self.function and callable(value))
            or (self.method is not None and callable(getattr(value, self.method[0], None)))
            or (self.folder and isinstance(value, os.PathLike))
            or (self.table and (isinstance(value, (list, tuple)) or hasattr(value, "__array__")))
            or (self.edges and _increases(value))
        )

    def hint(self, value: Any) -> str:
        """Say how to mend a value that is nearly allowed."""
        if _is_too_long(value):
            return "; integers must fit in 64 bits"
        if isinstance(value, (float, np.floating)) and value.is_integer() and self.accepts(int(value)):
            return f"; did you mean {int(value)}?"
        return suggest(value, self.words)

    def _within(self, value: float, bounds: tuple[float, float]) -> bool:
        low, high = bounds
        return (low < value if self.above or low == -INF else low <= value) and (
            value < high if self.below or high == INF else value <= high
        )

    def describe(self) -> str:
        """Say what is allowed, for error messages."""
        said = []
        if self.words:
            said.append(("one of " if len(self.words) > 1 else "") + ", ".join(repr(word) for word in self.words))
        for name, bounds in (("an integer", self.integer), ("a number", self.real)):
            if bounds:
                low, high = bounds
                limit = "" if low == -np.inf else f" {'>' if self.above else '>='} {low:g}"
                limit += "" if high == np.inf else f"{' and' if limit else ''} {'<' if self.below else '<='} {high:g}"
                said.append(name + limit)
        if self.flag:
            said.append("True or False")
        if self.none:
            said.append("None")
        said += [f"a {kind.__name__}" for kind in self.kinds]
        if self.function:
            said.append("a function")
        if self.method:
            said.append(f"an object with {self.method[0]} that takes {self.method[1]}")
        if self.folder:
            said.append("the path of a folder")
        if self.edges:
            said.append("an increasing sequence of at least two distances >= 0")
        if self.table:
            said.append("a table of all pairs")
        if self.size:
            said.append("a text such as '1.5GB' or '800MiB'")
        if self.level:
            said.append("a significance level above 0% and below 100%, a text such as '5%'")
        return ", or ".join(said)


def check_value(name: str, value: Any, rule: Rule) -> None:
    """Raise a ValueError that names the parameter, its value and what is allowed, if it is wrong."""
    if not rule.accepts(value):
        raise ValueError(f"{name}={_shown(value)} is not allowed: {name} must be {rule.describe()}{rule.hint(value)}")


def read_level(text: Any) -> float | None:
    """Return the significance level of a text such as "5%"; None for other values."""
    percent = _PERCENT.fullmatch(text) if isinstance(text, str) else None
    level = float(percent[1]) / 100 if percent else 0.0
    return level if 0 < level < 1 else None


def suggest(value: Any, words: Collection[str]) -> str:
    """Return a hint at the nearest allowed word."""
    if not isinstance(value, str):
        return ""
    normal = value.lower().replace("-", "_").replace(" ", "_")
    near = difflib.get_close_matches(normal, list(words), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def _is_too_long(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not _INT64.min <= int(value) <= _INT64.max


def _shown(value: Any) -> str:
    """Return ``repr``, or the number of bits of an integer that has too many digits to be read."""
    if isinstance(value, numbers.Integral) and int(value).bit_length() > _MOST_BITS_SHOWN:
        return f"<an integer of {int(value).bit_length()} bits>"
    return repr(value)


def _increases(value: Any) -> bool:
    try:
        edges = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return False
    return (
        edges.ndim == 1
        and edges.size >= 2
        and bool(np.isfinite(edges).all() and edges[0] >= 0 and (np.diff(edges) > 0).all())
    )
