"""The tables of the paper, and what it did not have, from records: Markdown for documents, and plain text for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from mcgta.experiments import paper
from mcgta.experiments.cells import Cell
from mcgta.experiments.legend import data_title, legend_rows, method_title
from mcgta.experiments.results import Record
from mcgta.experiments.summary import WORDS, Board, Summary, best
from mcgta.runtime.sizes import say_size

FAMILIES = (
    ("Without constraint, model-free", ("k-means", "dbscan", "hdbscan", "dtw")),
    ("Constrained, model-free", ("pck-means", "mdst-dbscan", "skater")),
    ("Without constraint, model-based", ("gmm", "ticc-beta0", "sticc-beta0", "mcgta-wo")),
    ("Constrained, model-based", ("ticc", "sticc", "mcgta")),
)
"""The methods of the paper, in its order."""

BEYOND = "Not in the paper"
NO_SETTING = "none"
FIGURES = ("curves",)
"""Tables whose cells are shown as figures."""

_SCORES = ("ari", "ami", "nmi")
_CONVENTION = (
    "Scores in per cent. Noise counts as one class of its own, as scikit-learn's scores take labels, which the paper uses; "
    "the paper's NMI is adjusted mutual information, our AMI. Settings: *given*, the number of clusters known and all else at "
    "its default; *tuned*, the best ARI of those tried, chosen by the true labels; *free*, found without labels. "
)
_SINGLE = (
    '"ARI, noise single": each row of noise a class of its own; where it is lower, noise has passed for a cluster. '
)
_WORDS = (
    '"-": the method does not suit the data. none: it has no such setting. NC: it did not converge. time, memory: it met its '
    "cap. † the best of what was tried when a cap was met. ‡ did not converge, but has labels. (k of m): k of m seeds have a "
    "result; such means are of other data than those of all seeds, and not in bold."
)

Mark = Callable[[str], str]


def render(records: Sequence[Record], cells: Sequence[Cell] = ()) -> str:
    """Return all tables as Markdown; those of which there is neither a record nor a planned cell are left out.

    Parameters
    ----------
    records : results, as :func:`mcgta.experiments.results.read_records` returns them
    cells : that are planned; those without a record are shown as not run
    """
    names = dict.fromkeys([*(cell.table for cell in cells), *(record["table"] for record in records)])
    others = [name for name in names if name not in ("baselines", "runtime", *FIGURES)]
    parts = [render_overview(records, cells), render_caps(records), render_baselines(records, cells)]
    parts += [render_ablation(name, records, cells) for name in sorted(others, key=_ablation_rank)]
    parts += [render_runtime(records, cells), render_legend(records, cells), render_remarks(records)]
    return "\n\n".join(filter(None, parts)) + "\n"


def render_overview(records: Sequence[Record], cells: Sequence[Cell] = ()) -> str:
    """Return ARI of all methods on all data as Markdown, tuned and free side by side."""
    board = Board("baselines", records, cells)
    if not board:
        return ""
    caption = f"ARI, tuned / free, means over seeds; the best of each in bold. {_CONVENTION}{_WORDS}"
    head, rows = _overview(board, _bold, method_title)
    return _join("## ARI of all methods", caption, _table(head, rows) if rows else "", *_left_out(board))


def render_caps(records: Sequence[Record]) -> str:
    """Return what cells were allowed to take, and what code ran them, as a line of Markdown for each that differs."""
    found = Counter((*_cap(one), one.get("code", "")) for one in records)
    lines = [
        f"{count} cell{'s' * (count > 1)} had up to {seconds:g} s of the processor and {memory} of memory each, by mcgta "
        f"{code}."
        for (seconds, memory, code), count in found.items()
        if seconds is not None
    ]
    return "\n".join(lines)


def _cap(record: Record) -> tuple[float | None, str]:
    caps = record.get("caps") or {}
    memory = caps.get("memory")
    return caps.get("seconds"), "any amount" if memory is None else say_size(int(memory))


def overview_text(records: Sequence[Record], cells: Sequence[Cell] = ()) -> str:
    """Return ARI of all methods on all data as lines of aligned columns, the best with a star; "" where nothing is known."""
    board = Board("baselines", records, cells)
    if not board:
        return ""
    head, rows = _overview(board, lambda text: f"*{text}", str)
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in (head, *rows)
    ]
    title = "ARI in per cent, tuned / free; * the best; noise counts as one class"
    return "\n".join([*([title, *lines] if rows else []), *_left_out(board)])


def render_baselines(records: Sequence[Record], cells: Sequence[Cell] = ()) -> str:
    """Return the paper's Table 1 as Markdown, a block for each data set, with the paper's figures beside ours."""
    board = Board("baselines", records, cells)
    if not board:
        return ""
    caption = f"Mean ± standard deviation over seeds, the best of each setting in bold. {_CONVENTION}{_SINGLE}{_WORDS}"
    blocks = [f"### {_title(board, data)}\n\n{_block(board, data)}" for data in _shown(board)]
    return _join("## Methods by data set", caption, *blocks, *_left_out(board))


def render_ablation(table: str, records: Sequence[Record], cells: Sequence[Cell] = ()) -> str:
    """Return one ablation as Markdown: variants, and the paper's figures, which are of the Pavement data."""
    board = Board(table, records, cells)
    if not board:
        return ""
    stated = paper.ABLATIONS.get(table, {})
    variants = [*stated, *(name for name in board.methods if name not in stated)]
    blocks = []
    for data in _shown(board):
        shown = stated if data == "pavement" else {}
        lines = [(name, setting) for name in variants for setting in _settings(board, data, name)]
        tops = _tops(board, data, lines)
        rows = [
            [
                method_title(name, table),
                _said_setting(board, data, name, setting),
                *_scores(board.at(data, name, setting), setting, tops),
                *_two(shown.get(name, ()) if setting != "free" else ()),  # the paper tunes by labels
            ]
            for name, setting in lines
        ]
        blocks.append(f"### {_title(board, data)}\n\n{_table(('variant', *_COLUMNS), rows)}")
    return _join(f"## Ablation: {table}", f"{_CONVENTION}{_SINGLE}{_WORDS}", *blocks, *_left_out(board))


def render_runtime(records: Sequence[Record], cells: Sequence[Cell] = ()) -> str:
    """Return what fits took as Markdown: from the table of run times, and from that of methods where it has none."""
    board = Board(("runtime", "baselines"), records, cells)
    if not board:
        return ""
    rows: list[list[str]] = []
    for data in _shown(board):
        found = {
            (name, setting): board.at(data, name, setting)
            for _, names in _families(board)
            for name in names
            for setting in board.settings(data, name)
        }
        quickest = best((s.mean("seconds") for (_, setting), s in found.items() if setting == "given"), min)
        seen = set[str]()
        for (name, setting), summary in found.items():
            if not summary.records or (summary.word == WORDS["unsuitable"] and not summary.results):
                continue
            middle, total = summary.mean("seconds"), summary.mean("total")
            peak, before, tried = (summary.values(key) for key in ("peak", "peak_before", "tried"))
            rows.append(
                [
                    data,
                    method_title(name),
                    setting,
                    summary.word
                    if middle is None
                    else _top(f"{middle:,.2f}", (setting, middle) == ("given", quickest)),
                    f"{max(tried):,.0f}" if tried else "",
                    "" if total is None else f"{total:,.2f}",
                    say_size(int(max(peak))) if peak else "",
                    say_size(int(max(before))) if before else "",
                    "" if name in seen else _printed_seconds(name, data),
                ]
            )
            seen.add(name)
    head = ("data", "method", "setting", "an attempt", "tried", "all that was tried", "peak", "before", "paper's fit")
    caption = (
        "Seconds of the processor, one thread, means over seeds. Peak of memory, and what the process held before it read "
        "the data. What an attempt is: *given*, one fit, with K known, after another on a piece of the data, so that no "
        "compiler is timed; of methods without K by their rule; of MC-GTA, with and without constraint, at n = 30 and "
        "a radius found before; of mcgta as it comes, with its search for settings. The quickest of each data set is in "
        "bold. *tuned*, the best of those tried: one fit of a rival, but of MC-GTA a search over all settings of one "
        "neighbourhood, scored on held-out labels as well. *free*, all that the rule asks for, such as a fit for each K. "
        "The paper's seconds are of another machine."
    )
    return _join("## Run time", caption, _table(head, rows) if rows else "", *_left_out(board))


def render_legend(records: Sequence[Record], cells: Sequence[Cell] = ()) -> str:
    """Return what the methods of the tables are, by the names that the command line takes, as Markdown."""
    board = Board(("baselines", "runtime"), records, cells)
    rows = legend_rows(name for _, names in _families(board) for name in names) if board else []
    return (
        _join("## Methods", _table(("method", "`--method`", "*free*: how it is set without labels"), rows))
        if rows
        else ""
    )


def render_remarks(records: Sequence[Record]) -> str:
    """Return why cells have no result, or not all they could have, as a Markdown list; what is missing is named once."""
    said: dict[str, list[int]] = {}
    missing = Counter[str]()
    for one in records:
        if one["status"] == "missing data":
            missing[f"{one['data']}: its files are not there"] += 1
        elif one["status"] == "missing package":
            missing[f"{one['method']}: {one['note']}"] += 1
        elif one["status"] not in ("ok", "unsuitable"):
            why = f"{one['status']}{': ' if one['note'] else ''}{one['note']}"
            said.setdefault(f"{one['table']}, {one['data']}, {one['method']}, {one['setting']}: {why}", []).append(
                one["seed"]
            )
    lines = [f"- {_escape(text)} ({count} cell{'s' * (count > 1)})" for text, count in missing.items()]
    lines += [f"- {_escape(text)} (seed {', '.join(map(str, sorted(seeds)))})" for text, seeds in said.items()]
    return "\n".join(["## Remarks", "", *lines]) if lines else ""


_COLUMNS = ("setting", "ARI", "AMI", "NMI", "ARI, noise single", "noise %", "clusters", "paper's ARI", "paper's NMI")


def _block(board: Board, data: str) -> str:
    """One data set of Table 1."""
    lines = [
        (name, setting) for _, names in _families(board) for name in names for setting in _settings(board, data, name)
    ]
    tops = _tops(board, data, lines)
    stated = {name: paper.printed(name, data) for name, _ in lines}
    most = [best(getattr(cell, name) for cell in stated.values() if cell is not None) for name in ("ari", "ami")]
    rows = []
    for family, names in _families(board):
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
                theirs = [_top(_number(value, "z.2f"), value == top) for value, top in pairs]
            scores = _scores(board.at(data, name, setting), setting, tops)
            rows.append([method_title(name), _said_setting(board, data, name, setting), *scores, *theirs])
    return _table(("method", *_COLUMNS), rows)


def _tops(board: Board, data: str, lines: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return, for each setting and score, the best mean as it is shown."""
    found: dict[tuple[str, str], list[float | None]] = {}
    for method, setting in lines:
        for name in _SCORES:
            summary = board.at(data, method, setting)
            found.setdefault((setting, name), []).append(summary.mean(name) if summary.whole else None)
    return {place: _number(best(values), "z.2f") for place, values in found.items()}


def _scores(summary: Summary, setting: str, tops: dict[tuple[str, str], str]) -> list[str]:
    """Scores, share of noise and number of clusters; one word where there are none."""
    if summary.mean("ari") is None:
        return [summary.word, *[""] * 5]
    shown = []
    for name in _SCORES:
        top = summary.whole and _number(summary.mean(name), "z.2f") == tops[setting, name]
        shown.append(_top(summary.show(name), top) + (summary.mark if name == "ari" else ""))
    clusters = f"{_number(summary.mean('clusters'), '.3g')} of {_number(summary.mean('true_clusters'), '.3g')}"
    single = _number(summary.mean("ari_singletons"), "z.2f")
    return [*shown, single, summary.show("noise", "z.1f", spread=False), clusters]


def _overview(board: Board, mark: Mark, call: Mark) -> tuple[list[str], list[list[str]]]:
    columns, pair = _shown(board), ("tuned", "free")
    tops = {
        (data, setting): _number(
            best(s.mean("ari") for s in (board.at(data, name, setting) for name in board.methods) if s.whole), "z.1f"
        )
        for data in columns
        for setting in pair
    }

    def entry(data: str, name: str) -> str:
        found = {setting: board.at(data, name, setting) for setting in pair}
        words = {summary.word for summary in found.values() if summary.mean("ari") is None}
        if len(words) == 1 and all(summary.mean("ari") is None for summary in found.values()):
            return words.pop()
        shown = []
        for setting, summary in found.items():
            text = summary.show("ari", "z.1f", spread=False)
            if text == WORDS["unsuitable"] and any(other.results for other in found.values()):  # the data suit it
                text = NO_SETTING
            top = summary.whole and text == tops[data, setting]
            shown.append((mark(text) if top else text) + (summary.mark if summary.results else ""))
        return " / ".join(shown)

    names = [name for _, family in _families(board) for name in family if columns and board.was_run(method=name)]
    rows = [[call(name), *(entry(data, name) for data in columns)] for name in names]
    return ["method", *columns], rows


def _families(board: Board) -> list[tuple[str, tuple[str, ...]]]:
    """The paper's methods, all of them, and then those that it did not have."""
    theirs = {name for _, names in FAMILIES for name in names}
    others = tuple(name for name in board.methods if name not in theirs)
    return [*FAMILIES, *([(BEYOND, others)] if others else [])]


def _data(board: Board) -> list[str]:
    """Data sets in the paper's order, and then those that it did not have."""
    return [*(name for name in paper.DATA if name in board.data), *(n for n in board.data if n not in paper.DATA)]


def _shown(board: Board) -> list[str]:
    """Data sets of which there is something to show."""
    return [data for data in _data(board) if board.has_data(data) and board.was_run(data=data)]


def _left_out(board: Board) -> list[str]:
    """Lines on the data sets and methods of which there is nothing to show."""
    idle = [data for data in _data(board) if not board.was_run(data=data)]
    idle += [name for name in board.methods if _shown(board) and not board.was_run(method=name)]
    absent = [data for data in _data(board) if board.was_run(data=data) and not board.has_data(data)]
    lines = [f"No data, since their files are not there: {', '.join(absent)}."] if absent else []
    return [*lines, *([f"Not run: {', '.join(idle)}."] if idle else [])]


def _settings(board: Board, data: str, name: str) -> list[str]:
    """Settings that have a row: those that suit; one for all of them where none does, or none was run."""
    settings = board.settings(data, name)
    return [one for one in settings if not _stands_for_all(board, data, name, one)] or settings[:1] or [""]


def _said_setting(board: Board, data: str, name: str, setting: str) -> str:
    return "" if _stands_for_all(board, data, name, setting) else setting


def _stands_for_all(board: Board, data: str, name: str, setting: str) -> bool:
    """Whether a row of this setting is shown only where it stands for all settings of the method."""
    summary = board.at(data, name, setting)
    unsuitable = summary.word == WORDS["unsuitable"] and not summary.results
    return unsuitable or not board.was_run(data, name)


def _printed_seconds(name: str, data: str) -> str:
    seconds = paper.printed_seconds(name, data)
    return "< 1" if seconds == 1 else _number(seconds, ",g")


def _title(board: Board, data: str) -> str:
    sizes = [(words, board.extent(data, name)) for words, name in (("N", "n"), ("d", "d"), ("c", "true_clusters"))]
    said = ", ".join(
        f"{words} = {ends[0]:,}" + (f" to {ends[1]:,}" if ends[1] > ends[0] else "") for words, ends in sizes if ends
    )
    return f"{data_title(data)} ({said})" if said else data_title(data)


def _ablation_rank(name: str) -> tuple[int, str]:
    order = [*paper.ABLATIONS]
    return (order.index(name) if name in order else len(order), name)


def _two(values: Sequence[float]) -> list[str]:
    """Two columns of the paper's figures, empty where it has none."""
    return [f"{value:z.2f}" for value in values] or ["", ""]


def _join(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))


def _number(value: float | None, form: str) -> str:
    return "" if value is None else f"{value:{form}}"


def _bold(text: str) -> str:
    return f"**{text}**"


def _top(text: str, top: bool) -> str:
    return _bold(text) if top else text


def _escape(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [[*map(_escape, line)] for line in (head, *rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
