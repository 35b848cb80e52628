"""STICC, spatial Toeplitz inverse covariance-based clustering (Kang et al. 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mcgta.baselines.base import Task
from mcgta.baselines.inverse_covariance import InverseCovarianceClustering
from mcgta.kernels.simd.compiled import native
from mcgta.kernels.tree.forest import best_on_forest, open_rings
from mcgta.positions.positions import Positions
from mcgta.runtime.rules import INF, Rule
from mcgta.runtime.types import Array, Index, Labels
from mcgta.stages.neighborhoods import find_neighborhoods


class STICC(InverseCovarianceClustering):
    """Clusters of places with their surroundings, each a sparse Markov random field; near places prefer one label.

    It minimises the negative log density of the places' subregions under K Gaussians of block-Toeplitz precision, plus the
    1-norms of the precisions, plus ``beta`` for each place whose nearest neighbour has another label; see
    :mod:`mcgta.baselines.inverse_covariance`. Prefer it where patterns recur on a map, so that a cluster is many patches, and
    a place is told by its neighbours as well as by itself.

    A place's subregion is its own features and those of its nearest neighbours in its group, stacked in the order of their
    distance. Precisions are block Toeplitz, as in TICC: how two places of a subregion depend on each other is a matter of how
    far apart they are in that order. Each place points to its nearest, which makes a forest with one mutual pair in each tree,
    so the best labels are found exactly, where the authors' code approximates them.

    Features are taken as they are; since ``sparsity`` has their unit, standardise them if their units are arbitrary.

    Parameters
    ----------
    n_clusters : K
    subregion : R, places in a subregion, the place itself among them; 1 leaves surroundings out. The authors' "radius"
    beta : cost in nats of a nearest neighbour with another label; 0 labels each place by itself. The authors' code leaves
        out the 1/2 of log densities, so that its beta is twice this one: the 5 of its script is 2.5 here
    sparsity : lambda, penalty of the entries of precisions; see :mod:`mcgta.baselines.inverse_covariance`
    metric : as in :class:`mcgta.MCGTA`
    init : how runs start, "kmeans" of subregions, as the authors do, or "gmm"
    n_init : number of runs, of which the one of least objective is kept
    max_iter : the most iterations of a run
    tol : fall of the objective in nats for each place at which a run has converged, if labels have not settled before
    random_state : seed of the starts

    Attributes
    ----------
    labels_, n_clusters_ : see :class:`mcgta.baselines.base.Baseline`; fewer clusters than asked for where some died out
    means_, precisions_, objective_, n_iter_, converged_, gap_ :
        see :class:`mcgta.baselines.inverse_covariance.InverseCovarianceClustering`
    """

    _rules: ClassVar[dict[str, Rule]] = {**InverseCovarianceClustering._rules, "subregion": Rule(integer=(1, INF))}

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        subregion: int = 3,
        beta: float = 2.5,
        sparsity: float = 0.1,
        metric: Any = "auto",
        init: str = "kmeans",
        n_init: int = 3,
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: Any = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.subregion = subregion
        self.beta = beta
        self.sparsity = sparsity
        self.metric = metric
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _label(self, task: Task) -> Labels:
        members = subregions(task.positions, self.subregion)
        stacked = task.X[members].reshape(len(members), -1)
        forest = Forest(nearest_places(task.positions), float(self.beta))
        return self._solve(task, stacked, self.subregion, forest, lambda labels, _: labels)


def subregions(positions: Positions, size: int) -> Index:
    """Rows (N, R) of each place's subregion: the place itself, then its nearest neighbours by distance.

    Equally far ones stand in the order of the table.
    """
    near = find_neighborhoods(positions, size)
    if not near.complete.all():
        row = int(np.flatnonzero(~near.complete)[0])
        group = positions.groups[row]
        raise ValueError(
            f"subregion={size} but group {str(positions.group_names[group])!r} has an observation with fewer than {size - 1} "
            f"neighbours, of {np.count_nonzero(positions.groups == group)} observations; subregion must not be larger"
        )
    indices = near.indices
    distances = near.distances
    away = indices != np.arange(len(indices))[:, None]
    order = np.lexsort((indices, distances, away), axis=1)
    return np.take_along_axis(indices, order, axis=1)


def nearest_places(positions: Positions) -> Index:
    """Row (N,) of each place's nearest neighbour in its group, -1 if it is alone; without rings of more than two."""
    near = find_neighborhoods(positions, 2)
    own = np.arange(len(positions))
    indices = near.indices
    nearest = native(np.where(indices[:, 0] == own, indices[:, 1], indices[:, 0]), np.int64).copy()
    open_rings(nearest)
    return nearest


@dataclass(frozen=True, eq=False)
class Forest:
    """Places that point to their ``nearest``, or -1; each whose label is another one costs ``beta``."""

    nearest: Index
    beta: float

    def best(self, costs: Array) -> Labels:
        """Return the labels of least cost, by dynamic programming from leaves to roots."""
        labels = np.empty(len(costs), dtype=np.int64)
        best_on_forest(native(costs), self.nearest, self.beta, labels)
        return labels

    def price(self, labels: Labels) -> float:
        """Return what disagreement costs."""
        linked = self.nearest >= 0
        return float(self.beta * np.count_nonzero(labels[linked] != labels[self.nearest[linked]]))
