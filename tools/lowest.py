"""Prints the lowest version of each dependency that pyproject.toml allows, as constraints for pip."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

LOWEST = re.compile(r"([A-Za-z0-9_.-]+)>=([0-9][0-9A-Za-z.]*)$")


def lowest_versions(text: str) -> list[str]:
    """Return lines such as ``numpy==1.26`` for all dependencies, those of extras too."""
    project = tomllib.loads(text)["project"]
    listed = [
        *project["dependencies"],
        *(item for items in project["optional-dependencies"].values() for item in items),
    ]
    found = (LOWEST.match(item) for item in listed)
    return sorted({f"{match[1]}=={match[2]}" for match in found if match})


if __name__ == "__main__":
    print("\n".join(lowest_versions(Path(sys.argv[1]).read_text())))
