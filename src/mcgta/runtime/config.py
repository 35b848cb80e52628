"""Options of a whole program or block of code, not of one estimator: memory and exactness."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from mcgta.runtime.rules import INF, Rule, check_value, suggest


@dataclass(frozen=True)
class Config:
    """The options in force.

    Attributes
    ----------
    max_memory : bytes that a fit may use: a number, a text such as "1.5GB" or "800MiB", or "auto" or None for three
        quarters of what is available
    semivariogram_error : relative standard error of the empirical semivariogram that a sample of the pairs must reach;
        0 compares all pairs
    table_rows : for experts: observations up to which a table of all pairs is held where there is a choice. Labels do
        not depend on it, time and memory do
    """

    max_memory: float | str | None = "auto"
    semivariogram_error: float = 0.001
    table_rows: int = 2000


RULES: dict[str, Rule] = {
    "max_memory": Rule(words=("auto",), real=(0, INF), above=True, none=True, size=True),
    "semivariogram_error": Rule(real=(0, 1)),
    "table_rows": Rule(integer=(0, INF)),
}
"""What each option may be."""

_config: ContextVar[Config] = ContextVar("options in force", default=Config())  # noqa: B039 - it is frozen


def get_config() -> Config:
    """Return the options in force here."""
    return _config.get()


@contextmanager
def config_context(**options: Any) -> Iterator[Config]:
    """Set options for the code within; options that are not named stay as they are.

    Parameters
    ----------
    **options : fields of :class:`Config`

    Yields
    ------
    Config
        the options in force within

    Examples
    --------
    >>> with config_context(max_memory="1.5GB") as config:
    ...     config.max_memory, config.semivariogram_error
    ('1.5GB', 0.001)
    """
    for name, value in options.items():
        if name not in RULES:
            raise TypeError(f"{name!r} is not an option; options are {', '.join(RULES)}{suggest(name, tuple(RULES))}")
        check_value(name, value, RULES[name])
    token = _config.set(replace(_config.get(), **options))
    try:
        yield _config.get()
    finally:
        _config.reset(token)
