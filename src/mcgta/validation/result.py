"""What tuning has found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.estimator import MCGTA
from mcgta.settings import hashable
from mcgta.validation.grid import Values
from mcgta.validation.labels import NOISE


@dataclass(frozen=True)
class HeldOut:
    """One fold.

    Attributes
    ----------
    rows : observations held out
    labels, classes : known labels among them, and how many different ones
    params : chosen by the labels that are not held out
    train_score : on those
    score : on the labels held out
    """

    rows: int
    labels: int
    classes: int
    params: Values
    train_score: float
    score: float


@dataclass(frozen=True, eq=False, repr=False)
class Tuning:
    """Parameters chosen with labels, and how well such a choice does.

    Attributes
    ----------
    score : mean score on held-out labels, of parameters chosen by the others: what to expect where there are no labels
    spread : standard deviation of that over the folds
    folds : HeldOut of each fold
    settings : a dict for each setting tried: its parameters, ``clusters``, ``noise_share``, ``score`` on all known labels, and
        ``fold_0``, ... on the labels held out in each fold
    best_params : chosen by all known labels
    best_score : the score of these on the same labels, which flatters
    best_estimator : fitted with these
    labels, classes, unknown : how many labels were known, how many different ones, and how many were not known
    scoring, noise : how it was scored
    """

    score: float
    spread: float
    folds: tuple[HeldOut, ...]
    settings: list[dict[str, Any]]
    best_params: Values
    best_score: float
    best_estimator: MCGTA
    labels: int
    classes: int
    unknown: int
    scoring: str
    noise: str

    def __repr__(self) -> str:
        return f"Tuning({self.scoring} {self.score:.3f} ± {self.spread:.3f} held out, {len(self.settings)} settings)"

    def to_frame(self) -> Any:
        """Return the settings as a pandas frame, best first."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install 'mcgta[frames]'") from error
        return pandas.DataFrame(self.settings).sort_values("score", ascending=False, kind="stable", ignore_index=True)

    def summary(self) -> str:
        """Return what was found as a text of a few lines."""
        model = self.best_estimator
        said = [
            f"{len(self.settings)} settings, scored by {self.scoring}; {NOISE[self.noise]}",
            f"{self.labels} of {self.labels + self.unknown} observations have labels, {self.classes} different ones",
            "",
            f"held out in blocks, chosen by the others: {self.score:.3f} ± {self.spread:.3f} over {len(self.folds)} folds",
            "fold   rows  labels  classes  chosen at  held out  parameters",
        ]
        varied = [name for name in self.best_params if len({hashable(row.get(name)) for row in self.settings}) > 1]
        for k, fold in enumerate(self.folds):
            counts = f"{k:4d} {fold.rows:6d} {fold.labels:7d} {fold.classes:8d}"
            chosen = _said({name: fold.params[name] for name in varied if name in fold.params})
            said.append(f"{counts} {fold.train_score:10.3f} {fold.score:9.3f}  {chosen}")
        said += [
            "",
            f"chosen by all labels: {self.best_score:.3f} on the same labels, which flatters",
            f"  {_said(self.best_params)}",
            f"  {model.n_clusters_} clusters, {100 * model.noise_share_:.1f} % noise",
        ]
        return "\n".join(said)


def _said(params: Values) -> str:
    return " ".join(f"{name}={_short(value)}" for name, value in params.items())


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)
