"""The values of a report as JSON: what the page says, for programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np

from mcgta.report.sections.opening import verdict_values
from mcgta.report.sections.relatedness import relatedness_values
from mcgta.report.sections.repeating import asked_settings, used_settings, versions
from mcgta.report.subject import Subject

FORMAT = 1
"""Of the file; grows where a key is renamed or removed."""


def report_values(subject: Subject) -> dict[str, Any]:
    """Return the values: verdict, clusters, alternatives, semivariogram, settings, provenance and versions."""
    fit = subject.fit
    best = max((each.log_evidence for each in fit.alternatives), default=np.nan)
    alternatives = [
        {
            "n_clusters": each.n_clusters,
            "log_evidence": each.log_evidence,
            "nats_behind": best - each.log_evidence,
            "difference": each.difference,
        }
        for each in fit.alternatives
    ]
    return {
        "format": FORMAT,
        "title": subject.title,
        "verdict": verdict_values(subject),
        "description": subject.description.to_dict(),
        "alternatives": alternatives,
        "semivariogram": relatedness_values(subject),
        "settings": {"asked": asked_settings(subject), "used": used_settings(subject)},
        "provenance": None if fit.provenance is None else asdict(fit.provenance),
        "versions": versions(),
    }


def to_json(values: dict[str, Any]) -> str:
    """Return values as a text that is the same for equal ones; numbers that are not finite are null."""
    return json.dumps(_finite(values), ensure_ascii=True, indent=1, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    if isinstance(value, np.ndarray):
        return _finite(value.tolist())
    if isinstance(value, np.generic):
        return _finite(value.item())
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value
