"""Theoretical models of a semivariogram, as rows of a registry: gamma = nugget + partial sill * (1 - correlation(h / length)).

The correlation functions are GSTools', which is imported when one is used. A new model is a row of ``MODELS``: with a
correlation function alone it can be fitted and used everywhere, from a table; a formula in
:mod:`mcgta.kernels.curves.heights` makes it exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from mcgta.kernels.curves import heights
from mcgta.runtime.rules import suggest
from mcgta.runtime.types import Array

EMPIRICAL = "empirical"
"""The name of a curve without a model: the empirical one, joined by straight lines."""

PRACTICAL = 0.95
"""Share of the rise that is reached at the practical range."""

_GAUSSIAN_FROM = 20.0  # there GSTools takes the limit, a Gaussian, for the Matern model
_TABULATED = np.unique(np.concatenate([np.linspace(0, 4, 2**14 + 1), np.geomspace(1e-6, 1e4, 2**13)]))  # in lengths


class KernelForm(NamedTuple):
    """The code of a formula in :mod:`mcgta.kernels.curves.heights`, and the length there."""

    code: int
    length: float


@dataclass(frozen=True, eq=False)
class SemivariogramModel:
    """A theoretical model.

    Attributes
    ----------
    name : what users call it
    correlation : returns the correlation at distances in lengths, given the shape (NaN for a model without)
    shapes : shapes that a fit starts from, ascending; None for a model without. A fit keeps within them
    shape_bounds : least and largest shape that a curve may have
    rescale : returns what distances are multiplied by, given the shape, before they are divided by the length; None for 1
    range_of : returns the practical range, given length and shape; None to look for it
    kernel_form : returns the formula that kernels compute, given length and shape; None for a table
    """

    name: str
    correlation: Callable[[Array, float], Array]
    shapes: Array | None = None
    shape_bounds: tuple[float, float] = (-np.inf, np.inf)
    rescale: Callable[[float], float] | None = None
    range_of: Callable[[float, float], float] | None = None
    kernel_form: Callable[[float, float], KernelForm] | None = None

    def rise(self, lags: Array, lengths: Array, shape: float = np.nan) -> Array:
        """Return 1 - correlation at each lag, for each length, as (lengths, lags)."""
        factor = 1.0 if self.rescale is None else self.rescale(shape)
        scaled = lags[None, :] * factor / np.asarray(lengths)[:, None]
        return 1 - np.asarray(self.correlation(scaled.ravel(), shape)).reshape(scaled.shape)

    def practical_range(self, length: float, shape: float = np.nan) -> float:
        """Return the distance at which 95 % of the rise is reached; infinity where that is beyond 10,000 lengths."""
        if self.range_of is not None:
            return self.range_of(length, shape)
        rises = self.rise(_TABULATED, np.ones(1), shape)[0]
        above = np.flatnonzero(rises >= PRACTICAL)
        if above.size == 0:
            return np.inf
        last = max(int(above[0]), 1)

        def missing(u: float) -> float:
            return float(self.rise(np.array([u]), np.ones(1), shape)[0, 0]) - PRACTICAL

        return length * float(brentq(missing, _TABULATED[last - 1], _TABULATED[last], xtol=1e-14))

    def curve(self, nugget: float, sill: float, length: float, shape: float = np.nan) -> heights.Curve:
        """Return the curve as kernels take it."""
        if not 0 < length < np.inf or not nugget >= 0:
            raise ValueError(
                f"a {self.name} curve has a length > 0 and a nugget >= 0, got length={length}, nugget={nugget}"
            )
        low, high = self.shape_bounds
        if self.shapes is not None and not low <= shape <= high:
            raise ValueError(f"a {self.name} curve has a shape from {low:g} to {high:g}, got {shape}")
        if self.kernel_form is None:
            rises = np.maximum.accumulate(np.clip(self.rise(_TABULATED, np.ones(1), shape)[0], 0.0, 1.0))
            return heights.line_through(_TABULATED * length, nugget + max(sill - nugget, 0.0) * rises, sill)
        form = self.kernel_form(length, shape)
        return heights.curve_of(form.code, nugget, sill, form.length, shape)


def get_model(name: Any) -> SemivariogramModel:
    """Return the model of that name, which must be one of ``MODELS``."""
    if not isinstance(name, str) or name not in MODELS:
        known = (*MODELS, EMPIRICAL)
        raise ValueError(f"semivariogram={name!r} is not one of {', '.join(known)}{suggest(name, known)}")
    return MODELS[name]


@dataclass(frozen=True)
class _Gstools:
    """A model of GSTools in one dimension, by the name of its class and of its option for the shape, if it has one."""

    class_name: str
    option: str = ""

    def correlation(self, scaled: Array, shape: float) -> Array:
        return np.asarray(_gstools_model(self, shape).cor(scaled))

    def rescale(self, shape: float) -> float:
        return float(_gstools_model(self, shape).rescale)

    def percentile(self, length: float, shape: float) -> float:
        return float(_gstools_model(self, shape, length).percentile_scale(PRACTICAL))


@lru_cache(maxsize=8)
def _gstools_model(model: _Gstools, shape: float, length: float = 1.0) -> Any:
    import gstools

    options = {model.option: shape} if model.option else {}
    return getattr(gstools, model.class_name)(dim=1, len_scale=length, **options)


def _formula(code: int, length_factor: float = 1.0) -> Callable[[float, float], KernelForm]:
    """Return the kernel form of a formula whose length is a multiple of the model's, whatever the shape."""
    return lambda length, shape: KernelForm(code, length * length_factor)


def _matern_form(length: float, shape: float) -> KernelForm:
    if shape > _GAUSSIAN_FROM:
        return KernelForm(heights.GAUSSIAN, 2 * length)
    return KernelForm(heights.MATERN, length / math.sqrt(shape))


def _of_gstools(model: _Gstools, form: Callable[[float, float], KernelForm], **options: Any) -> SemivariogramModel:
    name = model.class_name.lower()
    given = {"range_of": model.percentile, **options}
    return SemivariogramModel(name, model.correlation, rescale=model.rescale, kernel_form=form, **given)


MODELS: dict[str, SemivariogramModel] = {
    row.name: row
    for row in (
        _of_gstools(_Gstools("Spherical"), _formula(heights.SPHERICAL), range_of=lambda length, shape: length),
        _of_gstools(_Gstools("Exponential"), _formula(heights.EXPONENTIAL)),
        _of_gstools(_Gstools("Gaussian"), _formula(heights.GAUSSIAN, 2 / math.sqrt(math.pi))),
        _of_gstools(
            _Gstools("Stable", "alpha"),
            _formula(heights.STABLE),
            shapes=np.linspace(0.3, 2.0, 18),
            shape_bounds=(0.001, 2.0),
        ),
        _of_gstools(
            _Gstools("Matern", "nu"), _matern_form, shapes=np.geomspace(0.2, 30.0, 20), shape_bounds=(0.2, 30.0)
        ),
    )
}
"""The models by name."""
