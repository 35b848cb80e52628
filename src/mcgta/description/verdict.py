"""The verdict on a fit in words: how many clusters, how strong the evidence for them is, and how far things are related."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcgta.runtime.wording import say_distance, say_number, say_share

if TYPE_CHECKING:
    from mcgta.fit import Fit
    from mcgta.selection.choice import Choice

EVIDENCE_WORDS = {20.0: "overwhelming", 5.0: "very strong", 3.0: "strong", 1.0: "some"}
"""What evidence is called from so many nats on. The first three limits are those of Kass and Raftery (1995), 2, 6 and 10 for
twice the logarithm of a Bayes factor; the last is ours."""

_NOUNS = {"time": "state", "space": "region", "spacetime": "cluster", "other": "cluster"}
_THINGS = {"time": "reading", "space": "place", "spacetime": "row", "other": "row"}


def noun(domain: str, count: int) -> str:
    """Return what clusters are called by the domain of their positions, as so many: states along time, regions in space."""
    return _NOUNS[domain] + ("" if count == 1 else "s")


def thing(domain: str, count: int) -> str:
    """Return what rows are called by the domain of their positions, as so many: readings along time, places in space."""
    return _THINGS[domain] + ("" if count == 1 else "s")


def nats_ahead(choice: Choice | None) -> float:
    """Return the log evidence of the labels less that of one cluster; NaN without a search."""
    return float("nan") if choice is None else choice.log_evidence - choice.one_cluster_log_evidence


def say_evidence(nats: float) -> str:
    """Return what evidence for clusters, as opposed to one, is called."""
    return next((words for least, words in EVIDENCE_WORDS.items() if nats >= least), "hardly any")


def say_found(fit: Fit) -> str:
    """Say how many clusters there are and how strong the evidence for them is."""
    labels = fit.labels
    count = fit.labelling.n_clusters
    noise = f"noise {say_share(float((labels < 0).mean()))}"
    if count == 0:
        return f"no clusters; {noise}"
    found = f"{count} {noun(fit.data.positions.metric.domain, count)}"
    nats = nats_ahead(fit.choice)
    if count == 1 or nats != nats:
        return f"{found}; {noise}"
    return f"{found}, {say_evidence(nats)} evidence ({say_number(nats)} nats ahead of one); {noise}"


def say_range(fit: Fit) -> str:
    """Say in a sentence how far apart observations are related."""
    semivariogram = fit.semivariogram
    things = thing(fit.data.positions.metric.domain, 2)
    far = say_distance(semivariogram.range_, semivariogram.unit)
    where = "" if semivariogram.unit or fit.provenance is None else f" in {', '.join(fit.provenance.positions)}"
    return f"{things} up to {far} apart{where} are related"
