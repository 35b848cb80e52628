"""The data sets of the paper's experiments."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta import datasets
from problems.problem import LONG_SEGMENTS, Problem, load_problem, problem_of

_FIRST_SEED = 1000  # of made data; no method was developed on these


@dataclass(frozen=True)
class Source:
    """Where a problem comes from.

    Attributes
    ----------
    title : for tables
    make : seed -> Problem; a loader's MissingDataError says where to get what is not there
    made : whether the seed makes other data; else it is the methods' only
    seeds : how many seeds to run
    """

    title: str
    make: Callable[[int], Problem]
    made: bool = False
    seeds: int = 3


def _sampled(make: Callable[..., datasets.Sample], **options: Any) -> Callable[[int], Problem]:
    """Make data of the seeds from 1000 on whose rows are of all clusters, as the paper's are; others are passed over."""

    def samples() -> Iterator[datasets.Sample]:
        for seed in itertools.count(_FIRST_SEED):
            sample = make(random_state=seed, **options)
            if len(np.unique(sample.labels)) == len(sample.covariances):
                yield sample

    def problem(seed: int) -> Problem:
        return problem_of(next(itertools.islice(samples(), seed, None)))

    return problem


def _loaded(name: str) -> Callable[[int], Problem]:
    return lambda seed: load_problem(name)


SOURCES: dict[str, Source] = {
    "series": Source("1-D synthetic", _sampled(datasets.make_series), made=True),
    "long series": Source(
        "1-D synthetic, long segments",
        _sampled(datasets.make_series, segment_lengths=LONG_SEGMENTS),
        made=True,
        seeds=1,
    ),
    "regions": Source("2-D synthetic", _sampled(datasets.make_regions, n_samples=10_000), made=True, seeds=2),
    "pavement": Source("Pavement", _loaded("pavement")),
    "vehicle": Source("Vehicle", _loaded("vehicle"), seeds=1),
    "inat subset": Source("iNat subset", _loaded("inat_subset"), seeds=2),
    "gesture": Source("Gesture", _loaded("gesture"), seeds=1),
    "climate": Source("Climate", _loaded("climate")),
    "inat": Source("iNat2018", _loaded("inat2018"), seeds=1),
    "poi": Source("NYC POI", _loaded("nyc_poi"), seeds=1),
    "landuse": Source("NYC land use", _loaded("nyc_landuse"), seeds=1),
}
