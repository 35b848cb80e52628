"""What a fit has found, as a value: for each cluster its size, what sets it apart, where or when it is, and typical rows."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from mcgta.runtime.types import Array, Index
from mcgta.runtime.wording import say_distance, say_number, say_share

_LINE_CHARACTERS = 100
_ALONG = {"time": " along time", "space": " in space", "spacetime": " in space and time", "other": ""}


@dataclass(frozen=True)
class Contrast:
    """How a cluster differs from the rest in one feature.

    Attributes
    ----------
    feature : its name
    effect : mean of the cluster less mean of the rest, over the pooled standard deviation (Cohen's d); infinite where the
        means differ and neither varies, NaN without a rest
    spread_ratio : standard deviation of the cluster over that of the rest; NaN without a rest, or where either is a single row
    mean, rest_mean : in the user's units; that of the rest is NaN without a rest
    deviation : standard deviation of the cluster, in the user's units; NaN for a single row
    words : the same in words
    """

    feature: str
    effect: float
    spread_ratio: float
    mean: float
    rest_mean: float
    deviation: float
    words: str


@dataclass(frozen=True)
class CorrelationContrast:
    """Two features whose correlation within a cluster differs from that within the other clusters.

    Attributes
    ----------
    feature, other : names of the two
    correlation : within the cluster
    rest_correlation : within the other clusters and noise, each about its own mean
    words : the same in words
    """

    feature: str
    other: str
    correlation: float
    rest_correlation: float
    words: str


@dataclass(frozen=True)
class Spells:
    """Runs of successive rows of a cluster along time, within groups.

    A run lasts from its first row to its last, and a typical step more; so a run of n rows at regular times lasts n steps.

    Attributes
    ----------
    count : how many there are
    median_length, longest : how long they last
    unit : of the lengths: "steps", "min" and the like for datetimes, "" for the unit of the positions
    """

    count: int
    median_length: float
    longest: float
    unit: str

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        if self.count == 1:
            return f"1 spell of {say_number(self.longest)}{unit}"
        lengths = f"median {say_number(self.median_length)}{unit}, longest {say_number(self.longest)}{unit}"
        return f"{self.count:,} spells, {lengths}"


@dataclass(frozen=True, eq=False)
class Motion:
    """How a cluster moves along time.

    Attributes
    ----------
    periods : (d,) dominant period of each feature; NaN where there is none
    time_constants : (d,) time in which the envelope of a feature's autocorrelation falls to 1/e; NaN where it does not
    unit : of both: "steps", "min" and the like for datetimes, "" for the unit of the positions
    """

    periods: Array
    time_constants: Array
    unit: str

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        named = (("period", self.periods), ("time constant", self.time_constants))
        known = [(name, values[np.isfinite(values)]) for name, values in named]
        said = [f"{name} {say_number(float(np.median(values)))}{unit}" for name, values in known if values.size]
        return ", ".join(said) or "no period"


@dataclass(frozen=True)
class Places:
    """Where a cluster is in space.

    Attributes
    ----------
    center : mean place, in the coordinates of the input (longitude and latitude on earth); None without coordinates
    spread : root mean square distance from the centre, in the unit of distances; NaN without coordinates
    n_patches : connected parts: rows of the cluster are joined where one is among the nearest places of the other
    largest_patch : rows of the largest of them
    unit : of the spread
    """

    center: tuple[float, ...] | None
    spread: float
    n_patches: int
    largest_patch: int
    unit: str

    def __str__(self) -> str:
        patches = "1 patch" if self.n_patches == 1 else f"{self.n_patches:,} patches"
        if self.center is None:
            return patches
        center = ", ".join(map(say_number, self.center))
        return f"{patches}, around ({center}), spread {say_distance(self.spread, self.unit)}"


@dataclass(frozen=True, eq=False)
class ClusterDescription:
    """What distinguishes one cluster.

    Attributes
    ----------
    cluster : its number
    size, share : rows, and their share of all rows
    words : what sets it apart
    contrasts : one for every feature, the most distinguishing first
    correlation_contrasts : up to three pairs of features whose correlation differs most from that in the rest
    spells : along time; None elsewhere
    places : in space; None along time
    motion : along time; None elsewhere
    kind_shares : (M,) shares of the kinds, where clusters are regions that differ in these; None for others
    partial_correlations : (d, d) of features within the cluster, given all others; 1 on the diagonal, 0 for a feature that does
        not vary. They come from the cluster's correlations, shrunk towards none by the oracle-approximating shrinkage of
        Chen et al. (2010), which vanishes as rows become many
    typical_rows : up to three of the user's rows, nearest to the centre in Mahalanobis distance by the same correlations
    mean, deviation : (d,) in the user's units; the deviation is NaN for a single row
    """

    cluster: int
    size: int
    share: float
    words: str
    contrasts: tuple[Contrast, ...]
    correlation_contrasts: tuple[CorrelationContrast, ...]
    spells: Spells | None
    places: Places | None
    partial_correlations: Array
    typical_rows: tuple[int, ...]
    mean: Array
    deviation: Array
    motion: Motion | None = None
    kind_shares: Array | None = None

    def __str__(self) -> str:
        rows = "1 row" if self.size == 1 else f"{self.size:,} rows"
        where = [str(part) for part in (self.spells, self.places) if part is not None]
        head = ", ".join([f"cluster {self.cluster}: {say_share(self.share)}", rows, *where])
        return "\n".join(
            [head, *textwrap.wrap(self.words, _LINE_CHARACTERS - 4, initial_indent="    ", subsequent_indent="    ")]
        )


@dataclass(frozen=True, eq=False)
class Description:
    """What a fit has found.

    Attributes
    ----------
    n_rows, n_clusters : N and K
    noise_share : share of rows in no cluster
    noise_reasons : how many rows are noise, by the reason
    feature_names : (d,) as in the input, or "feature 0" and so on
    kind : what positions are: "time", "space", "spacetime" or "other"
    unit : of distances between positions: "step", "s", "m", or "" for the unit of the input
    clusters : one for each
    transitions : (K, K) how often a row of one cluster (first axis) is followed by one of another, or of the same, within
        groups; None unless positions are times
    """

    n_rows: int
    n_clusters: int
    noise_share: float
    noise_reasons: dict[str, int]
    feature_names: tuple[str, ...]
    kind: str
    unit: str
    clusters: tuple[ClusterDescription, ...]
    transitions: Index | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as dicts, lists, texts and numbers that JSON can hold; None for numbers that are not finite."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}

    def __str__(self) -> str:
        clusters = "1 cluster" if self.n_clusters == 1 else f"{self.n_clusters or 'no'} clusters"
        noise = f"noise {say_share(self.noise_share)}"
        if self.noise_reasons:
            noise += f" ({', '.join(f'{reason}: {rows:,} rows' for reason, rows in self.noise_reasons.items())})"
        head = f"{clusters} in {self.n_rows:,} rows{_ALONG[self.kind]}; {noise}"
        return "\n".join([head, *map(str, self.clusters)])


def _plain(value: Any) -> Any:
    """Return dataclasses as dicts, arrays and tuples as lists, and NumPy's numbers as Python's."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value
