"""The mixture Wasserstein distance by tile and by pairs, against a linear programme for each pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcgta.kernels.gaussians.mixture_transport import (
    SHARE_UNITS,
    find_ground_costs,
    mixture_pairs,
    mixture_tile,
    round_shares,
)
from naive.mixture import transport_cost

SOME = settings(max_examples=25, derandomize=True, deadline=None)


def squared_distances(points):
    return ((points[:, None] - points[None]) ** 2).sum(axis=-1)


def slow_table(shares, costs):
    return np.array([[transport_cost(a, b, costs) for b in shares] for a in shares])


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 12])
@pytest.mark.parametrize("d", [1, 2, 8])
@pytest.mark.parametrize("concentration", [0.1, 1.0, 20.0])
def test_distances_agree_with_a_linear_programme(size, d, concentration):
    rng = np.random.default_rng([size, d, int(10 * concentration)])
    costs = squared_distances(rng.normal(size=(size, d)))
    shares = round_shares(rng.dirichlet(np.full(size, concentration), size=6))
    expected = slow_table(shares, costs)
    found = mixture_tile(find_ground_costs(costs), shares, shares)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * costs.max())
    assert (found >= 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_costs_that_are_no_squares_of_distances_are_served_too(seed):
    rng = np.random.default_rng(seed)
    costs = rng.exponential(size=(7, 7)) ** 3
    costs = costs + costs.T
    np.fill_diagonal(costs, 0.0)
    shares = round_shares(rng.dirichlet(np.full(7, 0.5), size=6))
    found = mixture_tile(find_ground_costs(costs), shares, shares)
    np.testing.assert_allclose(found, slow_table(shares, costs), rtol=1e-9, atol=1e-9 * costs.max())


def test_what_two_mixtures_have_in_common_moves_where_two_short_steps_cost_less_than_a_long_one():
    # On a line at 0, 1 and 2 one step of 2 costs 4, two steps of 1 cost 2 and take the middle's share along.
    ground = find_ground_costs(squared_distances(np.array([[0.0], [1.0], [2.0]])))
    shares = round_shares(np.array([[0.25, 0.75, 0.0], [0.0, 0.75, 0.25]]))
    assert mixture_tile(ground, shares, shares)[0, 1] == 0.25 * 2


def test_no_more_than_is_in_common_can_be_handed_on():
    # The middle has 1/8 in common, so half of 1/4 takes two short steps, and half the long one.
    ground = find_ground_costs(squared_distances(np.array([[0.0], [1.0], [2.0], [100.0]])))
    shares = round_shares(np.array([[0.25, 0.125, 0.0, 0.625], [0.0, 0.125, 0.25, 0.625]]))
    assert mixture_tile(ground, shares, shares)[0, 1] == 0.125 * 2 + 0.125 * 4


@SOME
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 3))
def test_either_way_round_and_either_form_give_the_same_bits(seed, size, d):
    rng = np.random.default_rng(seed)
    ground = find_ground_costs(squared_distances(rng.normal(size=(size, d))))
    shares = round_shares(rng.dirichlet(np.full(size, 0.3), size=9))
    table = mixture_tile(ground, shares, shares)
    i, j = np.divmod(np.arange(81), 9)
    np.testing.assert_array_equal(table, table.T)
    np.testing.assert_array_equal(mixture_pairs(ground, shares, i, j).reshape(9, 9), table)
    np.testing.assert_array_equal(mixture_tile(ground, shares[4:5], shares)[0], table[4])


@SOME
@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_its_root_is_a_metric(seed, size):
    rng = np.random.default_rng(seed)
    ground = find_ground_costs(squared_distances(rng.normal(size=(size, 2))))
    roots = np.sqrt(mixture_tile(ground, *[round_shares(rng.dirichlet(np.full(size, 0.5), size=8))] * 2))
    assert (np.diagonal(roots) == 0).all()
    around = (roots[:, :, None] + roots[None, :, :]).min(axis=1)
    assert (roots <= around + 1e-9).all()


def test_equal_costs_and_equal_shares_end():
    costs = 1.0 - np.eye(12)
    shares = round_shares(np.vstack([np.full(12, 1 / 12), np.eye(12), np.eye(12)[::-1]]))
    found = mixture_tile(find_ground_costs(costs), shares, shares)
    expected = np.abs(shares[:, None] - shares[None]).sum(axis=-1) / 2
    np.testing.assert_allclose(found, expected, atol=1e-11)


def test_components_at_one_place_make_no_difference():
    points = np.array([[0.0], [0.0], [3.0]])
    shares = round_shares(np.array([[0.5, 0.0, 0.5], [0.0, 0.5, 0.5]]))
    assert mixture_tile(find_ground_costs(squared_distances(points)), shares, shares)[0, 1] == 0.0


def test_rounded_shares_are_whole_units_that_sum_to_one():
    shares = np.random.default_rng(0).dirichlet(np.full(7, 0.05), size=50)
    rounded = round_shares(shares)
    units = rounded * SHARE_UNITS
    np.testing.assert_array_equal(units, np.round(units))
    np.testing.assert_array_equal(rounded.sum(axis=1), 1.0)
    assert (rounded >= 0).all()
    np.testing.assert_allclose(rounded, shares, atol=7 / SHARE_UNITS)


def test_costs_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="costs"):
        find_ground_costs(np.array([[0.0, np.nan], [np.nan, 0.0]]))


def test_rows_that_do_not_exist_are_refused():
    with pytest.raises(IndexError, match="of 2"):
        mixture_pairs(find_ground_costs(np.zeros((1, 1))), np.ones((2, 1)), np.array([2]), np.array([0]))
