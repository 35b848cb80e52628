"""``mcgta completion``: the completion of commands, flags and files, for a shell."""

from __future__ import annotations

import argparse
import sys

from mcgta.cli.flags import add_general_flags
from mcgta.cli.screen import Screen
from mcgta.cli.streams import STANDARD, writing

SHELLS = ("bash", "zsh", "tcsh")
DESCRIPTION = "Print a script that completes commands, flags and names of files in a shell."
EXAMPLES = (
    "bash:  mcgta completion bash > ~/.local/share/bash-completion/completions/mcgta",
    "zsh:   mcgta completion zsh > ~/.zfunc/_mcgta    (a folder of $fpath)",
    "tcsh:  mcgta completion tcsh >> ~/.tcshrc",
)
_FILES = ("FILE", "MODEL")
"""What arguments that are names of files are called in the help."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    add_general_flags(parser, json=False)


def run(options: argparse.Namespace, screen: Screen) -> None:
    """Print the script."""
    import shtab

    from mcgta.cli.commands.registry import COMMANDS
    from mcgta.cli.parser import make_parser

    parser, commands = make_parser()
    for action in parser.arguments:
        if action.dest == "command":
            action.help = "command"  # the help lists commands by itself, and hides this
    for name, command in commands.items():
        command.description = COMMANDS[name].summary  # of the description, zsh would show the first line
        for action in command.arguments:
            if action.metavar in _FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]  # where shtab looks for it
    with writing(STANDARD):
        sys.stdout.write(shtab.complete(parser, shell=options.shell) + "\n")
