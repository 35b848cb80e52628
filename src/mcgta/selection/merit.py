"""What labellings of the clusterer are compared by: their evidence, or their agreement with other labels."""

from __future__ import annotations

from dataclasses import dataclass

from mcgta.clustering.labels import small_to_noise
from mcgta.runtime.types import Labels
from mcgta.selection.noise import NOISE_AS_CLUSTER, NOISE_ASSIGNED, assign_noise_rows, score_with_noise
from mcgta.selection.scoring.scored_labelling import ScoredLabelling
from mcgta.selection.scoring.scoring_data import ScoringData
from mcgta.selection.search import SearchResult
from mcgta.validation.agreement import adjusted_rand, count_together

SMALLEST_SHARE = 500
"""A cluster with less than one in as many observations is noise, for the evidence."""


@dataclass(frozen=True, eq=False)
class ByEvidence:
    """The evidence of labellings, noise treated as it will be in the fit.

    Attributes
    ----------
    scoring_data : the observations
    result : of the search, by whose correlations, tails and overdispersion labellings are scored
    assigns_noise : whether the fit gives noise to clusters
    """

    scoring_data: ScoringData
    result: SearchResult
    assigns_noise: bool

    def __call__(self, labels: Labels) -> float:
        """Return the log evidence of a labelling, noise -1, in nats."""
        return self.score(labels).log_evidence(self.result.overdispersion)

    def score(self, labels: Labels) -> ScoredLabelling:
        """Score a labelling, noise -1."""
        # Fragments are scored as noise, though the fit keeps them. Correlations and tails are those of the labelling of
        # the search, which favours that a little: to find them for each trial would take too long (decision 38).
        known = self.result.best
        fragment = max(self.scoring_data.min_cluster_rows, len(self.scoring_data) // SMALLEST_SHARE)
        (scored,) = score_with_noise(
            self.scoring_data,
            small_to_noise(labels, fragment),
            treatments=(NOISE_ASSIGNED if self.assigns_noise else NOISE_AS_CLUSTER,),
            correlations=known.correlations,
            tails=known.tails,
        ).values()
        return scored


@dataclass(frozen=True, eq=False)
class ByAgreement:
    """The agreement of labellings with a target, noise being a class of its own unless the fit gives it to clusters.

    Labellings of fewer than two clusters are worse than all others: noise is no cluster.

    Attributes
    ----------
    evidence : of labellings, which knows how noise is treated
    target : (N,) labels
    """

    evidence: ByEvidence
    target: Labels

    def __call__(self, labels: Labels) -> float:
        """Return the adjusted Rand index of the target and a labelling, noise -1; less than -1 for fewer than two clusters."""
        known = self.evidence.result.best
        least = 0.0 if labels.max(initial=-1) > 0 else -2.0  # below any adjusted Rand index
        if self.evidence.assigns_noise and (labels < 0).any() and (labels >= 0).any():
            labels = assign_noise_rows(self.evidence.scoring_data, labels, known.correlations, known.tails)
        return least + adjusted_rand(count_together(self.target, labels))
