"""Messages of the library in the words of the command line: parameters of Python functions become flags."""

from __future__ import annotations

import re

PHRASES: dict[str, str] = {
    " (see choice_)": "",
    ". failed_ lists them all": "",
    "if the rows are several series, pass groups=": "if the rows are several series, say which by --group COLUMN",
    "pass times as positions= and series as groups=": "name times by --time and series by --group",
    "pass metric='haversine' (longitude first), or set a CRS": "name them by --lon and --lat, or say --crs EPSG:4326",
    "(metric='euclidean' says that a plane is meant)": "(--set metric=euclidean says that a plane is meant)",
    "use append, or fit with refine='auto', whose clusters have models": "cluster again with them, or --set refine=auto",
    "append them, or fit again, if they are a new state": "cluster all rows again, if these are a new state",
    "use metric=SpaceTime(time_scale=...), for distances in space and time": "add --time-scale",
    "max_memory allows": "--max-memory allows",
    "use fewer folds, or BlockSplit with more blocks": "use fewer folds (--folds)",
}
"""What the library says to a programmer, and what is said in its place."""

_NAMED_FLAG = re.compile(r"^(crs|features|time)=('?)([^':]+(?::\d+)?)\2(?=[ :])")
"""The beginning of a message on what a flag of columns says, such as ``crs='EPSG:1' is no``."""


def for_the_command_line(message: str) -> str:
    """Return a message of the library with flags in place of Python's parameters."""
    for said, instead in PHRASES.items():
        message = message.replace(said, instead)
    message = _NAMED_FLAG.sub(r"--\1 \3", message)
    for name, called in (("X: ", "features: "), ("y: ", "labels: ")):
        if message.startswith(name):
            message = called + message.removeprefix(name)
    return message
