"""Known labels, some of which may be missing, and how well clusters agree with them."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metadata_routing import MetadataRequest

from mcgta.positions.tables import is_missing
from mcgta.runtime.rules import INF, Rule, check_value
from mcgta.runtime.types import Index, Labels, Mask
from mcgta.validation.agreement import (
    adjusted_mutual_information,
    adjusted_rand,
    count_together,
    normalized_mutual_information,
)

SCORES: dict[str, Callable[[Index], float]] = {
    "ari": adjusted_rand,
    "ami": adjusted_mutual_information,
    "nmi": normalized_mutual_information,
}
NOISE = {
    "class": "noise is a class of its own",
    "singletons": "each noise observation is a cluster of its own",
    "left out": "noise is left out",
}
"""What becomes of observations that the clustering leaves as noise, in words."""


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """The labels of N observations, as far as they are known.

    Attributes
    ----------
    codes : (N,) index into ``names``, -1 where the label is unknown
    names : (C,) the labels as the user wrote them, sorted
    """

    codes: Labels
    names: NDArray[Any]

    @property
    def known(self) -> Mask:
        """(N,) whether the label is known."""
        return self.codes >= 0

    def take(self, rows: Index) -> KnownLabels:
        """Return the labels of some observations."""
        return replace(self, codes=self.codes[rows])

    def classes_among(self, rows: Index) -> int:
        """Return how many different labels are known among some rows."""
        codes = self.codes[rows]
        return int(np.unique(codes[codes >= 0]).size)


def read_labels(y: Any, n_rows: int) -> KnownLabels:
    """Read labels: integers, text or booleans, one for each row.

    None, NaN, NaT and pandas' NA are unknown, and so is the number -1, as in scikit-learn's semi-supervised learning.
    """
    if np.ndim(y) != 1 or len(y) != n_rows:
        raise ValueError(f"y must hold one label for each of the {n_rows} rows of X, got shape {np.shape(y)}")
    items = np.asarray(y).tolist() if isinstance(y, np.ndarray) else list(y)
    missing = np.array([is_missing(item) or (_is_number(item) and item == -1) for item in items], dtype=bool)
    known = [item for item, unknown in zip(items, missing.tolist(), strict=True) if not unknown]
    kinds = sorted({_kind(item) for item in known})
    if len(kinds) > 1:
        raise ValueError(f"y mixes {' and '.join(kinds)}; labels must be of one kind")
    if kinds == ["integers"]:
        known = [int(item) for item in known]
    names, known_codes = np.unique(np.array(known), return_inverse=True)
    codes = np.full(n_rows, -1, dtype=np.int64)
    codes[~missing] = known_codes
    return KnownLabels(codes, names)


def _is_number(item: Any) -> bool:
    return isinstance(item, numbers.Real) and not isinstance(item, (bool, np.bool_))


def _kind(item: Any) -> str:
    if isinstance(item, (bool, np.bool_)):
        return "booleans"
    if isinstance(item, str):
        return "text"
    if isinstance(item, numbers.Real) and float(item).is_integer():
        return "integers"
    raise ValueError(f"y holds {item!r} of type {type(item).__name__}; labels must be integers, text or booleans")


@dataclass(frozen=True)
class AgreementScore:
    """How well clusters agree with known labels; larger is better.

    Attributes
    ----------
    scoring : "ari", "ami", "nmi", or a function of labels and clusters
    noise : "class", "singletons" or "left out"; see ``NOISE``
    """

    scoring: str | Callable[[Any, Any], float] = "ari"
    noise: str = "class"

    def __post_init__(self) -> None:
        check_value("scoring", self.scoring, Rule(words=tuple(SCORES), function=True))
        check_value("noise", self.noise, Rule(words=tuple(NOISE)))

    @property
    def name(self) -> str:
        """The score's name, for people."""
        if isinstance(self.scoring, str):
            return self.scoring.upper()
        return getattr(self.scoring, "__name__", type(self.scoring).__name__)

    def __call__(self, labels: KnownLabels, clusters: Labels, rows: Index) -> float:
        """Score the clusters (N,) of those rows whose labels are known; 0 where none is left to score."""
        rows = rows[labels.codes[rows] >= 0]
        if self.noise == "left out":
            rows = rows[clusters[rows] >= 0]
        if rows.size == 0:
            return 0.0
        scored = clusters[rows]
        if self.noise == "singletons":
            alone = scored < 0
            scored = np.where(alone, scored.max() + np.cumsum(alone), scored)
        if isinstance(self.scoring, str):
            return SCORES[self.scoring](count_together(labels.codes[rows], scored))
        score: Any = self.scoring(labels.names[labels.codes[rows]], scored)
        if not Rule(real=(-INF, INF)).accepts(score):
            raise ValueError(f"scoring: {self.name} returned {score!r}; it must return a finite number")
        return float(score)


class LabelScorer:
    """A scorer for scikit-learn's model selection that hands positions and groups on to ``predict``.

    With ``sklearn.set_config(enable_metadata_routing=True)`` scikit-learn splits positions like X, and
    ``GridSearchCV(..., scoring=LabelScorer("ari"))`` scores by them. Labels that are unknown do not count; see
    :func:`mcgta.tune` for ``scoring`` and ``noise``.

    Parameters
    ----------
    scoring : {"ari", "ami", "nmi"} or a function of labels and clusters
    noise : {"class", "singletons", "left out"}
    """

    def __init__(self, scoring: str | Callable[[Any, Any], float] = "ari", *, noise: str = "class") -> None:
        self.score = AgreementScore(scoring, noise)

    def __repr__(self) -> str:
        return f"LabelScorer({self.score.scoring!r}, noise={self.score.noise!r})"

    def __call__(self, estimator: Any, X: Any, y: Any, *, positions: Any = None, groups: Any = None) -> float:
        """Score the clusters that a fitted estimator predicts."""
        given = {"positions": positions, "groups": groups}
        try:
            clusters = estimator.predict(X, **{name: value for name, value in given.items() if value is not None})
        except ValueError as error:
            if positions is None:
                error.add_note(
                    "scikit-learn hands positions on to a scorer after sklearn.set_config(enable_metadata_routing=True) only"
                )
            raise
        return self.score(read_labels(y, len(clusters)), clusters, np.arange(len(clusters)))

    def get_metadata_routing(self) -> MetadataRequest:
        """Tell scikit-learn what to hand on."""
        request = MetadataRequest(owner=self)
        for name in ("positions", "groups"):
            request.score.add_request(param=name, alias=True)
        return request
