"""Dynamic time warping of windows and of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from mcgta.baselines.base import Task
from mcgta.baselines.dtw import DTW
from mcgta.baselines.plain import KMeans
from mcgta.positions.reading import read_positions


def bumps() -> tuple[Any, Any]:
    """Rows that hold one bump or two, anywhere."""
    rng = np.random.default_rng(1)
    truth = rng.permutation(np.repeat([0, 1], 30))
    steps = np.arange(24.0)
    rows = []
    for two in truth:
        start = rng.uniform(4, 10)
        row = np.exp(-((steps - start) ** 2) / 2)
        rows.append(row + two * np.exp(-((steps - start - 8) ** 2) / 2))
    return np.array(rows) + rng.normal(0, 0.02, (60, 24)), truth


def test_rows_of_one_shape_at_other_times_are_alike() -> None:
    X, truth = bumps()
    warped = DTW(2, of="rows", band=None, n_init=3).fit(X).labels_
    stiff = KMeans(2).fit(X).labels_
    assert adjusted_rand_score(truth, warped) > 0.9
    assert adjusted_rand_score(truth, warped) > adjusted_rand_score(truth, stiff) + 0.3


def test_windows_of_two_states_are_told_apart() -> None:
    truth = np.repeat([0, 1, 0, 1], 60)
    X = np.random.default_rng(2).normal(0, 0.3, (240, 2)) + 3.0 * truth[:, None]
    assert adjusted_rand_score(truth, DTW(2, window=8, n_sample=60).fit(X).labels_) > 0.8


def test_windows_stay_in_their_group_and_in_the_series() -> None:
    model = DTW(2, window=4)
    places = read_positions(None, 13, groups=np.repeat([0, 1, 2], [6, 3, 4]), metric="auto")
    starts = model._starts(Task(np.zeros((13, 1)), places, 0, np.arange(13)))
    np.testing.assert_array_equal(starts, [0, 0, 0, 1, 2, 2, -1, -1, -1, 9, 9, 9, 9])


def test_rows_of_short_groups_are_noise() -> None:
    X = np.random.default_rng(3).normal(size=(40, 1))
    labels = DTW(2, window=5).fit(X, groups=np.repeat([0, 1], [37, 3])).labels_
    np.testing.assert_array_equal(np.flatnonzero(labels < 0), [37, 38, 39])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"of": "rows", "window": 5}, "window=5 has no effect with of='rows'"),
        ({"of": "rows"}, "of='rows' needs at least 2 features"),
        ({"window": 41}, "window=41: only 0 rows are in a group of that many"),
        ({"of": "row"}, "of='row' is not allowed: .* did you mean 'rows'"),
    ],
)
def test_wrong_windows_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        DTW(2, **options).fit(np.random.default_rng(4).normal(size=(40, 1)))
