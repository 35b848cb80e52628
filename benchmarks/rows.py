"""The rows of the table of fits without settings: what data they are of, what is measured, and the values wanted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from problems.auto_sets import HEAVY, ONE, OTHER, TABLE
from problems.family_sets import DYNAMICS, GESTURES, MIXED, MIXED_NULLS, PLACES, STATES
from problems.null_sets import NULLS
from results import Limits


@dataclass(frozen=True)
class Part:
    """Rows that are printed together.

    Attributes
    ----------
    title : of the part
    one : whether the value is the share of runs that find one cluster; else it is the mean ARI
    kinds : whether clusters that neighbours seldom share count as none, since they are kinds and no regions
    given : whether each problem is fitted with the true number of clusters, too
    peers : whether other methods are run on the same problems; on those of one cluster only methods that are not told K
    timed : whether the time is compared with that of a fit of Gaussian levels alone
    whole : whether it belongs to a whole run
    """

    title: str
    one: bool = False
    kinds: bool = False
    given: bool = False
    peers: bool = False
    timed: bool = False
    whole: bool = True


PARTS = {
    "table": Part("Levels: the sets that were there before other families", given=True, peers=True, timed=True),
    "one": Part("One cluster", one=True, timed=True),
    "heavy": Part("One cluster with heavy tails or volatility", one=True, timed=True),
    "states": Part("States that differ by how they move", given=True, peers=True),
    "places": Part("Recorded places", given=True, peers=True),
    "dynamics": Part("Made states that differ in dynamics only", given=True, peers=True),
    "mixed": Part("Regions of mixed kinds", given=True, peers=True),
    "mixed-nulls": Part("No regions: one mixture everywhere", one=True, kinds=True),
    "gestures": Part("Records of eight types of gestures", given=True, peers=True),
    "nulls": Part("Series without states", one=True, peers=True),
    "alone": Part("Algorithm 1 alone, settings by evidence"),
    "other": Part("Other data, which have no limits", whole=False),
}


@dataclass(frozen=True)
class Row:
    """A row.

    Attributes
    ----------
    name, title : of the row
    part : that it belongs to
    data : the set that it is of
    limits : of the value, in per cent
    ami : of the mean AMI, in per cent
    before : the value when Gaussian levels were the only family, which is not to be fallen short of; None for newer rows
    settings : of the estimator; none for the fit without settings
    """

    name: str
    title: str
    part: str
    data: str
    limits: Limits = Limits()
    ami: Limits = Limits()
    before: float | None = None
    settings: dict[str, Any] = field(default_factory=dict)


TITLES = {
    "series-short": "1-D synthetic, short segments",
    "series-long": "1-D synthetic, long segments",
    "ar-long": "1-D synthetic, AR(0.8), long segments",
    "ar-short": "1-D synthetic, AR(0.8), short segments",
    "regions-1200": "2-D synthetic",
    "regions-10000": "2-D synthetic, 10,000",
    "pavement": "Pavement",
    "vehicle": "Vehicle",
    "inat_subset": "iNat subset",
    "fields": "five regions on a smooth random field",
    "one-white": "white noise in time",
    "one-gaussian": "one Gaussian anywhere in the plane",
    "one-ar80": "AR(0.8)",
    "one-ar95": "AR(0.95)",
    "one-field": "one smooth random field",
    "one-tails": "AR(0.8), t with 4 degrees of freedom",
    "one-volatility": "AR(0.8), stochastic volatility",
    "tssb": "38 series of wave forms (TSSB)",
    "mocap6": "motion capture, 3 trials",
    "synthetic": "4 synthetic series (Time2State)",
    "rooms": "room occupancy",
    "dlpfc151669": "cortical layers, Visium",
    "indian_pines": "crops, hyperspectral",
    "cortex": "zones of the cortex",
    "dynamics-matrices": "vector autoregressions",
    "dynamics-periods": "periods",
    "dynamics-damping": "damping",
    "mixed-layers": "layers of mixed kinds",
    "mixed-patches": "patches of mixed kinds",
    "mixed-one": "kinds anywhere",
    "mixed-gradient": "shares of kinds change steadily",
    "mixed-noise": "a single kind",
    "gestures-records": "records as groups",
    "gestures-series": "as one long series",
    "null-ar95-3": "AR(0.95), 3 features",
    "null-ar95-1": "AR(0.95), 1 feature",
    "null-walk-3": "random walk, 3 features",
    "null-walk-1": "random walk, 1 feature",
    "null-volatility-3": "stochastic volatility, 3 features",
    "null-volatility-1": "stochastic volatility, 1 feature",
    "null-season-3": "season with trend, 3 features",
    "null-season-1": "season with trend, 1 feature",
}
LIMITS: dict[str, Limits] = {
    "series-short": Limits(94, 97),
    "series-long": Limits(97, 99),
    "ar-long": Limits(95, 98),
    "regions-1200": Limits(84, 90),
    "regions-10000": Limits(90, 95),
    "pavement": Limits(95, 99.5),
    "vehicle": Limits(62, 75),
    "inat_subset": Limits(55, 75),
    "fields": Limits(82, 90),
    "one-tails": Limits(None, 80),
    "one-volatility": Limits(None, 80),
    "tssb": Limits(72, 82),
    "mocap6": Limits(80, 90),
    "synthetic": Limits(95, 99),
    "dlpfc151669": Limits(70, 75),
    "indian_pines": Limits(30, 40),
    "cortex": Limits(15, 25),
    "gestures-records": Limits(80, 97),
    "gestures-series": Limits(40, 80),
    **dict.fromkeys(MIXED_NULLS, Limits(80, 95)),
    **dict.fromkeys(NULLS, Limits(80, 95)),
}
"""Per cent; of parts of one cluster the share of runs that find one."""

AMI_LIMITS = {"tssb": Limits(74, 84)}

BEFORE = {
    "series-short": 95.7,
    "series-long": 97.9,
    "ar-long": 99.6,
    "ar-short": 98.8,
    "regions-1200": 91.7,
    "regions-10000": 91.2,
    "pavement": 99.5,
    "vehicle": 82.7,
    "inat_subset": 74.1,
    "fields": 89.3,
}
"""Per cent, as printed before there were other families than Gaussian levels."""

TOGETHER = {
    "one": Row("one", "all of these", "one", "", Limits(95, 100), before=96.0),
    "dynamics": Row("dynamics", "all of these", "dynamics", "", Limits(90, 97)),
    "mixed": Row("mixed", "all of these", "mixed", "", Limits(65, 85)),
}
"""Rows of all runs of a part."""

ALONE = {
    "series-short": Limits(58, 63),
    "series-long": Limits(83, 85),
    "regions-1200": Limits(74, 78),
    "pavement": Limits(95, 97),
    "vehicle": Limits(56, 60),
}
"""Per cent ARI of the clusterer's own labels."""


def _row(name: str, part: str) -> Row:
    return Row(
        name,
        TITLES.get(name, name),
        part,
        name,
        LIMITS.get(name, Limits()),
        AMI_LIMITS.get(name, Limits()),
        BEFORE.get(name),
    )


def _alone(name: str) -> Row:
    return Row(f"alone-{name}", TITLES[name], "alone", name, ALONE[name], settings={"refine": "none"})


_SETS = {
    "table": TABLE,
    "one": ONE,
    "heavy": HEAVY,
    "states": STATES,
    "places": PLACES,
    "dynamics": DYNAMICS,
    "mixed": MIXED,
    "mixed-nulls": MIXED_NULLS,
    "gestures": GESTURES,
    "nulls": NULLS,
    "other": OTHER,
}
ROWS: dict[str, Row] = {
    **{name: _row(name, part) for part, sets in _SETS.items() for name in sets},
    **{row.name: row for row in map(_alone, ALONE)},
}
