"""The paper's five ablations and its curves: one thing of the method varied, the rest tuned by labels as before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sklearn.cluster import AgglomerativeClustering

from mcgta.estimator import MCGTA
from paper.catalogue import GRID
from paper.methods import Attempts, Method, free_mcgta, neighborhood_sizes, product, tune_mcgta
from paper.running.cells import Attempt
from problems.problem import Problem

CURVES: dict[str, tuple[Any, ...]] = {
    "n_neighbors": (15, 20, 30, 45, 60),
    "beta": (0.0, 0.5, 1.0, 2.0, 4.0),
    "margin_in_sills": (0.0, 0.25, 0.5, 1.0, 1.5),
}
"""Values of what a curve is drawn over."""

MIDDLE = {"n_neighbors": (30,), "beta": (1.0,), "margin_in_sills": (0.25,)}
"""Where the others stay meanwhile."""


_SLOW = ("tv", "js", "min_cov_det")
"""Variants that take a minute for each size of the neighbourhood, and get one."""


def _vary(**values: Any) -> dict[str, Any]:
    slow = not {*values.values()}.isdisjoint(_SLOW)
    one = {"n_neighbors": MIDDLE["n_neighbors"]} if slow else {}
    return {**GRID, **{name: (value,) for name, value in values.items()}, **one}


def _ablation(title: str, grid: Mapping[str, Any], **fixed: Any) -> Method:
    one = {"n_neighbors": grid["n_neighbors"][0]} if "n_neighbors" in grid else {}
    return Method(title, None, tune_mcgta(grid, **fixed), free_mcgta(**fixed, **one, refine="none"), random=False)


def _linked(penalty: str) -> Callable[[Problem, int], Attempts]:
    """Average linkage, which takes losses below zero; K is tried around the truth."""

    def attempts(problem: Problem, seed: int) -> Iterator[Attempt]:
        for params in product(
            n_neighbors=neighborhood_sizes(problem),
            beta=(0.5, 1.0),
            n_clusters=(problem.clusters, problem.clusters + 1),
        ):
            linkage = AgglomerativeClustering(params["n_clusters"], metric="precomputed", linkage="average")
            model = MCGTA(
                n_neighbors=params["n_neighbors"],
                standardize=False,
                dissimilarity="wasserstein2",
                beta=params["beta"],
                margin=0.0,
                penalty=penalty,
                clusterer=linkage,
                random_state=seed,
                progress=False,
            )
            yield Attempt({**params, "penalty": penalty, "linkage": "average"}, problem.fit(model))

    return attempts


def _without_hinge(problem: Problem, seed: int) -> Attempts:
    """DBSCAN on the loss without the hinge; the estimator refuses it, and that is the result."""
    params: dict[str, Any] = {"penalty": "no_hinge", "beta": 1.0, "margin": 0.0, "clusterer": "dbscan", "eps": 1.0}
    yield Attempt(params, problem.fit(MCGTA(n_neighbors=30, standardize=False, progress=False, **params)))


ABLATIONS: dict[str, dict[str, Method]] = {
    "dissimilarity": {
        "wasserstein2": _ablation("Wasserstein-2", GRID, dissimilarity="wasserstein2"),
        **{
            kind: _ablation(title, _vary(dissimilarity=kind), dissimilarity=kind)
            for kind, title in {
                "euclidean": "Euclidean",
                "cosine": "Cosine",
                "tv": "Total variation",
                "kl": "KL divergence",
                "js": "JS divergence",
                "calibrated": "Wasserstein-2, calibrated",
            }.items()
        },
    },
    "covariance": {
        kind: _ablation(title, _vary(covariance=kind), covariance=kind)
        for kind, title in {
            "graphical_lasso": "Graphical lasso",
            "min_cov_det": "Minimum covariance determinant",
            "shrunk": "Shrunk",
            "empirical": "Empirical",
        }.items()
    },
    "clusterer": {
        "dbscan": _ablation("DBSCAN", _vary(clusterer="dbscan"), clusterer="dbscan"),
        "hdbscan": _ablation(
            "HDBSCAN",
            {**{name: GRID[name] for name in GRID if name != "eps_quantile"}, "clusterer": ("hdbscan",)}
            | {"min_cluster_size": (10, 20, 30, 50, 100)},
            clusterer="hdbscan",
        ),
        "optics": _ablation("OPTICS", _vary(clusterer="optics"), clusterer="optics"),
    },
    "hinge": {
        "hinge": _ablation("With the hinge, DBSCAN", GRID),
        "no hinge": Method("Without the hinge, DBSCAN", None, _without_hinge, None, random=False),
        "hinge, linkage": Method("With the hinge, average linkage", None, _linked("within_range"), None, random=False),
        "no hinge, linkage": Method(
            "Without the hinge, average linkage", None, _linked("no_hinge"), None, random=False
        ),
    },
    "range": {
        "within range": _ablation("Within the range", _vary(penalty="within_range"), penalty="within_range"),
        "everywhere": _ablation("Everywhere", _vary(penalty="unconditional"), penalty="unconditional"),
    },
}
"""Table -> variant -> method; the paper's figures are in :mod:`paper.published` under the same names."""


def curve_method(variant: str) -> Method:
    """Return the method of a point of a curve, named as :func:`curve_variants` does."""
    name, value = variant.split("=")
    values = dict(zip(map(str, CURVES[name]), CURVES[name], strict=True))
    return Method(variant, None, tune_mcgta({**GRID, **MIDDLE, name: (values[value],)}), None, random=False)


def curve_variants() -> list[str]:
    """Return the points of all curves."""
    return [f"{name}={value}" for name, values in CURVES.items() for value in values]
