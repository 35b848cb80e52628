"""The program ``mcgta``: parses its arguments, runs a command, and turns errors into words and exit codes."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from mcgta.cli.commands.registry import COMMANDS
from mcgta.cli.failures import OK, CommandError, explain
from mcgta.cli.flags import check_place
from mcgta.cli.parser import make_parser, parse
from mcgta.cli.phrases import for_the_command_line
from mcgta.cli.screen import Screen
from mcgta.cli.streams import flush_standard_output, forget_standard_output, prepare_streams


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``mcgta`` with these arguments, or with those of the command line; return the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    screen = Screen()
    debug = "--debug" in given  # also where the arguments cannot be parsed
    prepare_streams()
    try:
        _run(given, screen, debug=debug)
        screen.say_notes()
        flush_standard_output()
    except BrokenPipeError:  # the reader has seen enough, as ``head`` does
        forget_standard_output()
    except (Exception, KeyboardInterrupt) as error:
        return _complain(error, screen, debug=debug)
    return OK


def _run(given: list[str], screen: Screen, *, debug: bool) -> None:
    try:
        options = parse(given)
    except SystemExit:  # the help or the version has been shown
        return
    check_place(options)
    if options.command is None:
        make_parser()[0].print_help()
        return
    screen.quiet = options.quiet
    screen.json = getattr(options, "json", False)
    with _notes_of_warnings(screen, everything=debug):
        COMMANDS[options.command].module.run(options, screen)


def _complain(error: BaseException, screen: Screen, *, debug: bool) -> int:
    """Say what went wrong, below what has been shown so far; return the exit code."""
    failure = explain(error)
    try:
        flush_standard_output()
    except (CommandError, OSError):
        forget_standard_output()
    if debug:
        with suppress(OSError):
            sys.stderr.write("".join(traceback.format_exception(error)))
    screen.complain(for_the_command_line(failure.message), failure.hint)
    return failure.code


@contextmanager
def _notes_of_warnings(screen: Screen, *, everything: bool) -> Iterator[None]:
    """Turn the warnings of the library into notes; those for programmers are left out unless everything is wanted."""

    def tell(message: Warning | str, *where: Any, **more: Any) -> None:
        screen.note(for_the_command_line(str(message)))

    with warnings.catch_warnings():
        warnings.simplefilter("default" if everything else "ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = tell
        yield
