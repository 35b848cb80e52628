"""Options that hold for everything within a context: memory, precision, and when tables of all pairs are taken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import Any

from mcgta.runtime.rules import INF, Rule, check_value, suggest


@dataclass(frozen=True)
class Config:
    """Options of the package.

    Attributes
    ----------
    max_memory : bytes that a fit may use, or a text such as "1.5GB" (10^9) or "800MiB" (2^20); what needs more is refused before
        it begins. "auto" or None is three quarters of what is available when the fit begins, within the limits of the container
    semivariogram_error : standard error wanted of each bin of the semivariogram, relative to its value; beyond 2,000
        observations as many pairs are compared as that takes. With 0 all pairs are
    table_rows : observations up to which the losses of all pairs are held as a table, where there is a choice; for experts
    """

    max_memory: float | str | None = "auto"
    semivariogram_error: float = 1e-3
    table_rows: int = 2000


RULES = {
    "max_memory": Rule(words=("auto",), real=(0, INF), above=True, none=True, size=True),
    "semivariogram_error": Rule(real=(0, 1)),
    "table_rows": Rule(integer=(0, INF)),
}

_config: ContextVar[Config] = ContextVar("options of the package", default=Config())  # noqa: B039 - it is frozen


def get_config() -> Config:
    """Return the options that hold here."""
    return _config.get()


@contextmanager
def config_context(**options: Any) -> Iterator[None]:
    """Let options hold within a ``with`` block; see :class:`Config`. What is not named stays as it is outside.

    Examples
    --------
    >>> import mcgta
    >>> with mcgta.config_context(max_memory="2GB"):
    ...     mcgta.get_config().max_memory
    '2GB'
    """
    names = [item.name for item in fields(Config)]
    for name, value in options.items():
        if name not in names:
            raise ValueError(f"{name!r} is not an option: it must be one of {', '.join(names)}{suggest(name, names)}")
        check_value(name, value, RULES[name])
    token = _config.set(replace(_config.get(), **options))
    try:
        yield
    finally:
        _config.reset(token)
