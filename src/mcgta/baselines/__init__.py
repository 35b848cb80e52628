"""Other ways to cluster observations with positions, in one shape, to compare with."""

from mcgta.baselines.base import Baseline
from mcgta.baselines.dtw import DTW
from mcgta.baselines.hidden_markov import HMM
from mcgta.baselines.inverse_covariance import ObjectiveWarning
from mcgta.baselines.pck_means import PCKMeans
from mcgta.baselines.plain import DBSCAN, GMM, HDBSCAN, KMeans
from mcgta.baselines.segments import SegmentStates
from mcgta.baselines.skater import SKATER
from mcgta.baselines.spacetime_dbscan import MDSTDBSCAN, STDBSCAN
from mcgta.baselines.sticc import STICC
from mcgta.baselines.ticc import TICC, FastTICC
from mcgta.baselines.windowed_gmm import WindowedGMM

__all__ = [
    "DBSCAN",
    "DTW",
    "GMM",
    "HDBSCAN",
    "HMM",
    "MDSTDBSCAN",
    "SKATER",
    "STDBSCAN",
    "STICC",
    "TICC",
    "Baseline",
    "FastTICC",
    "KMeans",
    "ObjectiveWarning",
    "PCKMeans",
    "SegmentStates",
    "WindowedGMM",
]
