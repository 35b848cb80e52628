"""The length of records in one series: found to the step where records follow each other, and not found elsewhere."""

import numpy as np
import pytest

from mcgta.datasets import make_gestures, make_series
from mcgta.positions.reading import read_positions
from mcgta.selection.families.trajectory.record_length import find_record_length


def find(X, times=None, groups=None):
    return find_record_length(X, read_positions(times, len(X), groups=groups))


@pytest.mark.parametrize(("length", "cut", "n_types"), [(47, 0, 2), (100, 30, 5), (160, 159, 1), (315, 57, 8)])
def test_length_and_borders_are_found_to_the_step(length, cut, n_types):
    sample = make_gestures(40, record_length=length, n_types=n_types, random_state=1)
    found = find(sample.X[cut:])
    assert found.n_steps == length
    assert found.n_steps_before == (-cut) % length


def test_series_without_records_have_no_record_length():
    rng = np.random.default_rng(0)
    for seed in range(5):
        assert find(make_series(1000, random_state=seed).X) is None
        assert find(rng.normal(size=(1000, 5))) is None
        assert find(rng.standard_t(2, size=(1500, 1)).cumsum(axis=0)) is None
    assert find(np.sin(np.arange(2000.0) / 9)[:, None] + 0.1 * rng.normal(size=(2000, 1))) is None


def test_unequal_steps_several_groups_and_few_rows_have_none():
    sample = make_gestures(40, record_length=50, random_state=0)
    rng = np.random.default_rng(0)
    assert find(sample.X) is not None
    assert find(sample.X, np.cumsum(rng.exponential(size=2000))) is None
    assert find(sample.X, None, np.repeat([0, 1], 1000)) is None
    assert find(sample.X[:50]) is None
    assert find(np.ones((2000, 1))) is None
