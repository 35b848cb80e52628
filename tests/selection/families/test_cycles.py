"""Labels that come back with a period are phases of a cycle, others are not."""

from __future__ import annotations

import numpy as np

from mcgta.runtime.types import Labels, Mask
from mcgta.selection.families.cycles import cycle_in_steps, find_cycle, label_agreement


def one_series(count: int) -> Mask:
    starts = np.zeros(count, dtype=bool)
    starts[0] = True
    return starts


def states_at_random(seed: int, count: int = 1500, states: int = 4) -> Labels:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(20, 90, count)
    return np.repeat(rng.integers(0, states, count), lengths)[:count]


def test_agreement_is_cohens_kappa_of_labels_and_later_labels() -> None:
    rng = np.random.default_rng(0)
    series = [rng.integers(0, 3, 50), rng.integers(0, 3, 9), rng.integers(0, 3, 30)]
    longest = 20
    every = np.concatenate(series)
    by_chance = sum(float(np.mean(every == k)) ** 2 for k in range(3))
    slow = []
    for lag in range(longest + 1):
        same = [bool(part[i] == part[i + lag]) for part in series for i in range(part.size - lag)]
        slow.append((np.mean(same) - by_chance) / (1 - by_chance))
    assert np.allclose(label_agreement(series, longest), slow)


def test_phases_of_a_wave_are_a_cycle_with_its_period() -> None:
    labels = (np.arange(1000) // 20) % 3
    cycle = find_cycle(labels, one_series(1000))
    assert cycle.is_clear
    assert cycle.period % 60 == 0


def test_phases_whose_borders_shake_are_still_a_cycle() -> None:
    rng = np.random.default_rng(1)
    borders = 25 * np.arange(1, 60) + rng.integers(-4, 5, 59)
    labels = np.searchsorted(borders, np.arange(1500), side="right") % 2
    assert find_cycle(labels, one_series(1500)).is_clear


def test_states_that_recur_at_random_are_no_cycle() -> None:
    regular = [find_cycle(states_at_random(seed), one_series(1500)).is_clear for seed in range(40)]
    assert sum(regular) <= 3


def test_two_states_that_last_for_random_times_are_seldom_called_a_cycle() -> None:
    regular = [find_cycle(states_at_random(seed, states=2), one_series(1500)).is_clear for seed in range(40)]
    assert sum(regular) <= 4


def test_of_very_many_labels_some_are_looked_at() -> None:
    labels = (np.arange(100_000) // 200) % 2
    cycle = find_cycle(labels, one_series(100_000))
    assert cycle.is_clear
    assert cycle.period % 400 == 0


def test_long_states_are_no_cycle() -> None:
    labels = np.repeat([0, 1, 2, 1], 250)
    assert not find_cycle(labels, one_series(1000)).is_clear


def test_one_cluster_has_no_cycle() -> None:
    assert find_cycle(np.zeros(100, dtype=np.int64), one_series(100)).regularity == 0.0


def test_series_of_groups_are_not_joined() -> None:
    labels = np.tile(np.repeat([0, 1], 10), 40)
    starts = np.arange(labels.size) % 400 == 0
    assert find_cycle(labels, starts).is_clear
    shuffled = np.concatenate([np.roll(part, shift) for part, shift in zip(np.split(labels, 2), (0, 7), strict=True)])
    assert find_cycle(shuffled, starts).is_clear


def test_the_period_is_told_in_the_unit_of_time() -> None:
    labels = (np.arange(400) // 5) % 2
    cycle = find_cycle(labels, one_series(400))
    times = 0.5 * np.arange(400)
    assert cycle_in_steps(cycle, times, one_series(400)) == 0.5 * cycle.period
