"""The command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version

from mcgta.experiments.command import add_bench


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``mcgta`` with these arguments, or with those of the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="mcgta", description="Clusters that are alike in features and make sense in position."
    )
    parser.add_argument("--version", action="version", version=f"mcgta {version('mcgta')}")
    add_bench(parser.add_subparsers(title="commands", metavar="COMMAND"))
    args = parser.parse_args(arguments)
    if "run" not in args:
        parser.print_help()
        return 0
    return args.run(args)


if __name__ == "__main__":
    sys.exit(main())
