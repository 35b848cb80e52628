"""The best labelling of each number of clusters that a search has looked at, and what distinguishes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.clustering.labels import number_by_first_member
from mcgta.observations.observations import Observations
from mcgta.runtime.types import Labels
from mcgta.selection.auto import Selection


@dataclass(frozen=True, eq=False)
class Alternative:
    """The best labelling with some number of clusters that the search looked at.

    Attributes
    ----------
    n_clusters : K
    log_evidence : in nats; more is better
    labels : (N,) in canonical order; None where it was looked at on a sample only
    difference : what distinguishes it from the alternative with fewer clusters, in words
    """

    n_clusters: int
    log_evidence: float
    labels: Labels | None
    difference: str


def list_alternatives(data: Observations, selection: Selection, names: Any) -> tuple[Alternative, ...]:
    """List the best labelling of each number of clusters that was looked at, fewest clusters first, beginning with one.

    That of the search is among them, with the labels that it gives to all observations. ``names`` are those of the features.
    """
    count = len(data.positions)
    listed: list[Alternative] = []
    taken = int(selection.labels.max()) + 1
    for considered in selection.others:
        labels = None
        difference = "all observations are one cluster"
        if considered.n_clusters == 1:
            labels = np.zeros(count, dtype=np.int64)
        elif considered.n_clusters == taken:
            labels = number_by_first_member(selection.labels)
        elif considered.labels.size == count:
            labels = number_by_first_member(considered.labels)
        if considered.n_clusters > 1:
            difference = tell_difference(data, listed[-1].labels, labels, names)
        listed.append(Alternative(considered.n_clusters, considered.log_evidence, labels, difference))
    return tuple(listed)


def tell_difference(data: Observations, coarse: Labels | None, fine: Labels | None, names: Any) -> str:
    """Say which cluster of the coarser labelling is split in the finer one, and by which feature the parts differ most."""
    if coarse is None or fine is None:
        return "looked at on a sample only"
    size = int(fine.max()) + 1
    table = np.zeros((int(coarse.max()) + 1, size), dtype=np.int64)
    np.add.at(table, (coarse, fine), 1)
    second = np.sort(table, axis=1)[:, -2] if size > 1 else np.zeros(len(table))
    split = int(np.argmax(second))
    largest, other = np.argsort(-table[split], kind="stable")[:2]
    rows = coarse == split
    features = (
        data.X if data.reduction is None else data.raw[data.order]
    )  # told by the user's features, not by components
    one = features[rows & (fine == largest)]
    two = features[rows & (fine == other)]
    if len(one) < 2 or len(two) < 2:
        return "clusters are cut otherwise"
    spread = np.sqrt(0.5 * (one.var(axis=0) + two.var(axis=0))) + 1e-300
    shift = np.abs(one.mean(axis=0) - two.mean(axis=0)) / spread
    ratio = np.abs(np.log((one.std(axis=0) + 1e-300) / (two.std(axis=0) + 1e-300)))
    column = int(np.argmax(np.maximum(shift, ratio)))
    how = "level" if shift[column] >= ratio[column] else "spread"
    lag, feature = divmod(column, data.raw.shape[1])
    called = f"{f'lag {lag} of ' if lag else ''}{f'feature {feature}' if names is None else repr(str(names[feature]))}"
    shares = [len(part) / coarse.size for part in (one, two)]
    return (
        f"cluster {split} of {len(table)} is split into parts of {shares[0]:.0%} and {shares[1]:.0%} of all observations, "
        f"which differ most in the {how} of {called}"
    )
