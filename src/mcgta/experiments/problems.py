"""The data sets of the experiments, as a method is given them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta import datasets
from mcgta.runtime.types import Array, Labels

TIME, SPACE = "time", "space"

_FIRST_SEED = 1000  # of made data; no method was developed on these


@dataclass(frozen=True, eq=False)
class Problem:
    """Observations and their true clusters.

    Attributes
    ----------
    X : (N, d) features
    positions : (N,) or (N, p), or None where the order of the rows is time
    truth : (N,) true clusters, for tuning and scoring
    groups : (N,) or None
    metric : of the positions
    kind : "time" or "space"
    """

    X: Array
    positions: Array | None
    truth: Labels
    groups: Any = None
    metric: str = "auto"
    kind: str = TIME

    @property
    def clusters(self) -> int:
        """How many true clusters there are."""
        return len(np.unique(self.truth))

    def fit(self, estimator: Any) -> Labels:
        """Fit an estimator in the shape of :class:`mcgta.MCGTA`, and return its labels."""
        if self.metric != "auto" and "metric" in estimator.get_params():
            estimator.set_params(metric=self.metric)
        return np.asarray(estimator.fit(self.X, positions=self.positions, groups=self.groups).labels_)


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


def _sampled(make: Callable[..., datasets.Sample], kind: str, **options: Any) -> Callable[[int], Problem]:
    """Make data of the seeds from 1000 on whose rows are of all clusters, as the paper's are; others are passed over."""

    def problem(seed: int) -> Problem:
        for data in (make(random_state=number, **options) for number in itertools.count(_FIRST_SEED)):
            if len(np.unique(data.labels)) < len(data.covariances):
                continue
            if seed == 0:
                break
            seed -= 1
        return Problem(data.X, data.positions, data.labels, kind=kind)

    return problem


def _loaded(loader: str, kind: str) -> Callable[[int], Problem]:
    def problem(seed: int) -> Problem:
        data = getattr(datasets, loader)(download=False)
        return Problem(data.X, data.positions, data.labels, data.groups, data.metric, kind)

    return problem


SOURCES: dict[str, Source] = {
    "series": Source("1-D synthetic", _sampled(datasets.make_series, TIME), made=True),
    "long series": Source(
        "1-D synthetic, long segments",
        _sampled(datasets.make_series, TIME, segment_lengths=(20, 49)),
        made=True,
        seeds=1,
    ),
    "regions": Source("2-D synthetic", _sampled(datasets.make_regions, SPACE, n_samples=10_000), made=True, seeds=2),
    "pavement": Source("Pavement", _loaded("load_pavement", TIME)),
    "vehicle": Source("Vehicle", _loaded("load_vehicle", TIME), seeds=1),
    "inat subset": Source("iNat subset", _loaded("load_inat_subset", SPACE), seeds=2),
    "gesture": Source("Gesture", _loaded("load_gesture", TIME), seeds=1),
    "climate": Source("Climate", _loaded("load_climate", SPACE)),
    "inat": Source("iNat2018", _loaded("load_inat2018", SPACE), seeds=1),
    "poi": Source("NYC POI", _loaded("load_nyc_poi", SPACE), seeds=1),
    "landuse": Source("NYC land use", _loaded("load_nyc_landuse", SPACE), seeds=1),
}
