"""The main job in one go: make a series, cluster it, look at the result.

Run as ``python examples/01_demo.py FOLDER``; it writes labels.csv, semivariogram.png, clusters.png and report.html.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from mcgta import MCGTA
from mcgta.datasets import Sample, make_series
from mcgta.runtime.types import Labels

COLOURS = np.array(["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bb5566", "#004488"])
NOISE = "#d0d0d0"


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    data = make_series(1500, n_clusters=3, n_features=5, segment_lengths=(20, 60), separation=1.5, random_state=1)
    model = MCGTA(progress=True).fit(data.X, positions=data.positions)
    summary = summarise(model, data)
    print(summary)
    write_labels(folder / "labels.csv", model, data)
    figure, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
    model.semivariogram_.plot(ax)
    figure.savefig(folder / "semivariogram.png", dpi=130)
    figure, axes = plt.subplots(3, 1, figsize=(10, 5.2), sharex=True, layout="constrained", height_ratios=[3, 1, 1])
    draw_clusters(list(axes), model, data)
    figure.savefig(folder / "clusters.png", dpi=130)
    write_report(folder / "report.html", summary)
    print(f"\nOpen {folder / 'report.html'}; labels are in {folder / 'labels.csv'}")


def summarise(model: MCGTA, data: Sample) -> str:
    fit = model.goodness_of_fit()
    curve = model.semivariogram_
    sizes = ", ".join(f"{label}: {np.sum(model.labels_ == label)}" for label in range(model.n_clusters_))
    return "\n".join(
        [
            f"{len(data.X)} observations with {data.X.shape[1]} features along time, {len(data.covariances)} true states",
            f"clusters        {model.n_clusters_} ({sizes})",
            f"noise           {model.noise_share_:.1%}",
            f"semivariogram   {curve.model}, range {curve.range_:.0f}, sill {curve.sill_:.3g}, nugget {curve.nugget_:.2g}",
            f"chosen          {'; '.join(str(model.choice_).splitlines())}",
            f"settings        n_neighbors {model.n_neighbors_}, {model.dissimilarity_}, beta {model.beta_:g}, "
            f"eps {model.eps_:.3g}, min_samples {model.min_samples_}",
            f"goodness of fit {fit.share:.1%} of {fit.pairs.sum()} pairs within clusters pass",
            f"objective       {model.objective_.total:.4g} = {model.objective_.dissimilarity:.4g} dissimilarity "
            f"+ {model.objective_.penalty:.4g} penalty",
            f"against truth   ARI {100 * adjusted_rand_score(data.labels, model.labels_):.1f}, "
            f"AMI {100 * adjusted_mutual_info_score(data.labels, model.labels_):.1f} (noise scored as a class of its own)",
        ]
    )


def write_labels(path: Path, model: MCGTA, data: Sample) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["position", "label", "strength", "truth"])
        columns = (data.positions, model.labels_, model.probabilities_, data.labels)
        for where, label, strength, truth in zip(*columns, strict=True):
            writer.writerow([f"{where:g}", label, f"{strength:.4f}", truth])


def like_truth(labels: Labels, truth: Labels) -> Labels:
    """Give each cluster the number of the true state that most of its members have, for its colour only."""
    out = np.full(labels.shape, -1)
    for label in range(labels.max() + 1):
        members = labels == label
        out[members] = np.bincount(truth[members]).argmax()
    return out


def draw_clusters(axes: list[Axes], model: MCGTA, data: Sample) -> None:
    for k, column in enumerate(data.X.T):
        axes[0].plot(data.positions, column + 8 * k, lw=0.5, color="#444444")
    axes[0].set(ylabel="features", yticks=[])
    found = like_truth(model.labels_, data.labels)
    for ax, labels, name in ((axes[1], data.labels, "truth"), (axes[2], found, "found")):
        colours = np.where(labels < 0, NOISE, COLOURS[labels % COLOURS.size])
        ax.bar(data.positions, 1, width=1, color=colours)
        ax.set(ylabel=name, yticks=[], ylim=(0, 1), xlim=(data.positions[0], data.positions[-1]))
    axes[2].set_xlabel("time [step]; grey is noise")


def write_report(path: Path, summary: str) -> None:
    path.write_text(
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>mcgta demo</title>"
        "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
        "img{max-width:100%}pre{background:#f5f5f5;padding:1rem;overflow-x:auto}</style>"
        "<h1>A synthetic series, clustered</h1>"
        f"<pre>{summary}</pre>"
        "<h2>Clusters</h2><p>The features, the true states, and the clusters that were found, each coloured like the true "
        "state that most of its members have; grey is noise.</p><img src='clusters.png' alt='features, truth and clusters'>"
        "<h2>Semivariogram</h2><p>Half the mean squared Wasserstein-2 distance of pairs of observations, by their distance in "
        "time, and the model fitted to it.</p><img src='semivariogram.png' alt='semivariogram'>"
        "<p>Labels, with the strength of each membership, are in <a href='labels.csv'>labels.csv</a>.</p></html>",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
