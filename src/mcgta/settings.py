"""The settings of a fit: typed, frozen, declared once, and checked where they are made.

A field declares its default, the rule for its values, the stage of the pipeline that it belongs to, and the value that "auto"
takes where nothing is searched. The constructor of the estimator, what ``refit`` may change, and what results of earlier
stages can be used again derive from these.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Any, Self

import numpy as np

from mcgta.clustering.clusterer import Clusterer
from mcgta.clustering.registry import CLUSTERERS, get_clusterer
from mcgta.positions.metrics import METRICS, Metric
from mcgta.runtime.cached import cached_property
from mcgta.runtime.rules import INF, Rule, check_value, read_level
from mcgta.selection.families.registry import FAMILIES, LEVEL
from mcgta.stages.covariance import COVARIANCES, DEFAULT_ALPHA, CovarianceEstimator, get_covariance
from mcgta.stages.dissimilarity.kind import Kind
from mcgta.stages.dissimilarity.registry import DISSIMILARITIES, get_dissimilarity, names_where
from mcgta.stages.loss import PENALTIES
from mcgta.stages.neighborhoods import KERNELS
from mcgta.stages.prior import GaussianMixturePrior
from mcgta.stages.semivariogram.binning import DEFAULT_BINS, MAX_BINS, check_bins
from mcgta.stages.semivariogram.curve import Semivariogram
from mcgta.stages.semivariogram.models import EMPIRICAL, MODELS

STAGES = ("reading", "positions", "models", "dissimilarity", "semivariogram", "loss", "clustering", "labels", "work")
"""Stages that a setting belongs to, in the order of the pipeline; "work" is how it is done, and changes no result."""

REFINEMENTS = ("auto", "none", "noise", "all")

MISSING = ("error", "drop", "impute")

_NO_PLAIN_VALUE = object()
_LOOKED_UP = {
    "dissimilarity_kind": ("dissimilarity",),
    "covariance_estimator": ("covariance", "alpha"),
    "clustering_algorithm": ("clusterer",),
}
"""Properties of :class:`Settings` that are rows of a registry, and the settings that name them."""


class Names(Collection[str]):
    """The names of several registries, which may grow after this module was imported."""

    def __init__(self, *registries: Collection[str]) -> None:
        self._registries = registries

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self._registries)

    def __contains__(self, name: object) -> bool:
        return any(name in names for names in self._registries)

    def __len__(self) -> int:
        return sum(map(len, self._registries))


def _setting(default: Any, rule: Rule, stage: str, plain: Any = _NO_PLAIN_VALUE) -> Any:
    """Declare a setting; ``plain`` is what "auto" means where nothing is searched."""
    return field(default=default, metadata={"rule": rule, "stage": stage, "plain": plain})


_DISSIMILARITY = Rule(words=Names(("auto",), DISSIMILARITIES), function=True, kinds=(Kind,), table=True)
_RANDOM = Rule(integer=(0, 2**32 - 1), none=True, kinds=(np.random.RandomState, np.random.Generator))


@dataclass(frozen=True, eq=False)
class Settings:
    """The parameters of a fit, which :class:`mcgta.MCGTA` documents; making one checks them."""

    n_clusters: int | str = _setting("auto", Rule(words=("auto",), integer=(1, INF)), "labels")
    n_neighbors: int | str = _setting("auto", Rule(words=("auto",), integer=(2, INF)), "models")
    weights: str = _setting("uniform", Rule(words=("uniform", *KERNELS)), "models")
    lags: Any = _setting(0, Rule(words=("auto",), integer=(0, INF)), "models", 0)
    standardize: bool | str = _setting("auto", Rule(words=("auto",), flag=True), "models")
    n_components: int | str | None = _setting("auto", Rule(words=("auto",), integer=(1, INF), none=True), "models")
    covariance: Any = _setting(
        "graphical_lasso",
        Rule(words=COVARIANCES, kinds=(CovarianceEstimator,), method=("fit", "a window of features")),
        "models",
    )
    alpha: float = _setting(DEFAULT_ALPHA, Rule(real=(0, INF)), "models")
    prior: Any = _setting(None, Rule(words=("gmm",), none=True, kinds=(GaussianMixturePrior,)), "models")
    dissimilarity: Any = _setting("auto", _DISSIMILARITY, "dissimilarity", "wasserstein2")
    metric: Any = _setting("auto", Rule(words=METRICS, function=True, kinds=(Metric,)), "positions")
    semivariogram: Any = _setting(
        "spherical", Rule(words=Names(MODELS, (EMPIRICAL,)), kinds=(Semivariogram,)), "semivariogram"
    )
    bins: Any = _setting(DEFAULT_BINS, Rule(integer=(4, MAX_BINS), edges=True), "semivariogram")
    beta: float | str = _setting("auto", Rule(words=("auto",), real=(0, INF)), "loss", 1.0)
    margin: float | str = _setting("auto", Rule(words=("auto",), real=(-INF, INF), level=True), "loss", 0.0)
    penalty: str = _setting("within_range", Rule(words=PENALTIES), "loss")
    clusterer: Any = _setting(
        "dbscan",
        Rule(words=CLUSTERERS, kinds=(Clusterer,), method=("fit_predict", "a precomputed matrix")),
        "clustering",
    )
    eps: float | str = _setting("auto", Rule(words=("auto",), real=(0, INF), level=True), "clustering")
    min_samples: int | str = _setting("auto", Rule(words=("auto",), integer=(1, INF)), "clustering")
    min_cluster_size: int | str | None = _setting(
        "auto", Rule(words=("auto",), integer=(1, INF), none=True), "clustering", None
    )
    refine: str = _setting("auto", Rule(words=REFINEMENTS), "labels")
    family: str = _setting("auto", Rule(words=Names(("auto", LEVEL), FAMILIES)), "labels")
    missing: str = _setting("error", Rule(words=MISSING), "reading")
    n_jobs: int | None = _setting(None, Rule(integer=(-INF, INF), none=True), "work")
    random_state: Any = _setting(0, _RANDOM, "models")
    progress: Any = _setting("auto", Rule(words=("auto", "bar"), flag=True, function=True), "work")

    def __post_init__(self) -> None:
        self._check(RULES)

    def _check(self, names: Iterable[str]) -> None:
        for name in names:
            check_value(name, getattr(self, name), RULES[name])
        if self.n_jobs == 0:
            raise ValueError(
                "n_jobs=0 is not allowed: n_jobs must be a number of threads, -1 for all cores, or None for one"
            )
        _check_together(self)

    def having(self, **values: Any) -> Self:
        """Return the same settings with some other values; only these are checked, and how they go with the rest."""
        changed = {name: value for name, value in values.items() if value is not getattr(self, name)}
        if not changed:
            return self
        other = copy(self)
        vars(other).update(changed)
        for looked_up, names in _LOOKED_UP.items():
            if any(name in changed for name in names):
                vars(other).pop(looked_up, None)
        other._check(changed)
        return other

    def plain(self) -> Self:
        """Return the settings with plain values in the place of "auto", where there are such."""
        return self.having(**{name: value for name, value in _PLAIN.items() if self.is_auto(name)})

    def is_auto(self, name: str) -> bool:
        """Whether a setting is left to the data."""
        value = getattr(self, name)
        return isinstance(value, str) and value == "auto"

    @cached_property
    def dissimilarity_kind(self) -> Kind:
        """The dissimilarity with its capabilities; W2 squared where it is left open."""
        return get_dissimilarity(_PLAIN["dissimilarity"] if self.is_auto("dissimilarity") else self.dissimilarity)

    @cached_property
    def covariance_estimator(self) -> CovarianceEstimator:
        """The estimator of local covariances with its capabilities."""
        return get_covariance(self.covariance, self.alpha)

    @cached_property
    def clustering_algorithm(self) -> Clusterer:
        """The clusterer with its capabilities."""
        return get_clusterer(self.clusterer)

    @property
    def n_lags(self) -> int:
        """How many lags are stacked; none where that is left open."""
        return 0 if self.is_auto("lags") else int(self.lags)

    @property
    def params(self) -> dict[str, Any]:
        """All settings by name."""
        return {name: getattr(self, name) for name in RULES}

    @property
    def made(self) -> dict[str, Any]:
        """Settings that differ from their defaults, by name; how the work is done is not among them."""
        matter = [name for name in RULES if name not in names_of("work")]
        return {name: getattr(self, name) for name in matter if _differs(getattr(self, name), getattr(Settings, name))}

    @property
    def asks_for_levels(self) -> bool:
        """Whether the margin or the radius is given as a significance level."""
        return read_level(self.margin) is not None or read_level(self.eps) is not None

    @property
    def components_asked(self) -> int | str | None:
        """How features are to be reduced, as ``n_components`` says; None where they are compared as they are."""
        return None if self.dissimilarity_kind.compares == "features" else self.n_components

    @property
    def wants_clusterer(self) -> bool:
        """Whether labels have to be those of the clusterer, noise assigned or not."""
        return self.refine in ("none", "noise")

    def key(self, first: str, last: str, *, without: Collection[str] = ()) -> tuple[Any, ...]:
        """Return something to look up results by that depend on the settings of the stages from first to last only."""
        stages = STAGES[STAGES.index(first) : STAGES.index(last) + 1]
        return tuple(hashable(getattr(self, name)) for name in names_of(*stages) if name not in without)


RULES: dict[str, Rule] = {item.name: item.metadata["rule"] for item in fields(Settings)}
"""What each setting may be."""

_PLAIN = {
    item.name: item.metadata["plain"] for item in fields(Settings) if item.metadata["plain"] is not _NO_PLAIN_VALUE
}


def names_of(*stages: str) -> tuple[str, ...]:
    """Return the names of the settings that belong to some stages."""
    return tuple(item.name for item in fields(Settings) if item.metadata["stage"] in stages)


CHANGED_BY_REFIT = names_of("loss", "clustering", "labels", "work")
"""Settings that a refit can change: they come after the semivariogram."""

SEARCHED = ("n_neighbors", "dissimilarity", "beta", "margin", "min_samples", "min_cluster_size", "eps")
"""Settings that "auto" leaves to the search."""


def _differs(value: Any, default: Any) -> bool:
    """Whether a value is not the default; of one type are texts and numbers only."""
    return type(value) is not type(default) or value != default


def hashable(value: Any) -> Any:
    """Return something to look a value up by: itself, or which object it is, such as a table."""
    if isinstance(value, (list, tuple)):
        return tuple(map(hashable, value))
    try:
        hash(value)
    except TypeError:
        return (type(value).__name__, id(value))
    return value


def check_testable(settings: Settings, asked: str) -> None:
    """Raise a ValueError that begins with ``asked`` where it is not known how much models of one Gaussian differ."""
    kind = settings.dissimilarity_kind
    if not kind.chance_known:
        known = names_where(chance_known=True)
        raise ValueError(
            f"{asked}, which is known for dissimilarity={' or '.join(map(repr, known))} only, not for {kind.name!r}"
        )
    if settings.prior is not None:
        raise ValueError(f"{asked}, which is not known for models that start from prior={settings.prior!r}")


def _check_together(settings: Settings) -> None:
    _check_clusterer(settings)
    if settings.weights != "uniform" and not settings.covariance_estimator.takes_weights:
        raise ValueError(f"weights={settings.weights!r}: covariance={settings.covariance!r} knows uniform weights only")
    for name in ("margin", "eps"):
        if read_level(getattr(settings, name)) is not None:
            check_testable(settings, f"{name}={getattr(settings, name)!r} is a significance level")
    kind = settings.dissimilarity_kind
    if not kind.fits_models:
        for name in ("prior", "weights"):
            if getattr(settings, name) != getattr(Settings, name):
                raise ValueError(
                    f"{name}={getattr(settings, name)!r} has no effect with dissimilarity={kind.name!r}, which "
                    f"compares {kind.compares} and fits no local models"
                )
    if kind.mixes and isinstance(settings.prior, GaussianMixturePrior) and settings.prior.strength is not None:
        raise ValueError(
            f"prior: strength={settings.prior.strength} has no effect with dissimilarity={kind.name!r}, whose local models "
            "are the prior's components with shares of their own; leave it at None"
        )
    if kind.compares == "features" and settings.n_components not in ("auto", None):
        raise ValueError(
            f"n_components={settings.n_components!r} has no effect with dissimilarity={kind.name!r}, which compares "
            "features as they are"
        )
    check_bins(settings.bins, None)
    if settings.wants_clusterer and settings.family not in ("auto", LEVEL):
        raise ValueError(
            f"family={settings.family!r} and refine={settings.refine!r} cannot both be set: labels are then the clusterer's, "
            "which knows no families; leave one of them at 'auto'"
        )
    if settings.n_clusters != "auto" and settings.wants_clusterer and settings.eps != "auto":
        raise ValueError(
            f"eps={settings.eps!r} and n_clusters={settings.n_clusters!r} cannot both be set with refine={settings.refine!r}: "
            "the clusterer is cut where it has that many clusters; leave one of them at 'auto'"
        )


def _check_clusterer(settings: Settings) -> None:
    algorithm = settings.clustering_algorithm
    if not PENALTIES[settings.penalty].hinged and algorithm.needs_nonnegative:
        raise ValueError(
            f"penalty={settings.penalty!r} makes the loss of close pairs negative, and clusterer={settings.clusterer!r} needs "
            "distances >= 0; use another penalty, or a clusterer object that takes negative values, such as "
            "AgglomerativeClustering(metric='precomputed', linkage='average', ...)"
        )
    if not algorithm.takes_options:
        for name in ("eps", "min_samples", "min_cluster_size"):
            if getattr(settings, name) not in ("auto", None):
                raise ValueError(
                    f"{name}={getattr(settings, name)!r} has no effect on a clusterer object; set it on the object itself"
                )
    if settings.min_samples != "auto" and int(settings.min_samples) < algorithm.least_min_samples:
        raise ValueError(
            f"min_samples={settings.min_samples} is not allowed: clusterer={settings.clusterer!r} needs at least "
            f"{algorithm.least_min_samples}"
        )
