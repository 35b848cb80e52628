"""The commands of the command line: a row each. Their modules are light, and import the numerics when they run."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import NamedTuple, Protocol

from mcgta.cli.screen import Screen


class CommandModule(Protocol):
    """What the module of a command provides.

    Attributes
    ----------
    DESCRIPTION : what it does, a few sentences for its help
    EXAMPLES : commands to begin with
    """

    DESCRIPTION: str
    EXAMPLES: tuple[str, ...]

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of the command to its parser."""

    def run(self, options: argparse.Namespace, screen: Screen) -> None:
        """Do it."""


class Command(NamedTuple):
    """A command.

    Attributes
    ----------
    name : as it is typed, and of its module in this folder
    operands : what follows the name, as the usage shows it
    summary : what it does, in a line
    """

    name: str
    operands: str
    summary: str

    @property
    def module(self) -> CommandModule:
        """The module with its arguments and its work."""
        module: CommandModule = import_module(f"mcgta.cli.commands.{self.name}")
        return module


COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command("look", "FILE", "say what a file holds and which command would cluster it; runs nothing"),
        Command("cluster", "FILE", "cluster the rows of a file; write their clusters, a model and a report"),
        Command("report", "MODEL", "write the report of a saved model as one HTML file"),
        Command("predict", "MODEL FILE", "give the rows of another file the clusters of a saved model"),
        Command("semivariogram", "FILE", "tell how far apart rows are related: range, sill, nugget and bins"),
        Command("stability", "MODEL", "tell which clusters of a saved model are found again in parts of its rows"),
        Command("tune", "FILE --labels COLUMN", "choose settings by known labels, scored on labels held out"),
        Command("info", "MODEL", "tell what is in a saved model"),
        Command("synth", "[series | regions]", "make a table with known clusters, to try things on"),
        Command("datasets", "", "list the published data sets that mcgta can load, and where they come from"),
        Command("completion", "bash | zsh | tcsh", "print the completion of these commands for a shell"),
    )
}
