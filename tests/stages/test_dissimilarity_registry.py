"""Kinds of dissimilarity: their rows in the registry, the user's own function, and the user's own table."""

from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from mcgta import MCGTA, config_context, read_positions
from mcgta.stages import LocalModels, compare_features, compare_models, empirical_semivariogram
from mcgta.stages.dissimilarity.dissimilarity import Broadcast, Dissimilarity
from mcgta.stages.dissimilarity.kind import Kind
from mcgta.stages.dissimilarity.registry import DISSIMILARITIES, get_dissimilarity, names_where
from mcgta.stages.prior import MixturePrior
from naive import algorithm as naive


def random_models(count, d, seed=0):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(count, d, d))
    covs = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(d)
    return LocalModels(rng.normal(size=(count, d)), covs, sizes=np.full(count, 20.0))


def random_mixtures(count, d, seed=0):
    models = random_models(3, d, seed)
    components = MixturePrior(np.full(3, 1 / 3), models.means, models.covariances)
    shares = np.random.default_rng(seed).dirichlet(np.ones(3), size=count)
    return LocalModels(*components.moments(shares), prior=components, shares=shares)


def wasserstein(a, b):
    return naive.wasserstein2(a.mean, a.covariance, b.mean, b.covariance)


@pytest.mark.parametrize("name", DISSIMILARITIES)
def test_every_row_is_complete(name):
    kind = DISSIMILARITIES[name]
    assert kind.name == name
    assert kind.compares in ("models", "features")
    assert all(isinstance(getattr(kind, flag), bool) for flag in ("needs_definite", "has_bounds", "sampled"))
    assert kind.suggested_eps is not None or not kind.chance_known
    assert {field.name for field in fields(Kind)} <= set(vars(kind))


@pytest.mark.parametrize("name", DISSIMILARITIES)
def test_a_row_builds_what_it_declares(name):
    kind = DISSIMILARITIES[name]
    models = random_mixtures(12, 2) if kind.mixes else random_models(12, 2)
    built = kind.build(models if kind.fits_models else models.means, 0)
    assert built.kind == name
    assert built.has_bounds == kind.has_bounds
    assert built.matrix().shape == (12, 12)
    if kind.chance_known:
        assert kind.chance_scale(models).shape == (12,)
    if kind.suggested_eps is not None:
        assert kind.suggested_eps(models, 20) > 0


def test_capabilities_find_their_kinds():
    assert names_where(chance_known=True) == ("wasserstein2", "calibrated")
    assert names_where(has_bounds=True) == ("wasserstein2", "calibrated")
    assert names_where(compares="features") == ("euclidean", "cosine")
    assert names_where(needs_definite=True, sampled=False) == ("kl",)
    assert names_where(shift_invariant=False) == ("cosine",)
    assert names_where(mixes=True) == ("mixture",)


@pytest.mark.parametrize(
    ("value", "said"), [("wasserstien", "did you mean 'wasserstein2'"), (None, "None"), (3, "3 is not")]
)
def test_an_unknown_name_is_refused_with_the_nearest_one(value, said):
    with pytest.raises(ValueError, match=f"^dissimilarity=.*{said}"):
        get_dissimilarity(value)


@pytest.mark.parametrize("name", ["euclidean", "cosine"])
def test_models_are_not_compared_by_features_nor_features_by_models(name):
    with pytest.raises(ValueError, match=f"'{name}' compares features, not models"):
        compare_models(random_models(4, 2), name)
    with pytest.raises(ValueError, match="'kl' compares models, not features"):
        compare_features(np.ones((4, 2)), "kl")


def test_a_function_of_two_gaussians_is_a_dissimilarity():
    models = random_models(15, 2)
    found, expected = compare_models(models, wasserstein), compare_models(models)
    assert found.kind == "wasserstein"
    assert not found.has_bounds
    np.testing.assert_allclose(found.matrix(), expected.matrix(), rtol=1e-8, atol=1e-12)
    again = compare_models(models, wasserstein)
    rows = np.array([3, 7, 7]), np.array([7, 3, 7])
    np.testing.assert_allclose(again.of_pairs(*rows), expected.of_pairs(*rows), rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(again.between(np.array([3, 7]), slice(0, 0)).shape, (2, 0))
    places = read_positions(None, 15)
    curves = [empirical_semivariogram(each, places, bins=5).values for each in (again, expected)]
    np.testing.assert_allclose(*curves, rtol=1e-8)


def test_rows_compared_by_a_function_do_not_differ_from_themselves():
    found = compare_models(random_models(5, 2), lambda a, b: 1.0)
    np.testing.assert_array_equal(found.between(slice(1, 4), slice(2, 5)), [[1, 1, 1], [0, 1, 1], [1, 0, 1]])


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, "far", None, np.ones(2)], ids=repr)
def test_a_function_that_gives_no_number_is_refused(bad):
    with pytest.raises(ValueError, match=r"dissimilarity=<lambda> gave .* for rows 0 and 1; it must be a number >= 0"):
        compare_models(random_models(5, 2), lambda a, b: bad)


def test_symmetry_is_checked_beyond_rows_that_share_a_neighbourhood():
    X = np.random.default_rng(0).normal(size=(80, 2)).cumsum(axis=0)
    with pytest.raises(ValueError, match="it must be symmetric"):
        MCGTA(n_neighbors=15, eps=0.5, dissimilarity=lambda a, b: float(a.mean[0] > b.mean[0])).fit(X)


def test_a_function_that_is_not_symmetric_is_refused():
    with pytest.raises(ValueError, match=r"rows 0 and 1 differ by .* one way and .* the other; it must be symmetric"):
        compare_models(random_models(5, 2), lambda a, b: abs(a.mean[0]))


def test_a_table_of_dissimilarities_follows_the_order_of_the_rows():
    table = compare_features(np.random.default_rng(1).normal(size=(9, 2))).matrix()
    order = np.array([4, 0, 8, 2])
    found = get_dissimilarity(table).build(order, 0)
    assert len(found) == 4
    np.testing.assert_array_equal(found.between(slice(1, 3), slice(None)), table[np.ix_(order[1:3], order)])
    np.testing.assert_array_equal(found.of_pairs(np.array([0, 3]), np.array([2, 3])), [table[4, 8], 0.0])
    np.testing.assert_array_equal(found.matrix(), table[np.ix_(order, order)])


def test_a_sample_of_a_large_table_gives_the_curve_of_all_its_pairs():
    X = np.cumsum(np.random.default_rng(2).normal(size=(2300, 2)), axis=0)
    places = read_positions(None, 2300)
    found = get_dissimilarity(compare_features(X).matrix()).build(np.arange(2300), 0)
    sampled, full = (empirical_semivariogram(found, places, bins=8, error=error) for error in (0.02, 0.0))
    assert (sampled.errors > 0).any()
    assert (np.abs(sampled.values - full.values) <= 5 * sampled.errors + 1e-9).all()


def _spoilt(row, column, value):
    table = np.ones((4, 4)) - np.eye(4)
    table[row, column] = value
    return table


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (np.ones((3, 4)), r"must be square, got shape \(3, 4\)"),
        (np.array([["a", "b"]] * 2), "must hold real numbers"),
        (_spoilt(1, 2, np.nan), "NaN or infinity"),
        (_spoilt(1, 2, -1.0), "negative values, such as -1"),
        (_spoilt(2, 2, 0.5), "row 2 differs from itself by 0.5, not 0"),
        (_spoilt(1, 3, 2.0), "rows 1 and 3 differ by 2 one way and 1 the other"),
    ],
)
def test_a_table_that_is_none_of_dissimilarities_is_refused(table, said):
    with pytest.raises(ValueError, match=f"^dissimilarity: .*{said}"):
        get_dissimilarity(table)


@pytest.mark.parametrize("order", [np.array([0, 9]), np.array([-1]), np.array([0.5]), np.zeros((2, 2), dtype=int)])
def test_rows_that_a_table_does_not_have_are_refused(order):
    with pytest.raises(ValueError, match="the table has 4 rows"):
        get_dissimilarity(np.ones((4, 4)) - np.eye(4)).build(order, 0)


@pytest.mark.parametrize("form", [np.ndarray.tolist, pd.DataFrame])
def test_lists_and_frames_are_tables_of_dissimilarities_too(series, form):
    table = compare_features(series.X).matrix()
    options = {"n_neighbors": 6, "eps": 0.5}
    found = MCGTA(**options, dissimilarity=form(table)).fit(series.X, positions=series.positions)
    expected = MCGTA(**options, dissimilarity=table).fit(series.X, positions=series.positions)
    np.testing.assert_array_equal(found.labels_, expected.labels_)


@pytest.mark.parametrize("rows", [-1, 1])
def test_a_table_has_as_many_rows_as_the_features(series, rows):
    count = len(series.X) + rows
    said = f"dissimilarity is a table of {count} rows, but X has {len(series.X)}; they must be the same"
    with pytest.raises(ValueError, match=said):
        MCGTA(dissimilarity=np.ones((count, count)) - np.eye(count)).fit(series.X)


def test_a_kind_of_ones_own_that_claims_bounds_is_refused_by_the_tree(series):
    def build(models, seed):
        return Dissimilarity(
            "mine", (models.means,), Broadcast(lambda a, b: ((a - b) ** 2).sum(axis=-1), 2), lambda: models.means
        )

    kind = Kind("mine", "models", build, has_bounds=True)
    with (
        config_context(table_rows=10),
        pytest.raises(ValueError, match="a tree needs dissimilarity='wasserstein2' or 'calibrated'"),
    ):
        MCGTA(n_neighbors=6, eps=0.5, min_samples=5, dissimilarity=kind).fit(series.X, positions=series.positions)
