"""Algorithm 1 of the paper up to the loss, a file for each stage, each usable on its own.

========================  =====================================================================  =================
place                     what it does                                                           Algorithm 1
========================  =====================================================================  =================
``neighborhoods``         the n nearest observations in position                                 line 2
``local_models``          a Gaussian fitted on each neighbourhood                                line 3
``dissimilarity``         how much two observations differ                                       lines 4-5
``semivariogram``         how much they should differ at their distance, and the range           lines 6-9
``loss``                  dissimilarity plus the hinge penalty of pairs that fail the test       line 10
========================  =====================================================================  =================

Beside them: ``lags`` and ``prior`` change what the local models are fitted on. Line 11 is in ``mcgta.clustering``. The
functions below are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcgta.stages.dissimilarity.compare import compare_features, compare_models
    from mcgta.stages.dissimilarity.dissimilarity import Dissimilarity
    from mcgta.stages.dissimilarity.kind import Kind
    from mcgta.stages.local_mixtures import fit_local_mixtures
    from mcgta.stages.local_models import LocalModels, fit_local_models
    from mcgta.stages.loss import Loss
    from mcgta.stages.neighborhoods import Neighborhoods, find_neighborhoods
    from mcgta.stages.semivariogram.empirical import empirical_semivariogram
    from mcgta.stages.semivariogram.fitting import fit_semivariogram

_HOMES = {
    "Dissimilarity": "dissimilarity.dissimilarity",
    "Kind": "dissimilarity.kind",
    "LocalModels": "local_models",
    "Loss": "loss",
    "Neighborhoods": "neighborhoods",
    "compare_features": "dissimilarity.compare",
    "compare_models": "dissimilarity.compare",
    "empirical_semivariogram": "semivariogram.empirical",
    "find_neighborhoods": "neighborhoods",
    "fit_local_mixtures": "local_mixtures",
    "fit_local_models": "local_models",
    "fit_semivariogram": "semivariogram.fitting",
}
"""The module that each function or class is in."""

__all__ = [
    "Dissimilarity",
    "Kind",
    "LocalModels",
    "Loss",
    "Neighborhoods",
    "compare_features",
    "compare_models",
    "empirical_semivariogram",
    "find_neighborhoods",
    "fit_local_mixtures",
    "fit_local_models",
    "fit_semivariogram",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"mcgta.stages.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
