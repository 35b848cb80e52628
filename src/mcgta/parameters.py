"""The estimator's parameters: what each may be, declared once and checked in one place."""

from __future__ import annotations

import difflib
import numbers
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import DBSCAN, HDBSCAN, OPTICS
from sklearn.utils import check_random_state

from mcgta.memory import read_size
from mcgta.positions import METRICS
from mcgta.stages.clustering import CLUSTERERS
from mcgta.stages.curve_fit import MODELS
from mcgta.stages.dissimilarity import DISSIMILARITIES, FEATURE_BASED, TRANSPORT
from mcgta.stages.local_models import COVARIANCES, LocalModels
from mcgta.stages.neighborhoods import KERNELS
from mcgta.stages.semivariogram import Semivariogram
from mcgta.stages.significance import read_level

INF = float("inf")


@dataclass(frozen=True)
class Rule:
    """What one parameter may be.

    Attributes
    ----------
    words : texts that are allowed
    integer, real : bounds (low, high) of allowed numbers, low included, high included unless infinite
    above : whether the low bound itself is excluded
    none, flag, function : whether None, True/False, or a callable is allowed
    kinds : classes whose instances are allowed
    method : an object with this method is allowed; its name, and what it takes
    folder : a text or path that names a folder is allowed
    edges : an increasing sequence of numbers is allowed
    mapping : a dict is allowed
    size : a text that says how many bytes is allowed
    level : a text that gives a significance level is allowed
    """

    words: tuple[str, ...] = ()
    integer: tuple[float, float] | None = None
    real: tuple[float, float] | None = None
    above: bool = False
    none: bool = False
    flag: bool = False
    function: bool = False
    kinds: tuple[type, ...] = ()
    method: tuple[str, str] | None = None
    folder: bool = False
    edges: bool = False
    mapping: bool = False
    size: bool = False
    level: bool = False

    def accepts(self, value: Any) -> bool:
        """Whether ``value`` is allowed."""
        if value is None:
            return self.none
        if isinstance(value, (bool, np.bool_)):
            return self.flag
        if isinstance(value, str):
            return (
                value in self.words
                or (self.folder and bool(value))
                or (self.size and read_size(value) is not None)
                or (self.level and read_level(value) is not None)
            )
        if isinstance(value, numbers.Integral) and abs(int(value)) > 2**63:
            return False
        if isinstance(value, numbers.Integral) and self.integer:
            return self._within(float(value), self.integer)
        if isinstance(value, numbers.Real) and self.real:
            return self._within(float(value), self.real)
        if isinstance(value, type):
            return False
        return (
            isinstance(value, self.kinds)
            or (self.function and callable(value))
            or (self.method is not None and callable(getattr(value, self.method[0], None)))
            or (self.folder and isinstance(value, os.PathLike))
            or (self.mapping and isinstance(value, Mapping))
            or (self.edges and _increases(value))
        )

    def _within(self, value: float, bounds: tuple[float, float]) -> bool:
        low, high = bounds
        return (low < value if self.above or low == -INF else low <= value) and (
            value < high if high == INF else value <= high
        )

    def describe(self) -> str:
        """Say what is allowed, for error messages."""
        said = []
        if self.words:
            said.append(("one of " if len(self.words) > 1 else "") + ", ".join(repr(word) for word in self.words))
        for name, bounds in (("an integer", self.integer), ("a number", self.real)):
            if bounds:
                low, high = bounds
                limit = "" if low == -np.inf else f" {'>' if self.above else '>='} {low:g}"
                limit += "" if high == np.inf else f"{' and' if limit else ''} <= {high:g}"
                said.append(name + limit)
        if self.flag:
            said.append("True or False")
        if self.none:
            said.append("None")
        said += [f"a {kind.__name__}" for kind in self.kinds]
        if self.function:
            said.append("a function")
        if self.method:
            said.append(f"an object with {self.method[0]} that takes {self.method[1]}")
        if self.folder:
            said.append("the path of a folder")
        if self.edges:
            said.append("an increasing sequence of at least two distances >= 0")
        if self.mapping:
            said.append("a dict")
        if self.size:
            said.append("a text such as '1.5GB' or '800MiB'")
        if self.level:
            said.append("a significance level above 0% and below 100%, a text such as '5%'")
        return ", or ".join(said)


RULES: dict[str, Rule] = {
    "n_neighbors": Rule(words=("auto",), integer=(2, INF)),
    "weights": Rule(words=("uniform", *KERNELS)),
    "lags": Rule(integer=(0, INF)),
    "covariance": Rule(words=COVARIANCES),
    "alpha": Rule(real=(0, INF)),
    "shrinkage": Rule(real=(0, 1)),
    "prior": Rule(words=("gmm",), none=True),
    "prior_components": Rule(integer=(1, INF), none=True),
    "prior_strength": Rule(real=(0, INF), above=True, none=True),
    "dissimilarity": Rule(words=("auto", *DISSIMILARITIES)),
    "metric": Rule(words=METRICS, function=True),
    "metric_params": Rule(mapping=True, none=True),
    "semivariogram": Rule(words=(*MODELS, "empirical"), kinds=(Semivariogram,)),
    "bins": Rule(integer=(4, INF), edges=True),
    "max_lag": Rule(real=(0, INF), above=True, none=True),
    "semivariogram_error": Rule(real=(0, 1)),
    "beta": Rule(words=("auto",), real=(0, INF)),
    "margin": Rule(words=("auto",), real=(-INF, INF), level=True),
    "hinge": Rule(flag=True),
    "within_range": Rule(flag=True),
    "clusterer": Rule(words=CLUSTERERS, method=("fit_predict", "a precomputed matrix")),
    "eps": Rule(words=("auto",), real=(0, INF), level=True),
    "min_samples": Rule(words=("auto",), integer=(1, INF)),
    "min_cluster_size": Rule(words=("auto",), integer=(1, INF), none=True),
    "refine": Rule(words=("auto",), flag=True),
    "noise": Rule(words=("keep", "assign")),
    "local_models": Rule(kinds=(LocalModels,), none=True),
    "n_jobs": Rule(integer=(-INF, INF), none=True),
    "max_memory": Rule(words=("auto",), real=(0, INF), above=True, none=True, size=True),
    "random_state": Rule(integer=(0, 2**32 - 1), none=True, kinds=(np.random.RandomState, np.random.Generator)),
    "progress": Rule(words=("auto",), flag=True, function=True),
}


def check_parameters(params: Mapping[str, Any]) -> None:
    """Raise a ValueError that names the parameter, its value and what is allowed, if one is wrong."""
    for name, value in params.items():
        check_value(name, value, RULES[name])
    if params["n_jobs"] == 0:
        raise ValueError(
            "n_jobs=0 is not allowed: n_jobs must be a number of threads, -1 for all cores, or None for one"
        )
    _check_together(params)


def check_value(name: str, value: Any, rule: Rule) -> None:
    """Raise a ValueError that names the parameter, its value and what is allowed, if it is wrong."""
    if not rule.accepts(value):
        raise ValueError(
            f"{name}={value!r} is not allowed: {name} must be {rule.describe()}{suggest(value, rule.words)}"
        )


def check_testable(params: Mapping[str, Any], asked: str) -> None:
    """Raise a ValueError that begins with ``asked`` where it is not known how much models of one Gaussian differ."""
    if params["dissimilarity"] not in ("auto", *TRANSPORT):
        raise ValueError(
            f"{asked}, which is known for dissimilarity={' or '.join(map(repr, TRANSPORT))} only, not for "
            f"{params['dissimilarity']!r}"
        )
    if params["prior"] is not None:
        raise ValueError(f"{asked}, which is not known for models that start from prior={params['prior']!r}")


def draw_seed(random_state: Any) -> int:
    """Return one seed for everything that is random in a fit."""
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    return int(check_random_state(random_state).randint(2**31 - 1))


def suggest(value: Any, words: Sequence[str]) -> str:
    """Return a hint at the nearest allowed word."""
    if not isinstance(value, str):
        return ""
    plain = value.lower().replace("-", "_").replace(" ", "_")
    near = difflib.get_close_matches(plain, words, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def _check_together(params: Mapping[str, Any]) -> None:
    clusterer = params["clusterer"]
    named = isinstance(clusterer, str)
    if not params["hinge"] and (named or isinstance(clusterer, (DBSCAN, HDBSCAN, OPTICS))):
        raise ValueError(
            f"hinge=False makes the loss of close pairs negative, and clusterer={clusterer!r} needs distances >= 0; use "
            "hinge=True, or a clusterer object that takes negative values, such as "
            "AgglomerativeClustering(metric='precomputed', linkage='average', ...)"
        )
    if not named:
        for name in ("eps", "min_samples", "min_cluster_size"):
            if params[name] not in ("auto", None):
                raise ValueError(
                    f"{name}={params[name]!r} has no effect on a clusterer object; set it on the object itself"
                )
        _check_takes_distances(clusterer)
    if clusterer == "optics" and params["min_samples"] == 1:
        raise ValueError("min_samples=1 is not allowed: clusterer='optics' needs at least 2")
    if params["covariance"] == "min_cov_det" and params["weights"] != "uniform":
        raise ValueError(f"weights={params['weights']!r}: covariance='min_cov_det' knows uniform weights only")
    for name in ("prior_components", "prior_strength"):
        if params[name] is not None and params["prior"] is None:
            raise ValueError(f"{name}={params[name]!r} has no effect without prior='gmm'")
    for name in ("margin", "eps"):
        if read_level(params[name]) is not None:
            check_testable(params, f"{name}={params[name]!r} is a significance level")
    if params["dissimilarity"] in FEATURE_BASED:
        for name, default in (("prior", None), ("local_models", None), ("weights", "uniform")):
            if params[name] is not default and params[name] != default:
                raise ValueError(
                    f"{name}={params[name]!r} has no effect with dissimilarity={params['dissimilarity']!r}, which compares "
                    "features and fits no local models"
                )
    if params["max_lag"] is not None and isinstance(params["semivariogram"], Semivariogram):
        raise ValueError(f"max_lag={params['max_lag']!r} has no effect on a semivariogram that is fitted already")
    if params["max_lag"] is not None and not isinstance(params["bins"], numbers.Integral):
        raise ValueError(f"max_lag={params['max_lag']!r} has no effect where bins gives the edges; end them there")
    check_metric_params(params["metric"], params["metric_params"])


def check_metric_params(metric: Any, metric_params: Any) -> None:
    """Raise a ValueError where the metric has no parameters."""
    if metric_params is not None and metric != "spacetime":
        raise ValueError(f"metric_params={metric_params!r} has no effect with metric={metric!r}")


def _check_takes_distances(clusterer: Any) -> None:
    """Refuse clusterer objects that would read the table of losses as something else."""
    if getattr(clusterer, "affinity", None) is not None:
        raise ValueError(
            f"clusterer={clusterer!r} takes affinities, which are large for similar pairs; the loss is small for them"
        )
    silent = object() if type(clusterer).__module__.startswith("sklearn.") else "precomputed"
    if getattr(clusterer, "metric", silent) != "precomputed":
        raise ValueError(
            f"clusterer={clusterer!r} must be made with metric='precomputed': it is given the loss of every pair"
        )


def _increases(value: Any) -> bool:
    try:
        edges = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return False
    return (
        edges.ndim == 1
        and edges.size >= 2
        and bool(np.isfinite(edges).all() and edges[0] >= 0 and (np.diff(edges) > 0).all())
    )
