"""Numbers, shares and durations as people read them."""

from __future__ import annotations

import pytest

from mcgta.runtime.wording import readable_time_unit, say_distance, say_number, say_share


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0"),
        (0.01234, "0.0123"),
        (4.567, "4.57"),
        (123.4, "123"),
        (12345.6, "12,346"),
        (-2e-7, "-2.00e-07"),
        (float("nan"), "nan"),
    ],
)
def test_numbers_have_about_three_digits(value, said):
    assert say_number(value) == said


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0, "0 %"),
        (1e-5, "under 0.1 %"),
        (0.003, "0.3 %"),
        (0.43, "43 %"),
        (0.996, "99.6 %"),
        (0.99999, "over 99.9 %"),
        (1, "100 %"),
    ],
)
def test_shares_never_round_to_nothing_or_to_all(share, said):
    assert say_share(share) == said


@pytest.mark.parametrize(
    ("distance", "unit", "said"),
    [
        (192, "s", "3.2 min"),
        (90_000, "s", "1.04 d"),
        (0.25, "s", "250 ms"),
        (0, "s", "0 s"),
        (1500, "m", "1.5 km"),
        (1, "step", "1 step"),
        (4, "", "4"),
    ],
)
def test_distances_have_a_readable_unit(distance, unit, said):
    assert say_distance(distance, unit) == said


def test_very_short_times_have_the_shortest_unit():
    assert readable_time_unit(1e-9) == ("µs", 1e-6)
