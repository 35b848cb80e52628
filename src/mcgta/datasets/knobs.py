"""What each knob of the generators of synthetic data may be, declared once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mcgta.runtime.rules import INF, Rule, check_value

_COUNT = Rule(integer=(1, INF))
_POSITIVE = Rule(real=(0, INF), above=True)
_NOT_NEGATIVE = Rule(real=(0, INF))

LAYOUTS = ("layers", "patches", "series")
"""How regions of mixed kinds lie: one above the other, as scattered cells of a square, or as segments along time."""

SINGLE: dict[str, Rule] = {
    "n_samples": Rule(integer=(1, INF), none=True),
    "n_clusters": _COUNT,
    "n_features": _COUNT,
    "n_kinds": _COUNT,
    "batch": _COUNT,
    "block_size": _COUNT,
    "noise": _NOT_NEGATIVE,
    "noise_limit": Rule(real=(0, INF), none=True),
    "separation": _NOT_NEGATIVE,
    "log_scale": Rule(real=(0, 12), above=True),  # wider ones are singular to a computer's precision
    "shift": _NOT_NEGATIVE,
    "tails": Rule(real=(2, INF), above=True, none=True),  # with fewer degrees of freedom there is no variance
    "volatility": _NOT_NEGATIVE,
    "repeats": Rule(flag=True),
    "extent": _POSITIVE,
    "spacing": _NOT_NEGATIVE,
    "concentration": _POSITIVE,
    "size_concentration": _POSITIVE,
    "layout": Rule(words=LAYOUTS),
    "gradient": Rule(flag=True),
    "length": _POSITIVE,
    "nugget": Rule(real=(0, 1)),
    "boundary": _NOT_NEGATIVE,
    "n_records": _COUNT,
    "n_types": _COUNT,
    "random_state": Rule(integer=(0, INF), none=True, kinds=(np.random.Generator, np.random.SeedSequence)),
}
PAIRS: dict[str, Rule] = {"segment_lengths": _COUNT, "sizes": _COUNT, "n_segments": _COUNT, "spread": _POSITIVE}


def check_knobs(knobs: Mapping[str, Any]) -> None:
    """Raise a ValueError that names the knob, its value and what is allowed, if one is wrong."""
    for name, value in knobs.items():
        if name in SINGLE:
            check_value(name, value, SINGLE[name])
        elif name == "correlation":
            _check_correlation(value)
        elif name in PAIRS and not (value is None and name in ("sizes", "n_segments")):
            _check_pair(name, value, PAIRS[name])


def _check_correlation(value: Any) -> None:
    if not Rule(real=(-INF, INF)).accepts(value) or not -1 < value < 1:
        raise ValueError(f"correlation={value!r} is not allowed: correlation must be a number between -1 and 1")


def _check_pair(name: str, value: Any, rule: Rule) -> None:
    """Refuse what is not a least and a greatest value; of segments there may be one number, too."""
    if name == "n_segments" and rule.accepts(value):
        return
    listed = isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and value.ndim == 1)
    pair = tuple(value) if listed else ()
    if len(pair) != 2 or not all(rule.accepts(part) for part in pair) or pair[0] > pair[1]:
        single = f"{rule.describe()}, or " if name == "n_segments" else ""
        raise ValueError(
            f"{name}={value!r} is not allowed: {name} must be {single}two, the least and the greatest, each {rule.describe()}"
        )
