"""How stage 6 goes about its pairs: from the table of all losses, reading them in tiles, or through a tree.

All give the same labels. The table is quickest for few observations and is what objects with ``fit_predict`` need; the others
take memory in proportion to the observations. The tree looks at few pairs, where bounds decide the rest; tiles at all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from mcgta.runtime.archive import Archived
from mcgta.runtime.config import get_config
from mcgta.stages.dissimilarity.registry import get_dissimilarity

BACKENDS = ("dense", "tree", "tiled")
OPEN = 0.25
"""Share of the pairs that bounds may leave open before reading all of them is quicker."""


@dataclass(frozen=True)
class Backend(Archived):
    """What a fit did, and why.

    Attributes
    ----------
    name : one of ``BACKENDS``
    reason : why this one
    pairs : of observations that can be compared
    exact_pairs : comparisons of models that the clustering made, of some pairs more than once; bounds decided the others
    """

    name: str
    reason: str
    pairs: int = 0
    exact_pairs: int = 0

    def __post_init__(self) -> None:
        if self.name not in BACKENDS or self.pairs < 0 or self.exact_pairs < 0:
            raise ValueError(f"backend {self.name!r} with {self.exact_pairs} of {self.pairs} pairs")

    @property
    def exact_share(self) -> float:
        """Comparisons of models for each pair."""
        return self.exact_pairs / self.pairs if self.pairs else 0.0

    def tell_pairs(self) -> str:
        """Say how many pairs were compared."""
        return f"{self.name} backend: {self.exact_pairs:,} comparisons of models, {self.exact_share:.2g} for each pair"

    def __str__(self) -> str:
        return f"{self.name} backend: {self.reason}"


def choose_backend(
    count: int, *, clusterer: object, dissimilarity: str, measured: bool, fits: bool, small: int | None = None
) -> Backend:
    """Choose for ``count`` observations.

    ``measured`` says whether kernels can measure between positions or need not, ``fits`` whether there is memory for the table.
    """
    small = get_config().table_rows if small is None else small
    if not isinstance(clusterer, str):
        return Backend("dense", f"clusterer {type(clusterer).__name__} works on the table of all pairs")
    if count <= small and fits:
        return Backend("dense", f"{count} observations; up to {small} the table of all pairs is quickest")
    bounds = get_dissimilarity(dissimilarity).has_bounds
    if bounds and measured:
        return Backend("tree", f"{count} observations, W2 squared and its bounds: no table of all pairs is needed")
    why = (
        "the distances of positions are a table themselves"
        if bounds
        else f"there are no bounds for dissimilarity {dissimilarity!r}"
    )
    if fits:
        return Backend("dense", f"{why}, and the table of all pairs fits into memory")
    return Backend("tiled", f"{why}, and the table of all pairs does not fit into memory")


def reconsider(backend: Backend, open_share: float) -> Backend:
    """Give the tree up where its bounds leave too many pairs open."""
    if open_share <= OPEN:
        return backend
    return Backend(
        "tiled", f"bounds leave {open_share:.0%} of the pairs open, so all are read: no table of them is kept"
    )
