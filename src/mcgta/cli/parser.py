"""The parser of arguments: strict, and with errors that name the nearest flag or command."""

from __future__ import annotations

import argparse
import difflib
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from mcgta import __version__
from mcgta.cli.commands.registry import COMMANDS, Command
from mcgta.cli.failures import EXIT_CODES, usage_error

MAX_HELP_COLUMNS = 100
_HELP_INDENT = 26
_LIST_INDENT = 17
_DESCRIPTION = (
    "Clusters that are alike in features and make sense in position: states along time, regions on a map. "
    "Begin with `mcgta look FILE`."
)


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help of a readable width, with one value behind the names of a flag, on every version of Python."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=_HELP_INDENT, width=_help_width())

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings:
            return super()._format_action_invocation(action)
        names = ", ".join(action.option_strings)
        if action.nargs == 0:
            return names
        return f"{names} {self._format_args(action, action.dest.upper())}"


class Parser(argparse.ArgumentParser):
    """A parser that raises errors in place of ending the program."""

    def error(self, message: str) -> NoReturn:
        """Raise a usage error."""
        raise usage_error(message.removeprefix("argument "), f"see:  {self.prog} --help")

    @property
    def arguments(self) -> list[argparse.Action]:
        """All arguments that it knows."""
        return list(self._actions)

    @property
    def flags(self) -> list[str]:
        """All flags that it knows."""
        return list(self._option_string_actions)


def make_parser() -> tuple[Parser, dict[str, Parser]]:
    """Return the parser of the program, and those of its commands."""
    listed = "\n".join(_entry(name, command.summary) for name, command in COMMANDS.items())
    codes = "\n".join(_entry(str(code), meaning) for code, meaning in EXIT_CODES.items())
    parser = Parser(
        prog="mcgta",
        usage="mcgta COMMAND ... [options]",
        description=fill(_DESCRIPTION),
        epilog=f"commands:\n{listed}\n\n`mcgta COMMAND --help` tells more of a command.\n\nexit codes:\n{codes}",
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"mcgta {__version__}", help="show the version")
    subparsers = parser.add_subparsers(dest="command", help=argparse.SUPPRESS)
    return parser, {name: _add_command(subparsers, command) for name, command in COMMANDS.items()}


def _add_command(subparsers: Any, command: Command) -> Parser:
    module = command.module
    examples = "".join(f"  {line}\n" for line in module.EXAMPLES)
    parser: Parser = subparsers.add_parser(
        command.name,
        prog=f"mcgta {command.name}",
        help=command.summary,
        usage=f"mcgta {command.name} {command.operands} [options]".replace("  ", " "),
        description=fill(module.DESCRIPTION),
        epilog=f"examples:\n{examples}".rstrip(),
        formatter_class=HelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    module.add_arguments(parser)
    return parser


def _help_width() -> int:
    return min(shutil.get_terminal_size().columns, MAX_HELP_COLUMNS) - 2


def fill(text: str) -> str:
    """Return a text in lines of the width of the help."""
    return textwrap.fill(text, _help_width())


def _entry(name: str, text: str) -> str:
    """Return a line of a list in the help, or more where the text is long."""
    indent = " " * _LIST_INDENT
    return textwrap.fill(text, _help_width(), initial_indent=f"  {name:<{_LIST_INDENT - 2}}", subsequent_indent=indent)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command line; refuse commands and flags that there are none of, with the nearest."""
    parser, commands = make_parser()
    first = arguments[0] if arguments else ""
    if first and not first.startswith("-") and first not in commands:
        raise usage_error(
            f"there is no command {first!r}{nearest(first, commands)}", f"commands are {', '.join(commands)}"
        )
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        known = commands[options.command].flags if options.command else parser.flags
        name = unknown[0].split("=", 1)[0]
        prog = " ".join(["mcgta", *([options.command] if options.command else [])])
        what = "flag" if name.startswith("-") else "argument"
        hint = nearest(name, known) if what == "flag" else ""
        raise usage_error(f"{prog} has no {what} {unknown[0]!r}{hint}", f"see:  {prog} --help")
    return options


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint at the nearest of the known names; "" where none is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""
