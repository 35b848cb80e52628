"""Features as they are scored: what varies, in units of standard deviations, and what repeats itself blurred."""

import numpy as np

from mcgta.selection.scoring.feature_scale import Scale, blur_repeated, varying_columns

RNG = np.random.default_rng(3)
X = RNG.normal(size=(200, 2)) * [1.0, 1000.0] + [5.0, 0.0]


def test_scaled_features_have_mean_zero_and_spread_one():
    scaled = Scale.of(X).apply(X)
    np.testing.assert_allclose(scaled.mean(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=1), 1.0)


def test_constant_features_and_sums_of_others_are_left_out():
    more = np.column_stack([np.full(200, 7.0), X, X[:, 0] + 2 * X[:, 1]])
    columns = Scale.of(more).columns
    assert columns.size == 2
    assert 0 not in columns


def test_something_varies_where_a_scale_has_columns():
    offset = 1e15 + np.r_[0.5, np.zeros(199)][:, None]
    for features, varies in ((X, True), (np.full((200, 2), 3.0), False), (np.zeros((200, 1)), False), (offset, False)):
        assert bool(varying_columns(features).size) is varies
        assert (Scale.of(features).columns.size > 0) is varies


def test_only_features_that_repeat_their_values_are_blurred():
    repeated = np.tile([0.0, 1.0], 100)
    blurred = blur_repeated(np.array([repeated, X[:, 0]]), seed=0)
    np.testing.assert_array_equal(blurred[1], X[:, 0])
    assert np.unique(blurred[0]).size == 200
    assert np.abs(blurred[0] - repeated).max() < 1e-3
