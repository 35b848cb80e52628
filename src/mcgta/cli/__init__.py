"""The command line."""

from mcgta.cli.program import main

__all__ = ["main"]
