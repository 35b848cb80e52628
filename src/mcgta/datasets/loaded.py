"""A published data set in memory, with where it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.runtime.types import Array, Index


@dataclass(frozen=True)
class About:
    """What is known of a data set before it is read.

    Attributes
    ----------
    name : short name
    source : where the data come from
    licence : a note, "none stated" where there is none
    recipe : how features and labels are made of what was published
    metric : of the positions
    """

    name: str
    source: str
    licence: str
    recipe: str
    metric: str = "auto"


@dataclass(frozen=True, eq=False, repr=False)
class DataSet:
    """Observations of a published data set, with their true clusters.

    Attributes
    ----------
    name : short name
    X : (N, d) features
    positions : (N, 2) longitude and latitude in degrees, (N,) times, or None where the order of the rows is time
    labels : (N,) true cluster, an index into ``label_names``
    groups : (N,) code of the record that a row belongs to, or None
    metric : of the positions, as :class:`mcgta.MCGTA` takes it
    feature_names, label_names : what columns and clusters are called
    source : where the data come from
    licence : a note, "none stated" where there is none
    recipe : how features and labels were made

    Examples
    --------
    ``MCGTA(metric=data.metric).fit(data.X, positions=data.positions, groups=data.groups)``
    """

    name: str
    X: Array
    positions: Array | None
    labels: Index
    groups: Index | None
    metric: str
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    source: str
    licence: str
    recipe: str

    def __post_init__(self) -> None:
        count, columns = self.X.shape
        for name in ("positions", "labels", "groups"):
            part = getattr(self, name)
            if part is not None and len(part) != count:
                raise ValueError(f"{self.name}: there are {len(part)} {name}, but {count} rows of features")
        if len(self.feature_names) != columns:
            raise ValueError(f"{self.name}: there are {len(self.feature_names)} feature_names, but {columns} features")
        if count and not 0 <= self.labels.min() <= self.labels.max() < len(self.label_names):
            raise ValueError(f"{self.name}: labels must be indexes into the {len(self.label_names)} label_names")

    def __repr__(self) -> str:
        where = "time" if self.positions is None else f"metric {self.metric!r}"
        groups = "" if self.groups is None else f", {np.unique(self.groups).size} groups"
        count, columns = self.X.shape
        return f"DataSet({self.name!r}: {count} x {columns}, {len(self.label_names)} clusters, {where}{groups})"


def assemble(
    about: About,
    X: Any,
    labels: Any,
    *,
    positions: Any = None,
    groups: Any = None,
    feature_names: Sequence[str] | None = None,
    names: Mapping[Any, str] | None = None,
) -> DataSet:
    """Make a data set of features and labels of any kind.

    Parameters
    ----------
    labels : numbers or texts; clusters are numbered in their order
    feature_names : None for f0, f1, ...
    names : what labels are called; those that it does not know are called as they are
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    if X.ndim != 2 or not X.size:
        raise ValueError(f"{about.name}: features of shape {X.shape} are no table of observations")
    bad = ~np.isfinite(X).all(axis=1)
    if bad.any():
        raise ValueError(f"{about.name}: row {int(bad.argmax())} has a feature that is not a finite number")
    values, codes = np.unique(np.asarray(labels), return_inverse=True)
    called = [(names or {}).get(value, str(value)) for value in values.tolist()]
    return DataSet(
        name=about.name,
        X=X,
        positions=None if positions is None else np.ascontiguousarray(positions, dtype=np.float64),
        labels=codes.astype(np.int64),
        groups=None if groups is None else np.asarray(groups, dtype=np.int64),
        metric=about.metric,
        feature_names=tuple(feature_names or (f"f{k}" for k in range(X.shape[1]))),
        label_names=tuple(called),
        source=about.source,
        licence=about.licence,
        recipe=about.recipe,
    )
