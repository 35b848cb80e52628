"""The paper's figures: of the data sets that cells have been run on, and from what cells have found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mcgta.runtime.types import Array, Mask
from paper.ablations import CURVES, MIDDLE
from paper.rendering.pairs import Pairs, means_by_distance, pairs_of_features, pairs_of_models, shares_together
from paper.running.records import Record
from paper.sources import SOURCES
from problems.problem import SPACE, Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

_NEIGHBORS = (15, 20, 30)
_BINS = 60
_MIN_PAIRS = 5  # of a bin that is drawn
_RANGES = 1.5  # that are drawn
_MARGIN_IN_SILLS = 0.25
_TOGETHER_COLOUR = "#1f6fb2"
_APART_COLOUR = "#e08214"
_LINE_COLOUR = "#222222"
_CURVE_COLOUR = "#b2182b"
_EMPTY_COLOUR = "#e4e4e4"
_CLUSTER_COLOURS = 20
_MAX_LEGEND = 12  # clusters that have a legend
_MAX_LEGEND_COLUMN = 6
_MIN_KILOMETRES = 5_000  # metres from which on distances are in kilometres
_DPI = 150


def draw(folder: Path, records: list[Record]) -> list[Path]:
    """Draw what the data at hand and the records allow into the folder, and return the files.

    Parameters
    ----------
    folder : is made if need be; files of the same names are written over
    records : of cells; only data sets that they are of are drawn, since that takes a while, and curves from those of curves
    """
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'mcgta[plot]'") from error
    folder.mkdir(parents=True, exist_ok=True)
    named = {record["data"] for record in records}
    written = []
    for kind, function, names in _KINDS:
        for name in names or SOURCES:
            figure = function(name) if name in named else None
            if figure is not None:
                written.append(_save(figure, folder / f"{kind}-{_slug(name)}.png"))
                pyplot.close(figure)
    for name in SOURCES:
        figure = draw_curves(records, name)
        if figure is not None:
            written.append(_save(figure, folder / f"curves-{_slug(name)}.png"))
            pyplot.close(figure)
    return written


def load(name: str) -> Problem | None:
    """Return a data set; None where its files are not there, or cannot be read, which its cells have told."""
    try:
        return SOURCES[name].make(0)
    except (FileNotFoundError, ValueError):
        return None


def draw_semivariograms(name: str) -> Figure | None:
    """Share of pairs of one cluster by distance and dissimilarity, for three sizes of the neighbourhood, with the curves."""
    problem = load(name)
    if problem is None:
        return None
    found = [pairs_of_models(problem, n) for n in _NEIGHBORS]
    limits = [_RANGES * semivariogram.range_ for _, semivariogram in found]
    # One scale for all panels, and no panel ends below it: what is empty has no pairs.
    top = max(_high(pairs, limit) for (pairs, _), limit in zip(found, limits, strict=True))
    figure, axes = _panels(3, share_y=True)
    for ax, n, (pairs, semivariogram), limit in zip(axes, _NEIGHBORS, found, limits, strict=True):
        image = _draw_shares(ax, pairs, limit, top)
        steps = np.linspace(0, limit, 200)
        ax.plot(
            semivariogram.lags,
            2 * semivariogram.values,
            ".",
            color=_CURVE_COLOUR,
            markersize=4,
            label=r"empirical, $2\hat\gamma$",
        )
        ax.plot(steps, semivariogram.expected(steps), color=_CURVE_COLOUR, linewidth=1.6, label=r"fitted, $2\gamma$")
        shifted = semivariogram.expected(steps) - _MARGIN_IN_SILLS * semivariogram.sill_
        ax.plot(
            steps,
            shifted,
            "--",
            color=_CURVE_COLOUR,
            linewidth=1.2,
            label=rf"$2\gamma-\delta$, $\delta$ = {_MARGIN_IN_SILLS:g} sill",
        )
        ax.axvline(semivariogram.range_, color=_CURVE_COLOUR, linewidth=0.8, linestyle=":", label=r"range $\rho$")
        ax.set(title=f"n = {n}", xlim=(0, limit), ylim=(0, top))
        _label_distance(ax, semivariogram.unit)
    axes[0].set_ylabel("$W_2^2$ of the local models")
    figure.colorbar(image, ax=list(axes), label="share of pairs of one true cluster, %")
    figure.suptitle(f"{SOURCES[name].title}: how much pairs differ at their distance")
    _add_legend(figure, axes[0])
    return figure


def draw_histograms(name: str) -> Figure | None:
    """Histograms of pairs within and between true clusters, by cosine, Euclidean and Wasserstein-2 distance."""
    problem = load(name)
    if problem is None:
        return None
    figure, axes = _panels(3)
    turned, flat = (pairs_of_features(problem, kind) for kind in ("cosine", "euclidean"))
    modelled = pairs_of_models(problem, 30, even=True)[0]
    _draw_histogram(axes[0], "cosine distance", turned.dissimilarity, turned.together, top=2.0)
    _draw_histogram(axes[1], "Euclidean distance", np.sqrt(flat.dissimilarity), flat.together)
    _draw_histogram(axes[2], "Wasserstein-2 distance, n = 30", np.sqrt(modelled.dissimilarity), modelled.together)
    axes[0].set_ylabel("density")
    figure.suptitle(f"{SOURCES[name].title}: pairs within and between true clusters")
    _add_legend(figure, axes[0])
    return figure


def draw_loss(name: str) -> Figure | None:
    """Both terms of the loss by distance, and the share of the second, without the range condition."""
    problem = load(name)
    if problem is None:
        return None
    pairs, semivariogram = pairs_of_models(problem, 30)
    margin = _MARGIN_IN_SILLS * semivariogram.sill_
    penalty = np.maximum(0.0, pairs.dissimilarity - (semivariogram.expected(pairs.distance) - margin))
    edges = np.unique(np.quantile(pairs.distance, np.linspace(0, 0.98, 41)))  # few pairs are farther, and noise
    first, second = (means_by_distance(pairs.distance, values, edges) for values in (pairs.dissimilarity, penalty))
    middles = (edges[1:] + edges[:-1]) / 2
    figure, (left, right) = _panels(2)
    left.plot(middles, first, color=_TOGETHER_COLOUR, label="first term, $W_2^2$")
    left.plot(middles, second, color=_APART_COLOUR, label="second term, the hinge")
    right.plot(middles, 100 * second / (first + second), color=_APART_COLOUR)
    for ax in (left, right):
        ax.axvline(semivariogram.range_, color=_LINE_COLOUR, linewidth=0.8, linestyle=":", label=r"range $\rho$")
        ax.set(ylim=(0, None))
        _label_distance(ax, semivariogram.unit)
    left.set(ylabel="mean over pairs", title="terms of the loss, β = 1")
    right.set(ylabel="%", title="share of the second term")
    figure.suptitle(
        f"{SOURCES[name].title}: the loss by distance, n = 30, δ = {_MARGIN_IN_SILLS:g} sill, without range condition"
    )
    _add_legend(figure, left)
    return figure


def draw_truth(name: str) -> Figure | None:
    """A map of the true clusters, or a band of them along time."""
    problem = load(name)
    if problem is None:
        return None
    from matplotlib import pyplot

    spatial = problem.kind == SPACE
    figure, ax = pyplot.subplots(figsize=(5.6, 4.6) if spatial else (9.0, 1.5), layout="constrained")
    names, codes = np.unique(problem.truth, return_inverse=True)
    colours: dict[str, Any] = {"cmap": "tab20" if problem.clusters > 10 else "tab10", "vmin": 0}
    colours["vmax"] = _CLUSTER_COLOURS - 1 if problem.clusters > 10 else 9
    shown = codes % _CLUSTER_COLOURS
    drawn: ScalarMappable
    if spatial:
        places = np.asarray(problem.positions)
        degrees = problem.metric == "haversine"
        order = np.random.default_rng(0).permutation(len(places))  # no cluster hides the others
        drawn = ax.scatter(places[order, 0], places[order, 1], c=shown[order], s=3, linewidths=0, **colours)
        ax.set(xlabel="longitude, degrees" if degrees else "x", ylabel="latitude, degrees" if degrees else "y")
        ax.set_aspect(1 / np.cos(np.radians(places[:, 1].mean())) if degrees else 1)
    else:
        drawn = ax.imshow(shown[None, :], aspect="auto", interpolation="nearest", **colours)
        ax.set(yticks=[], xlabel="step")
    ax.set_title(
        f"{SOURCES[name].title}: true clusters, {problem.clusters} on {len(problem.X):,} observations", fontsize=10
    )
    if len(names) <= _MAX_LEGEND:
        _name_clusters(ax, dict(zip(map(str, names), drawn.to_rgba(np.arange(len(names))), strict=True)))
    return figure


def draw_curves(records: Sequence[Record], name: str) -> Figure | None:
    """ARI and AMI over n, beta and the margin, min_samples and eps tuned by labels; None where no record has a result."""
    points = {
        record["method"]: record
        for record in records
        if (record["table"], record["data"]) == ("curves", name) and record["ari"] is not None
    }
    if not points:
        return None
    figure, axes = _panels(3, share_y=True)
    least = min(0.0, *(record[score] for record in points.values() for score in ("ari", "ami")))
    titles = {"n_neighbors": "neighbours n", "beta": "weight β", "margin_in_sills": "margin δ, in sills"}
    for ax, (parameter, values) in zip(axes, CURVES.items(), strict=True):
        kept = [value for value in values if f"{parameter}={value}" in points]
        for score, colour in (("ari", _TOGETHER_COLOUR), ("ami", _APART_COLOUR)):
            heights = [points[f"{parameter}={value}"][score] for value in kept]
            ax.plot(kept, heights, "o-", color=colour, markersize=4, label=score.upper())
        ax.set(xlabel=titles[parameter], ylim=(least, 100))
    axes[0].set_ylabel("%")
    others = ", ".join(
        f"{short} = {MIDDLE[parameter][0]:g}{unit}"
        for parameter, short, unit in (("n_neighbors", "n", ""), ("beta", "β", ""), ("margin_in_sills", "δ", " sill"))
    )
    figure.suptitle(
        f"{SOURCES[name].title}: one parameter varied, the others at {others}; min_samples and eps tuned by labels"
    )
    _add_legend(figure, axes[0])
    return figure


_KINDS: tuple[tuple[str, Callable[[str], Figure | None], tuple[str, ...]], ...] = (
    ("semivariogram", draw_semivariograms, ("inat", "inat subset", "regions")),
    ("histograms", draw_histograms, ("pavement", "series")),
    ("loss", draw_loss, ("inat", "inat subset", "regions")),
    ("truth", draw_truth, ()),
)
"""Figures of data: what their files are called, what draws them, and of which data sets, () being all."""


def _save(figure: Figure, file: Path) -> Path:
    figure.savefig(file, dpi=_DPI, bbox_inches="tight")  # a map may be less high than its figure
    return file


def _panels(count: int, *, share_y: bool = False) -> tuple[Figure, Sequence[Axes]]:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, count, figsize=(4.2 * count, 4.2), sharey=share_y, layout="constrained")
    return figure, axes


def _high(pairs: Pairs, limit: float) -> float:
    """The dissimilarity that few pairs within the limit exceed."""
    return float(np.quantile(pairs.dissimilarity[pairs.distance <= limit], 0.99))


def _draw_shares(ax: Axes, pairs: Pairs, limit: float, top: float) -> Any:
    """Image of the share of pairs of one cluster in bins of distance and dissimilarity; bins of few pairs are grey."""
    edges = [np.linspace(0, limit, _BINS + 1), np.linspace(0, top, _BINS + 1)]
    shares = shares_together(pairs, edges[0], edges[1], _MIN_PAIRS)
    ax.fill([], [], color=_EMPTY_COLOUR, label=f"fewer than {_MIN_PAIRS} pairs")
    ax.set_facecolor(_EMPTY_COLOUR)
    return ax.pcolormesh(edges[0], edges[1], shares.T, cmap="Blues", vmin=0, vmax=100)


def _draw_histogram(ax: Axes, title: str, values: Array, together: Mask, top: float | None = None) -> None:
    """Densities of all values of each kind, of which a few are beyond the last edge and not drawn, unless it is given."""
    edges = np.linspace(0, float(np.quantile(values, 0.995)) if top is None else top, 81)
    for kept, colour, label in ((together, _TOGETHER_COLOUR, "within"), (~together, _APART_COLOUR, "between")):
        heights = np.histogram(values[kept], edges)[0] / (max(1, kept.sum()) * edges[1])
        ax.stairs(heights, edges, fill=True, color=colour, alpha=0.55, label=label)
    ax.set(title=title, xlim=(0, edges[-1]))


def _add_legend(figure: Figure, ax: Axes) -> None:
    """Say below the panels, where it covers none, what is drawn in all of them."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8, frameon=False)


def _name_clusters(ax: Axes, colours: dict[str, Any]) -> None:
    """Say beside the panel which colour stands for which cluster."""
    from matplotlib.patches import Patch

    ax.legend(
        handles=[Patch(color=colour, label=name) for name, colour in colours.items()],
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        ncols=1 if len(colours) <= _MAX_LEGEND_COLUMN else 2,
        title="cluster",
        title_fontsize=8,
        fontsize=8,
        frameon=False,
        handlelength=1.0,
        labelspacing=0.25,
    )


def _label_distance(ax: Axes, unit: str) -> None:
    """Name the axis with its unit; long distances are in kilometres."""
    if unit == "m" and ax.get_xlim()[1] >= _MIN_KILOMETRES:
        unit = "km"
        ax.xaxis.set_major_formatter(lambda metres, _: f"{metres / 1000:g}")
    ax.set_xlabel(f"distance, {unit}" if unit else "distance")


def _slug(name: str) -> str:
    return name.replace(" ", "-")
