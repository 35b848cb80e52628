"""Settings and how to repeat: the command, lines of Python, all settings, versions, and the hash of the input."""

from __future__ import annotations

import platform
from importlib import import_module
from typing import Any

import numpy as np

from mcgta import __version__
from mcgta.report.markup.html import Markup, element, table
from mcgta.report.subject import Subject
from mcgta.settings import names_of

_LONGEST_VALUE = 100
_PACKAGES = ("numpy", "scipy", "sklearn", "numba")
"""Packages whose versions can matter."""


def write_repeating(subject: Subject) -> Markup:
    """Return the section."""
    provenance = subject.fit.provenance
    command = None if provenance is None or not provenance.command else provenance.command
    used = used_settings(subject)
    asked = asked_settings(subject)
    rows = [(name, _say(asked[name]) if name in asked else "", _say(used[name])) for name in used]
    return element(
        "section",
        element("h2", "Settings, and how to repeat this", id="repeat"),
        None if command is None else element("div", element("h3", "Command"), element("pre", element("code", command))),
        element("h3", "Python"),
        element("pre", element("code", python_lines(subject))),
        element(
            "details",
            element("summary", "All settings"),
            table(
                ("setting", "as made", "as used"),
                rows,
                caption="Settings; those without an entry were left open or at their default",
            ),
        ),
        element("h3", "Versions"),
        element("p", ", ".join(f"{name} {version}" for name, version in versions().items()) + "."),
        None
        if provenance is None
        else element("p", "SHA-256 of the input: ", element("code", provenance.sha256, class_="hash"), "."),
        aria_labelledby="repeat",
    )


def asked_settings(subject: Subject) -> dict[str, Any]:
    """Return the settings that differ from their defaults."""
    return {name: _plain(value) for name, value in subject.fit.asked.made.items()}


def used_settings(subject: Subject) -> dict[str, Any]:
    """Return the settings with the values that were chosen for what was left open."""
    fit = subject.fit
    values = {name: _plain(value) for name, value in fit.settings.params.items() if name not in names_of("work")}
    return values | {
        "n_clusters": _plain(fit.asked.n_clusters),
        "n_neighbors": fit.data.n_neighbors,
        "min_samples": fit.min_samples,
        "margin": fit.margin,
        "eps": None if np.isnan(fit.labelling.eps) else fit.labelling.eps,
        "metric": fit.data.positions.metric.name,
        "standardize": fit.data.spreads is not None,
        "n_components": None if fit.data.reduction is None else len(fit.data.reduction),
    }


def versions() -> dict[str, str]:
    """Return the versions of what computed the fit's report."""
    found = {"mcgta": __version__, "Python": platform.python_version()}
    return found | {name: str(import_module(name).__version__) for name in _PACKAGES}


def python_lines(subject: Subject) -> str:
    """Return lines of Python that repeat the fit, as far as the settings can be written."""
    made = ", ".join(f"{name}={_write(value)}" for name, value in subject.fit.asked.made.items())
    positions = subject.fit.data.positions
    given = "" if positions.unit == "step" else ", positions=positions"
    given += ", groups=groups" if len(positions.group_names) > 1 else ""
    return f"from mcgta import MCGTA\n\nmodel = MCGTA({made}).fit(X{given})\nmodel.report({subject.name + '.html'!r})"


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; objects by what they are called."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray):
        return f"a table of shape {value.shape}"
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    return str(name) if name else type(value).__name__


def _write(value: Any) -> str:
    """Return a value as Python writes it, where that is short; else its name."""
    words = "..." if isinstance(value, np.ndarray) else repr(value)
    return words if len(words) <= _LONGEST_VALUE and "<" not in words else str(_plain(value))


def _say(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "none" if value is None else str(value)
