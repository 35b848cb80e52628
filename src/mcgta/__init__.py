"""mcgta: clusters that are alike in features and make sense in position.

Algorithm 1 of the MC-GTA paper (Wang et al., ICML 2024) as a scikit-learn clusterer, with settings and labels chosen by
evidence. The stages are functions of their own in ``mcgta.stages``. Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcgta.containers.omics import cluster_anndata
    from mcgta.containers.rasters import cluster_xarray
    from mcgta.estimator import MCGTA
    from mcgta.loading import load
    from mcgta.positions.metrics import SpaceTime
    from mcgta.positions.positions import Positions
    from mcgta.positions.reading import read_positions
    from mcgta.runtime.archive import ArchiveError
    from mcgta.runtime.config import config_context
    from mcgta.selection.choice import ChoiceWarning
    from mcgta.selection.evidence import compare_labellings, evidence
    from mcgta.stages.prior import GaussianMixturePrior
    from mcgta.stages.semivariogram.curve import Semivariogram
    from mcgta.validation.blocks import BlockSplit
    from mcgta.validation.labels import LabelScorer
    from mcgta.validation.stability import stability
    from mcgta.validation.tune import tune

__version__ = "0.1.0"

_HOMES = {
    "MCGTA": "estimator",
    "ArchiveError": "runtime.archive",
    "BlockSplit": "validation.blocks",
    "ChoiceWarning": "selection.choice",
    "GaussianMixturePrior": "stages.prior",
    "LabelScorer": "validation.labels",
    "Positions": "positions.positions",
    "Semivariogram": "stages.semivariogram.curve",
    "SpaceTime": "positions.metrics",
    "cluster_anndata": "containers.omics",
    "cluster_xarray": "containers.rasters",
    "compare_labellings": "selection.evidence",
    "config_context": "runtime.config",
    "evidence": "selection.evidence",
    "load": "loading",
    "read_positions": "positions.reading",
    "stability": "validation.stability",
    "tune": "validation.tune",
}
"""The module that each public name is in."""

__all__ = [
    "MCGTA",
    "ArchiveError",
    "BlockSplit",
    "ChoiceWarning",
    "GaussianMixturePrior",
    "LabelScorer",
    "Positions",
    "Semivariogram",
    "SpaceTime",
    "cluster_anndata",
    "cluster_xarray",
    "compare_labellings",
    "config_context",
    "evidence",
    "load",
    "read_positions",
    "stability",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"mcgta.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
