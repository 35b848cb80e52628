"""The peers: what each is called, what it is told, and how it labels a problem.

A peer that is told K has the true number of clusters, which ours does not have.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import StandardScaler

from mcgta.baselines import HMM, TICC
from mcgta.runtime.types import Labels
from measuring.scoring import score
from measuring.timebox import OutOfTime, at_most
from peers.clap import NotInstalledError, clap_process
from peers.diffusion import diffusion_mixture
from problems.problem import SPACE, TIME, Problem

MAX_STATES = 12  # that the hidden Markov model is tried with
WORSE_STATES = 2  # numbers of states with a larger criterion, one after the other, that end the trials


class Labelled(NamedTuple):
    """Labels, and the seconds of the processor that they took."""

    labels: Labels
    seconds: float


@dataclass(frozen=True)
class PeerRun:
    """What a peer has found: ARI and AMI in per cent, NaN where it has no labels, and ``note`` says why."""

    ari: float = float("nan")
    ami: float = float("nan")
    clusters: int = 0
    seconds: float = float("nan")
    note: str = ""


@dataclass(frozen=True)
class Peer:
    """A method.

    Attributes
    ----------
    name : of its column
    kinds : of positions that it can take
    told : whether it is told K
    label : takes a problem and the seconds of the processor that it may take
    """

    name: str
    kinds: tuple[str, ...]
    told: bool
    label: Callable[[Problem, float], Labelled]

    def run(self, problem: Problem, seconds: float) -> PeerRun:
        """Label a problem, and compare with the truth."""
        try:
            labels, taken = self.label(problem, seconds)
        except OutOfTime as end:
            return PeerRun(note=str(end))
        except NotInstalledError as error:
            return PeerRun(note=str(error))
        except Exception as error:  # what a peer cannot take is a result, and the others go on
            return PeerRun(note=f"{type(error).__name__}: {error}".splitlines()[0])
        scores = score(problem.truth, labels)
        return PeerRun(scores["ari"], scores["ami"], scores["clusters"], taken)


def clap(problem: Problem, seconds: float) -> Labelled:
    """CLaP, which finds change points and states by itself."""
    reply = clap_process().ask(problem, seconds)
    if "labels" not in reply:
        raise OutOfTime(reply["note"])
    return Labelled(np.array(reply["labels"], dtype=np.int64), float(reply["seconds"]))


def hidden_markov(problem: Problem) -> Labels:
    """A hidden Markov model with as many states as there are."""
    return _in_time(problem, HMM(problem.clusters))


def hidden_markov_by_criterion(problem: Problem) -> Labels:
    """A hidden Markov model whose number of states has the least BIC."""
    best: Any = None
    worse = 0
    for states in count(1):
        model = HMM(states)
        try:
            _in_time(problem, model)
        except ValueError:  # more states than it can fill
            break
        if best is None or model.bic_ < best.bic_:
            best = model
            worse = 0
        else:
            worse += 1
        if worse == WORSE_STATES or states == MAX_STATES:
            break
    return np.asarray(best.labels_)


def toeplitz(problem: Problem) -> Labels:
    """TICC with as many clusters as there are, of standardised features."""
    return _in_time(problem, TICC(problem.clusters))


def diffusion(problem: Problem) -> Labels:
    """Linear diffusion and a mixture with as many clusters as there are."""
    return diffusion_mixture(problem, problem.clusters)


def _in_time(problem: Problem, method: Any) -> Labels:
    X = StandardScaler().fit_transform(problem.X)
    return np.asarray(method.fit(X, positions=problem.positions, groups=problem.groups).labels_)


def _here(label: Callable[[Problem], Labels], problem: Problem, seconds: float) -> Labelled:
    """Label in this process."""
    start = time.process_time()
    with at_most(seconds):
        labels = label(problem)
    return Labelled(labels, time.process_time() - start)


PEERS = (
    Peer("CLaP", (TIME,), False, clap),
    Peer("HMM, BIC", (TIME,), False, partial(_here, hidden_markov_by_criterion)),
    Peer("HMM, K", (TIME,), True, partial(_here, hidden_markov)),
    Peer("TICC, K", (TIME,), True, partial(_here, toeplitz)),
    Peer("diffusion, K", (TIME, SPACE), True, partial(_here, diffusion)),
)
