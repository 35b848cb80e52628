"""The labelled data that the fit without settings is measured on, all through one function.

    from auto_sets import TABLE, sets

    for data in sets(TABLE, seeds=range(1000, 1010), folder=Path("data")):
        MCGTA(metric=data.metric).fit(data.X, positions=data.positions, groups=data.groups)

``TABLE`` are sets with clusters that have limits, ``ONE`` and ``HEAVY`` have one cluster only, ``OTHERS`` of other_sets.py
probe what else there may be, and ``ALL`` are all of them. What is made has a seed; what is read from files comes once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from data_sets import Labelled, read_labelled
from mcgta.datasets import make_fields, make_regions, make_series
from mcgta.datasets.covariances import make_covariances
from other_sets import LONG, OTHERS, TAILS, Maker, labelled

SHORT = (6, 30)  # steps of 5 observations
LEAST = 100  # observations of the smallest set
VOLATILITY = 0.15


def series(seed: int, count: int, **options: Any) -> Labelled:
    """The paper's series."""
    return labelled(make_series(count, random_state=seed, **options))


def regions(seed: int, count: int) -> Labelled:
    """The paper's map."""
    return labelled(make_regions(count, random_state=seed))


def fields(seed: int, count: int, **options: Any) -> Labelled:
    """A smooth random field: Gaussian of length 1 for even seeds, exponential of length 2 for odd ones."""
    kernel, length = ("exponential", 2.0) if seed % 2 else ("gaussian", 1.0)
    return labelled(make_fields(count, kernel=kernel, length=length, random_state=seed, **options))


def one_state(seed: int, count: int, **options: Any) -> Labelled:
    """A series of one state, whose covariance is not perturbed."""
    return labelled(make_series(count, n_clusters=1, noise=0.0, random_state=seed, **options))


def one_gaussian(seed: int, count: int) -> Labelled:
    """Places uniform in a square, with features that have nothing to do with them."""
    rng = np.random.default_rng(seed)
    (covariance,) = make_covariances(1, 5, separation=1.0, rng=rng)
    X = rng.normal(size=(count, 5)) @ np.linalg.cholesky(covariance).T
    return Labelled(X, rng.uniform(0, 10, (count, 2)), np.zeros(count, dtype=np.int64))


TABLE: dict[str, tuple[Maker, int] | None] = {
    "series-short": (partial(series, segment_lengths=SHORT), 1000),
    "series-long": (partial(series, segment_lengths=LONG), 1000),
    "ar-long": (partial(series, segment_lengths=LONG, correlation=0.8), 1000),
    "ar-short": (partial(series, segment_lengths=SHORT, correlation=0.8), 1000),
    "regions-1200": (regions, 1200),
    "regions-10000": (regions, 10_000),
    "pavement": None,
    "vehicle": None,
    "inat_subset": None,
    "fields": (fields, 1200),
}
"""How each set is made and the number of observations; None for what is read from a file."""

ONE: dict[str, tuple[Maker, int]] = {
    "one-white": (one_state, 2000),
    "one-gaussian": (one_gaussian, 2000),
    "one-ar80": (partial(one_state, correlation=0.8), 2000),
    "one-ar95": (partial(one_state, correlation=0.95), 2000),
    "one-field": (partial(fields, n_clusters=1), 2000),
}
HEAVY: dict[str, tuple[Maker, int]] = {
    "one-tails": (partial(one_state, correlation=0.8, tails=TAILS), 2000),
    "one-volatility": (partial(one_state, correlation=0.8, volatility=VOLATILITY), 2000),
}
ALL = {**TABLE, **ONE, **HEAVY, **OTHERS}


def sets(
    names: Iterable[str] = ALL, *, seeds: Sequence[int] = (1000,), folder: Path = Path(), share: float = 1.0
) -> Iterator[Labelled]:
    """Yield each of the named sets, once for each seed; nothing for a set whose file is not in ``folder``.

    ``share`` is that of the observations, for a quick look: fewer are made, or the first are read.
    """
    for name in names:
        if name not in ALL:
            raise ValueError(f"name={name!r} must be one of {', '.join(ALL)}")
        made = ALL[name]
        if made is None:
            data = read_labelled(folder, name)
            if data is not None:
                yield _first(data, share)
            continue
        make, count = made
        for seed in seeds:
            yield replace(make(seed, _fewer(count, share)), name=name, seed=seed)


def _fewer(count: int, share: float) -> int:
    return min(count, max(LEAST, round(share * count)))


def _first(data: Labelled, share: float) -> Labelled:
    rows = slice(_fewer(len(data.X), share))
    places = None if data.positions is None else data.positions[rows]
    return replace(data, X=data.X[rows], positions=places, labels=data.labels[rows])
