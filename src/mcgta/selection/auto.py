"""Parameters that are left to the data: what is tried, and what is chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from mcgta.clustering.labels import drop_small
from mcgta.observations import Observations
from mcgta.pipeline import Algorithm
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Labels
from mcgta.selection.choice import CLOSE, Choice, explain
from mcgta.selection.field import Field, Scale
from mcgta.selection.noise import ASSIGN, CLASS, score_each_way
from mcgta.selection.scoring import Scored, score
from mcgta.selection.search import MOST_SCORED, WHOLE, SearchResult, search
from mcgta.selection.trials import Trials
from mcgta.stages.dissimilarity.registry import names_where

LEFT_TO_DATA = ("n_neighbors", "dissimilarity", "beta", "margin", "min_samples", "min_cluster_size", "eps")
"""Parameters that "auto" leaves to the search."""

PLAIN: dict[str, Any] = {"dissimilarity": "wasserstein2", "beta": 1.0, "margin": 0.0, "min_cluster_size": None}
"""What "auto" is where there is nothing to search by."""

_NEIGHBORS = (30, 20, 45)
_SHARES = (1.0, 0.5, 1.5)  # of n, for min_samples
_MARGINS = (0.0, 0.25)  # of the sill of the semivariogram
_MOST = 40  # clusters of a labelling that is looked at
_SMALLEST = 500  # a cluster with less than one in as many observations is noise, for the evidence
_MANY = 3000  # observations beyond which one setting is looked at, or, without the second stage, several n
_LARGER, _SHARE = (90, 180), 50  # such n, up to one in as many observations
_HOPEFUL = 0.5  # of what refined labels explain, from where on other settings of the clusterer are tried, too


def left_open(params: dict[str, Any], data: Observations) -> bool:
    """Whether there is anything to search for, and by: features that vary.

    A radius has a meaning for one loss only, so whoever sets it leaves nothing open.
    """
    if Scale.of(data.X).columns.size == 0:
        return False
    if params["refine"] is True:
        return True
    return (
        isinstance(params["clusterer"], str)
        and params["eps"] == "auto"
        and params["dissimilarity"] in ("auto", *names_where(chance_known=True))
        and params["prior"] is None
        and bool(params["hinge"])
    )


def settle_plainly(algorithm: Algorithm) -> Algorithm:
    """Return the algorithm with plain values for what is left open."""
    return algorithm.having(**{name: value for name, value in PLAIN.items() if algorithm.params[name] == "auto"})


def choose(algorithm: Algorithm, data: Observations) -> tuple[Algorithm, Choice, Labels | None]:
    """Search for the best labelling; return the algorithm with the numbers chosen, why, and the labels if they are refined.

    Labels are in canonical order.
    """
    field, found = search(data.X, data.positions, seed=data.seed)
    kinds = found.best.kinds if field.borrowed else None
    one = score(field, np.zeros(len(field), dtype=np.int64), kinds=kinds)
    best: tuple[Scored, dict[str, Any]] | None = None
    if algorithm.refine is not True and len(data.positions) <= WHOLE:
        best = _best_plain(algorithm, data, field, found, one)
    refined = algorithm.refine is not False
    if algorithm.refine == "auto" and best is not None:
        # Where neither is clearly ahead, refined labels are better for giving every observation a cluster.
        refined = found.best.evidence(found.tau) <= best[0].evidence(found.tau) + CLOSE
    values = best[1] if best is not None else {"n_neighbors": data.n_neighbors}
    chosen = settle_plainly(algorithm.having(**values, refine=refined))
    params = {name: chosen.params[name] for name in LEFT_TO_DATA}
    choice = explain(params, field, found, one, best and best[0], refined)
    return chosen, choice, found.labels if refined else None


def refine_labels(data: Observations) -> Labels:
    """Return the labels of the second stage, in canonical order."""
    return search(data.X, data.positions, seed=data.seed)[1].labels


def _best_plain(
    algorithm: Algorithm, data: Observations, field: Field, found: SearchResult, one: Scored
) -> tuple[Scored, dict[str, Any]]:
    """Try settings, each at several radii, changing one parameter at a time; return the labelling with the most evidence."""
    count = len(data.positions)
    sizes = _NEIGHBORS if count <= _MANY else [n for n in _LARGER if n <= count / _SHARE]
    values: dict[str, tuple[Any, ...]] = {
        "n_neighbors": (data.n_neighbors, *(n for n in sizes if count > _MANY or n <= 1.5 * data.n_neighbors)),
        "dissimilarity": names_where(chance_known=True),
        "beta": (1.0, 0.0),
        "margin": _MARGINS,
        "min_samples": _SHARES,
        "min_cluster_size": (None,),  # several with HDBSCAN, for which trials see to it
    }
    free = {name: tried for name, tried in values.items() if algorithm.params[name] == "auto"}
    setting: dict[str, Any] = {name: tried[0] for name, tried in free.items()}
    trials, noise = Trials(algorithm, data, MOST_SCORED), ASSIGN if algorithm.noise == "assign" else CLASS
    with stage("settings") as advance:
        best = _try(trials, data, field, found, noise, setting)
        advance(1)
        gain, wanted = (one.evidence(found.tau) - each.evidence(found.tau) for each in (best[0], found.best))
        hopeful = algorithm.refine is False or gain > max(0.0, _HOPEFUL * wanted)
        varied = list(free) if hopeful and count <= _MANY else ["n_neighbors"] if algorithm.refine is False else []
        for name in varied:
            for value in dict.fromkeys(free.get(name, ())):
                if value == setting[name]:
                    continue
                other = _try(trials, data, field, found, noise, {**setting, name: value})
                advance(1)
                if other[0].evidence(found.tau) < best[0].evidence(found.tau):
                    best, setting = other, {**setting, name: value}
    return best


def _try(
    trials: Trials, data: Observations, field: Field, found: SearchResult, noise: str, setting: dict[str, Any]
) -> tuple[Scored, dict[str, Any]]:
    """Cluster with one setting at several radii; return the best labelling, noise treated as it will be, and the parameters."""
    params = {**setting, "n_neighbors": int(setting.get("n_neighbors", data.n_neighbors))}
    if "min_samples" in params:  # a share, until it is known of what
        params["min_samples"] = max(2, round(params["min_samples"] * params["n_neighbors"]))
    if "margin" in params:
        params["margin"] = params["margin"] * trials.sill(params) if params["margin"] else 0.0
    best: tuple[Scored, dict[str, Any]] | None = None
    empty = False  # whether the best so far has no cluster at all, to which any other is preferred
    for more, labels in trials.labellings(params):
        if best is not None and (labels.max() >= _MOST or labels.max() < 0):
            continue
        large = drop_small(labels, max(field.d + 2, len(field) // _SMALLEST))
        (scored,) = score_each_way(field, large, ways=(noise,), kinds=found.best.kinds, tails=found.best.tails).values()
        if best is None or empty or scored.evidence(found.tau) < best[0].evidence(found.tau):
            best, empty = (scored, {**params, **more}), labels.max() < 0
    assert best is not None
    return best
