"""The estimator's parameters: what each may be, declared once and checked in one place."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.cluster import DBSCAN, HDBSCAN, OPTICS

from mcgta.clustering.clustering import CLUSTERERS
from mcgta.positions.metrics import METRICS, Metric, SpaceTime
from mcgta.runtime.rules import INF, Rule, check_value, read_level
from mcgta.stages.dissimilarity.dissimilarity import DISSIMILARITIES, FEATURE_BASED, TRANSPORT
from mcgta.stages.local_models import COVARIANCES, LocalModels
from mcgta.stages.neighborhoods import KERNELS
from mcgta.stages.semivariogram.curve import Semivariogram
from mcgta.stages.semivariogram.models import MODELS

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
    "metric": Rule(words=METRICS, function=True, kinds=(Metric,)),
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


def check_testable(params: Mapping[str, Any], asked: str) -> None:
    """Raise a ValueError that begins with ``asked`` where it is not known how much models of one Gaussian differ."""
    if params["dissimilarity"] not in ("auto", *TRANSPORT):
        raise ValueError(
            f"{asked}, which is known for dissimilarity={' or '.join(map(repr, TRANSPORT))} only, not for "
            f"{params['dissimilarity']!r}"
        )
    if params["prior"] is not None:
        raise ValueError(f"{asked}, which is not known for models that start from prior={params['prior']!r}")


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


def build_metric(metric: Any, metric_params: Mapping[str, Any] | None) -> Any:
    """Return the metric with its parameters, which only space and time have."""
    if metric_params is None:
        return metric
    check_metric_params(metric, metric_params)
    unknown = sorted(set(metric_params) - {"time_scale", "space"})
    if unknown:
        raise ValueError(f"metric_params has unknown keys {unknown}; metric='spacetime' knows 'time_scale' and 'space'")
    return SpaceTime(**metric_params)


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
