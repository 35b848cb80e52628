"""How well a fit finds what is known: one problem at a time, with what else was among the candidates, and beside peers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.neighbors import NearestNeighbors

from candidates import Recording, recorded
from mcgta import MCGTA
from mcgta.runtime.types import Labels
from measuring.scoring import score, score_ari
from measuring.timebox import OutOfTime, at_most
from peers.registry import PEERS, PeerRun
from problems.problem import SPACE, Problem

LEVEL = {"family": "level"}
"""The setting with which only Gaussian levels are looked at."""

JOINED_NEIGHBORS = 8
REGIONS_JOIN_RATIO = 0.5
"""Changes of label between neighbours, over those of labels dealt out at random, beyond which labels are no regions."""


class Candidate(NamedTuple):
    """A labelling that the search looked at: clusters, ARI and AMI in per cent, nats of evidence over one cluster, family."""

    clusters: int
    ari: float
    ami: float
    gain: float
    family: str = ""


@dataclass(frozen=True)
class Given:
    """A fit with the true number of clusters: ARI and AMI in per cent, seconds of the processor."""

    ari: float = 0.0
    ami: float = 0.0
    seconds: float = float("nan")
    failed: str = ""


@dataclass(frozen=True)
class Run:
    """One fit; a fit that failed has found no cluster.

    Attributes
    ----------
    count, true : numbers of observations and of true clusters
    ari, ami : in per cent, noise being a class of its own
    clusters : number found
    assigned, assigned_clusters : ARI and number of clusters when noise is assigned
    noise : share in per cent
    seconds : of the processor, for the fit
    failed : what the error said
    join_ratio : changes of label between neighbours over those of labels dealt out at random; 0 along time
    family : of the clusters, as the fit calls it
    source : where the labels come from
    gain : evidence of the labels in nats over one cluster
    best : of the labellings that the searches of all families looked at, that with the largest ARI
    seen : how many these are
    given : the fit with the true number of clusters
    level_seconds : of the processor, for a fit that looks at Gaussian levels alone
    peers : what other methods have found, by their name
    """

    count: int
    true: int
    ari: float = 0.0
    ami: float = 0.0
    clusters: int = 0
    assigned: float = 0.0
    assigned_clusters: int = 0
    noise: float = 100.0
    seconds: float = float("nan")
    failed: str = ""
    join_ratio: float = 0.0
    family: str = ""
    source: str = ""
    gain: float = float("nan")
    best: Candidate | None = None
    seen: int = 0
    given: Given | None = None
    level_seconds: float = float("nan")
    peers: Mapping[str, PeerRun] = field(default_factory=dict)


@dataclass(frozen=True)
class Extent:
    """What is measured on a problem beside the fit.

    Attributes
    ----------
    n_jobs : threads of a fit
    fit_seconds, peer_seconds : of the processor, that a fit of ours and one of a peer may take
    given : whether there is a fit with the true number of clusters
    timed : whether there is a fit of levels alone
    peers : whether other methods are run
    """

    n_jobs: int = 1
    fit_seconds: float = 900.0
    peer_seconds: float = 60.0
    given: bool = False
    timed: bool = False
    peers: bool = False


def measure(problem: Problem, settings: Mapping[str, Any], extent: Extent) -> Run:
    """Fit a problem, and whatever else is asked for."""
    run = fit_and_score(problem, settings, extent)
    told = problem.clusters > 1
    if extent.timed:
        run = replace(run, level_seconds=_fit(problem, {**settings, **LEVEL}, extent).seconds)
    if extent.given and told:
        run = replace(run, given=_fit(problem, {**settings, "n_clusters": problem.clusters}, extent))
    if extent.peers:
        peers = [peer for peer in PEERS if problem.kind in peer.kinds and (told or not peer.told)]
        run = replace(run, peers={peer.name: peer.run(problem, extent.peer_seconds) for peer in peers})
    return run


def fit_and_score(problem: Problem, settings: Mapping[str, Any], extent: Extent) -> Run:
    """Fit, and compare with the truth, which the fit does not see; candidates are those of a fit without settings."""
    count = len(problem.X)
    start = time.process_time()
    try:
        with at_most(extent.fit_seconds), recorded() as recording:
            model = MCGTA(n_jobs=extent.n_jobs, progress=False, **settings)
            labels = problem.fit(model)
        seconds = time.process_time() - start
        assigned = labels if settings else _assign(problem, model)
    except (Exception, OutOfTime) as error:  # a set that cannot be fitted is a result, and the others go on
        return Run(count, problem.clusters, failed=_told(error))
    scores = score(problem.truth, labels)
    scores_assigned = score(problem.truth, assigned)
    best, seen = (None, 0) if settings else _best_candidate(problem, model, recording)
    return Run(
        count,
        problem.clusters,
        ari=scores["ari"],
        ami=scores["ami"],
        clusters=scores["clusters"],
        assigned=scores_assigned["ari"],
        assigned_clusters=scores_assigned["clusters"],
        noise=scores["noise"],
        seconds=seconds,
        join_ratio=join_ratio(problem, labels) if problem.kind == SPACE else 0.0,
        family=str(model.family_),
        source=str(model.labels_source_),
        gain=float("nan") if settings else _own_gain(model, recording),
        best=best,
        seen=seen,
    )


def join_ratio(problem: Problem, labels: Labels) -> float:
    """Return the changes of label between nearest neighbours over those of labels dealt out at random; 0 for one label."""
    _, counts = np.unique(labels, return_counts=True)
    random = 1.0 - float(np.sum((counts / labels.size) ** 2))
    if random <= 0.0 or problem.positions is None:
        return 0.0
    nearest = NearestNeighbors(n_neighbors=JOINED_NEIGHBORS).fit(problem.positions).kneighbors(return_distance=False)
    return float(np.mean(labels[nearest] != labels[:, None])) / random


def _fit(problem: Problem, settings: Mapping[str, Any], extent: Extent) -> Given:
    """Fit with other settings."""
    start = time.process_time()
    try:
        with at_most(extent.fit_seconds):
            labels = problem.fit(MCGTA(n_jobs=extent.n_jobs, progress=False, **settings))
    except (Exception, OutOfTime) as error:
        return Given(failed=_told(error))
    seconds = time.process_time() - start
    scores = score(problem.truth, labels)
    return Given(scores["ari"], scores["ami"], seconds)


def _best_candidate(problem: Problem, model: Any, recording: Recording) -> tuple[Candidate | None, int]:
    """Return the labelling with the largest ARI of all that were looked at, and how many these are."""
    seen = list(recording.seen())
    if not seen:
        return None, 0
    truth = problem.truth[model.fitted_.data.user_rows]
    aris = [score_ari(truth[each.rows], each.labels) for each in seen]
    best = seen[int(np.argmax(aris))]
    scores = score(truth[best.rows], best.labels)
    gain = recording.gain(best.family, best.labels) if best.labels.size == truth.size else float("nan")
    return Candidate(scores["clusters"], scores["ari"], scores["ami"], gain, best.family), len(seen)


def _own_gain(model: Any, recording: Recording) -> float:
    """Return the evidence of the chosen labels on the scale of the choice; NaN for labels of the clusterer with noise."""
    labels = model.fitted_.labelling.labels
    return recording.gain(model.family_, labels) if labels.min() >= 0 else float("nan")


def _assign(problem: Problem, model: MCGTA) -> Labels:
    """Return the labels of a fit that assigns the noise of the clusterer; where there is none, the same labels."""
    if model.labels_source_ == "evidence" or model.noise_share_ == 0:
        return model.labels_
    return problem.fit(MCGTA(n_jobs=model.n_jobs, progress=False, refine="noise"))


def _told(error: BaseException) -> str:
    return str(error) if isinstance(error, OutOfTime) else f"{type(error).__name__}: {error}"
