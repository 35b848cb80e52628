"""The command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from mcgta import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``mcgta`` with these arguments, or with those of the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="mcgta", description="Clusters that are alike in features and make sense in position."
    )
    parser.add_argument("--version", action="version", version=f"mcgta {__version__}")
    parser.parse_args(arguments)
    parser.print_help()
    return 0


if __name__ == "__main__":
    sys.exit(main())
