"""Many features: a fit without settings that reduces them, beside one on the few features that tell.

Series of four states in segments of 60 to 200 steps. States differ in the mean of some features ("means"), or in the covariance
of directions of a tenth of the others' spread ("covariances"); all features are rotated, so that none tells by itself. The
processor's seconds of a fit on one thread, and the adjusted Rand index in per cent. ``family="level"`` is the same on both
sides, since states differ in nothing else.

    python benchmarks/features.py
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from mcgta import MCGTA
from mcgta.runtime.types import Array, Labels
from measuring.scoring import score
from results import Limits

SIZES = {(5000, 64): Limits(60, 30), (20_000, 200): Limits(300, 100)}
"""Observations and features, with the seconds of the processor that a fit may take."""

KINDS = ("means", "covariances")
STATES = 4
INFORMATIVE = 6
SEGMENT_STEPS = (60, 200)
SHIFT = 1.2  # of means, in standard deviations
SMALL_SPREAD = 0.1  # of directions whose covariance tells
WARM_ROWS = 1500


class Wide(NamedTuple):
    """Features (N, d), the (N, 6) that tell, and (N,) states."""

    X: Array
    informative: Array
    states: Labels


def make_wide(count: int, features: int, kind: str, seed: int) -> Wide:
    """Draw a series whose states differ in some directions of many."""
    rng = np.random.default_rng(seed)
    states = _draw_states(count, rng)
    informative = rng.normal(size=(count, INFORMATIVE))
    spread = 1.0
    if kind == "means":
        informative = informative + SHIFT * rng.normal(size=(STATES, INFORMATIVE))[states]
    else:
        turns = np.linalg.qr(rng.normal(size=(STATES, INFORMATIVE, INFORMATIVE)))[0]
        factors = turns * np.exp(0.5 * rng.normal(size=(STATES, 1, INFORMATIVE)))
        informative = np.einsum("nij,nj->ni", factors[states], informative)
        spread = SMALL_SPREAD
    noise = rng.normal(size=(count, features - INFORMATIVE))
    turn = np.linalg.qr(rng.normal(size=(features, features)))[0]
    return Wide(np.hstack([spread * informative, noise]) @ turn, informative, states)


def _draw_states(count: int, rng: np.random.Generator) -> Labels:
    states: list[int] = []
    state = 0
    while len(states) < count:
        state = (state + int(rng.integers(1, STATES))) % STATES
        states += [state] * int(rng.integers(*SEGMENT_STEPS))
    return np.array(states[:count])


def _fit(X: Array) -> tuple[MCGTA, float]:
    """Return a fit without settings of its own, and the processor's seconds."""
    start = time.process_time()
    model = MCGTA(n_jobs=1, family="level", progress=False).fit(X)
    return model, time.process_time() - start


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit and print a line for each size, kind and seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds data have")
    parser.add_argument("--first-seed", type=int, default=1000, help="the first of them")
    parser.add_argument("--quick", action="store_true", help="the smaller size only")
    options = parser.parse_args(arguments)
    print(
        f"{'observations':>12} {'features':>8} {'states differ in':16} {'seed':>5} {'seconds':>8} {'must':>5} {'aim':>5}",
        end="",
    )
    print(f" {'ARI':>6} {'components':>10} {'ARI, those that tell':>21}")
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _fit(make_wide(WARM_ROWS, 64, "means", 0).X)
        for (count, features), limits in list(SIZES.items())[: 1 if options.quick else None]:
            for kind in KINDS:
                for seed in range(options.first_seed, options.first_seed + options.seeds):
                    wide = make_wide(count, features, kind, seed)
                    ours, seconds = _fit(wide.X)
                    told, _ = _fit(wide.informative)
                    reached = [score(wide.states, model.labels_)["ari"] for model in (ours, told)]
                    print(
                        f"{count:12,} {features:8} {kind:16} {seed:5} {seconds:8.1f} {limits.must:5} {limits.aim:5}",
                        end="",
                    )
                    print(f" {reached[0]:6.1f} {len(ours.reduction_):10} {reached[1]:21.1f}", flush=True)


if __name__ == "__main__":
    main()
