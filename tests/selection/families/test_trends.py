"""One cluster with a trend and a season, the rival of clusters along time."""

from __future__ import annotations

import numpy as np

from mcgta import MCGTA
from mcgta.positions.reading import read_positions
from mcgta.runtime.types import Array
from mcgta.selection.families.trends import dominant_period, one_with_trend
from mcgta.selection.scoring.scored_labelling import score
from mcgta.selection.scoring.scoring_data import ScoringData


def trend_gain(X: Array) -> float:
    scoring_data = ScoringData.of(X, read_positions(None, len(X)))
    one = score(scoring_data, np.zeros(len(X), dtype=np.int64))
    return one_with_trend(scoring_data, one, 1.0, None).gain


def season_with_trend(seed: int, count: int = 1200) -> Array:
    rng = np.random.default_rng(seed)
    steps = np.arange(count)[:, None]
    phases = rng.uniform(0, 2 * np.pi, 3)
    return 2 * np.sin(2 * np.pi * steps / 67.3 + phases) + 4 * steps / count + rng.normal(size=(count, 3))


def test_the_period_of_a_sine_under_a_trend_is_found() -> None:
    X = season_with_trend(0).T
    assert abs(dominant_period(X, np.arange(X.shape[1], dtype=float)) - 67.3) < 0.5


def test_the_period_is_in_the_unit_of_time() -> None:
    X = season_with_trend(0).T
    assert abs(dominant_period(X, 0.1 * np.arange(X.shape[1])) - 6.73) < 0.05


def test_a_season_with_a_trend_gains_by_being_modelled_as_such() -> None:
    assert trend_gain(season_with_trend(1)) > 100


def test_white_noise_loses_what_the_coefficients_cost() -> None:
    assert trend_gain(np.random.default_rng(2).normal(size=(1200, 3))) < 0


def test_a_season_with_a_trend_is_one_cluster_and_the_choice_says_why() -> None:
    model = MCGTA(progress=False).fit(season_with_trend(3))
    assert model.n_clusters_ == 1
