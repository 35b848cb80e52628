"""What every family of clusters offers: labellings with their evidence, and models that give rows a density in each cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol, Self

from mcgta.positions.positions import Positions
from mcgta.runtime.archive import Archived
from mcgta.runtime.types import Array, Index, Labels


class Candidate(NamedTuple):
    """A labelling that a family has found.

    Attributes
    ----------
    labels : (N,) clusters 0 ... K - 1 of all observations in canonical order
    gain : log evidence in nats over that of one cluster, in the family's model; what writing the labels takes is subtracted
    """

    labels: Labels
    gain: float

    @property
    def n_clusters(self) -> int:
        """K."""
        return int(self.labels.max(initial=0)) + 1


class FamilyModels(Archived, ABC):
    """K clusters of a family, by which new observations are placed and each has probabilities; a frozen dataclass.

    Attributes
    ----------
    n_features : of the observations that the clusters were estimated from
    log_shares : (K,) logs of the clusters' shares of all observations
    change_cost : nats of a change of label along time
    agreement : weight of the share of neighbours with the same label, elsewhere
    reach : rows of a series before and after a row that its density depends on
    """

    n_features: int
    log_shares: Array
    change_cost: float
    agreement: float
    reach: int

    def __len__(self) -> int:
        """K."""
        return int(self.log_shares.size)

    @property
    def kind_shares(self) -> Array | None:
        """(K, M) shares of kinds in each cluster, where clusters are mixtures of kinds; None for others."""
        return None

    def kinds(self, features: Array, labels: Labels) -> Labels | None:
        """Return the (N,) kinds of observations, given their clusters, where these are mixtures of kinds; None for others."""
        return None

    @abstractmethod
    def renumbered(self, rank: Index) -> Self:
        """Return the same with other numbers for the clusters: ``rank`` (K,) is the new one of each."""

    @abstractmethod
    def row_log_densities(self, features: Array, places: Positions) -> Array:
        """Return the (N, K) log densities of rows (N, d), in canonical order, in each cluster, dependence allowed for."""


class FamilySearch(Protocol):
    """What a family has found in observations, all in canonical order."""

    @property
    def name(self) -> str:
        """Of the family, as the setting ``family`` has it."""

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Labellings that were looked at, each once; one cluster is among them, with a gain of 0."""

    @property
    def best(self) -> Candidate:
        """The candidate that the family would choose."""

    @property
    def one_gain(self) -> float:
        """Nats of one cluster of this family over one Gaussian, in the same rows; 0 where it models another aspect of them."""

    @property
    def yields_to(self) -> tuple[str, ...]:
        """Families whose clusters are taken where they have found some, whatever this one has found."""

    def contenders(self) -> tuple[Candidate, ...]:
        """Return the candidates that are worth comparing with other families, with borders as they will be."""

    def value(self, candidate: Candidate, level_gain: float) -> float:
        """Return nats over one cluster, given those that the same labels gain as Gaussian clusters."""

    def beside_level(self, labels: Labels) -> float:
        """Return the nats that labels of Gaussian clusters gain beside, in an aspect of rows that these know nothing of."""

    def gain(self, labels: Labels) -> float:
        """Return the log evidence of any labelling over that of one cluster."""

    def describe(self, labels: Labels) -> str:
        """Say in words what the clusters of a labelling differ in."""

    def models(self, labels: Labels) -> FamilyModels:
        """Estimate the clusters of a labelling; -1 is noise and has no part in them."""
