"""Theoretical models of the semivariogram: their rows in the registry, and a new one."""

import math
from dataclasses import fields, replace

import numpy as np
import pytest

from mcgta import Semivariogram, load
from mcgta.stages import fit_semivariogram
from mcgta.stages.semivariogram.models import MODELS, SemivariogramModel, get_model


def tent(u, shape):
    """The correlation of a model that rises in a straight line up to its length."""
    return np.clip(1 - u, 0, 1)


def power(u, shape):
    """The correlation of a model with a shape."""
    return (1 + u) ** -shape


def bins_of(gamma, *, noise=0.0, seed=0):
    edges = 10.0 * (np.arange(41) / 40) ** 2
    lags = (edges[1:] + edges[:-1]) / 2
    values = gamma(lags) + noise * np.random.default_rng(seed).normal(size=40)
    return Semivariogram("empirical", math.nan, math.nan, math.nan, edges, lags, values, np.full(40, 50))


@pytest.fixture
def tent_model(monkeypatch):
    monkeypatch.setitem(MODELS, "tent", SemivariogramModel("tent", tent))


@pytest.mark.parametrize("name", MODELS)
def test_every_row_is_complete(name):
    row = MODELS[name]
    shape = np.nan if row.shapes is None else float(row.shapes[3])
    assert row.name == name
    assert {field.name for field in fields(SemivariogramModel)} <= set(vars(row))
    rises = row.rise(np.array([0.0, 0.5, 1e4]), np.array([1.0, 2.0]), shape)
    assert rises.shape == (2, 3)
    np.testing.assert_allclose(rises[:, [0, 2]], [[0, 1]] * 2, atol=1e-3)
    assert row.kernel_form(1.0, shape).length > 0
    assert row.shapes is None or row.shape_bounds[0] <= row.shapes[0] < row.shapes[-1] <= row.shape_bounds[1]


@pytest.mark.parametrize("name", MODELS)
def test_a_model_without_kernel_or_range_of_its_own_has_the_same_from_its_correlation(name):
    row = MODELS[name]
    shape = np.nan if row.shapes is None else 1.5
    bare = replace(row, kernel_form=None, range_of=None)
    assert bare.practical_range(2.0, shape) == pytest.approx(naive_range(row, 2.0, shape), rel=1e-6)
    edges = np.arange(5.0)
    curve = Semivariogram(name, 2.0, 2.0, 0.5, edges, edges[1:] - 0.5, np.ones(4), np.ones(4, dtype=int), 1.3, shape)
    h = np.concatenate([[0.0], np.geomspace(1e-4, 30, 300)])
    tabulated = np.interp(h, *bare.curve(0.5, 2.0, 1.3, shape)[2:])
    np.testing.assert_allclose(tabulated, curve(h), atol=1e-5)


def naive_range(row, length, shape):
    """The practical range; the spherical model reaches its sill, so its range is where that is."""
    if row.name != "spherical":
        return row.practical_range(length, shape)
    roots = np.roots([-0.5, 0, 1.5, -0.95])
    return length * min(root.real for root in roots if 0 < root.real < 1)


def test_a_new_model_is_one_row(tent_model, tmp_path):
    curve = bins_of(lambda h: 0.3 + 1.7 * np.clip(h / 2.5, 0, 1))
    fitted = fit_semivariogram(curve, "tent")
    assert fitted.model == "tent"
    assert fitted.length == pytest.approx(2.5, rel=1e-3)
    assert fitted.range_ == pytest.approx(0.95 * 2.5, rel=1e-3)
    assert (fitted.nugget_, fitted.sill_) == pytest.approx((0.3, 2.0), rel=1e-3)
    np.testing.assert_allclose(fitted([0.0, 1.25, 2.5, 9.0, math.inf]), [0.3, 1.15, 2.0, 2.0, 2.0], rtol=2e-3)
    fitted.save(tmp_path / "curve.mcgta")
    assert load(tmp_path / "curve.mcgta").model == "tent"


def test_a_new_model_may_have_a_shape(monkeypatch):
    row = SemivariogramModel("power", power, shapes=np.linspace(1.0, 5.0, 9), shape_bounds=(1.0, 5.0))
    monkeypatch.setitem(MODELS, "power", row)
    fitted = fit_semivariogram(bins_of(lambda h: 2 * (1 - (1 + h / 0.4) ** -3.0)), "power")
    assert fitted.model == "power"
    h = np.linspace(0.05, 10, 50)
    np.testing.assert_allclose(fitted(h), 2 * (1 - (1 + h / 0.4) ** -3.0), rtol=1e-3)
    with pytest.raises(ValueError, match="a power curve has a shape from 1 to 5, got 7"):
        replace(fitted, shape=7.0)(1.0)


def test_a_model_that_never_levels_off_has_no_range(monkeypatch):
    assert SemivariogramModel("slow", lambda u, shape: 1 / (1 + np.log1p(u))).practical_range(1.0) == np.inf


@pytest.mark.parametrize(("name", "said"), [("sphercal", "did you mean 'spherical'"), (None, "None is not one of")])
def test_an_unknown_model_is_refused_with_the_nearest_one(name, said):
    with pytest.raises(ValueError, match=f"^semivariogram=.*{said}"):
        get_model(name)
    with pytest.raises(ValueError, match=said):
        fit_semivariogram(bins_of(np.sqrt), name)


@pytest.mark.parametrize(("noise", "low", "high"), [(0.35, 0.02, 0.29), (0.2, 0.05, 0.3)])
def test_a_weak_rise_is_a_rise(noise, low, high):
    curve = bins_of(lambda h: 2 + 0.25 * (1 - np.exp(-h / 0.5)), noise=noise, seed=3)
    fitted = fit_semivariogram(curve, "exponential")
    assert fitted.model == "exponential"
    assert low < fitted.r2 < high


@pytest.mark.parametrize(("rise", "model"), [(0.25, "empirical"), (0.3, "exponential")])
@pytest.mark.filterwarnings("ignore:semivariogram")
def test_a_rise_that_explains_less_than_one_percent_is_none(rise, model):
    curve = bins_of(lambda h: 2 + rise * (1 - np.exp(-h / 0.5)))
    wave = np.where(np.arange(40) % 4 < 2, 0.5, -0.5)
    fitted = fit_semivariogram(replace(curve, values=curve.values + wave), "exponential")
    assert fitted.model == model
    assert not fitted.r2 > 0.02
