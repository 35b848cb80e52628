"""The tables of the paper, and some that it did not have, from records, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from mcgta.runtime.sizes import say_size
from paper import published
from paper.rendering.layout import (
    CONVENTION,
    NOISE_SINGLE,
    WORDS_EXPLAINED,
    data_heading,
    families,
    left_out,
    setting_text,
    shown_data,
    shown_settings,
)
from paper.rendering.legend import legend_rows, method_title
from paper.rendering.markdown import bold, escape, join, number, table
from paper.rendering.overview import render_overview
from paper.rendering.summary import WORDS, Board, Summary, best
from paper.running.cells import Cell
from paper.running.records import Record

FIGURES = ("curves",)
"""Tables whose cells are shown as figures."""

_SCORES = ("ari", "ami", "nmi")
_COLUMNS = ("setting", "ARI", "AMI", "NMI", "ARI, noise single", "noise %", "clusters", "paper's ARI", "paper's NMI")
_CAPTION = f"{CONVENTION}{NOISE_SINGLE}{WORDS_EXPLAINED}"
_RUNTIME_CAPTION = (
    "Seconds of the processor, one thread, means over seeds. Peak of memory, and what the process held before it read "
    "the data. What an attempt is: *given*, one fit, with K known, after another on a piece of the data, so that no "
    "compiler is timed; of methods without K by their rule; of MC-GTA, with and without constraint, at n = 30 and "
    "a radius found before; of mcgta as it comes, with its search for settings. The quickest of each data set is in "
    "bold. *tuned*, the best of those tried: one fit of a rival, but of MC-GTA a search over all settings of one "
    "neighbourhood, scored on held-out labels as well. *free*, all that the rule asks for, such as a fit for each K. "
    "The paper's seconds are of another machine."
)


def render(records: Sequence[Record], cells: Sequence[Cell] = ()) -> str:
    """Return all tables as Markdown; those of which there is neither a record nor a planned cell are left out.

    Parameters
    ----------
    records : results, as :func:`paper.running.records.read_records` returns them
    cells : that are planned; those without a record are shown as not run
    """
    names = dict.fromkeys([*(cell.table for cell in cells), *(record["table"] for record in records)])
    others = [name for name in names if name not in ("baselines", "runtime", *FIGURES)]
    parts = [render_overview(records, cells), render_caps(records), render_baselines(records, cells)]
    parts += [render_ablation(name, records, cells) for name in sorted(others, key=_ablation_rank)]
    parts += [render_runtime(records, cells), render_legend(records, cells), render_remarks(records)]
    return "\n\n".join(filter(None, parts)) + "\n"


def render_caps(records: Sequence[Record]) -> str:
    """Return what cells were allowed to take, and what code ran them, as a line of Markdown for each that differs."""
    counts = Counter((*_cap(one), one.get("code", "")) for one in records)
    lines = [
        f"{count} cell{'s' * (count > 1)} had up to {seconds:g} s of the processor and {memory} of memory each, by mcgta "
        f"{code}."
        for (seconds, memory, code), count in counts.items()
        if seconds is not None
    ]
    return "\n".join(lines)


def _cap(record: Record) -> tuple[float | None, str]:
    caps = record.get("caps") or {}
    memory = caps.get("memory")
    return caps.get("seconds"), "any amount" if memory is None else say_size(int(memory))


def render_baselines(records: Sequence[Record], cells: Sequence[Cell] = ()) -> str:
    """Return the paper's Table 1 as Markdown, a block for each data set, with the paper's figures beside ours."""
    board = Board("baselines", records, cells)
    if not board:
        return ""
    caption = f"Mean ± standard deviation over seeds, the best of each setting in bold. {_CAPTION}"
    blocks = [f"### {data_heading(board, data)}\n\n{_block(board, data)}" for data in shown_data(board)]
    return join("## Methods by data set", caption, *blocks, *left_out(board))


def render_ablation(ablation: str, records: Sequence[Record], cells: Sequence[Cell] = ()) -> str:
    """Return one ablation as Markdown: variants, and the paper's figures, which are of the Pavement data."""
    board = Board(ablation, records, cells)
    if not board:
        return ""
    stated = published.ABLATIONS.get(ablation, {})
    variants = [*stated, *(name for name in board.methods if name not in stated)]
    blocks = []
    for data in shown_data(board):
        shown = stated if data == "pavement" else {}
        lines = [(name, setting) for name in variants for setting in shown_settings(board, data, name)]
        tops = _tops(board, data, lines)
        rows = [
            [
                method_title(name, ablation),
                setting_text(board, data, name, setting),
                *_scores(board.at(data, name, setting), setting, tops),
                *_two(shown.get(name, ()) if setting != "free" else ()),  # the paper tunes by labels
            ]
            for name, setting in lines
        ]
        blocks.append(f"### {data_heading(board, data)}\n\n{table(('variant', *_COLUMNS), rows)}")
    return join(f"## Ablation: {ablation}", _CAPTION, *blocks, *left_out(board))


def render_runtime(records: Sequence[Record], cells: Sequence[Cell] = ()) -> str:
    """Return what fits took as Markdown: from the table of run times, and from that of methods where it has none."""
    board = Board(("runtime", "baselines"), records, cells)
    if not board:
        return ""
    rows = [row for data in shown_data(board) for row in _runtime_rows(board, data)]
    head = ("data", "method", "setting", "an attempt", "tried", "all that was tried", "peak", "before", "paper's fit")
    return join("## Run time", _RUNTIME_CAPTION, table(head, rows) if rows else "", *left_out(board))


def _runtime_rows(board: Board, data: str) -> list[list[str]]:
    summaries = {
        (name, setting): board.at(data, name, setting)
        for _, names in families(board)
        for name in names
        for setting in board.settings(data, name)
    }
    given = (summary.mean("seconds") for (_, setting), summary in summaries.items() if setting == "given")
    quickest = best(given, min)
    rows: list[list[str]] = []
    seen = set[str]()
    for (name, setting), summary in summaries.items():
        if not summary.records or (summary.word == WORDS["unsuitable"] and not summary.results):
            continue
        seconds = summary.mean("seconds")
        attempt = (
            summary.word if seconds is None else bold(f"{seconds:,.2f}", (setting, seconds) == ("given", quickest))
        )
        tried = summary.values("tried")
        rows.append(
            [
                data,
                method_title(name),
                setting,
                attempt,
                f"{max(tried):,.0f}" if tried else "",
                number(summary.mean("total"), ",.2f"),
                _largest_size(summary.values("peak")),
                _largest_size(summary.values("peak_before")),
                "" if name in seen else _printed_seconds(name, data),
            ]
        )
        seen.add(name)
    return rows


def _largest_size(sizes: Sequence[float]) -> str:
    return say_size(int(max(sizes))) if sizes else ""


def render_legend(records: Sequence[Record], cells: Sequence[Cell] = ()) -> str:
    """Return what the methods of the tables are, by the names that the command line takes, as Markdown."""
    board = Board(("baselines", "runtime"), records, cells)
    rows = legend_rows(name for _, names in families(board) for name in names) if board else []
    return (
        join("## Methods", table(("method", "`--method`", "*free*: how it is set without labels"), rows))
        if rows
        else ""
    )


def render_remarks(records: Sequence[Record]) -> str:
    """Return why cells have no result, or not all they could have, as a Markdown list; what is missing is named once."""
    seeds_by_remark: dict[str, list[int]] = {}
    missing = Counter[str]()
    for one in records:
        if one["status"] == "missing data":
            missing[f"{one['data']}: its files are not there"] += 1
        elif one["status"] == "missing package":
            missing[f"{one['method']}: {one['note']}"] += 1
        elif one["status"] not in ("ok", "unsuitable"):
            why = f"{one['status']}{': ' if one['note'] else ''}{one['note']}"
            remark = f"{one['table']}, {one['data']}, {one['method']}, {one['setting']}: {why}"
            seeds_by_remark.setdefault(remark, []).append(one["seed"])
    lines = [f"- {escape(text)} ({count} cell{'s' * (count > 1)})" for text, count in missing.items()]
    lines += [
        f"- {escape(text)} (seed {', '.join(map(str, sorted(seeds)))})" for text, seeds in seeds_by_remark.items()
    ]
    return "\n".join(["## Remarks", "", *lines]) if lines else ""


def _block(board: Board, data: str) -> str:
    """One data set of Table 1."""
    lines = [
        (name, setting)
        for _, names in families(board)
        for name in names
        for setting in shown_settings(board, data, name)
    ]
    tops = _tops(board, data, lines)
    stated = {name: published.printed(name, data) for name, _ in lines}
    most = [best(getattr(cell, name) for cell in stated.values() if cell is not None) for name in ("ari", "ami")]
    rows = []
    for family, names in families(board):
        rows.append([f"*{family}*", *[""] * len(_COLUMNS)])
        for name, setting in lines:
            if name not in names:
                continue
            # The paper knows K or tunes by labels, it does not say which; what is found without labels has no figure there.
            labelled = setting != "free" or (name, "tuned") not in lines
            cell = stated[name] if labelled else None
            theirs = ["", ""] if cell is None else [cell.said, cell.said]
            if cell is not None and not cell.said:
                pairs = zip((cell.ari, cell.ami), most, strict=True)
                theirs = [bold(number(value, "z.2f"), value == top) for value, top in pairs]
            scores = _scores(board.at(data, name, setting), setting, tops)
            rows.append([method_title(name), setting_text(board, data, name, setting), *scores, *theirs])
    return table(("method", *_COLUMNS), rows)


def _tops(board: Board, data: str, lines: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return, for each setting and score, the best mean as it is shown."""
    means: dict[tuple[str, str], list[float | None]] = {}
    for method, setting in lines:
        for name in _SCORES:
            summary = board.at(data, method, setting)
            means.setdefault((setting, name), []).append(summary.mean(name) if summary.whole else None)
    return {place: number(best(values), "z.2f") for place, values in means.items()}


def _scores(summary: Summary, setting: str, tops: dict[tuple[str, str], str]) -> list[str]:
    """Scores, share of noise and number of clusters; one word where there are none."""
    if summary.mean("ari") is None:
        return [summary.word, *[""] * 5]
    shown = []
    for name in _SCORES:
        top = summary.whole and number(summary.mean(name), "z.2f") == tops[setting, name]
        shown.append(bold(summary.show(name), top) + (summary.mark if name == "ari" else ""))
    clusters = f"{number(summary.mean('clusters'), '.3g')} of {number(summary.mean('true_clusters'), '.3g')}"
    single = number(summary.mean("ari_singletons"), "z.2f")
    return [*shown, single, summary.show("noise", "z.1f", spread=False), clusters]


def _printed_seconds(name: str, data: str) -> str:
    seconds = published.printed_seconds(name, data)
    return "< 1" if seconds == 1 else number(seconds, ",g")


def _ablation_rank(name: str) -> tuple[int, str]:
    order = [*published.ABLATIONS]
    return (order.index(name) if name in order else len(order), name)


def _two(values: Sequence[float]) -> list[str]:
    """Two columns of the paper's figures, empty where it has none."""
    return [f"{value:z.2f}" for value in values] or ["", ""]
