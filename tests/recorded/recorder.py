"""Records labels, semivariogram, objective and choice of many configurations, so that nothing numerical changes by accident.

``python tests/recorded/recorder.py`` writes ``expected.json`` beside this file anew: only where a change of numbers is meant.
Labels are recorded to the last one, numbers to ten digits, since the last ones depend on the processor.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import AgglomerativeClustering
from sklearn.covariance import ShrunkCovariance

from mcgta import MCGTA, GaussianMixturePrior, SpaceTime, config_context
from mcgta.datasets import make_fields, make_regions, make_series

EXPECTED = Path(__file__).parent / "expected.json"


class Configuration(NamedTuple):
    """A fit to record: the name of its data, its parameters, and options of its context."""

    data: str
    params: dict[str, Any]
    options: dict[str, Any]


def _manhattan(a: Any, b: Any) -> float:
    return float(np.abs(a - b).sum())


def make_data() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return features and arguments of ``fit`` by name."""
    series = make_series(320, n_clusters=3, segment_lengths=(10, 30), random_state=11)
    regions = make_regions(300, n_clusters=4, random_state=5)
    places = regions.positions
    degrees = np.column_stack([places[:, 0] * 3 - 20, places[:, 1] * 3 + 30])
    when = np.arange(300) % 50
    times = np.cumsum(np.random.default_rng(3).uniform(0.2, 2.0, 320))
    few = places[:120]
    distances = np.sqrt(((few[:, None] - few[None]) ** 2).sum(axis=2))
    field = make_fields(320, random_state=2)
    return {
        "series": (series.X, {}),
        "irregular": (series.X, {"positions": times}),
        "grouped": (series.X, {"groups": np.repeat(["a", "b", "tiny"], [160, 152, 8])}),
        "regions": (regions.X, {"positions": places}),
        "globe": (regions.X, {"positions": degrees}),
        "spacetime": (regions.X, {"positions": np.column_stack([places, when])}),
        "distances": (regions.X[:120], {"positions": distances}),
        "few": (regions.X[:90], {"positions": places[:90]}),
        "field": (field.X, {"positions": field.positions}),
    }


def configurations() -> Iterator[tuple[str, Configuration]]:
    """Yield names and configurations: every dissimilarity, covariance, clusterer, metric, backend, and other options."""
    base: dict[str, Any] = {"n_neighbors": 20, "min_samples": 12}
    fixed = {**base, "eps": 0.5}

    def one(data: str, params: dict[str, Any], **options: Any) -> Configuration:
        return Configuration(data, params, options)

    for kind in ("wasserstein2", "calibrated", "kl", "js", "tv", "euclidean", "cosine"):
        yield f"dissimilarity-{kind}", one("series", {**fixed, "dissimilarity": kind})
    for covariance in ("graphical_lasso", "shrunk", "empirical", "ledoit_wolf", "oas"):
        yield f"covariance-{covariance}", one("regions", {**fixed, "covariance": covariance})
    yield "covariance-min_cov_det", one("few", {**fixed, "covariance": "min_cov_det"})
    yield "covariance-object", one("series", {**fixed, "covariance": ShrunkCovariance(shrinkage=0.3)})
    for clusterer in ("dbscan", "hdbscan", "optics"):
        for data in ("series", "regions", "grouped"):
            yield f"{clusterer}-{data}", one(data, {**base, "clusterer": clusterer, "refine": "none"})
        yield (
            f"{clusterer}-tree",
            one("series", {**fixed, "beta": 0.5, "margin": 0.1, "clusterer": clusterer}, table_rows=0),
        )
    average = AgglomerativeClustering(n_clusters=4, metric="precomputed", linkage="average")
    yield "object", one("series", {"n_neighbors": 20, "clusterer": average})
    yield "no-hinge", one("series", {"n_neighbors": 20, "clusterer": average, "penalty": "no_hinge"})
    yield "unconditional", one("regions", {**fixed, "beta": 2.0, "margin": 0.3, "penalty": "unconditional"})
    yield "tiled", one("series", {**fixed, "dissimilarity": "kl"}, table_rows=0, max_memory="1MB")
    for name, data, metric in (
        ("time", "irregular", "auto"),
        ("haversine", "globe", "haversine"),
        ("spacetime", "spacetime", SpaceTime(time_scale=0.1)),
        ("precomputed", "distances", "precomputed"),
        ("callable", "few", _manhattan),
    ):
        yield f"metric-{name}", one(data, {**fixed, "metric": metric})
    for model in ("exponential", "gaussian", "stable", "matern", "empirical"):
        yield f"semivariogram-{model}", one("regions", {**fixed, "semivariogram": model})
    yield "lags", one("series", {**fixed, "lags": 2})
    yield "lags-space", one("regions", {**fixed, "lags": 1})
    yield "prior", one("series", {**fixed, "prior": GaussianMixturePrior(3, 10.0)})
    yield "weights", one("regions", {**fixed, "weights": "epanechnikov"})
    yield "levels", one("series", {**base, "eps": "20%", "margin": "5%"})
    yield "edges", one("regions", {**fixed, "bins": [0, 0.5, 1, 2, 4, 8]})
    for data in ("series", "regions", "grouped", "field", "distances"):
        metric = "precomputed" if data == "distances" else "auto"
        yield f"auto-{data}", one(data, {"metric": metric})
    for refine in ("all", "noise"):
        yield f"refine-{refine}", one("regions", {"refine": refine})


def observe(model: MCGTA) -> dict[str, Any]:
    """Return what a fit has found, as JSON can hold it."""
    curve = model.semivariogram_
    objective = model.objective_
    seen = curve.counts > 0
    found = {
        "labels": "".join(chr(ord("a") + label) if label >= 0 else "." for label in model.labels_),
        "source": model.labels_source_,
        "backend": model.backend_.name,
        "semivariogram": [*curve.values[seen].tolist(), curve.range_, curve.sill_, curve.nugget_],
        "counts": hashlib.sha256(curve.counts.astype("<i8").tobytes()).hexdigest()[:16],
        "objective": [objective.total, objective.dissimilarity, objective.penalty, objective.pairs],
        "margin": model.margin_,
        "eps": None if np.isnan(model.eps_) else model.eps_,
    }
    choice = model.choice_
    if choice is not None:
        found["choice"] = {name: str(value) for name, value in choice.settings.items() if not isinstance(value, float)}
        found["evidence"] = [choice.log_evidence, choice.one_cluster_log_evidence, choice.overdispersion]
    return found


def record(configuration: Configuration, data: dict[str, tuple[Any, dict[str, Any]]]) -> dict[str, Any]:
    """Fit a configuration and return what it has found."""
    X, arguments = data[configuration.data]
    with warnings.catch_warnings(), config_context(**configuration.options):
        warnings.simplefilter("ignore")
        return observe(MCGTA(**configuration.params, standardize=False, progress=False).fit(X, **arguments))


def main() -> None:
    """Write what all configurations give."""
    data = make_data()
    found = {name: record(configuration, data) for name, configuration in configurations()}
    EXPECTED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
