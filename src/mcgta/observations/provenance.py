"""Where the observations of a fit came from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from mcgta.runtime.archive import Archived

MISSING_RULES = ("error", "drop", "impute")
_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class Provenance(Archived):
    """The file that observations were read from, and what was made of its columns.

    Attributes
    ----------
    name : of the file, without its folder; "-" for standard input
    sha256 : of its bytes, as hexadecimal digits
    n_rows : in the file
    columns : all of them, in order
    positions, features : columns that were used as such
    roles : columns of the positions by the flag of the command line that names them, such as "time" or "lon"
    group : column of the groups; "" without
    ignored : why other columns were left out, by column
    missing : how many rows had no value, by column, where there were some
    missing_rule : what was done with them: "error", "drop" or "impute"
    command : the command that repeats the fit, as typed in a shell
    """

    name: str
    sha256: str
    n_rows: int
    columns: list[str]
    positions: list[str]
    features: list[str]
    group: str = ""
    ignored: dict[str, str] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    missing_rule: str = "error"
    command: str = ""
    roles: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _SHA256.fullmatch(self.sha256):
            raise ValueError(f"sha256={self.sha256!r} must be 64 hexadecimal digits")
        if self.n_rows < 0:
            raise ValueError(f"n_rows={self.n_rows} must not be negative")
        if self.missing_rule not in MISSING_RULES:
            raise ValueError(f"missing_rule={self.missing_rule!r} must be one of {', '.join(MISSING_RULES)}")
        for name, count in self.missing.items():
            if not 0 <= count <= self.n_rows:
                raise ValueError(f"missing: {name!r} has no value in {count} of {self.n_rows} rows")
