"""``mcgta datasets``: the published data sets that can be loaded, and where they come from."""

from __future__ import annotations

import argparse

from mcgta.cli.flags import add_general_flags
from mcgta.cli.screen import Screen

DESCRIPTION = (
    "List the published data sets that mcgta.datasets can load from Python, where they come from, and on what terms. "
    "`mcgta synth` makes synthetic ones."
)
EXAMPLES = ("mcgta datasets", "mcgta datasets --json")
_WHERE = {"auto": "along time", "haversine": "on earth"}
_NAME_WIDTH = 13


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_general_flags(parser)


def run(options: argparse.Namespace, screen: Screen) -> None:
    """List them."""
    from mcgta import __version__
    from mcgta.datasets.cache import VARIABLE, data_folders
    from mcgta.datasets.catalogue import PUBLISHED

    folders = [str(folder) for folder in data_folders()]
    for loader, about in PUBLISHED.items():
        screen.show(about.name, f"{_WHERE[about.metric]}; mcgta.datasets.{loader}()", width=_NAME_WIDTH)
        screen.show("", about.recipe, width=_NAME_WIDTH)
        screen.show("", f"from {about.source}", width=_NAME_WIDTH)
        screen.show("", f"terms: {about.licence}", width=_NAME_WIDTH)
    looked = ", ".join(folders) or f"no folder; name one in {VARIABLE}"
    screen.show("looked for", f"in {looked}; what is not there is downloaded", width=_NAME_WIDTH)
    screen.give(
        {
            "mcgta": __version__,
            "command": "datasets",
            "folders": folders,
            "datasets": [
                {
                    "name": about.name,
                    "loader": f"mcgta.datasets.{loader}",
                    "metric": about.metric,
                    "recipe": about.recipe,
                    "source": about.source,
                    "licence": about.licence,
                }
                for loader, about in PUBLISHED.items()
            ],
        }
    )
