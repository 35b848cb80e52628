"""The rows and columns of the tables: methods in the paper's order, data sets, settings, and the words that explain them."""

from __future__ import annotations

from paper import published
from paper.rendering.legend import data_title
from paper.rendering.summary import WORDS, Board

FAMILIES = (
    ("Without constraint, model-free", ("k-means", "dbscan", "hdbscan", "dtw")),
    ("Constrained, model-free", ("pck-means", "mdst-dbscan", "skater")),
    ("Without constraint, model-based", ("gmm", "ticc-beta0", "sticc-beta0", "mcgta-wo")),
    ("Constrained, model-based", ("ticc", "sticc", "mcgta")),
)
"""The methods of the paper, in its order."""

BEYOND = "Not in the paper"
CONVENTION = (
    "Scores in per cent. Noise counts as one class of its own, as scikit-learn's scores take labels, which the paper uses; "
    "the paper's NMI is adjusted mutual information, our AMI. Settings: *given*, the number of clusters known and all else at "
    "its default; *tuned*, the best ARI of those tried, chosen by the true labels; *free*, found without labels. "
)
NOISE_SINGLE = (
    '"ARI, noise single": each row of noise a class of its own; where it is lower, noise has passed for a cluster. '
)
WORDS_EXPLAINED = (
    '"-": the method does not suit the data. none: it has no such setting. NC: it did not converge. time, memory: it met its '
    "cap. † the best of what was tried when a cap was met. ‡ did not converge, but has labels. (k of m): k of m seeds have a "
    "result; such means are of other data than those of all seeds, and not in bold."
)


def families(board: Board) -> list[tuple[str, tuple[str, ...]]]:
    """Return families with their methods: the paper's, all of them, and then those that it did not have."""
    theirs = {name for _, names in FAMILIES for name in names}
    others = tuple(name for name in board.methods if name not in theirs)
    return [*FAMILIES, *([(BEYOND, others)] if others else [])]


def data_sets(board: Board) -> list[str]:
    """Return the data sets in the paper's order, and then those that it did not have."""
    return [
        *(name for name in published.DATA if name in board.data),
        *(n for n in board.data if n not in published.DATA),
    ]


def shown_data(board: Board) -> list[str]:
    """Return the data sets of which there is something to show."""
    return [data for data in data_sets(board) if board.has_data(data) and board.was_run(data=data)]


def left_out(board: Board) -> list[str]:
    """Return lines on the data sets and methods of which there is nothing to show."""
    idle = [data for data in data_sets(board) if not board.was_run(data=data)]
    idle += [name for name in board.methods if shown_data(board) and not board.was_run(method=name)]
    absent = [data for data in data_sets(board) if board.was_run(data=data) and not board.has_data(data)]
    lines = [f"No data, since their files are not there: {', '.join(absent)}."] if absent else []
    return [*lines, *([f"Not run: {', '.join(idle)}."] if idle else [])]


def shown_settings(board: Board, data: str, name: str) -> list[str]:
    """Return the settings that have a row: those that suit; one for all of them where none does, or none was run."""
    settings = board.settings(data, name)
    return [one for one in settings if not _stands_for_all(board, data, name, one)] or settings[:1] or [""]


def setting_text(board: Board, data: str, name: str, setting: str) -> str:
    """Return what stands in the column of settings."""
    return "" if _stands_for_all(board, data, name, setting) else setting


def _stands_for_all(board: Board, data: str, name: str, setting: str) -> bool:
    """Whether a row of this setting is shown only where it stands for all settings of the method."""
    summary = board.at(data, name, setting)
    unsuitable = summary.word == WORDS["unsuitable"] and not summary.results
    return unsuitable or not board.was_run(data, name)


def data_heading(board: Board, data: str) -> str:
    """Return the name of a data set with its sizes."""
    sizes = [(words, board.extent(data, name)) for words, name in (("N", "n"), ("d", "d"), ("c", "true_clusters"))]
    text = ", ".join(
        f"{words} = {ends[0]:,}" + (f" to {ends[1]:,}" if ends[1] > ends[0] else "") for words, ends in sizes if ends
    )
    return f"{data_title(data)} ({text})" if text else data_title(data)
