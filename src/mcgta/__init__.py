"""mcgta: clusters that are alike in features and make sense in position.

Algorithm 1 of the MC-GTA paper (Wang et al., ICML 2024) as a scikit-learn clusterer, and each of its stages as a
function of its own.
"""

from mcgta.clustering.clustering import Clustering, find_clusters
from mcgta.clustering.membership import Membership
from mcgta.estimator import MCGTA
from mcgta.inference.null_distribution import NullDistribution
from mcgta.inference.pair_test import GoodnessOfFit, PairTest, labelling_test, pair_test
from mcgta.positions.metrics import SpaceTime
from mcgta.positions.positions import Positions
from mcgta.positions.reading import read_positions
from mcgta.runtime.archive import ArchiveError, load
from mcgta.selection.choice import Choice, ChoiceWarning
from mcgta.selection.evidence import Comparison, Evidence, compare_labellings, evidence
from mcgta.stages.dissimilarity.dissimilarity import Dissimilarity, compare_features, compare_models
from mcgta.stages.local_models import LocalModels, fit_local_models
from mcgta.stages.loss import Loss, Objective
from mcgta.stages.neighborhoods import Neighborhoods, TimeWindows, find_neighborhoods
from mcgta.stages.prior import MixturePrior, fit_mixture_prior
from mcgta.stages.semivariogram.curve import Semivariogram, fit_semivariogram
from mcgta.stages.semivariogram.empirical import empirical_semivariogram
from mcgta.validation.blocks import BlockSplit
from mcgta.validation.labels import LabelScorer
from mcgta.validation.result import HeldOut, Tuning
from mcgta.validation.stability import Stability, stability
from mcgta.validation.tune import tune

__version__ = "0.1.0"

__all__ = [
    "MCGTA",
    "ArchiveError",
    "BlockSplit",
    "Choice",
    "ChoiceWarning",
    "Clustering",
    "Comparison",
    "Dissimilarity",
    "Evidence",
    "GoodnessOfFit",
    "HeldOut",
    "LabelScorer",
    "LocalModels",
    "Loss",
    "Membership",
    "MixturePrior",
    "Neighborhoods",
    "NullDistribution",
    "Objective",
    "PairTest",
    "Positions",
    "Semivariogram",
    "SpaceTime",
    "Stability",
    "TimeWindows",
    "Tuning",
    "compare_features",
    "compare_labellings",
    "compare_models",
    "empirical_semivariogram",
    "evidence",
    "find_clusters",
    "find_neighborhoods",
    "fit_local_models",
    "fit_mixture_prior",
    "fit_semivariogram",
    "labelling_test",
    "load",
    "pair_test",
    "read_positions",
    "stability",
    "tune",
]
