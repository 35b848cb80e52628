"""W2 squared by tile, by pairs and one against many, against 50 digits and against what can be said in closed form.

Errors are measured in the sum of the two traces.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcgta.kernels.gaussians.wasserstein import embed, features_of, pack, wasserstein2_pairs, wasserstein2_tile
from naive import algorithm as naive

SIZES = [*range(1, 10), 16, 20, 33]
SOME = settings(max_examples=20, derandomize=True, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


def rotation(rng, d):
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


def rotated(values, turn):
    cov = (turn * values) @ turn.T
    return (cov + cov.T) / 2


def spectrum(d, condition):
    return np.logspace(0, -np.log10(condition), d)


def random_models(rng, count, d, condition=100.0):
    covs = np.array([rotated(spectrum(d, condition), rotation(rng, d)) for _ in range(count)])
    return rng.normal(size=(count, d)), covs * rng.uniform(0.5, 2, (count, 1, 1))


def traces(packed):
    """Sums of the two traces, one where both are zero."""
    own = packed[:, features_of(packed)]
    total = own[:, None] + own[None, :]
    return np.where(total > 0, total, 1.0)


def tables(packed):
    """The table of all pairs, made in three ways."""
    count = len(packed)
    i, j = np.divmod(np.arange(count * count), count)
    yield wasserstein2_tile(packed, packed)
    yield wasserstein2_pairs(packed, i, j).reshape(count, count)
    yield np.vstack([wasserstein2_tile(packed[k : k + 1], packed) for k in range(count)])


def precise(means, covs):
    """The same table with 50 digits, each pair once."""
    count = len(means)
    out = np.zeros((count, count))
    for i in range(count):
        for j in range(i):
            out[i, j] = out[j, i] = naive.wasserstein2_precise(means[i], covs[i], means[j], covs[j])
    return out


def agree(means, covs, expected, tolerance):
    packed = pack(means, covs)
    # Shifts of the means have an error of their own size, which is no matter of the covariances.
    allowed = tolerance * traces(packed) + 1e-15 * expected
    for found in tables(packed):
        assert (np.abs(found - expected) <= allowed).all(), (np.abs(found - expected) / traces(packed)).max()
        assert (found >= 0).all()


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize(("condition", "tolerance"), [(1.0, 1e-13), (1e6, 1e-13), (1e12, 1e-10)])
def test_models_of_any_condition_and_orientation_agree_with_50_digits(d, condition, tolerance):
    rng = np.random.default_rng(d)
    means, covs = random_models(rng, 2 if d > 9 else 4, d, condition)
    agree(means, covs, precise(means, covs), tolerance)


@pytest.mark.parametrize("d", [2, 3, 4, 5, 8, 16])
@pytest.mark.parametrize(("condition", "tolerance"), [(1e6, 1e-13), (1e12, 1e-10)])
def test_large_directions_of_one_may_be_the_small_ones_of_the_other(d, condition, tolerance):
    rng = np.random.default_rng(d)
    turn, values = rotation(rng, d), spectrum(d, condition)
    covs = np.array([rotated(values, turn), rotated(values[::-1], turn)])
    expected = 2 * values.sum() - 2 * np.sqrt(values * values[::-1]).sum()
    agree(np.zeros((2, d)), covs, np.array([[0, expected], [expected, 0]]), tolerance)
    agree(np.zeros((2, d)), covs, precise(np.zeros((2, d)), covs), tolerance)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 12])
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 15, 16, 17, 33, 300])
def test_diagonal_models_in_any_number_differ_by_their_standard_deviations(d, count):
    rng = np.random.default_rng(100 * d + count)
    means, sds = rng.normal(size=(count, d)), rng.uniform(0.1, 2, (count, d))
    packed = pack(means, sds[:, :, None] ** 2 * np.eye(d))
    rows = slice(0, min(count, 5))
    expected = ((means[rows, None] - means) ** 2).sum(axis=2) + ((sds[rows, None] - sds) ** 2).sum(axis=2)
    found = wasserstein2_tile(packed[rows], packed)
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=2e-14 * d)
    np.testing.assert_allclose(wasserstein2_tile(packed, packed[rows]), expected.T, rtol=1e-14, atol=2e-14 * d)
    j = rng.integers(0, count, 3 * count)
    pairs = wasserstein2_pairs(packed, np.zeros(3 * count, dtype=np.int64), j)
    np.testing.assert_allclose(pairs, expected[0, j], rtol=1e-14, atol=2e-14 * d)


@pytest.mark.parametrize("d", range(2, 17))
def test_standard_deviations_that_repeat_or_vanish_cost_no_digits(d):
    rng = np.random.default_rng(d)
    sds = np.array(list(np.ndindex((3,) * d)) if d < 5 else rng.integers(0, 3, (300, d)), dtype=float)
    packed = pack(np.zeros(sds.shape), sds[:, :, None] ** 2 * np.eye(d))
    expected = ((sds[:, None] - sds) ** 2).sum(axis=2)
    for found in tables(packed):
        assert (np.abs(found - expected) <= 1e-13 * traces(packed)).all()


def test_many_features_of_which_two_are_shared_are_compared_exactly():
    sds = np.array(
        [[2, 0, 1, 0, 0, 0, 0, 0, 2, 2, 2, 2, 1, 1], [0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 2, 2, 0, 0]], dtype=float
    )
    packed = pack(np.zeros(sds.shape), sds[:, :, None] ** 2 * np.eye(14))
    assert wasserstein2_tile(packed[:1], packed[1:])[0, 0] == pytest.approx(20, rel=1e-13)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 9])
def test_models_that_vary_in_one_feature_only_are_compared_by_it(d):
    covs = np.zeros((4, d, d))
    covs[:, -1, -1] = [1, 4, 9, 0]
    expected = np.subtract.outer([1, 2, 3, 0], [1, 2, 3, 0]) ** 2.0
    agree(np.zeros((4, d)), covs, expected, 1e-14)


@pytest.mark.parametrize("blocks", [(1, 3), (3, 1), (2, 3), (1, 1, 3), (4, 2), (5, 3), (2, 2, 4), (1, 7), (6, 3)])
def test_blocks_of_features_add_up(blocks):
    rng = np.random.default_rng(sum(blocks))
    d, count = sum(blocks), 5
    covs, expected = np.zeros((count, d, d)), np.zeros((count, count))
    start = 0
    for size in blocks:
        part = np.array([rotated(spectrum(size, 50.0), rotation(rng, size)) for _ in range(count)])
        part[1] = part[0]
        part[2] = 2 * np.eye(size)
        covs[:, start : start + size, start : start + size] = part
        expected += precise(np.zeros((count, size)), part)
        start += size
    agree(np.zeros((count, d)), covs, expected, 1e-13)


@pytest.mark.parametrize(
    "values", [(1, 1, 4), (1, 2, 2, 3), (1, 2, 2, 3, 3), (5, 5, 5, 5, 5, 1), (1, 1, 1, 4, 4, 4, 9, 9)]
)
def test_repeated_eigenvalues_cost_no_digits(values):
    rng = np.random.default_rng(len(values))
    d = len(values)
    covs = np.array([rotated(np.array(values), rotation(rng, d)) for _ in range(2)] + [np.diag(values), 3 * np.eye(d)])
    agree(np.zeros((4, d)), covs, precise(np.zeros((4, d)), covs), 1e-13)


@pytest.mark.parametrize("seed", [0, 77, 81, 118, 201, 270, 406, 429, 493, 569, 695])
def test_eigenvalues_that_rounding_can_hardly_tell_apart_give_numbers(seed):
    rng = np.random.default_rng(seed)
    sds = 1 + rng.integers(0, 4, (160, 6)) * 10.0 ** -rng.integers(12, 16, (160, 1))
    packed = pack(np.zeros(sds.shape), sds[:, :, None] ** 2 * np.eye(6))
    found = wasserstein2_tile(packed, packed)
    assert np.isfinite(found).all()
    assert (found <= 1e-13 * traces(packed)).all()


@pytest.mark.parametrize("d", [1, 2, 3, 4, 8, 13])
def test_multiples_of_the_identity_differ_by_the_root_of_the_factor(d):
    scales = np.array([1, 1, 4, 0.25, 2, 0, 1e-6, 1e6])
    expected = d * np.subtract.outer(np.sqrt(scales), np.sqrt(scales)) ** 2
    agree(np.zeros((8, d)), scales[:, None, None] * np.eye(d), expected, 1e-14)


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize("condition", [1.0, 1e6, 1e12, 1e18])
def test_identical_models_do_not_differ(d, condition):
    means, covs = random_models(np.random.default_rng(d), 3, d, condition)
    packed = pack(np.repeat(means, 7, axis=0) + 1e6, np.repeat(covs, 7, axis=0))
    for found in tables(packed):
        same = np.kron(np.eye(3), np.ones((7, 7))) > 0
        assert (found >= 0).all()
        assert (found[same] <= (1e-13 * traces(packed))[same]).all()


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8])
def test_singular_models_of_whole_numbers_keep_all_digits(d):
    rng = np.random.default_rng(d)
    line = rng.integers(1, 8, (20, d)).astype(float)
    root = np.tril(rng.integers(-2, 3, (20, d, d))) + 3.0 * np.eye(d)
    packed = pack(
        np.zeros((40, d)), np.concatenate([line[:, :, None] * line[:, None, :], root @ np.swapaxes(root, 1, 2)])
    )
    lines = (line**2).sum(axis=1)
    cross = np.sqrt(((line @ root) ** 2).sum(axis=2))  # root k on the first axis, line on the second
    total = lines[None, :] + (root**2).sum(axis=(1, 2))[:, None]
    found = wasserstein2_tile(packed[20:], packed[:20])
    assert (np.abs(found - (total - 2 * cross)) <= 1e-13 * total).all()
    expected = np.add.outer(lines, lines) - 2 * np.abs(line @ line.T)
    assert (np.abs(wasserstein2_tile(packed[:20], packed[:20]) - expected) <= 1e-13 * np.add.outer(lines, lines)).all()


@pytest.mark.parametrize("d", [2, 3, 4, 6, 10])
def test_constant_columns_add_nothing(d):
    means, covs = random_models(np.random.default_rng(d), 3, d)
    more = np.zeros((3, d + 3, d + 3))
    place = np.array([0, *range(3, d + 2)])  # constant columns after the first and at the end
    more[:, place[:, None], place[None, :]] = covs
    expected = precise(means, covs)
    agree(np.hstack([means, np.full((3, 3), 7.0)]), more, expected, 1e-13)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 9])
def test_models_without_spread_differ_by_their_means(d):
    rng = np.random.default_rng(d)
    means, covs = random_models(rng, 3, d)
    covs[:2] = 0
    expected = ((means[:, None] - means) ** 2).sum(axis=2)
    expected[2, :2] += np.trace(covs[2])
    expected[:2, 2] += np.trace(covs[2])
    agree(means, covs, expected, 1e-14)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 8, 16])
@pytest.mark.parametrize("power", [-60, -30, -12, -6, 6, 12, 30, 60])
def test_a_change_of_unit_changes_nothing_else(d, power):
    means, covs = random_models(np.random.default_rng(d), 9, d)
    unit = 2.0 ** round(np.log2(10.0) * power / 2)
    one, other = pack(means, covs), pack(means * unit, covs * unit**2)
    expected = wasserstein2_tile(one, one)
    for found in tables(other):
        assert (np.abs(found / unit**2 - expected) <= 1e-14 * (traces(one) + expected)).all()


@pytest.mark.parametrize("d", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("power", [-60, -12, -6])
def test_models_of_very_different_size_are_compared_to_the_size_of_the_larger(d, power):
    covs = random_models(np.random.default_rng(d), 4, d)[1]
    covs[2:] *= 10.0**power
    agree(np.zeros((4, d)), covs, precise(np.zeros((4, d)), covs), 1e-13)


@pytest.mark.parametrize("d", range(2, 10))
def test_features_in_units_that_differ_by_powers_of_ten_cost_no_digits(d):
    rng = np.random.default_rng(d)
    roots = (np.tril(rng.normal(size=(60, d, d)), -1) + 2 * np.eye(d)) * 10.0 ** -rng.integers(0, 9, (60, d, 1))
    packed = pack(np.zeros((60, d)), roots @ np.swapaxes(roots, 1, 2))
    cross = np.linalg.svd(np.einsum("iab,jac->ijbc", roots, roots), compute_uv=False).sum(axis=2)
    for found in tables(packed):
        assert (np.abs(found - (traces(packed) - 2 * cross)) <= 1e-14 * traces(packed)).all()


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_an_offset_of_all_means_costs_no_digits_of_the_covariances(d):
    means, covs = random_models(np.random.default_rng(d), 4, d)
    means = np.round(means * 2**20) / 2**20 + 1e6  # exact sums
    agree(means, covs, precise(means, covs), 1e-13)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 6])
def test_nothing_to_compare_gives_nothing(d):
    packed = pack(*random_models(np.random.default_rng(d), 3, d))
    none = np.empty(0, dtype=np.int64)
    assert wasserstein2_pairs(packed, none, none).shape == (0,)
    assert wasserstein2_tile(packed[:0], packed).shape == (0, 3)
    assert wasserstein2_tile(packed, packed[:0]).shape == (3, 0)
    assert pack(np.empty((0, d)), np.empty((0, d, d))).shape == (0, d + 1 + d * d)
    assert embed(packed[:0]).shape == (0, d + d * (d + 1) // 2)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 6, 12])
def test_a_value_does_not_depend_on_what_else_is_asked_for(d):
    packed = pack(*random_models(np.random.default_rng(d), 21, d, 1e4))
    together = wasserstein2_tile(packed, packed)
    alone = [[wasserstein2_tile(a[None], b[None])[0, 0] for b in packed] for a in packed]
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("trouble", [np.nan, np.inf])
def test_a_model_that_is_no_number_harms_no_other(d, trouble):
    packed = pack(*random_models(np.random.default_rng(d), 11, d))
    hurt = packed.copy()
    hurt[4] = trouble
    fine = np.arange(11) != 4
    for found, expected in zip(tables(hurt), tables(packed), strict=True):
        np.testing.assert_allclose(found[fine][:, fine], expected[fine][:, fine], atol=1e-14)
        assert not np.isfinite(found[4]).any()


@pytest.mark.parametrize("d", [2, 3, 5])
def test_arrays_may_be_read_only(d):
    means, covs = random_models(np.random.default_rng(d), 8, d)
    packed = pack(means, covs)
    expected = wasserstein2_tile(packed, packed)
    for array in (means, covs, packed):
        array.setflags(write=False)
    for found in tables(packed):
        np.testing.assert_allclose(found, expected, atol=1e-14)
    np.testing.assert_array_equal(pack(means, covs), packed)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_arrays_may_be_views(d):
    packed = pack(*random_models(np.random.default_rng(d), 8, d))
    for found, expected in zip(tables(np.repeat(packed, 2, axis=0)[::2]), tables(packed), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-14)


@pytest.mark.parametrize("d", [3, 6])
def test_threads_do_not_disturb_each_other(d):
    packed = pack(*random_models(np.random.default_rng(d), 90, d))
    expected = wasserstein2_tile(packed, packed)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: wasserstein2_tile(packed, packed), range(12)):
            np.testing.assert_array_equal(found, expected)


@SOME
@given(seed=SEEDS, d=st.integers(1, 12), digits=st.floats(0, 10))
def test_distances_are_symmetric_bounded_by_the_roots_and_obey_the_triangle_inequality(seed, d, digits):
    means, covs = random_models(np.random.default_rng(seed), 9, d, 10**digits)
    packed = pack(means, covs)
    points = embed(packed)
    slack = 1e-12 * traces(packed)
    shifts = ((means[:, None] - means) ** 2).sum(axis=2)
    upper = ((points[:, None] - points) ** 2).sum(axis=2)
    for found in tables(packed):
        assert (np.abs(found - found.T) <= slack).all()
        assert (np.diag(found) <= np.diag(slack)).all()
        assert (found <= upper + slack).all()
        assert (found >= shifts + (upper - shifts) / 2 - slack).all()
        root = np.sqrt(found)
        assert (root[:, :, None] <= root[:, None, :] + root.T[None] + 1e-5).all()


@SOME
@given(seed=SEEDS, d=st.integers(2, 12))
def test_turning_all_features_together_changes_nothing(seed, d):
    rng = np.random.default_rng(seed)
    means, covs = random_models(rng, 6, d)
    turn = rotation(rng, d)
    turned = turn @ covs @ turn.T
    one, other = pack(means, covs), pack(means @ turn.T, (turned + np.swapaxes(turned, 1, 2)) / 2)
    for found, expected in zip(tables(other), tables(one), strict=True):
        assert (np.abs(found - expected) <= 1e-13 * (traces(one) + expected)).all()
