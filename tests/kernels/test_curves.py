"""Heights of a semivariogram: formulas and table against GSTools, and the same bits from every kernel."""

import math
from dataclasses import replace

import gstools
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcgta.kernels.curves import heights as curves
from mcgta.kernels.simd.compiled import kernel
from mcgta.stages.semivariogram.curve import Semivariogram
from mcgta.stages.semivariogram.models import MODELS
from naive import algorithm as naive

SHAPES = [0.2, 0.21, 0.35, 0.5, 0.8, 0.95, 0.999, 1.0, 1.001, 1.2, 1.5, 2.0, 2.7, 5.0, 9.3, 14.0, 20.0, 20.001, 30.0]
FORMS = [
    ("spherical", math.nan),
    ("exponential", math.nan),
    ("gaussian", math.nan),
    ("stable", 0.3),
    ("stable", 1.0),
    ("stable", 1.7),
    ("stable", 2.0),
    ("matern", 0.4),
    ("matern", 1.3),
    ("matern", 25.0),
]
LENGTHS = np.concatenate([[0.0], np.geomspace(1e-9, 1e3, 20_000), np.linspace(0, 50, 20_001)])


@kernel("void(int64, float64[::1], float64[::1], float64[::1], float64[::1], float64[::1])")
def fused_heights(code, parameters, x, y, h, out):
    """Compiled as most kernels are, with products and sums fused where the compiler likes."""
    for k in range(h.shape[0]):
        out[k] = curves.curve_height(code, parameters, x, y, h[k])


def gstools_heights(h, model, nugget, sill, length, shape=math.nan):
    bent = {"stable": {"alpha": shape}, "matern": {"nu": shape}}.get(model, {})
    var = max(sill - nugget, 1e-300)  # which before GSTools 1.7 must not be 0
    found = getattr(gstools, model.capitalize())(dim=1, var=var, nugget=nugget, len_scale=length, **bent)
    return np.where(np.isinf(h), sill, found.variogram(np.where(np.isinf(h), 0.0, h)))


def broken_line(seed, sill=0.9):
    rng = np.random.default_rng(seed)
    x, y = np.append(0.0, np.cumsum(rng.exponential(1.0, 12))), np.cumsum(rng.exponential(0.1, 13))
    x[4], y[7] = x[3], y[6]  # two points at one distance, and a level stretch
    return x, y, curves.line_through(x, y, sill)


@pytest.mark.parametrize(("model", "shape"), [form for form in FORMS if form[0] != "matern"])
@pytest.mark.parametrize(("nugget", "sill", "length"), [(0.0, 1.0, 1.0), (0.3, 2.0, 0.07), (1.5, 1.5, 4e5)])
def test_closed_forms_agree_with_gstools(model, shape, nugget, sill, length):
    h = np.append(LENGTHS * length, np.inf)
    found = curves.curve_heights(MODELS[model].curve(nugget, sill, length, shape), h)
    np.testing.assert_allclose(found, gstools_heights(h, model, nugget, sill, length, shape), rtol=0, atol=1e-13 * sill)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_table_of_the_matern_model_agrees_with_gstools_to_ten_digits_of_the_sill(shape):
    found = curves.curve_heights(MODELS["matern"].curve(0.4, 2.0, 3.0, shape), 3.0 * LENGTHS)
    np.testing.assert_allclose(
        found, gstools_heights(3.0 * LENGTHS, "matern", 0.4, 2.0, 3.0, shape), atol=2e-10, rtol=0
    )


@pytest.mark.parametrize("shape", [0.2, 0.5, 0.97, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("u", [1e-300, 1e-40, 1e-9, 7e-7, 9e-7, 1e-5])
def test_the_matern_model_agrees_with_bessel_functions_of_many_digits_where_those_of_doubles_give_up(shape, u):
    with mpmath.workdps(40):
        nu, z = mpmath.mpf(shape), mpmath.sqrt(shape) * mpmath.mpf(u)
        expected = 1 - 2 ** (1 - nu) / mpmath.gamma(nu) * z**nu * mpmath.besselk(nu, z)
    found = curves.curve_heights(MODELS["matern"].curve(0.0, 1.0, 1.0, shape), np.array(u))
    assert float(found) == pytest.approx(float(expected), rel=0, abs=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_a_broken_line_has_the_bits_of_numpys_interpolation(seed):
    x, y, curve = broken_line(seed)
    h = np.concatenate([np.random.default_rng(seed).uniform(0, 20, 500), x, [0.0, 1e9]])
    np.testing.assert_array_equal(curves.curve_heights(curve, h), np.minimum(np.interp(h, x, y), 0.9))


def every_curve():
    found = [MODELS[model].curve(0.3, 1.7, 2.3, shape) for model, shape in FORMS]
    return [*found, broken_line(1)[2]]


@pytest.mark.parametrize("curve", every_curve(), ids=[*(f"{model} {shape}" for model, shape in FORMS), "empirical"])
def test_heights_have_the_same_bits_in_every_kernel_and_the_right_ends(curve):
    h = np.concatenate([[0.0, np.inf, 5e-324, 1e308, np.nan], np.random.default_rng(0).exponential(3.0, 5001)])
    found, other = curves.curve_heights(curve, h), np.empty(h.size)
    fused_heights(*curve, h, other)
    np.testing.assert_array_equal(found, other)
    one_by_one = [float(curves.curve_heights(curve, np.array(distance))) for distance in h[:40]]
    np.testing.assert_array_equal(found[:40], one_by_one)
    nugget, sill = curve[1][:2]
    assert found[0] == found[2] == nugget or curve[0] == curves.STABLE
    assert found[1] == sill
    assert found[3] == pytest.approx(min(sill, curve[3][-1]) if curve[0] == curves.EMPIRICAL else sill, rel=1e-15)
    assert np.isnan(found[4])


@settings(deadline=None, max_examples=60)
@given(
    form=st.sampled_from(FORMS[:3])
    | st.tuples(st.just("stable"), st.floats(0.05, 2.0))
    | st.tuples(st.just("matern"), st.floats(0.2, 30.0)),
    nugget=st.floats(0.0, 3.0),
    partial=st.floats(0.0, 1e6),
    seed=st.integers(0, 2**32 - 1),
)
def test_heights_never_fall_and_stay_between_nugget_and_sill(form, nugget, partial, seed):
    model, shape = form
    rng = np.random.default_rng(seed)
    near = np.exp(rng.uniform(-40, 8, 200))
    h = np.sort(np.concatenate([[0.0, np.inf], near, near * (1 + 1e-15), np.exp(-14 + np.arange(4700) / 256)]))
    found = curves.curve_heights(MODELS[model].curve(nugget, nugget + partial, 1.0, shape), h)
    rounding = 4e-16 * (nugget + partial)
    assert (np.diff(found) >= -rounding).all()
    assert found[0] == nugget
    assert found.min() >= nugget
    assert found.max() == found[-1] == nugget + partial


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), sill=st.floats(0.01, 3.0))
def test_a_broken_line_never_falls(seed, sill):
    x, _, curve = broken_line(seed, sill)
    h = np.sort(np.concatenate([x, np.random.default_rng(seed).uniform(0, 20, 500)]))
    assert (np.diff(curves.curve_heights(curve, h)) >= -1e-15).all()


@pytest.mark.parametrize(("model", "shape"), FORMS)
def test_a_semivariogram_gives_its_form_to_kernels_and_takes_distances_of_any_shape(model, shape):
    edges = np.arange(5.0)
    curve = Semivariogram(model, 2.0, 2.0, 0.5, edges, edges[1:] - 0.5, np.ones(4), np.ones(4, dtype=int), 1.3, shape)
    h = np.random.default_rng(1).exponential(2.0, (3, 4, 5))
    expected = [naive.variogram(x, model, 0.5, 2.0, 1.3, shape) for x in h.ravel()]
    np.testing.assert_allclose(curve(h).ravel(), expected, rtol=1e-9)
    assert curve(h).shape == h.shape
    assert curve(h[:, ::2].T).shape == (5, 2, 3)
    np.testing.assert_array_equal(curve(h[:, ::2].T), curve(h)[:, ::2].T)
    assert curve(1.0).shape == ()
    assert curve([]).shape == (0,)
    out = np.empty(h.size)
    fused_heights(*curve.kernel_curve, h.ravel(), out)
    np.testing.assert_array_equal(2 * out.reshape(h.shape), curve.expected(h))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"length": 0.0}, "length > 0"),
        ({"length": math.nan}, "length > 0"),
        ({"nugget_": -1.0}, "nugget >= 0"),
        ({"model": "stable", "shape": 2.5}, "0.001 to 2"),
        ({"model": "matern", "shape": math.nan}, "0.2 to 30"),
    ],
)
def test_a_curve_that_no_model_has_is_refused(change, message):
    edges = np.arange(3.0)
    curve = Semivariogram("gaussian", 2.0, 2.0, 0.5, edges, edges[1:] - 0.5, np.ones(2), np.ones(2, dtype=int), 1.3)
    with pytest.raises(ValueError, match=message):
        replace(curve, **change)(1.0)
