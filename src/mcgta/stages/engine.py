"""How stage 6 goes about its pairs: from the table of all losses, or through a tree without it.

Both give the same labels, but for HDBSCAN where merges are tied and their order decides. The table is faster for few
observations and knows every algorithm; the tree takes memory in proportion to the observations and looks at few pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

from mcgta.archive import Archived

ENGINES = ("dense", "tree")
SMALL = 4000
"""Observations up to which the table is taken, where there is a choice."""


@dataclass(frozen=True)
class Engine(Archived):
    """What a fit did, and why.

    Attributes
    ----------
    name : one of ``ENGINES``
    reason : why this one
    pairs : of observations that can be compared
    exact_pairs : comparisons of models that the clustering made, of some pairs more than once; bounds decided the others
    """

    name: str
    reason: str
    pairs: int = 0
    exact_pairs: int = 0

    def __post_init__(self) -> None:
        if self.name not in ENGINES or self.pairs < 0 or self.exact_pairs < 0:
            raise ValueError(f"engine {self.name!r} with {self.exact_pairs} of {self.pairs} pairs")

    @property
    def exact_share(self) -> float:
        """Comparisons of models for each pair."""
        return self.exact_pairs / self.pairs if self.pairs else 0.0

    def __str__(self) -> str:
        return f"{self.name} engine: {self.reason}"


def choose_engine(
    count: int, *, clusterer: object, dissimilarity: str, hinge: bool, measured: bool, small: int = SMALL
) -> Engine:
    """Choose for ``count`` observations; ``measured`` says whether kernels can measure between positions or need not."""
    if count <= small:
        return Engine("dense", f"{count} observations; up to {small} the table of all pairs is quickest")
    if not isinstance(clusterer, str) or clusterer not in ("dbscan", "hdbscan"):
        what = clusterer if isinstance(clusterer, str) else type(clusterer).__name__
        return Engine("dense", f"clusterer {what} works on the table of all pairs")
    if dissimilarity != "wasserstein2":
        return Engine("dense", f"there are no bounds for dissimilarity {dissimilarity!r}")
    if not hinge:
        return Engine("dense", "losses may be negative without the hinge")
    if not measured:
        return Engine("dense", "the distances of positions are a table themselves")
    return Engine("tree", f"{count} observations, W2 squared and its bounds: no table of all pairs is needed")
