"""What a fit has found, in a few lines for a terminal and as values for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mcgta.cli.screen import Screen, Styled, Text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mcgta.estimator import MCGTA

_SHARES_PER_LINE = 8


def noun(model: MCGTA, count: int) -> str:
    """Return what clusters are called by the positions, as so many: states along time, regions in space."""
    from mcgta.description.verdict import noun

    return noun(model.positions_.metric.domain, count)


def say_found(model: MCGTA) -> str:
    """Say how many clusters there are and how strong the evidence for them is."""
    from mcgta.description.verdict import say_found

    return say_found(model.fitted_)


def show_found(model: MCGTA, screen: Screen) -> None:
    """Show what was found: clusters, their shares, what is doubtful, and the range."""
    screen.say("found", say_found(model))
    for line in _share_lines(cluster_shares(model)) if model.n_clusters_ > 1 else ():
        screen.say("", line)
    if model.choice_ is not None:
        for doubt in model.choice_.doubts:
            screen.note(doubt)
    screen.say("range", say_range(model))


def show_shares(label: str, labels: NDArray[Any], model: MCGTA, screen: Screen) -> list[float]:
    """Show how many rows were placed, and the share of each cluster; return the shares."""
    from mcgta.runtime.wording import say_share

    shares = label_shares(labels, model.n_clusters_)
    noise = say_share(float((labels < 0).mean())) if labels.size else "0 %"
    rows = "row" if labels.size == 1 else "rows"
    screen.say(label, f"{labels.size:,} {rows} in {model.n_clusters_} {noun(model, model.n_clusters_)}; noise {noise}")
    for line in _share_lines(shares):
        screen.say("", line)
    return shares


def cluster_shares(model: MCGTA) -> list[float]:
    """Return the share of the rows of each cluster of a fit."""
    return label_shares(model.labels_, model.n_clusters_)


def label_shares(labels: NDArray[Any], n_clusters: int) -> list[float]:
    """Return the share of the rows of each cluster."""
    import numpy as np

    counts = np.bincount(labels[labels >= 0], minlength=n_clusters)
    return [count / max(labels.size, 1) for count in counts.tolist()]


def _share_lines(shares: Sequence[float]) -> list[Text]:
    """Return the numbers of clusters in their colours, and their shares, some to a line."""
    from mcgta.drawing.palette import cluster_color
    from mcgta.runtime.wording import say_share

    pieces = [(Styled(f"{k}", f"bold {cluster_color(k)}"), f"  {say_share(share)}") for k, share in enumerate(shares)]
    lines: list[Text] = []
    for first in range(0, len(pieces), _SHARES_PER_LINE):
        line: list[str | Styled] = []
        for place, (number, share) in enumerate(pieces[first : first + _SHARES_PER_LINE]):
            line += ["   " if place else "", number, share]
        lines.append(line)
    return lines


def say_range(model: MCGTA) -> str:
    """Say in a sentence how far apart observations are related."""
    from mcgta.description.verdict import say_range

    return say_range(model.fitted_)


def found_values(model: MCGTA) -> dict[str, Any]:
    """Return what was found as values for JSON."""
    from mcgta.description.verdict import nats_ahead

    choice = model.choice_
    semivariogram = model.semivariogram_
    return {
        "clusters": model.n_clusters_,
        "shares": cluster_shares(model),
        "noise_share": model.noise_share_,
        "labels_source": model.labels_source_,
        "nats_ahead_of_one": nats_ahead(choice),
        "doubts": [] if choice is None else list(choice.doubts),
        "semivariogram": {
            "model": semivariogram.model,
            "range": semivariogram.range_,
            "sill": semivariogram.sill_,
            "nugget": semivariogram.nugget_,
            "unit": semivariogram.unit,
        },
    }
