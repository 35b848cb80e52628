"""``mcgta info``: what is in a saved model."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mcgta.cli.findings import found_values, noun, say_found, say_range
from mcgta.cli.flags import add_general_flags
from mcgta.cli.models import read_saved
from mcgta.cli.screen import Screen, Styled

if TYPE_CHECKING:
    from mcgta.estimator import MCGTA
    from mcgta.observations.provenance import Provenance

DESCRIPTION = (
    "Tell what is in a saved model: the file it was made from, its columns, the clusters and what sets them apart, "
    "the settings, and the command that repeats it."
)
EXAMPLES = ("mcgta info readings.mcgta", "mcgta info readings.mcgta --json")
_WIDTH = 10
_POSITIONS = {"time": "along time", "space": "in space", "spacetime": "in space and time", "other": "by distances"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("model", metavar="MODEL", help="model that `mcgta cluster` has saved")
    add_general_flags(parser)


def run(options: argparse.Namespace, screen: Screen) -> None:
    """Tell what is in it."""
    from mcgta import __version__
    from mcgta.estimator import MCGTA

    saved = read_saved(options.model)
    kind = type(saved).__name__
    start = {"mcgta": __version__, "command": "info", "file": options.model, "kind": kind}
    if not isinstance(saved, MCGTA):
        screen.show(kind, str(saved), width=max(_WIDTH, len(kind) + 2))
        screen.give({**start, "words": str(saved)})
        return
    _show_model(saved, screen)
    screen.give({**start, **_values(saved), "notes": screen.notes})


def _show_model(model: MCGTA, screen: Screen) -> None:
    from mcgta.drawing.palette import cluster_color
    from mcgta.runtime.wording import say_share

    provenance = model.fitted_.provenance
    description = model.describe()
    where = _POSITIONS[description.kind]
    screen.show(
        "rows", f"{description.n_rows:,} rows of {len(description.feature_names)} features, {where}", width=_WIDTH
    )
    if provenance is not None:
        _show_provenance(provenance, screen)
    screen.show("found", say_found(model), width=_WIDTH)
    for cluster in description.clusters:
        number = Styled(f"{cluster.cluster}", f"bold {cluster_color(cluster.cluster)}")
        screen.show("", (number, f"  {say_share(cluster.share)}, {cluster.size:,} rows: {cluster.words}"), width=_WIDTH)
    for doubt in model.choice_.doubts if model.choice_ is not None else ():
        screen.show("doubt", doubt, width=_WIDTH)
    screen.show("range", say_range(model), width=_WIDTH)
    screen.show("settings", _say_settings(model), width=_WIDTH)
    if provenance is not None and provenance.command:
        screen.show_command("repeat", provenance.command, width=_WIDTH)


def _show_provenance(provenance: Provenance, screen: Screen) -> None:
    screen.show("input", f"{provenance.name}, SHA-256 {provenance.sha256}", width=_WIDTH)
    positions = ", ".join(provenance.positions) or "the order of the rows, as time"
    screen.show("position", positions, width=_WIDTH)
    if provenance.group:
        screen.show("group", provenance.group, width=_WIDTH)
    screen.show("features", " ".join(provenance.features), width=_WIDTH)
    if provenance.missing:
        rows = ", ".join(f"{name}: {count:,} rows" for name, count in provenance.missing.items())
        screen.show("missing", f"{rows} (--missing {provenance.missing_rule})", width=_WIDTH)


def _say_settings(model: MCGTA) -> str:
    """Say which settings were made, and which of those left open were chosen."""
    asked = asked_values(model)
    made = [f"{name}={value}" for name, value in asked.items()]
    chosen = [f"{name}={value}" for name, value in _chosen_values(model).items() if name not in asked]
    return f"{' '.join(made) or 'all left open'}; chosen: {' '.join(chosen)}"


def asked_values(model: MCGTA) -> dict[str, Any]:
    """Return the settings that differ from the defaults, as texts where JSON has no type for them."""
    made = model.fitted_.asked.made
    return {name: value if isinstance(value, (int, float, bool, str)) else str(value) for name, value in made.items()}


def _chosen_values(model: MCGTA) -> dict[str, Any]:
    return {
        "n_neighbors": model.n_neighbors_,
        "dissimilarity": str(model.dissimilarity_),
        "beta": model.beta_,
        "margin": round(model.margin_, 6),
        "min_samples": model.min_samples_,
        "labels": model.labels_source_,
    }


def _values(model: MCGTA) -> dict[str, Any]:
    provenance = model.fitted_.provenance
    return {
        "clusters_are": noun(model, 2),
        "found": found_values(model),
        "provenance": None if provenance is None else vars(provenance),
        "settings": {"asked": asked_values(model), "chosen": _chosen_values(model)},
        "description": model.describe().to_dict(),
    }
