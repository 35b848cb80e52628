"""The opening of a report: the verdict in words, with its doubts."""

from __future__ import annotations

from typing import Any

from mcgta.description.verdict import nats_ahead, say_evidence, say_range, thing
from mcgta.report.markup.html import Markup, element, join, named
from mcgta.report.subject import Subject
from mcgta.runtime.wording import say_number, say_share
from mcgta.selection.choice import CLUSTERER


def write_opening(subject: Subject) -> Markup:
    """Return the title, the verdict and what makes it doubtful."""
    doubts = list_doubts(subject)
    notes = list_notes(subject)
    return element(
        "header",
        element("h1", named(subject.title), ": report of mcgta"),
        element("p", element("strong", say_count(subject)), say_strength(subject), class_="verdict"),
        element("ul", *(element("li", _sentence(doubt)) for doubt in doubts), class_="doubts", aria_label="Doubts")
        if doubts
        else None,
        element("p", join((_sentence(words) for words in notes), " "), class_="quiet"),
    )


def say_count(subject: Subject) -> str:
    """Say how many clusters there are in how many rows."""
    description = subject.description
    count = subject.n_clusters
    rows = f"{description.n_rows:,} {thing(subject.domain, description.n_rows)}"
    return f"{count or 'No'} {subject.clusters_are(count)} in {rows}"


def say_strength(subject: Subject) -> str:
    """Say how strong the evidence is, and how many rows are in no cluster; follows the count."""
    choice = subject.fit.choice
    count = subject.n_clusters
    noise = subject.description.noise_share
    parts = []
    if count == 0:
        return ": all rows are noise."
    if choice is not None and count > 1:
        nats = nats_ahead(choice)
        ahead = f"{say_number(nats)} nats ahead of one" if nats >= 0 else f"{say_number(-nats)} nats behind one"
        parts.append(f", with {say_evidence(nats)} evidence ({ahead})")
    parts.append(f". {say_share(noise)} of the rows are in no {subject.clusters_are(1)}." if noise else ".")
    return "".join(parts)


def list_doubts(subject: Subject) -> list[str]:
    """Return why the verdict is doubtful, in sentences."""
    choice = subject.fit.choice
    if choice is None:
        return [
            "labels are those of the clusterer with the settings that were made: other numbers of clusters were not looked at, "
            "so nothing tells how sure this is"
        ]
    return list(choice.doubts)


def list_notes(subject: Subject) -> list[str]:
    """Return what else there is to say: how far things are related, and what the search has noted beside its doubts."""
    choice = subject.fit.choice
    notes = [] if list_doubts(subject) else ["nothing that was looked at makes this doubtful"]
    notes.append(say_range(subject.fit))
    if choice is None:
        return notes
    notes += [note for note in choice.notes if note not in choice.doubts and "ahead of one" not in note]
    if choice.source == CLUSTERER and subject.n_clusters > 1:
        notes.append("labels are those of the clusterer")
    return notes


def verdict_values(subject: Subject) -> dict[str, Any]:
    """Return the verdict as values for JSON."""
    return {
        "words": say_count(subject) + say_strength(subject),
        "doubts": list_doubts(subject),
        "notes": [] if subject.fit.choice is None else list(subject.fit.choice.notes),
        "range": say_range(subject.fit),
        "n_clusters": subject.n_clusters,
        "noise_share": subject.description.noise_share,
        "labels_source": subject.fit.labelling.source,
        "nats_ahead_of_one": nats_ahead(subject.fit.choice),
    }


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + ("" if words.endswith(".") else ".")
