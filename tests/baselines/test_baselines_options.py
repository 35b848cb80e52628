"""No option of a baseline is without effect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from mcgta.baselines.base import Baseline
from mcgta.baselines.dtw import DTW
from mcgta.baselines.hidden_markov import HMM
from mcgta.baselines.plain import GMM, HDBSCAN, KMeans
from mcgta.baselines.sticc import STICC
from mcgta.baselines.ticc import TICC, FastTICC
from mcgta.baselines.windowed_gmm import WindowedGMM


def cloud() -> Any:
    """Rows without clusters, of which every start makes something else."""
    return np.random.default_rng(1).normal(size=(150, 3))


def name(given: Any) -> str:
    return type(given).__name__ if isinstance(given, Baseline) else str(given)


@pytest.mark.parametrize(
    ("model", "option", "value"),
    [
        (GMM(3), "reg_covar", 1.0),
        (HDBSCAN(5, 2), "min_samples", 4),
        (DTW(4, window=5, n_sample=30, band=2), "band", 0),
        (DTW(4, window=5, n_sample=30), "n_init", 4),
        (DTW(4, window=5, n_sample=30), "n_sample", 60),
        (DTW(4, window=5, n_sample=30), "max_iter", 1),
        (FastTICC(3, window=2, beta=1.0), "max_iter", 1),
    ],
    ids=name,
)
def test_another_value_gives_other_labels(model: Baseline, option: str, value: Any) -> None:
    plain, other = (clone(model).set_params(**params).fit(cloud()).labels_ for params in ({}, {option: value}))
    assert not np.array_equal(plain, other)


@pytest.mark.parametrize("model", [GMM(4), WindowedGMM(4, 10), HMM(4)], ids=name)
def test_the_likeliest_of_several_starts_is_kept(model: Baseline) -> None:
    one, five = (clone(model).set_params(n_init=n_init).fit(cloud()).bic_ for n_init in (1, 5))
    assert five < one - 1


def test_the_tightest_of_several_starts_is_kept() -> None:
    X = cloud()
    found = [KMeans(8, n_init=n_init).fit(X).labels_ for n_init in (1, 10)]
    one, ten = (
        sum(size * X[labels == k].var(axis=0).sum() for k, size in enumerate(np.bincount(labels))) for labels in found
    )
    assert ten < one - 1


@pytest.mark.parametrize("model", [TICC(3, window=1, beta=1.0, n_init=1), STICC(3, beta=0.5, n_init=1)], ids=name)
def test_a_run_ends_where_it_gains_no_more_than_tol(model: Any) -> None:
    X = cloud()
    gains = -np.diff(clone(model).set_params(tol=0.0).fit(X).objective_) / len(X)
    tol = 0.01
    early = clone(model).set_params(tol=tol).fit(X)
    assert early.n_iter_ == 1 + np.flatnonzero(gains <= tol)[0] < gains.size
    assert early.converged_
