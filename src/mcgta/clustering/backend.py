"""The backend of a fit: which neighbour search answers the clusterer, and why.

All give the same labels:

- "table" reads the losses of all pairs from a table. It is quickest for few observations, and what objects with
  ``fit_predict`` need.
- "tree" compares few pairs, where bounds decide the rest; memory is in proportion to the observations.
- "tiled" computes the losses of all pairs, some rows at a time; memory is in proportion to the observations.
"""

from __future__ import annotations

from dataclasses import dataclass

from mcgta.clustering.clusterer import Clusterer
from mcgta.runtime.archive import Archived
from mcgta.runtime.config import get_config
from mcgta.stages.dissimilarity.kind import Kind

MOST_OPEN_SHARE = 0.25
"""Share of the pairs that bounds may leave open before reading all of them is quicker."""


BACKENDS = ("table", "tree", "tiled")


@dataclass(frozen=True)
class Backend(Archived):
    """The backend of a fit, and why it was chosen.

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
    def holds_table(self) -> bool:
        """Whether the losses of all pairs are held."""
        return self.name == "table"

    @property
    def is_tree(self) -> bool:
        """Whether a tree over the models decides most pairs by bounds."""
        return self.name == "tree"

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
    count: int, *, clusterer: Clusterer, dissimilarity: Kind, measured: bool, fits: bool, small: int | None = None
) -> Backend:
    """Choose the backend for ``count`` observations.

    ``measured`` says whether kernels can measure between positions or need not, ``fits`` whether there is memory for the table.
    """
    small = get_config().table_rows if small is None else small
    if clusterer.needs_table:
        return Backend("table", f"clusterer {clusterer.name} works on the table of all pairs")
    if count <= small and fits:
        return Backend("table", f"{count} observations; up to {small} the table of all pairs is quickest")
    bounds = dissimilarity.has_bounds
    if bounds and measured:
        return Backend(
            "tree", f"{count} observations, and {dissimilarity.name} has bounds: no table of all pairs is needed"
        )
    why = (
        "the distances of positions are a table themselves"
        if bounds
        else f"there are no bounds for dissimilarity {dissimilarity.name!r}"
    )
    if fits:
        return Backend("table", f"{why}, and the table of all pairs fits into memory")
    return Backend("tiled", f"{why}, and the table of all pairs does not fit into memory")


def reconsider(backend: Backend, open_share: float) -> Backend:
    """Replace the tree by tiles where its bounds leave too many pairs open."""
    if open_share <= MOST_OPEN_SHARE:
        return backend
    return Backend(
        "tiled", f"bounds leave {open_share:.0%} of the pairs open, so all are read: no table of them is kept"
    )
