"""Weighted least squares for the models of a semivariogram: nugget + partial sill * (1 - correlation(h / length)).

Nugget and partial sill enter linearly, so for a given length (and shape) they are known in closed form, and the error is a
function of one or two numbers (variable projection, Golub and Pereyra 1973). That function is looked at on a grid of lengths,
which finds the right valley, and followed from there. The correlation functions are GSTools'. Its own fit checks a model object
anew for every trial, which took most of the time of a small fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from mcgta.runtime.types import Array

MODELS = {
    "spherical": "Spherical",
    "exponential": "Exponential",
    "gaussian": "Gaussian",
    "stable": "Stable",
    "matern": "Matern",
}
SHAPE = {"stable": "alpha", "matern": "nu"}

_LENGTHS = np.geomspace(1e-3, 1e3, 121)  # in units of the largest lag
_SHAPES = {"stable": np.linspace(0.3, 2.0, 18), "matern": np.geomspace(0.2, 30.0, 20)}


@dataclass(frozen=True)
class Curve:
    """A fitted curve: weighted mean square ``error``, and what the model is made of."""

    error: float
    nugget: float
    partial: float
    length: float
    shape: float = np.nan


def least_squares(x: Array, y: Array, weight: Array, model: str) -> Curve:
    """Fit the model to heights ``y`` at lags ``x``, with all parameters but the shape >= 0."""
    weight = weight / weight.sum()
    far = float(x.max())
    if model not in SHAPE:
        lengths = _LENGTHS * far
        errors = _project(_rise(x, lengths, model), y, weight)[0]
        at = int(errors.argmin())
        around = np.log(lengths[max(at - 1, 0)]), np.log(lengths[min(at + 1, lengths.size - 1)])
        found = minimize_scalar(
            lambda log: _project(_rise(x, np.exp([log]), model), y, weight)[0][0],
            bounds=around,
            method="bounded",
            options={"xatol": 1e-10},
        )
        length = float(np.exp(found.x)) if found.fun <= errors[at] else float(lengths[at])
        return _curve(x, y, weight, model, length)
    lengths = _LENGTHS[::3] * far
    tried = [(_project(_rise(x, lengths, model, shape), y, weight)[0], shape) for shape in _SHAPES[model]]
    errors, shape = min(tried, key=lambda trial: float(trial[0].min()))
    low, high = _SHAPES[model][[0, -1]]

    def error(place: Array) -> float:
        bent = float(np.clip(place[1], low, high))
        return float(_project(_rise(x, np.exp(place[:1]), model, bent), y, weight)[0][0])

    start = np.array([np.log(lengths[errors.argmin()]), shape])
    simplex = start + np.array([[0.0, 0.0], [0.2, 0.0], [0.0, 0.05 * shape]])
    options = {"initial_simplex": simplex, "xatol": 1e-7, "fatol": 1e-14, "maxfev": 600}
    found = minimize(error, start, method="Nelder-Mead", options=options)
    return _curve(x, y, weight, model, float(np.exp(found.x[0])), float(np.clip(found.x[1], low, high)))


def _curve(x: Array, y: Array, weight: Array, model: str, length: float, shape: float = np.nan) -> Curve:
    error, nugget, partial = (
        float(part[0]) for part in _project(_rise(x, np.array([length]), model, shape), y, weight)
    )
    return Curve(error, nugget, partial, length, shape)


def _rise(x: Array, lengths: Array, model: str, shape: float = np.nan) -> Array:
    """1 - correlation at each lag, for each length, as (lengths, lags)."""
    found = _correlation(model, shape)
    scaled = x[None, :] * float(found.rescale) / np.asarray(lengths)[:, None]
    return 1 - np.asarray(found.cor(scaled.ravel())).reshape(scaled.shape)


@lru_cache(maxsize=8)
def _correlation(model: str, shape: float) -> Any:
    return make_model(model, shape)


def make_model(model: str, shape: float = np.nan, **options: Any) -> Any:
    """Return GSTools' model of that name, in one dimension."""
    import gstools

    bent = {SHAPE[model]: shape} if model in SHAPE else {}
    return getattr(gstools, MODELS[model])(dim=1, **options, **bent)


def _project(rise: Array, y: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Errors, nuggets and partial sills of the best a + b * rise with a, b >= 0, for each row of ``rise``."""
    mean_rise, mean = rise @ weight, float(y @ weight)
    centred, deviation = rise - mean_rise[:, None], y - mean
    total = (centred**2) @ weight
    tiny = np.finfo(float).tiny
    free = np.maximum((centred * deviation) @ weight / np.maximum(total, tiny), 0.0)
    bound = np.maximum((rise * y) @ weight / np.maximum((rise**2) @ weight, tiny), 0.0)
    below = mean - free * mean_rise < 0  # then the nugget is zero
    partial = np.where(below, bound, free)
    nugget = np.where(below, 0.0, mean - partial * mean_rise)
    error = ((y - nugget[:, None] - partial[:, None] * rise) ** 2) @ weight
    return error, nugget, partial
