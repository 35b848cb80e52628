"""A cell of a table: one method on one data set with one kind of settings and one seed, and what solving it gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from mcgta.runtime.types import Labels

SETTINGS = ("given", "tuned", "free")
"""The number of clusters known, all else at its default; tuned by the labels; found without labels."""

STATUSES = (
    "ok",
    "capped",
    "not converged",
    "time",
    "memory",
    "failed",
    "unsuitable",
    "missing data",
    "missing package",
)
"""How a cell can end. Only the first three have, or may have, a result."""


@dataclass(frozen=True)
class Cell:
    """One entry of a table, before it is computed.

    Attributes
    ----------
    table : "baselines", "dissimilarity", "covariance", "clusterer", "hinge", "range", "runtime", "curves", ...
    data : name of the data set
    method : name of the method, or of the variant in an ablation
    setting : one of SETTINGS
    seed : for data that are made and for everything that is random, >= 0
    """

    table: str
    data: str
    method: str
    setting: str
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("table", "data", "method"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value or "/" in value or value != " ".join(value.split()):
                raise ValueError(
                    f"{name}={value!r} is not allowed: {name} must be a text without '/', and without blanks around it"
                )
        if self.setting not in SETTINGS:
            raise ValueError(
                f"setting={self.setting!r} is not allowed: setting must be one of {', '.join(map(repr, SETTINGS))}"
            )
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise ValueError(f"seed={self.seed!r} is not allowed: seed must be an integer >= 0")

    @property
    def key(self) -> str:
        """A text that names this cell and no other, the same in every run."""
        return f"{self.table}/{self.data}/{self.method}/{self.setting}/{self.seed}"

    def fields(self) -> dict[str, Any]:
        """Return the fields by name, as they are written in a record."""
        return asdict(self)


@dataclass
class Attempt:
    """What one choice of parameters has given.

    Attributes
    ----------
    params : the choice, of values that JSON can hold
    labels : (N,) clusters, -1 for noise; None where the method has found none
    note : what there is to say of it
    converged : whether the method says that it has
    """

    params: dict[str, Any] = field(default_factory=dict)
    labels: Labels | None = None
    note: str = ""
    converged: bool = True


@dataclass
class Solving:
    """A cell that is being computed.

    Attributes
    ----------
    truth : (N,) true classes
    attempts : gives one attempt after the other, each computed when it is asked for; what that takes is the attempt's time
    d : number of features
    """

    truth: Labels
    attempts: Iterator[Attempt]
    d: int


class Unsuitable(Exception):  # noqa: N818 - it is no mistake
    """The method does not suit the data."""
