"""Data whose clusters are not one Gaussian each: ways of moving, curves of records, and mixtures of kinds.

Some are read from the files ``states.npz`` and ``places.npz``; makers take a seed and a number of observations.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mcgta.datasets import make_gestures, make_mixed_regions
from mcgta.datasets.dynamics import make_dynamics
from problems.problem import Problem, problem_of
from problems.sources import Made, Shared, Source

GESTURE_RECORDS = 120
RECORD_STEPS = 315
GESTURE_SEEDS = 5

MOVING_STEPS = 4000
MOVING_STATES = (2, 4)
MOVING_FEATURES = (1, 4)

MIXED_ROWS = (1000, 3000)
MIXED_KINDS = (3, 12)
MIXED_REGIONS = (3, 8)
MIXED_FEATURES = (5, 15)
SEPARATIONS = (3.0, 6.0)  # median distance of kinds, in their standard deviations: from overlapping to apart
SIZE_CONCENTRATIONS = (3.0, 12.0)  # of the sizes of layers: from unequal to alike
SHARE_CONCENTRATION = 0.5  # of each region's shares of kinds
NULL_KINDS = (3, 12)


def gestures(seed: int, count: int, *, grouped: bool) -> Problem:
    """Records of eight types of smooth curves: each a group with a time of its own, or all of them one long series."""
    made = make_gestures(max(1, count // RECORD_STEPS), record_length=RECORD_STEPS, random_state=seed)
    if not grouped:
        return problem_of(made)
    steps = np.arange(len(made.X))
    return Problem(made.X, 1.0 + steps % RECORD_STEPS, made.labels, groups=steps // RECORD_STEPS)


def dynamics(seed: int, count: int, *, kind: str) -> Problem:
    """States of equal mean and covariance that differ in how they move; their number and that of features vary."""
    rng = np.random.default_rng(seed)
    d = _between(rng, MOVING_FEATURES)
    K = _between(rng, MOVING_STATES)
    return problem_of(make_dynamics(count, n_clusters=K, n_features=d, kind=kind, random_state=seed))


def mixed_regions(seed: int, count: int, *, layout: str) -> Problem:
    """Regions of mixed kinds, whose numbers, sizes and overlap vary from seed to seed."""
    rng = np.random.default_rng(seed)
    return problem_of(
        make_mixed_regions(
            _rows(rng, count),
            n_clusters=_between(rng, MIXED_REGIONS),
            n_kinds=_between(rng, MIXED_KINDS),
            n_features=_between(rng, MIXED_FEATURES),
            layout=layout,
            concentration=SHARE_CONCENTRATION,
            size_concentration=float(rng.uniform(*SIZE_CONCENTRATIONS)),
            separation=float(rng.uniform(*SEPARATIONS)),
            random_state=seed,
        )
    )


def one_mixture(seed: int, count: int, *, kinds: tuple[int, int] = NULL_KINDS, gradient: bool = False) -> Problem:
    """A map of one region: kinds anywhere, kinds whose shares change steadily from side to side, or a single kind."""
    rng = np.random.default_rng(seed)
    return problem_of(
        make_mixed_regions(
            _rows(rng, count),
            n_clusters=1,
            n_kinds=_between(rng, kinds),
            n_features=_between(rng, MIXED_FEATURES),
            gradient=gradient,
            random_state=seed,
        )
    )


def _rows(rng: np.random.Generator, count: int) -> int:
    """Return a number of observations, of which ``count`` is the most."""
    return int(rng.integers(MIXED_ROWS[0], MIXED_ROWS[1] + 1) * count // MIXED_ROWS[1])


def _between(rng: np.random.Generator, ends: tuple[int, int]) -> int:
    return int(rng.integers(ends[0], ends[1] + 1))


def _mixed(maker: Any, **options: Any) -> Made:
    return Made(partial(maker, **options), MIXED_ROWS[1])


STATES: dict[str, Source] = {
    "tssb": Shared("states", "tssb_"),
    "mocap6": Shared("states", "mocap6_"),
    "synthetic": Shared("states", "synthetic_"),
    "rooms": Shared("states", "rooms_"),
}
PLACES: dict[str, Source] = {name: Shared("places", name) for name in ("dlpfc151669", "indian_pines", "cortex")}
DYNAMICS: dict[str, Source] = {
    f"dynamics-{kind}": Made(partial(dynamics, kind=kind), MOVING_STEPS) for kind in ("matrices", "periods", "damping")
}
GESTURES: dict[str, Source] = {
    "gestures-records": Made(partial(gestures, grouped=True), GESTURE_RECORDS * RECORD_STEPS, GESTURE_SEEDS),
    "gestures-series": Made(partial(gestures, grouped=False), GESTURE_RECORDS * RECORD_STEPS, GESTURE_SEEDS),
}
MIXED: dict[str, Source] = {
    "mixed-layers": _mixed(mixed_regions, layout="layers"),
    "mixed-patches": _mixed(mixed_regions, layout="patches"),
}
MIXED_NULLS: dict[str, Source] = {
    "mixed-one": _mixed(one_mixture),
    "mixed-gradient": _mixed(one_mixture, gradient=True),
    "mixed-noise": _mixed(one_mixture, kinds=(1, 1)),
}
