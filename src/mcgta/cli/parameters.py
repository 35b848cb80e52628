"""Parameters of the estimator from texts such as ``n_neighbors=45``, for every parameter that a text can say."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcgta.cli.failures import usage_error
from mcgta.cli.parser import nearest

if TYPE_CHECKING:
    from mcgta.runtime.rules import Rule

FLAGS = {"n_clusters": "--clusters", "standardize": "--standardize", "missing": "--missing", "n_jobs": "--jobs"}
"""Parameters that have a flag of their own."""

_TRUTHS = {"yes": True, "true": True, "no": False, "false": False}


def name_and_value(text: str) -> tuple[str, str]:
    """Split ``name=value``, for argparse."""
    name, equals, value = text.partition("=")
    if not (equals and name.strip() and value.strip()):
        raise argparse.ArgumentTypeError(f"{text!r} must be name=value, such as n_neighbors=45")
    return name.strip(), value.strip()


def read_params(options: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of the estimator that the flags give, checked also for how they go together."""
    from mcgta.settings import Settings

    params: dict[str, Any] = {
        "n_clusters": getattr(options, "clusters", None),  # not every command has it
        "standardize": {"auto": "auto", "yes": True, "no": False, None: None}[options.standardize],
        "missing": options.missing,
        "n_jobs": options.jobs,
    }
    params = {name: value for name, value in params.items() if value is not None}
    for name, text in options.set:
        if name in params:
            flag = f" and {FLAGS[name]}" if name in FLAGS and getattr(options, FLAGS[name][2:]) is not None else ""
            raise usage_error(f"--set {name}={text}{flag}: {name} is given more than once")
        params[name] = read_param(name, text)
    params.setdefault("progress", progress_of(options))
    try:
        Settings(**params)
    except ValueError as error:
        raise usage_error(str(error)) from error
    return params


def progress_of(options: argparse.Namespace) -> str | bool:
    """Return how progress is shown: by a bar on a terminal that leaves nothing behind, or not at all."""
    return False if options.quiet else "bar"


def read_param(name: str, text: str) -> Any:
    """Return the value of a parameter that a text stands for; refuse unknown names with the nearest."""
    from mcgta.runtime.rules import check_value
    from mcgta.settings import RULES

    if name not in RULES:
        raise usage_error(f"there is no parameter {name!r}{nearest(name, RULES)}", f"parameters are {', '.join(RULES)}")
    rule = replace(RULES[name], function=False, kinds=(), method=None, table=False)  # which no text can say
    value = read_text(text, rule)
    try:
        check_value(name, value, rule)
    except ValueError as error:
        raise usage_error(f"--set {name}={text}: {error}") from error
    return value


def read_text(text: str, rule: Rule) -> Any:
    """Return the value that a text stands for under a rule; the text itself where it stands for none."""
    lower = text.lower()
    if text in rule.words:
        return text
    if rule.none and lower == "none":
        return None
    if rule.flag and lower in _TRUTHS:
        return _TRUTHS[lower]
    if rule.edges and "," in text:
        numbers = [_number(part) for part in text.split(",")]
        return text if None in numbers else tuple(numbers)
    number = _number(text) if rule.integer or rule.real else None
    return text if number is None else number


def read_list(name: str, text: str) -> list[Any]:
    """Return the values of a parameter in a text with commas between them."""
    return [read_param(name, part.strip()) for part in text.split(",")]


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def say_params(given: Sequence[tuple[str, str]]) -> list[str]:
    """Return the arguments that repeat parameters given by ``--set``."""
    return [part for name, text in given for part in ("--set", f"{name}={text}")]
