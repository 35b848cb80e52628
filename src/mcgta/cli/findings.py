"""What a fit has found, in a few lines for a terminal and as values for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mcgta.cli.screen import Screen, Styled, Text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mcgta.estimator import MCGTA
    from mcgta.selection.choice import Choice

EVIDENCE_WORDS = {20.0: "overwhelming", 5.0: "very strong", 3.0: "strong", 1.0: "some"}
"""What evidence is called from so many nats on. The first three limits are those of Kass and Raftery (1995), 2, 6 and 10 for
twice the logarithm of a Bayes factor; the last is ours."""

_SHARES_PER_LINE = 8
_NOUNS = {"time": "state", "space": "region", "spacetime": "cluster", "other": "cluster"}
_THINGS = {"time": "readings", "space": "places", "spacetime": "rows", "other": "rows"}


def noun(model: MCGTA, count: int) -> str:
    """Return what clusters are called by the positions, as so many: states along time, regions in space."""
    return _NOUNS[model.positions_.metric.domain] + ("" if count == 1 else "s")


def nats_ahead(choice: Choice | None) -> float:
    """Return the log evidence of the labels less that of one cluster; NaN without a search."""
    return float("nan") if choice is None else choice.log_evidence - choice.one_cluster_log_evidence


def say_evidence(nats: float) -> str:
    """Return what evidence for clusters, as opposed to one, is called."""
    return next((words for least, words in EVIDENCE_WORDS.items() if nats >= least), "hardly any")


def say_found(model: MCGTA) -> str:
    """Say how many clusters there are and how strong the evidence for them is."""
    from mcgta.runtime.wording import say_number, say_share

    count = model.n_clusters_
    noise = f"noise {say_share(model.noise_share_)}"
    if count == 0:
        return f"no clusters; {noise}"
    found = f"{count} {noun(model, count)}"
    nats = nats_ahead(model.choice_)
    if count == 1 or nats != nats:
        return f"{found}; {noise}"
    return f"{found}, {say_evidence(nats)} evidence ({say_number(nats)} nats ahead of one); {noise}"


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
    screen.say(label, f"{labels.size:,} rows in {model.n_clusters_} {noun(model, model.n_clusters_)}; noise {noise}")
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
    from mcgta.palette import cluster_color
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
    from mcgta.runtime.wording import say_distance

    semivariogram = model.semivariogram_
    things = _THINGS[model.positions_.metric.domain]
    far = say_distance(semivariogram.range_, semivariogram.unit)
    provenance = model.fitted_.provenance
    where = "" if semivariogram.unit or provenance is None else f" in {', '.join(provenance.positions)}"
    return f"{things} up to {far} apart{where} are related"


def found_values(model: MCGTA) -> dict[str, Any]:
    """Return what was found as values for JSON."""
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
