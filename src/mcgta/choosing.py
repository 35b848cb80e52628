"""Parameters that are left to the data: what is tried, what is chosen, and in words why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.algorithm import Algorithm
from mcgta.archive import Archived
from mcgta.observations import Observations
from mcgta.progress import Progress
from mcgta.selection.field import Field
from mcgta.selection.noise import settle_noise
from mcgta.selection.scoring import Scored, compact, score
from mcgta.selection.search import FREE, MOST_SCORED, WHOLE, Found, search
from mcgta.stages.cuts import Cuts
from mcgta.stages.dissimilarity import TRANSPORT
from mcgta.stages.labelling import drop_small
from mcgta.types import Array, Index, Labels

LEFT_TO_DATA = ("n_neighbors", "dissimilarity", "beta", "margin", "min_samples", "eps")
"""Parameters that "auto" leaves to the search."""

PLAIN: dict[str, Any] = {"dissimilarity": "wasserstein2", "beta": 1.0, "margin": 0.0}
"""What "auto" is where there is nothing to search by."""

_NEIGHBORS = (30, 20, 45)
_SHARES = (1.0, 0.5, 1.5)  # of n, for min_samples
_RADII = 12
_MOST = 40  # clusters of a labelling that is looked at
_SMALLEST = 500  # a cluster with less than one in as many observations is noise, for the evidence
_MANY = 3000  # observations beyond which one setting is looked at


@dataclass(frozen=True, eq=False)
class Choice(Archived):
    """What was chosen without labels, and why.

    Attributes
    ----------
    params : the numbers chosen, or kept, for n_neighbors, dissimilarity, beta, margin, min_samples and eps
    refined : whether labels are those of the second stage
    evidence : minus twice the log evidence of the labels; less is better
    plain : that of the best clustering without the second stage; NaN where none was looked at
    one : that of one cluster
    tau : how many observations count as one, for what the model does not know of
    looseness : changes of label between neighbours, over what there would be were labels dealt out at random
    length : distance over which observations of a cluster depend on each other, the median over features; 0 if they do not
    freedom : degrees of freedom of the tails; infinitely many for Gaussian ones
    strays : share of observations taken to be anywhere
    numbers, evidences : numbers of clusters that were looked at, and the least evidence of each
    scored : how many observations the evidence is of
    notes : in words
    """

    params: dict[str, Any]
    refined: bool
    evidence: float
    plain: float
    one: float
    tau: float
    looseness: float
    length: float
    freedom: float
    strays: float
    numbers: Index
    evidences: Array
    scored: int
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.notes)


def left_open(params: dict[str, Any], data: Observations) -> bool:
    """Whether there is anything to search for, and by: features that vary.

    A radius has a meaning for one loss only, so whoever sets it leaves nothing open.
    """
    if (np.ptp(data.X, axis=0) == 0).all():
        return False
    if params["refine"] is True:
        return True
    return (
        isinstance(params["clusterer"], str)
        and params["eps"] == "auto"
        and params["dissimilarity"] in ("auto", *TRANSPORT)
        and params["prior"] is None
        and bool(params["hinge"])
    )


def settle_plainly(algorithm: Algorithm) -> Algorithm:
    """Return the algorithm with plain values for what is left open."""
    return algorithm.having(**{name: value for name, value in PLAIN.items() if algorithm.params[name] == "auto"})


def choose(algorithm: Algorithm, data: Observations, progress: Progress) -> tuple[Algorithm, Choice, Labels | None]:
    """Search for the best labelling; return the algorithm with the numbers chosen, why, and the labels if they are refined.

    Labels are in canonical order.
    """
    field, found = search(data.X, data.positions, seed=data.seed, progress=progress)
    best: tuple[Scored, dict[str, Any]] | None = None
    searching = algorithm.refine is not True
    if searching and len(data.positions) <= WHOLE:
        best = _best_plain(algorithm, data, field, found, progress)
    refined = algorithm.refine is not False
    if algorithm.refine == "auto" and best is not None:
        refined = found.best.evidence(found.tau) <= best[0].evidence(found.tau)
    values = best[1] if best is not None else {"n_neighbors": data.n_neighbors}
    chosen = settle_plainly(algorithm).having(**values, refine=refined)
    choice = _explain(chosen, field, found, best and best[0], refined)
    return chosen, choice, found.labels if refined else None


def refine_labels(data: Observations, progress: Progress) -> Labels:
    """Return the labels of the second stage, in canonical order."""
    return search(data.X, data.positions, seed=data.seed, progress=progress)[1].labels


def _best_plain(
    algorithm: Algorithm, data: Observations, field: Field, found: Found, progress: Progress
) -> tuple[Scored, dict[str, Any]]:
    """Try settings, each at several radii, changing one parameter at a time; return the labelling with the most evidence."""
    values: dict[str, tuple[Any, ...]] = {
        "n_neighbors": tuple(n for n in _NEIGHBORS if n <= 1.5 * data.n_neighbors),
        "dissimilarity": TRANSPORT,
        "beta": (1.0, 0.0),
        "margin": (0.0,),
        "min_samples": _SHARES,
    }
    free = {name: tried for name, tried in values.items() if algorithm.params[name] == "auto"}
    setting: dict[str, Any] = {name: tried[0] for name, tried in free.items()}
    if "n_neighbors" in setting:
        setting["n_neighbors"] = data.n_neighbors
    with progress.stage("settings") as advance:
        best = _try(algorithm, data, field, found, setting)
        advance(1)
        for name, tried in free.items() if len(data.positions) <= _MANY else ():
            for value in tried:
                if value == setting[name]:
                    continue
                other = _try(algorithm, data, field, found, {**setting, name: value})
                advance(1)
                if other[0].evidence(found.tau) < best[0].evidence(found.tau):
                    best, setting = other, {**setting, name: value}
    return best


def _try(
    algorithm: Algorithm, data: Observations, field: Field, found: Found, setting: dict[str, Any]
) -> tuple[Scored, dict[str, Any]]:
    """Cluster with one setting at several radii; return the best labelling, and the parameters."""
    number = int(setting.get("n_neighbors", data.n_neighbors))
    share = setting.get("min_samples")
    dense = max(2, round(share * number)) if share is not None else algorithm.dense(number)
    params = {**setting, "n_neighbors": number, "min_samples": dense}
    trial, quiet = algorithm.having(**params), Progress()
    near, stages = trial.prepare(data.with_neighbors(number), quiet)
    best: tuple[Scored, dict[str, Any]] | None = None
    for eps, labels in _labellings(trial, near, stages, dense, quiet):
        if best is not None and labels.max() >= _MOST:
            continue
        whole = np.full(len(data.positions), -1, dtype=np.int64)
        whole[stages.kept] = drop_small(labels, max(field.d + 2, len(field) // _SMALLEST))
        scored = score_with_noise(field, whole, found)
        if best is None or scored.evidence(found.tau) < best[0].evidence(found.tau):
            best = scored, {**params, "eps": eps}
    assert best is not None
    return best


def _labellings(trial: Algorithm, near: Any, stages: Any, dense: int, quiet: Progress) -> Any:
    """Yield radii and labels."""
    if trial.clusterer != "dbscan" or dense > len(near):
        yield trial.eps, trial.cluster(near, stages, quiet)[0].labels
        return
    if len(near) > MOST_SCORED:  # at the radius that chance suggests
        found = trial.cluster(near, stages, quiet)[0]
        yield found.eps, found.labels
        return
    cuts = Cuts.of(near, dense, n_jobs=trial.n_jobs)
    heights = cuts.linkage[:, 2]
    for eps in np.unique(np.quantile(heights, np.linspace(0.2, 0.98, _RADII))):
        yield float(eps), cuts.labels_at(float(eps), min_cluster_size=trial.min_cluster_size or 1, n_jobs=trial.n_jobs)


def score_with_noise(field: Field, labels: Labels, found: Found) -> Scored:
    """Score a labelling with noise: as a cluster of its own, or given to the others, whichever has more evidence."""
    kinds, tails = found.best.kinds, found.best.tails
    options = [labels + 1] if (labels < 0).any() else [labels]
    if (labels < 0).any() and (labels >= 0).any():
        options.append(settle_noise(field, labels, kinds, tails))
    small = field.d + 2
    scores = []
    for option in options:
        whole = compact(option)
        held = np.bincount(whole)
        if held.min() < small:  # too few for a covariance: with the noise, or with the largest
            whole = compact(np.where((held < small)[whole], int(held.argmax()), whole))
        scores.append(score(field, whole, kinds=kinds, tails=tails))
    return min(scores, key=lambda scored: scored.evidence(found.tau))


def _explain(chosen: Algorithm, field: Field, found: Found, plain: Scored | None, refined: bool) -> Choice:
    best, tau = found.best if refined or plain is None else plain, found.tau
    kinds = best.kinds if len(field) > MOST_SCORED else None
    one = score(field, np.zeros(len(field), dtype=np.int64), kinds=kinds).evidence(tau)
    lengths = field.dependence.lengths[best.kinds] * (best.kinds > 0)
    params = {name: chosen.params[name] for name in LEFT_TO_DATA}
    notes = _words(field, found, best, plain, refined, one)
    return Choice(
        params,
        refined,
        best.evidence(tau),
        np.nan if plain is None else plain.evidence(tau),
        one,
        tau,
        found.loose,
        float(np.median(lengths)),
        best.tails.freedom,
        best.tails.share,
        np.array([scored.clusters for scored in found.others], dtype=np.int64),
        np.array([scored.evidence(tau) for scored in found.others]),
        len(field),
        notes,
    )


def _words(
    field: Field, found: Found, best: Scored, plain: Scored | None, refined: bool, one: float
) -> tuple[str, ...]:
    """Say what was found, and how sure that is."""
    tau, size = found.tau, best.clusters
    said = []
    if size == 1:
        said.append("no cluster structure: one cluster explains the observations better than any other labelling found")
    else:
        said.append(f"{size} clusters, {(one - best.evidence(tau)) / 2:.0f} nats ahead of one cluster")
    if found.labels.size > len(field):
        said.append(f"chosen on a sample of {len(field)} of {found.labels.size} observations")
    if size > 1 and found.loose > FREE:
        said.append("position does not help: neighbours agree in label no more than any two observations")
    elif size > 1 and found.mixed:
        said.append("position helps little: neighbours often differ in label, and labels are not smoothed")
    near = [
        scored.clusters
        for scored in found.others
        if scored.clusters != size and scored.evidence(tau) - best.evidence(tau) < _CLOSE
    ]
    if near and refined:
        said.append(f"other answers are about as good: {', '.join(map(str, sorted(near)))} clusters")
    if tau > _LARGE:
        said.append(
            f"the clusters' model is rough: {tau:.1f} observations count as one, so fine distinctions are left out"
        )
    if plain is not None:
        said.append(
            "refined labels have more evidence than those of the clusterer"
            if refined
            else "the clusterer's labels have more evidence than refined ones"
        )
    return tuple(said)


_CLOSE = 10.0  # of minus twice the log evidence, below which answers are about as good
_LARGE = 2.0
