"""The table of fits without settings, as it is printed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from peers.registry import PEERS
from rows import Part
from scores import Mean, PeerScore, Score

_FORM = "{:<40} {:>6} {:>12} {:>12} {:>14} {:>5} {:>11} {:>5} {:>6} {:>12} {:>8} {:>8} {:<12} {:>6} {:<4} {:>12} {:<3}"
_PEER = " {:>13}"
_CANDIDATE = "  {:<11} {:>3} {:>6} {:>6} {:>10}"
_SELECTION = "{:<44} {:>4} {:>4}" + _CANDIDATE + _CANDIDATE + " {:>6}"


def score_head(part: Part) -> str:
    """Return the head of a part."""
    value = "no regions" if part.kinds else "one cluster" if part.one else "ARI"
    names = ("per cent", "N", value, "AMI", "noise assigned", "best", "clusters", "true", "noise", "seconds")
    head = _FORM.format(*names, "must", "aim", "reached", "before", "held", "K given" if part.given else "", "")
    if part.peers:
        head += "".join(_PEER.format(peer.name) for peer in PEERS)
    return f"\n{part.title}\n{head.rstrip()}"


def score_line(score: Score) -> str:
    """Return a line of a part, its notes below."""
    columns = score.columns() if score.runs else {}
    several = len(score.runs) > 1

    def shown(name: str, form: str = ".1f", *, spread: bool = True) -> str:
        return "" if name not in columns else _mean(columns[name], form, spread=spread and several)

    row = score.row
    given = f"{shown('given', spread=False)} ({shown('given_ami', spread=False)})" if "given" in columns else ""
    line = _FORM.format(
        row.title,
        shown("count", ",.0f", spread=False),
        shown("value", spread=not score.part.one),
        shown("ami"),
        shown("assigned", spread=not score.part.one) if score.part.timed else "",
        shown("best", spread=False),
        shown("clusters"),
        shown("true", spread=False),
        shown("noise", ".0f", spread=False),
        shown("seconds", ".2f"),
        _limit(row.limits.must, row.ami.must),
        _limit(row.limits.aim, row.ami.aim),
        score.reached,
        _limit(row.before),
        score.held,
        given,
        score.given_reached,
    )
    peers = score.peers()
    if peers:
        line += "".join(_PEER.format(_peer(peers.get(peer.name))) for peer in PEERS)
    notes = [score.note, *(f"{name}: {peer.note}" for name, peer in peers.items() if peer.note)]
    return "\n    ".join([line.rstrip(), *filter(None, notes)])


def selection_lines(records: Sequence[dict[str, Any]]) -> Iterable[str]:
    """Yield the table of what was chosen, and what was best among the candidates; evidence is in nats over one cluster."""
    names = ("K", "ARI", "AMI", "nats")
    yield "\nChosen, and best of all candidates by ARI"
    yield _SELECTION.format("", "true", "seen", "chosen", *names, "best", *names, "missed")
    for row in records:
        yield _SELECTION.format(
            row["name"],
            row["true"],
            row["seen"],
            row["family"],
            row["clusters"],
            *(f"{row[name]:.1f}" for name in ("ari", "ami")),
            _nats(row["gain"]),
            row["best_family"],
            row["best_clusters"],
            *(f"{row[f'best_{name}']:.1f}" for name in ("ari", "ami")),
            _nats(row["best_gain"]),
            f"{max(0.0, row['best_ari'] - row['ari']):.1f}",
        )


def _nats(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"


def _mean(value: Mean, form: str, *, spread: bool) -> str:
    return f"{value.middle:{form}} ± {value.spread:{form}}" if spread else f"{value.middle:{form}}"


def _limit(limit: float | None, ami: float | None = None) -> str:
    return "" if limit is None else f"{limit:g}" if ami is None else f"{limit:g} ({ami:g})"


def _peer(peer: PeerScore | None) -> str:
    if peer is None or peer.asked == 0:
        return ""
    if peer.ari is None:
        return "none"
    ami = "" if peer.ami is None else f" ({peer.ami:.1f})"
    mark = "" if peer.ended == peer.asked else "*"
    return f"{peer.ari:.1f}{ami}{mark}"
