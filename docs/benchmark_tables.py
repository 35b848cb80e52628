"""Sphinx extension: the results that a benchmark wrote as JSON, as tables for the page that includes them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_NOTHING = "No results here yet: `make bench-{}` writes them.\n"


def setup(app: Any) -> dict[str, Any]:
    """Have the tables written before the pages are read."""
    app.connect("builder-inited", write_tables)
    return {"parallel_read_safe": True}


def write_tables(app: Any) -> None:
    """Write each table as ``_generated/NAME.md``, from ``benchmarks/BENCHMARK.json``."""
    source = Path(app.srcdir)
    for name, benchmark, render in TABLES:
        results = source / "benchmarks" / f"{benchmark}.json"
        text = _NOTHING.format(benchmark)
        if results.exists():
            text = render(json.loads(results.read_text(encoding="utf-8")))
        page = source / "_generated" / f"{name}.md"
        if not page.exists() or page.read_text(encoding="utf-8") != text:  # an unchanged page is not built again
            page.parent.mkdir(exist_ok=True)
            page.write_text(text, encoding="utf-8")


def render_kernels(results: dict[str, Any]) -> str:
    """Return the results of the kernels as Markdown, ratios first."""
    parts = [_ratios(results["ratios"])]
    if "arithmetic" in results:
        parts += ["## Operations a second", _arithmetic(results["arithmetic"])]
    if "semivariogram" in results:
        parts += ["## Accuracy of the sampled semivariogram", *map(_accuracy, results["semivariogram"])]
    if "startup" in results:
        parts += ["## Start-up", _startup(results["startup"])]
    parts += ["## Times behind the ratios", _times(results["ratios"])]
    parts += ["## Measured with", _environment(results["environment"])]
    return "\n\n".join(parts) + "\n"


def render_scale(results: dict[str, Any]) -> str:
    """Return the results of large fits as Markdown, what has limits first; one heading deeper than the kernels'."""
    fits = results.get("fits", [])
    done = [row for row in fits if "failed" not in row]
    parts = [_measures(results.get("measures", [])), _ratios(results["ratios"])]
    parts += ["### Fits", _fits(done)] if done else []
    parts += [f"{_name(row)} failed: {row['failed']}." for row in fits if "failed" in row]
    parts += ["### Seconds by stage", _stages(done)] if done else []
    if "growth" in results:
        parts += ["### Growth", _growth(results["growth"])]
    notes = [
        f"- {row['case']}: {row['note']}." for row in results.get("measures", []) + results["ratios"] if row["note"]
    ]
    parts += ["### Notes", "\n".join(notes)] if notes else []
    parts += ["### Measured on", _environment(results["environment"])]
    return "\n\n".join(parts) + "\n"


def render_auto(results: dict[str, Any]) -> str:
    """Return what fits without settings have found as Markdown; one heading deeper than the kernels'."""
    scores = results["scores"]
    parts = []
    for part in dict.fromkeys(row["part"] for row in scores):
        rows = [row for row in scores if row["part"] == part]
        parts += [f"### {part}", _scores(rows)]
        parts += [_beside(rows)] if any(row["peers"] or "given" in row for row in rows) else []
    parts += ["### Time and memory", _measures(results["measures"])] if results.get("measures") else []
    parts += ["### Chosen, and best among the candidates", _selection(results["selection"])]
    notes = [f"- {row['title']}: {row['note']}." for row in scores if row["note"]]
    for row in scores:
        notes += [f"- {row['title']}, {name}: {peer['note']}." for name, peer in row["peers"].items() if peer["note"]]
    notes += [f"- {row['case']}: {row['note']}." for row in results.get("measures", []) if row["note"]]
    parts += ["### Remarks", "\n".join(notes)] if notes else []
    about = results["environment"]
    parts += ["### Fitted on", f"Seeds {about['seeds']}.", _environment(about)]
    return "\n\n".join(parts) + "\n"


def render_null(results: dict[str, Any]) -> str:
    """Return on how much of the data without clusters one cluster was found, as Markdown."""
    rows = [row for row in results["scores"] if row["one"]]
    return _table(
        ("data without clusters", "rows", "fits", "found one cluster"),
        (
            (row["title"], f"{row['count'][0]:,.0f}", str(row["runs"]), f"**{row['value'][0]:.0f} %**")
            for row in sorted(rows, key=lambda row: -row["value"][0])
            if row["name"] != "one"
        ),
    )


TABLES = (
    ("kernels", "kernels", render_kernels),
    ("scale", "scale", render_scale),
    ("auto", "auto", render_auto),
    ("null", "auto", render_null),
)
"""Name of the table, the benchmark that wrote the results, and what renders them."""


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _seconds(value: float | None) -> str:
    if value is None:
        return ""
    unit, size = next(((u, s) for u, s in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)) if value >= s), ("ns", 1e-9))
    return f"{_number(value / size)} {unit}"


def _ratios(rows: list[dict[str, Any]]) -> str:
    return _table(
        ("times faster", "than", "ratio", "quartiles", "must", "aim", "reached"),
        (
            (
                row["case"],
                row["rival"],
                f"**{_number(row['ratio'])}**" if row["ratio"] else "",
                f"{_number(row['low'])} to {_number(row['high'])}" if row["ratio"] else "",
                _number(row["must"]),
                _number(row["aim"]),
                row["reached"],
            )
            for row in rows
        ),
    )


def _times(rows: list[dict[str, Any]]) -> str:
    return _table(
        ("", "than", "ours", "theirs", "a", "note"),
        (
            (row["case"], row["rival"], _seconds(row["ours"]), _seconds(row["theirs"]), row["unit"], row["note"])
            for row in rows
        ),
    )


def _arithmetic(rows: list[dict[str, Any]]) -> str:
    return _table(
        ("d", "share of dgemm", "GFLOP/s", "dgemm", "operations a pair", "time a pair"),
        (
            (
                str(row["d"]),
                f"{row['share']:.0%}",
                f"{row['gflops']:.1f}",
                f"{row['dgemm']:.1f}",
                f"{row['operations']:,}",
                _seconds(row["seconds"]),
            )
            for row in rows
        ),
    )


def _accuracy(row: dict[str, Any]) -> str:
    rows = [
        ("relative error, median over bins", f"{row['median_error']:.1e}"),
        ("relative error, largest", f"{row['largest_error']:.1e}"),
        ("standard error stated, relative, median", f"{row['median_stated']:.1e}"),
    ]
    if row["error_over_stated"] is not None:
        rows += [
            ("error over the standard error stated, root mean square", f"{row['error_over_stated']:.2f}"),
            ("bins within two standard errors", f"{row['within_two']:.0%}"),
        ]
    return _table((f"Vehicle, {row['bins']} bins", ""), rows)


def _startup(rows: list[dict[str, Any]]) -> str:
    return _table(
        ("", "seconds", "at most"), ((row["what"], f"{row['seconds']:.2f}", _number(row["limit"])) for row in rows)
    )


def _measures(rows: list[dict[str, Any]]) -> str:
    return _table(
        ("to be small", "measured", "must", "aim", "reached"),
        (
            (
                row["case"],
                "" if row["value"] is None else f"**{_number(row['value'])}** {row['unit']}".rstrip(),
                _number(row["must"]),
                _number(row["aim"]),
                row["reached"],
            )
            for row in rows
        ),
    )


def _scores(rows: list[dict[str, Any]]) -> str:
    """Return a part of the table of fits without settings."""
    value = "one cluster" if rows[0]["one"] else "ARI"
    return _table(
        (
            *("per cent", "N", value, "AMI", "noise assigned", "clusters", "true", "noise", "seconds"),
            *("must", "aim", "reached", "before", "held"),
        ),
        (
            (
                row["title"],
                _mean(row, "count", ",.0f", spread=False),
                f"**{found}**" if (found := _mean(row, "value", spread=not row["one"])) else "",
                _mean(row, "ami"),
                _mean(row, "assigned", spread=not row["one"]),
                _mean(row, "clusters"),
                _mean(row, "true", spread=False),
                _mean(row, "noise", ".0f"),
                _mean(row, "seconds", ".2f"),
                _limit(row["must"], row["must_ami"]),
                _limit(row["aim"], row["aim_ami"]),
                row["reached"],
                _limit(row["before"]),
                row["held"],
            )
            for row in rows
        ),
    )


def _beside(rows: list[dict[str, Any]]) -> str:
    """Return what stands beside a part: the best of the candidates, the fit with K given, and peers, as ARI (AMI)."""
    names = list(dict.fromkeys(name for row in rows for name in row["peers"]))
    return _table(
        ("ARI (AMI)", "ours", "best candidate", "K given", "at least ours", *names),
        (
            (
                row["title"],
                _both(row, "value", "ami"),
                _mean(row, "best", spread=False),
                _both(row, "given", "given_ami"),
                row["given_reached"],
                *(_peer(row["peers"].get(name)) for name in names),
            )
            for row in rows
        ),
    )


def _selection(rows: list[dict[str, Any]]) -> str:
    """Return for each problem what was chosen and what was best; evidence is in nats over one cluster."""
    return _table(
        (
            *("", "true", "labellings", "chosen", "K", "ARI", "AMI", "nats"),
            *("best", "its K", "its ARI", "its AMI", "its nats"),
        ),
        (
            (
                row["name"],
                str(row["true"]),
                str(row["seen"]),
                *_candidate(row, ""),
                *_candidate(row, "best_"),
            )
            for row in rows
        ),
    )


def _candidate(row: dict[str, Any], which: str) -> tuple[str, ...]:
    gain = row[f"{which}gain"]
    return (
        row[f"{which}family"],
        str(row[f"{which}clusters"]),
        f"{row[f'{which}ari']:.1f}",
        f"{row[f'{which}ami']:.1f}",
        "" if gain is None else f"{gain:,.0f}",
    )


def _mean(row: dict[str, Any], name: str, form: str = ".1f", *, spread: bool = True) -> str:
    if name not in row:
        return ""
    middle, around = row[name]
    return f"{middle:{form}} ± {around:{form}}" if spread and row["runs"] > 1 else f"{middle:{form}}"


def _both(row: dict[str, Any], ari: str, ami: str) -> str:
    first, second = (_mean(row, name, spread=False) for name in (ari, ami))
    return f"{first} ({second})" if second else first


def _limit(limit: float | None, ami: float | None = None) -> str:
    return "" if limit is None else f"{limit:g}" if ami is None else f"{limit:g} ({ami:g})"


def _peer(peer: dict[str, Any] | None) -> str:
    if peer is None:
        return ""
    if peer["ari"] is None:
        return "none"
    ami = "" if peer["ami"] is None else f" ({peer['ami']:.1f})"
    mark = "" if peer["ended"] == peer["asked"] else f", {peer['ended']} of {peer['asked']}"
    return f"{peer['ari']:.1f}{ami}{mark}"


def _name(row: dict[str, Any]) -> str:
    return f"{row['data']}, {row['clusterer']}, N = {row['count']:,}"


def _fits(rows: list[dict[str, Any]]) -> str:
    return _table(
        ("", "whole fit", "clustering", "peak", "before", "backend", "exact pairs", "clusters", "noise", "ARI"),
        (
            (
                _name(row),
                _seconds(row["total"]),
                _seconds(row["clustering"]),
                f"{row['peak'] / 1e9:.2f} GB",
                f"{row['peak_before'] / 1e9:.2f} GB",
                row["backend"]["name"],
                f"{row['backend']['exact_share']:.1e}",
                f"{row['clusters']:,}",
                f"{row['noise']:.0%}",
                f"{row['ari']:.2f}",
            )
            for row in rows
        ),
    )


def _stages(rows: list[dict[str, Any]]) -> str:
    stages = list(dict.fromkeys(stage for row in rows for stage in row["seconds"]))
    return _table(("", *stages), ((_name(row), *(_seconds(row["seconds"].get(s)) for s in stages)) for row in rows))


def _growth(rows: list[dict[str, Any]]) -> str:
    return _table(
        ("data", "clusterer", "stage", "exponent", "from", "to"),
        (
            (
                row["data"],
                row["clusterer"],
                row["stage"],
                f"**{row['exponent']:.2f}**",
                *(f"{_seconds(seconds)} at {size:,}" for size, seconds in (row["seconds"][0], row["seconds"][-1])),
            )
            for row in rows
        ),
    )


def _environment(about: dict[str, Any]) -> str:
    rows = [*about["versions"].items(), ("BLAS", about["blas"]), ("processor", about["processor"])]
    rows += [
        ("cores", str(about["cores"])),
        ("load average at the start", str(about["load"])),
        ("system", about["system"]),
    ]
    return _table(("", ""), rows)
