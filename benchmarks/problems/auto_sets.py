"""The labelled data that the fit without settings is measured on, all through one function.

    from problems.auto_sets import TABLE, sets

    for problem in sets(TABLE, seeds=range(1000, 1010), folder=Path("data")):
        labels = problem.fit(MCGTA())

``TABLE`` are sets with several clusters, ``ONE`` and ``HEAVY`` have one cluster only, those of family_sets.py and null_sets.py
are of clusters that are not one Gaussian and of series without states, ``OTHERS`` of other_sets.py probe what else there may
be, and ``ALL`` are all of them. Made data have a seed; data read from files come once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mcgta.datasets import make_fields, make_regions, make_series
from mcgta.datasets.covariances import make_covariances
from problems.family_sets import DYNAMICS, GESTURES, MIXED, MIXED_NULLS, PLACES, STATES
from problems.null_sets import NULLS
from problems.other_sets import DEGREES_OF_FREEDOM, OTHERS
from problems.problem import LONG_SEGMENTS, Problem, problem_of
from problems.sources import Loaded, Made, Source

SHORT_SEGMENTS = (6, 30)  # steps of 5 observations
VOLATILITY = 0.15


def series(seed: int, count: int, **options: Any) -> Problem:
    """The paper's series."""
    return problem_of(make_series(count, random_state=seed, **options))


def regions(seed: int, count: int) -> Problem:
    """The paper's map."""
    return problem_of(make_regions(count, random_state=seed))


def fields(seed: int, count: int, **options: Any) -> Problem:
    """A smooth random field: Gaussian of length 1 for even seeds, exponential of length 2 for odd ones."""
    shape: dict[str, Any] = (
        {"kernel": "exponential", "length": 2.0} if seed % 2 else {"kernel": "gaussian", "length": 1.0}
    )
    return problem_of(make_fields(count, **shape, random_state=seed, **options))


def one_state(seed: int, count: int, **options: Any) -> Problem:
    """A series of one state, whose covariance is not perturbed."""
    return problem_of(make_series(count, n_clusters=1, noise=0.0, random_state=seed, **options))


def one_gaussian(seed: int, count: int) -> Problem:
    """Places uniform in a square, with features that have nothing to do with them."""
    rng = np.random.default_rng(seed)
    (covariance,) = make_covariances(1, 5, separation=1.0, rng=rng)
    X = rng.normal(size=(count, 5)) @ np.linalg.cholesky(covariance).T
    return Problem(X, rng.uniform(0, 10, (count, 2)), np.zeros(count, dtype=np.int64))


TABLE: dict[str, Source] = {
    "series-short": Made(partial(series, segment_lengths=SHORT_SEGMENTS), 1000),
    "series-long": Made(partial(series, segment_lengths=LONG_SEGMENTS), 1000),
    "ar-long": Made(partial(series, segment_lengths=LONG_SEGMENTS, correlation=0.8), 1000),
    "ar-short": Made(partial(series, segment_lengths=SHORT_SEGMENTS, correlation=0.8), 1000),
    "regions-1200": Made(regions, 1200),
    "regions-10000": Made(regions, 10_000),
    "pavement": Loaded(),
    "vehicle": Loaded(),
    "inat_subset": Loaded(),
    "fields": Made(fields, 1200),
}
ONE: dict[str, Source] = {
    "one-white": Made(one_state, 2000),
    "one-gaussian": Made(one_gaussian, 2000),
    "one-ar80": Made(partial(one_state, correlation=0.8), 2000),
    "one-ar95": Made(partial(one_state, correlation=0.95), 2000),
    "one-field": Made(partial(fields, n_clusters=1), 2000),
}
HEAVY: dict[str, Source] = {
    "one-tails": Made(partial(one_state, correlation=0.8, tails=DEGREES_OF_FREEDOM), 2000),
    "one-volatility": Made(partial(one_state, correlation=0.8, volatility=VOLATILITY), 2000),
}
OTHER: dict[str, Source] = {name: Made(make, count) for name, (make, count) in OTHERS.items()}
ALL: dict[str, Source] = {
    **TABLE,
    **ONE,
    **HEAVY,
    **STATES,
    **PLACES,
    **DYNAMICS,
    **MIXED,
    **MIXED_NULLS,
    **GESTURES,
    **NULLS,
    **OTHER,
}


def sets(
    names: Iterable[str] = ALL, *, seeds: Sequence[int] = (1000,), folder: Path = Path(), share: float = 1.0
) -> Iterator[Problem]:
    """Yield the problems of the named sets; nothing for a set whose file is not in ``folder``.

    ``share`` is that of the observations, for a quick look: fewer are made, or the first are read.
    """
    for name in names:
        if name not in ALL:
            raise ValueError(f"name={name!r} must be one of {', '.join(ALL)}")
        for key in ALL[name].keys(name, seeds, folder):
            yield ALL[name].make(key, folder, share)
