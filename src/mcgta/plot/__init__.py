"""Plots of what a fit has found; each takes ``ax=`` and returns it, and needs matplotlib.

==================  ====================================================================================
function            what it shows
==================  ====================================================================================
``timeline``        which cluster when: shares of time for each pixel, and features below
``map``             which cluster where: points, or cells with shares, with coastlines on earth
``profiles``        what sets clusters apart: level and spread of their features
``networks``        partial correlations of features within each cluster
``transitions``     which cluster follows which, and how long each lasts
``semivariogram``   how far things are related: curve, range, sill, nugget, threshold, pairs within clusters
``evidence``        how good other numbers of clusters are
``membership``      how firmly rows belong to their clusters
``stability``       which clusters are found again without parts of the rows
``reachability``    the reachability plot of OPTICS
``condensed_tree``  how clusters part as the loss shrinks, after HDBSCAN
``compare``         how two labellings agree, as a flow from one to the other
==================  ====================================================================================

Colours are those of :mod:`mcgta.drawing.palette`. The functions are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcgta.plot.agreement import compare
    from mcgta.plot.correlations import networks
    from mcgta.plot.doubts import evidence, membership
    from mcgta.plot.hierarchy import condensed_tree, reachability
    from mcgta.plot.maps import map
    from mcgta.plot.profile import profiles
    from mcgta.plot.related import semivariogram
    from mcgta.plot.resamples import stability
    from mcgta.plot.succession import transitions
    from mcgta.plot.times import timeline

_HOMES = {
    "compare": "agreement",
    "condensed_tree": "hierarchy",
    "evidence": "doubts",
    "map": "maps",
    "membership": "doubts",
    "networks": "correlations",
    "profiles": "profile",
    "reachability": "hierarchy",
    "semivariogram": "related",
    "stability": "resamples",
    "timeline": "times",
    "transitions": "succession",
}
"""The module that each function is in."""

__all__ = [
    "compare",
    "condensed_tree",
    "evidence",
    "map",
    "membership",
    "networks",
    "profiles",
    "reachability",
    "semivariogram",
    "stability",
    "timeline",
    "transitions",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"mcgta.plot.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
