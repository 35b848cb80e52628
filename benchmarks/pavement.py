"""MC-GTA on the Pavement data, tuned with labels over a wide grid: what the method can reach, as the paper tunes it.

Prints the best ARI with 5 columns (the authors' tutorial) and all 10 (their Table 1), with the AMI and NMI of that setting.
Noise is scored as a class of its own. n = 30, alpha = 0.01; the grid is over beta, margin, eps and min_samples.

    python benchmarks/pavement.py --data FOLDER
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mcgta import read_positions
from mcgta.clustering.registry import find_clusters
from mcgta.runtime.parallel import threads
from mcgta.runtime.types import Array, Labels
from mcgta.stages import (
    Loss,
    compare_models,
    empirical_semivariogram,
    find_neighborhoods,
    fit_local_models,
    fit_semivariogram,
)
from measuring.scoring import score
from problems.problem import find_problem

BETAS = (0.0, 0.25, 0.5, 0.75, 1.0, 2.0)
MARGINS = (0.0, 0.1, 0.25, 0.5)  # in sills of the semivariogram
MIN_SAMPLES = (15, 30, 45)
QUANTILES = np.linspace(0.4, 0.8, 21)  # eps, as quantile of the losses to the min_samples-th nearest


@dataclass(frozen=True)
class Setting:
    """One point of the grid and how good it is, in per cent."""

    ari: float
    ami: float
    nmi: float
    noise: float
    clusters: int
    beta: float
    margin: float
    min_samples: int
    eps: float

    def __str__(self) -> str:
        scores = f"{self.ari:5.1f} {self.ami:5.1f} {self.nmi:5.1f} {self.noise:6.1f} {self.clusters:8d}"
        return (
            f"{scores}   beta={self.beta:g} margin={self.margin:.3g} min_samples={self.min_samples} eps={self.eps:.4g}"
        )


def scan(X: Array, truth: Labels) -> list[Setting]:
    """Score every point of the grid on one fit's models and semivariogram."""
    positions = read_positions(None, len(X))
    models = fit_local_models(X, find_neighborhoods(positions, 30), alpha=0.01)
    dissimilarity = compare_models(models)
    with threads(-1):
        dissimilarity.matrix()
    semivariogram = fit_semivariogram(empirical_semivariogram(dissimilarity, positions), adapt=True)
    out = []
    for beta in BETAS:
        for share in MARGINS if beta else (0.0,):
            margin = share * semivariogram.sill_
            matrix = Loss(dissimilarity, positions, semivariogram, beta, margin).matrix()
            for min_samples in MIN_SAMPLES:
                reach = np.partition(matrix, min_samples - 1, axis=1)[:, min_samples - 1]
                for eps in np.quantile(reach, QUANTILES):
                    labels = find_clusters(matrix, "dbscan", eps=float(eps), min_samples=min_samples).labels
                    scores = score(truth, labels)
                    kept = {name: scores[name] for name in ("ari", "ami", "nmi", "noise", "clusters")}
                    setting = Setting(**kept, beta=beta, margin=margin, min_samples=min_samples, eps=float(eps))
                    out.append(setting)
    return out


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with pavement.npz")
    folder = parser.parse_args().data
    problem = find_problem("pavement", folder)
    if problem is None:
        parser.exit(1, f"pavement.npz is not in {folder}; --data must name the folder with the benchmark data\n")
    print("Pavement, 1055 rows, tuned with labels, noise scored as a class; per cent")
    print(f"{'':26}  ARI   AMI   NMI  noise clusters   setting")
    for columns in (5, 10):
        settings = scan(problem.X[:, :columns], problem.truth)
        best = max(settings, key=lambda setting: setting.ari)
        plain = max((setting for setting in settings if setting.beta == 0), key=lambda setting: setting.ari)
        print(f"{columns:2d} columns, best of {len(settings):4d}  {best}")
        print(f"{columns:2d} columns, beta=0         {plain}", flush=True)


if __name__ == "__main__":
    main()
