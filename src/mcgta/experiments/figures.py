"""The paper's figures, drawn from the data sets that are at hand and from records of cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mcgta.experiments.ablations import CURVES
from mcgta.experiments.pairs import Pairs, pairs_of_features, pairs_of_models
from mcgta.experiments.problems import SOURCES, SPACE, Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Record = dict[str, Any]

_NEIGHBORS = (15, 20, 30)
_BINS, _LEAST = 60, 5
_SHIFT = 0.25  # of the sill: the margin that is drawn
_TOGETHER, _APART, _LINE, _CURVE = "#1f6fb2", "#e08214", "#222222", "#b2182b"
_COLOURS = 20
_DPI = 150


def draw(folder: Path, records: list[Record]) -> list[Path]:
    """Draw what the data at hand and the records allow into the folder, and return the files.

    Parameters
    ----------
    folder : is made if need be; files of the same names are written over
    records : of cells of the table "curves"; others are of no account here
    """
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'mcgta[plot]'") from error
    folder.mkdir(parents=True, exist_ok=True)
    tasks: list[tuple[str, Callable[[], Figure | None]]] = [
        *((f"semivariogram-{_slug(name)}", _of(draw_semivariograms, name)) for name in ("inat subset", "regions")),
        *((f"histograms-{_slug(name)}", _of(draw_histograms, name)) for name in ("pavement", "series")),
        *((f"loss-{_slug(name)}", _of(draw_loss, name)) for name in ("inat subset", "regions")),
        *((f"truth-{_slug(name)}", _of(draw_truth, name)) for name in SOURCES),
        *((f"curves-{_slug(name)}", _of_records(records, name)) for name in _curved(records)),
    ]
    written = []
    for name, task in tasks:
        figure = task()
        if figure is None:
            continue
        file = folder / f"{name}.png"
        figure.savefig(file, dpi=_DPI)
        pyplot.close(figure)
        written.append(file)
    return written


def load(name: str) -> Problem | None:
    """Return a data set; None where its files are not there."""
    try:
        return SOURCES[name].make(0)
    except FileNotFoundError:
        return None


def draw_semivariograms(name: str) -> Figure | None:
    """Share of pairs of one cluster by distance and dissimilarity, for three sizes of the neighbourhood, with the curves."""
    problem = load(name)
    if problem is None:
        return None
    figure, axes = _panels(3, share_y=True)
    for ax, n in zip(axes, _NEIGHBORS, strict=True):
        pairs, semivariogram = pairs_of_models(problem, n)
        image = _draw_shares(ax, pairs, limit=1.5 * semivariogram.range_)
        steps = np.linspace(0, ax.get_xlim()[1], 200)
        ax.plot(
            semivariogram.lags,
            2 * semivariogram.values,
            ".",
            color=_CURVE,
            markersize=4,
            label=r"empirical, $2\hat\gamma$",
        )
        ax.plot(steps, semivariogram.expected(steps), color=_CURVE, linewidth=1.6, label=r"fitted, $2\gamma$")
        shifted = semivariogram.expected(steps) - _SHIFT * semivariogram.sill_
        ax.plot(
            steps, shifted, "--", color=_CURVE, linewidth=1.2, label=rf"$2\gamma-\delta$, $\delta$ = {_SHIFT:g} sill"
        )
        ax.axvline(semivariogram.range_, color=_CURVE, linewidth=0.8, linestyle=":", label=r"range $\rho$")
        ax.set(title=f"n = {n}", xlabel=_distance(semivariogram.unit))
    axes[0].set_ylabel("$W_2^2$ of the local models")
    axes[0].legend(fontsize=7, loc="upper left")
    figure.colorbar(image, ax=list(axes), label="share of pairs of one true cluster, %")
    figure.suptitle(f"{SOURCES[name].title}: how much pairs differ at their distance")
    return figure


def draw_histograms(name: str) -> Figure | None:
    """Histograms of pairs within and between true clusters, by cosine, Euclidean and Wasserstein-2 distance."""
    problem = load(name)
    if problem is None:
        return None
    figure, axes = _panels(3)
    panels = {
        "cosine distance": pairs_of_features(problem, "cosine").dissimilarity,
        "Euclidean distance": np.sqrt(pairs_of_features(problem, "euclidean").dissimilarity),
    }
    modelled = pairs_of_models(problem, 30, even=True)[0]
    together = pairs_of_features(problem, "cosine").together
    for ax, (title, values) in zip(axes, panels.items(), strict=False):
        _draw_histogram(ax, title, values, together)
    _draw_histogram(axes[2], "Wasserstein-2 distance, n = 30", np.sqrt(modelled.dissimilarity), modelled.together)
    axes[0].set_ylabel("density")
    axes[0].legend(fontsize=8)
    figure.suptitle(f"{SOURCES[name].title}: pairs within and between true clusters")
    return figure


def draw_loss(name: str) -> Figure | None:
    """Both terms of the loss by distance, and the share of the second, without the range condition."""
    problem = load(name)
    if problem is None:
        return None
    pairs, semivariogram = pairs_of_models(problem, 30)
    margin = _SHIFT * semivariogram.sill_
    penalty = np.maximum(0.0, pairs.dissimilarity - (semivariogram.expected(pairs.distance) - margin))
    edges = np.unique(np.quantile(pairs.distance, np.linspace(0, 0.98, 41)))
    at = np.clip(np.digitize(pairs.distance, edges) - 1, 0, edges.size - 2)
    count = np.maximum(1, np.bincount(at, minlength=edges.size - 1))
    first, second = (np.bincount(at, values, edges.size - 1) / count for values in (pairs.dissimilarity, penalty))
    middles = (edges[1:] + edges[:-1]) / 2
    figure, (left, right) = _panels(2)
    left.plot(middles, first, color=_TOGETHER, label="first term, $W_2^2$")
    left.plot(middles, second, color=_APART, label="second term, the hinge")
    right.plot(middles, 100 * second / (first + second), color=_APART)
    for ax in (left, right):
        ax.axvline(semivariogram.range_, color=_LINE, linewidth=0.8, linestyle=":", label=r"range $\rho$")
        ax.set(xlabel=_distance(semivariogram.unit), ylim=(0, None))
    left.set(ylabel="mean over pairs", title="terms of the loss, β = 1")
    left.legend(fontsize=8)
    right.set(ylabel="%", title="share of the second term")
    figure.suptitle(
        f"{SOURCES[name].title}: the loss by distance, n = 30, δ = {_SHIFT:g} sill, without range condition"
    )
    return figure


def draw_truth(name: str) -> Figure | None:
    """A map of the true clusters, or a band of them along time."""
    problem = load(name)
    if problem is None:
        return None
    from matplotlib import pyplot

    spatial = problem.kind == SPACE
    figure, ax = pyplot.subplots(figsize=(5.2, 4.6) if spatial else (9.0, 1.4), layout="constrained")
    codes = np.unique(problem.truth, return_inverse=True)[1] % _COLOURS
    colours: dict[str, Any] = {"cmap": "tab20" if problem.clusters > 10 else "tab10", "vmin": 0}
    colours["vmax"] = _COLOURS - 1 if problem.clusters > 10 else 9
    if spatial:
        places, degrees = np.asarray(problem.positions), problem.metric == "haversine"
        order = np.random.default_rng(0).permutation(len(places))  # no cluster hides the others
        ax.scatter(places[order, 0], places[order, 1], c=codes[order], s=3, linewidths=0, **colours)
        ax.set(xlabel="longitude" if degrees else "", ylabel="latitude" if degrees else "")
        ax.set_aspect(1 / np.cos(np.radians(places[:, 1].mean())) if degrees else 1)
    else:
        ax.imshow(codes[None, :], aspect="auto", interpolation="nearest", **colours)
        ax.set(yticks=[], xlabel="step")
    ax.set_title(
        f"{SOURCES[name].title}: true clusters, {problem.clusters} on {len(problem.X):,} observations", fontsize=10
    )
    return figure


def draw_curves(records: Sequence[Record], name: str) -> Figure | None:
    """ARI and AMI over n, beta and the margin, everything else that is left open tuned by labels."""
    figure, axes = _panels(3, share_y=True)
    titles = {"n_neighbors": "neighbours n", "beta": "weight β", "margin_in_sills": "margin δ, in sills"}
    for ax, (parameter, values) in zip(axes, CURVES.items(), strict=True):
        points = {
            record["method"]: record for record in records if record["data"] == name and record["ari"] is not None
        }
        kept = [value for value in values if f"{parameter}={value}" in points]
        for score, colour in (("ari", _TOGETHER), ("ami", _APART)):
            heights = [points[f"{parameter}={value}"][score] for value in kept]
            ax.plot(kept, heights, "o-", color=colour, markersize=4, label=score.upper())
        ax.set(xlabel=titles[parameter], ylim=(0, 100))
    axes[0].set_ylabel("%")
    axes[0].legend(fontsize=8)
    figure.suptitle(f"{SOURCES[name].title}: one parameter varied, min_samples and eps tuned by labels")
    return figure


def _curved(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(record["data"] for record in records if record["table"] == "curves"))


def _of(function: Callable[[str], Figure | None], name: str) -> Callable[[], Figure | None]:
    return lambda: function(name)


def _of_records(records: Sequence[Record], name: str) -> Callable[[], Figure | None]:
    return lambda: draw_curves([record for record in records if record["table"] == "curves"], name)


def _panels(count: int, *, share_y: bool = False) -> tuple[Figure, Sequence[Axes]]:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, count, figsize=(4.2 * count, 3.8), sharey=share_y, layout="constrained")
    return figure, axes


def _draw_shares(ax: Axes, pairs: Pairs, limit: float) -> Any:
    """Image of the share of pairs of one cluster in bins of distance and dissimilarity; bins of few pairs stay white."""
    inside = pairs.distance <= limit
    top = float(np.quantile(pairs.dissimilarity[inside], 0.99))
    edges = [np.linspace(0, limit, _BINS + 1), np.linspace(0, top, _BINS + 1)]
    counts = np.histogram2d(pairs.distance, pairs.dissimilarity, edges)[0]
    own = np.histogram2d(pairs.distance[pairs.together], pairs.dissimilarity[pairs.together], edges)[0]
    shares = np.where(counts >= _LEAST, 100 * own / np.maximum(counts, 1), np.nan)
    image = ax.pcolormesh(edges[0], edges[1], shares.T, cmap="Blues", vmin=0, vmax=100)
    ax.set(xlim=(0, limit), ylim=(0, top))
    return image


def _draw_histogram(ax: Axes, title: str, values: Any, together: Any) -> None:
    edges = np.linspace(0, float(np.quantile(values, 0.995)), 81).tolist()
    for kept, colour, label in ((together, _TOGETHER, "within"), (~together, _APART, "between")):
        ax.hist(values[kept], edges, density=True, color=colour, alpha=0.55, label=label)
    ax.set(title=title, xlim=(0, edges[-1]))


def _distance(unit: str) -> str:
    return f"distance, {unit}" if unit else "distance"


def _slug(name: str) -> str:
    return name.replace(" ", "-")
