"""Many features are reduced to components in which neighbourhoods differ, and everything that follows knows of it."""

from __future__ import annotations

from copy import deepcopy
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import mcgta
from mcgta import MCGTA
from mcgta.observations.reduction import MAX_COMPONENTS, Reduction, choose_reduction, count_components
from mcgta.positions.reading import read_positions
from mcgta.runtime.types import Array, Labels

STEPS = 1200
FEATURES = 48
INFORMATIVE = 3


class Wide(NamedTuple):
    """A series of two states with many features, of which a few rotated directions tell."""

    X: Array
    labels: Labels
    informative: Array


def make_wide(*, by: str, steps: int = STEPS, scale: float = 0.1, seed: int = 0) -> Wide:
    """Two states that differ in mean or covariance along directions of little variance, in segments of 60 to 180 steps."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(60, 180, steps // 60)
    labels = np.repeat(np.arange(lengths.size) % 2, lengths)[:steps]
    informative = rng.normal(size=(steps, INFORMATIVE))
    if by == "mean":
        informative = informative + 2.5 * labels[:, None]
    else:
        informative = informative * np.where(labels == 1, 3.0, 0.7)[:, None]
    noise = rng.normal(size=(steps, FEATURES - INFORMATIVE)) * np.exp(rng.normal(size=FEATURES - INFORMATIVE) / 2)
    turn = np.linalg.qr(rng.normal(size=(FEATURES, FEATURES)))[0]
    return Wide(np.hstack([scale * informative, noise]) @ turn, labels, informative)


@pytest.fixture(scope="module")
def wide() -> Wide:
    """States that differ in mean."""
    return make_wide(by="mean")


@pytest.fixture(scope="module")
def model(wide: Wide) -> MCGTA:
    """A fit of all but the last 100 steps."""
    return MCGTA(progress=False).fit(wide.X[:-100])


def test_the_fit_says_what_was_reduced(model: MCGTA) -> None:
    reduction = model.reduction_
    assert f"{FEATURES} features reduced to {len(reduction)} components" in str(reduction)
    assert str(reduction) in str(model.choice_)
    assert len(reduction) <= MAX_COMPONENTS
    assert model.n_features_in_ == FEATURES


@pytest.mark.parametrize("by", ["mean", "covariance"])
def test_components_hold_what_differs_along_directions_of_little_variance(by: str) -> None:
    wide = make_wide(by=by)
    reduction = choose_reduction(wide.X, read_positions(None, STEPS), "auto", spreads=None, seed=0)
    assert reduction is not None
    assert 1 <= reduction.n_distinct <= 6
    # The direction, or directions, that tell: the mean of the informative ones, or all of them.
    told = wide.informative.mean(axis=1, keepdims=True) if by == "mean" else wide.informative
    values = np.column_stack([np.ones(STEPS), reduction.apply(wide.X)])
    left = told - values @ np.linalg.lstsq(values, told, rcond=None)[0]
    assert (left.var(axis=0) < 0.2 * told.var(axis=0)).all()


def test_states_in_small_directions_are_found(wide: Wide, model: MCGTA) -> None:
    assert adjusted_rand_score(wide.labels[:-100], model.labels_) > 0.9


def test_white_noise_stands_out_in_no_direction() -> None:
    X = np.random.default_rng(1).normal(size=(1500, 60))
    reduction = choose_reduction(X, read_positions(None, 1500), "auto", spreads=None, seed=0)
    assert reduction is not None
    assert reduction.n_distinct <= 1


def test_up_to_forty_features_stay_as_they_are() -> None:
    X = np.random.default_rng(0).normal(size=(100, 40))
    assert choose_reduction(X, read_positions(None, 100), "auto", spreads=None, seed=0) is None
    assert choose_reduction(np.tile(X, 2), read_positions(None, 100), None, spreads=None, seed=0) is None
    assert count_components(40, "auto") == 40
    assert count_components(41, "auto") == MAX_COMPONENTS


def test_a_number_always_reduces_and_labels_ignore_the_order_of_rows() -> None:
    wide = make_wide(by="mean", steps=400)
    X = wide.X[:, :12]
    mixed = np.random.default_rng(0).permutation(len(X))
    fits = [MCGTA(n_components=3, progress=False).fit(X[rows], positions=rows) for rows in (np.arange(len(X)), mixed)]
    assert len(fits[0].reduction_) == 3
    np.testing.assert_array_equal(fits[0].reduction_.components, fits[1].reduction_.components)
    np.testing.assert_array_equal(fits[0].labels_[mixed], fits[1].labels_)


def test_components_are_orthonormal_uncorrelated_and_restored_by_regression(wide: Wide, model: MCGTA) -> None:
    reduction = model.reduction_
    np.testing.assert_allclose(reduction.components @ reduction.components.T, np.eye(len(reduction)), atol=1e-9)
    scaled = model.fitted_.data.scaled(wide.X[:-100])
    correlations = np.corrcoef(scaled, rowvar=False)
    np.testing.assert_allclose(correlations, np.eye(len(reduction)), atol=1e-8)
    assert reduction.restore(scaled).shape == (STEPS - 100, FEATURES)


def test_all_components_hold_everything() -> None:
    X = np.random.default_rng(0).normal(size=(300, 6))
    reduction = choose_reduction(X, read_positions(None, 300), 6, spreads=None, seed=0)
    assert reduction is not None
    np.testing.assert_allclose(reduction.restore(reduction.apply(X)), X, atol=1e-9)
    assert reduction.variance_share == pytest.approx(1.0)


def test_new_observations_are_placed_by_the_same_components(wide: Wide, model: MCGTA) -> None:
    predicted = model.predict(wide.X[-100:])
    known = model.labels_
    meant = np.array([np.bincount(known[wide.labels[:-100] == state]).argmax() for state in (0, 1)])
    assert np.mean(predicted == meant[wide.labels[-100:]]) > 0.9


def test_added_observations_keep_the_components(wide: Wide, model: MCGTA) -> None:
    grown = deepcopy(model).append(wide.X[-100:])
    np.testing.assert_array_equal(grown.reduction_.components, model.reduction_.components)
    assert adjusted_rand_score(wide.labels, grown.labels_) > 0.9
    np.testing.assert_array_equal(grown.fitted_.data.X[: STEPS - 100], model.fitted_.data.X)


def test_a_saved_fit_has_its_components(wide: Wide, model: MCGTA, tmp_path) -> None:  # type: ignore[no-untyped-def]
    model.save(tmp_path / "model.mcgta")
    loaded = mcgta.load(tmp_path / "model.mcgta")
    np.testing.assert_array_equal(loaded.reduction_.components, model.reduction_.components)
    np.testing.assert_array_equal(loaded.labels_, model.labels_)
    np.testing.assert_array_equal(loaded.predict(wide.X[-100:]), model.predict(wide.X[-100:]))


def test_local_models_are_of_components_and_can_be_given_back(model: MCGTA) -> None:
    models = model.local_models_
    assert models.means.shape == (STEPS - 100, len(model.reduction_))
    again = model.refit(local_models=models, refine="none")
    np.testing.assert_array_equal(again.local_models_.means, models.means)


def test_clusters_are_told_by_features(model: MCGTA) -> None:
    described = model.describe()
    assert "feature" in str(described)
    assert any("feature" in alternative.difference for alternative in model.alternatives_)


def test_lags_are_stacked_on_components() -> None:
    wide = make_wide(by="mean", steps=400)
    model = MCGTA(n_components=3, lags=1, refine="none", eps=1.0, progress=False).fit(wide.X)
    assert model.local_models_.means.shape == (400, 6)


def test_missing_values_are_imputed_before_components() -> None:
    wide = make_wide(by="mean")
    X = wide.X.copy()
    X[::7, 5] = np.nan
    with pytest.warns(UserWarning, match="imputed"):
        model = MCGTA(missing="impute", progress=False).fit(X)
    assert model.reduction_ is not None
    assert adjusted_rand_score(wide.labels, model.labels_) > 0.9


def test_fewer_rows_than_features_can_be_reduced() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 300)) + np.repeat([0.0, 1.5], 45)[:, None]
    model = MCGTA(progress=False).fit(X)
    assert model.reduction_.components.shape[1] == 300
    assert model.n_clusters_ == 2


def test_more_components_than_features_are_refused() -> None:
    with pytest.raises(ValueError, match="n_components=7 but X has 5 features"):
        MCGTA(n_components=7).fit(np.random.default_rng(0).normal(size=(50, 5)))


def test_dissimilarities_of_features_take_them_as_they_are() -> None:
    X = np.random.default_rng(0).normal(size=(60, 50))
    with pytest.raises(ValueError, match="n_components=3 has no effect with dissimilarity='euclidean'"):
        MCGTA(n_components=3, dissimilarity="euclidean").fit(X)
    assert MCGTA(dissimilarity="euclidean", eps=1.0).fit(X).reduction_ is None


def test_a_damaged_reduction_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit together"):
        Reduction(np.zeros(4), np.eye(4)[:2], np.zeros((3, 2)), 0.5, 1)
