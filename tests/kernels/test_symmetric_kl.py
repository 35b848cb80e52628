"""Symmetric KL divergence by tile, by pairs and one against many, against the formula in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcgta.kernels.gaussians.symmetric_kl import features_of, pack, symmetric_kl_pairs, symmetric_kl_tile
from naive import algorithm as naive

SOME = settings(max_examples=20, derandomize=True, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


def random_models(rng, count, d, condition=100.0):
    covs = []
    for _ in range(count):
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
        cov = (turn * np.logspace(0, -np.log10(condition), d)) @ turn.T
        covs.append((cov + cov.T) * rng.uniform(0.25, 1))
    return rng.normal(size=(count, d)), np.array(covs)


def tables(packed):
    """The table of all pairs, made in three ways."""
    count = len(packed)
    i, j = np.divmod(np.arange(count * count), count)
    yield symmetric_kl_tile(packed, packed)
    yield symmetric_kl_pairs(packed, i, j).reshape(count, count)
    yield np.vstack([symmetric_kl_tile(packed[k : k + 1], packed) for k in range(count)])


def slow(means, covs):
    count = len(means)
    models = list(zip(means, covs, strict=True))
    return np.array([[naive.symmetric_kl(*models[i], *models[j]) for j in range(count)] for i in range(count)])


@pytest.mark.parametrize("d", range(1, 13))
@pytest.mark.parametrize("count", [1, 5, 8, 9])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_divergences_agree_with_the_formula(d, count, offset):
    means, covs = random_models(np.random.default_rng(10 * d + count), count, d)
    means = np.round(means * 2**20) / 2**20 + offset  # exact sums
    expected = slow(means, covs)
    for found in tables(pack(means, covs)):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
        assert (found >= 0).all()


@pytest.mark.parametrize("d", range(1, 13))
def test_an_offset_of_all_means_changes_no_bit(d):
    means, covs = random_models(np.random.default_rng(d), 9, d)
    means = np.round(means * 2**20) / 2**20
    for found, expected in zip(tables(pack(means + 1e6, covs)), tables(pack(means, covs)), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 12])
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 17, 300])
def test_tiles_pairs_and_single_rows_agree_to_the_last_bit_in_any_number(d, count):
    rng = np.random.default_rng(d + count)
    packed = pack(*random_models(rng, count, d))
    i, j = rng.integers(0, count, (2, 2 * count + 3))
    tile = symmetric_kl_tile(packed, packed)
    np.testing.assert_array_equal(symmetric_kl_pairs(packed, i, j), tile[i, j])
    np.testing.assert_array_equal(symmetric_kl_tile(packed[:1], packed)[0], tile[0])
    np.testing.assert_array_equal(symmetric_kl_tile(packed, packed[-1:])[:, 0], tile[:, -1])


@pytest.mark.parametrize("d", [1, 2, 5, 12])
def test_normal_models_of_one_spread_differ_by_half_their_squared_shift(d):
    means = np.random.default_rng(d).normal(size=(10, d))
    expected = ((means[:, None] - means) ** 2).sum(axis=2) / 2 / 4
    for found in tables(pack(means, np.tile(4.0 * np.eye(d), (10, 1, 1)))):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("d", [1, 2, 3, 6, 12, 20])
@pytest.mark.parametrize("condition", [1.0, 1e6, 1e10])
def test_identical_models_do_not_differ(d, condition):
    means, covs = random_models(np.random.default_rng(d), 3, d, condition)
    packed = pack(np.repeat(means, 5, axis=0), np.repeat(covs, 5, axis=0))
    same = np.kron(np.eye(3), np.ones((5, 5))) > 0
    for found in tables(packed):
        assert (found >= 0).all()
        assert (found[same] <= 1e-15 * d * condition + 1e-14 * d).all()


@pytest.mark.parametrize("d", [1, 2, 3, 6])
@pytest.mark.parametrize("power", [-100, -12, 12, 100])
def test_a_change_of_unit_changes_nothing(d, power):
    means, covs = random_models(np.random.default_rng(d), 9, d)
    unit = 2.0 ** round(np.log2(10.0) * power / 2)
    one, other = pack(means, covs), pack(means * unit, covs * unit**2)
    for found, expected in zip(tables(other), tables(one), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("d", range(1, 30))
def test_the_width_of_a_packed_model_tells_the_number_of_features(d):
    packed = pack(np.zeros((2, d)), np.tile(np.eye(d), (2, 1, 1)))
    assert packed.shape == (2, d + d * (d + 1))
    assert features_of(packed) == d


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_nothing_to_compare_gives_nothing(d):
    packed = pack(*random_models(np.random.default_rng(d), 3, d))
    none = np.empty(0, dtype=np.int64)
    assert symmetric_kl_pairs(packed, none, none).shape == (0,)
    assert symmetric_kl_tile(packed[:0], packed).shape == (0, 3)
    assert symmetric_kl_tile(packed, packed[:0]).shape == (3, 0)


@pytest.mark.parametrize("trouble", [np.nan, np.inf])
def test_a_model_that_is_no_number_harms_no_other(trouble):
    packed = pack(*random_models(np.random.default_rng(1), 11, 4))
    hurt = packed.copy()
    hurt[4] = trouble
    fine = np.arange(11) != 4
    for found, expected in zip(tables(hurt), tables(packed), strict=True):
        np.testing.assert_array_equal(found[fine][:, fine], expected[fine][:, fine])
        assert not np.isfinite(found[4]).any()


def test_arrays_may_be_read_only():
    means, covs = random_models(np.random.default_rng(3), 8, 3)
    packed = pack(means, covs)
    expected = symmetric_kl_tile(packed, packed)
    for array in (means, covs, packed):
        array.setflags(write=False)
    np.testing.assert_array_equal(pack(means, covs), packed)
    for found in tables(packed):
        np.testing.assert_array_equal(found, expected)


def test_arrays_may_be_views():
    packed = pack(*random_models(np.random.default_rng(3), 8, 3))
    for found, expected in zip(tables(np.repeat(packed, 2, axis=0)[::2]), tables(packed), strict=True):
        np.testing.assert_array_equal(found, expected)


@SOME
@given(seed=SEEDS, d=st.integers(1, 12), digits=st.floats(0, 6))
def test_divergences_are_symmetric_and_vanish_between_a_model_and_itself(seed, d, digits):
    packed = pack(*random_models(np.random.default_rng(seed), 9, d, 10**digits))
    for found in tables(packed):
        np.testing.assert_allclose(found, found.T, rtol=1e-11, atol=1e-11)
        assert (found >= 0).all()
        assert (np.diag(found) <= 1e-13 * d * 10**digits).all()


@SOME
@given(seed=SEEDS, d=st.integers(1, 10))
def test_any_linear_change_of_the_features_changes_nothing(seed, d):
    rng = np.random.default_rng(seed)
    means, covs = random_models(rng, 6, d)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0] * rng.uniform(0.5, 2, d)
    moved = turn @ covs @ turn.T
    one, other = pack(means, covs), pack(means @ turn.T, (moved + np.swapaxes(moved, 1, 2)) / 2)
    for found, expected in zip(tables(other), tables(one), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
