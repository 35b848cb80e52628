"""Stage 4, second half: a theoretical model fitted to the empirical semivariogram (line 8 of Algorithm 1).

Nugget and partial sill enter linearly, so for a given length (and shape) they are known in closed form, and the error is a
function of one or two numbers (variable projection, Golub and Pereyra 1973). That function is looked at on a grid of lengths,
which finds the right valley, and followed from there. GSTools' own fit checks a model object anew for every trial, which took
most of the time of a small fit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from mcgta.kernels.positions.metrics import TIE
from mcgta.runtime.types import Array
from mcgta.runtime.warnings import warn
from mcgta.stages.semivariogram.curve import Semivariogram
from mcgta.stages.semivariogram.models import EMPIRICAL, PRACTICAL, SemivariogramModel, get_model

LEAST_EXPLAINED = 0.01
"""The least r2 of a fit that counts as a rise with distance."""

_LENGTHS = np.geomspace(1e-3, 1e3, 121)  # in units of the largest lag
_LEAST_BINS = 4
_LEAST_RISE = 1e-6  # partial sill over the mean height
_LEAST_SPREAD = 1e-9  # standard deviation of the heights over their mean
_HALVINGS = 4
_ENOUGH_BINS = 8
_ENOUGH_PAIRS = 30
_UNBOUNDED = "it has not levelled off within the maximum lag"


class _Projection(NamedTuple):
    """Errors, nuggets and partial sills, one for each length."""

    errors: Array
    nuggets: Array
    partials: Array


class _Bins(NamedTuple):
    """Lags x, heights y, and weights that sum to one."""

    x: Array
    y: Array
    weight: Array


def fit_semivariogram(empirical: Semivariogram, model: str = "spherical", *, adapt: bool = False) -> Semivariogram:
    """Fit a theoretical model, weighting each bin by its number of pairs.

    Where no model fits (no rise with distance, or no levelling off within the maximum lag) a warning says so and the
    empirical curve is returned instead.

    Parameters
    ----------
    model : one of ``MODELS``, or "empirical" for the curve as it is
    adapt : where the curve has not levelled off within the maximum lag, try again on the bins up to a half, a quarter,
        an eighth and a sixteenth of it, while 8 bins there hold 30 pairs or more, before giving up. Observations far apart
        often keep drifting apart, while the dependence that the loss needs is the local one
    """
    is_read = empirical.model == EMPIRICAL and not np.isnan(empirical.sill_)
    as_it_is = empirical if is_read else read_off(empirical)
    if model == EMPIRICAL:
        return as_it_is
    row = get_model(model)
    trouble = ""
    for halvings in range(_HALVINGS + 1 if adapt else 1):
        limit = empirical.max_lag / 2**halvings
        fitted, problem = _fit_within(empirical, row, limit)
        if fitted is not None and not problem:
            return fitted
        trouble = trouble or problem
        if problem != _UNBOUNDED:
            break
        inside = empirical.counts[empirical.edges[1:] <= limit / 2 * (1 + 1e-12)]
        if np.sum(inside >= _ENOUGH_PAIRS) < _ENOUGH_BINS:
            break
    warn(
        f"semivariogram: no {model} model fits ({trouble}, {empirical.max_lag:.4g} {empirical.unit}".rstrip()
        + "); the empirical curve is used instead"
    )
    return as_it_is


def _fit_within(empirical: Semivariogram, model: SemivariogramModel, limit: float) -> tuple[Semivariogram | None, str]:
    """Fit the bins within ``limit``; return the fit, and what is wrong with it, if anything."""
    seen = (empirical.counts > 0) & (empirical.edges[1:] <= limit * (1 + 1e-12))
    x = empirical.lags[seen]
    y = empirical.values[seen]
    weight = empirical.counts[seen].astype(float)
    if x.size < _LEAST_BINS:
        return None, f"only {x.size} bins hold pairs within the maximum lag"
    level = float(np.average(y, weights=weight))
    spread = float(np.average((y - level) ** 2, weights=weight))
    if spread <= (_LEAST_SPREAD * level) ** 2:
        return None, "the curve is flat within the maximum lag"
    # In units of the limit and the level, so that neither metres nor microvolts upset the optimiser's tolerances.
    bins = _Bins(x / limit, y / level, weight / weight.sum())
    if model.shapes is None:
        length = _best_length(bins, model)
        shape = np.nan
    else:
        length, shape = _best_length_and_shape(bins, model, model.shapes)
    error, nugget, partial = (float(part[0]) for part in _project(bins, model, np.array([length]), shape))
    reach = model.practical_range(length, shape)
    fitted = replace(
        empirical,
        model=model.name,
        range_=reach * limit,
        sill_=(nugget + partial) * level,
        nugget_=nugget * level,
        length=length * limit,
        shape=shape,
        fit_lag=limit,
        r2=1 - error * level**2 / spread,
    )
    if partial <= _LEAST_RISE or fitted.r2 < LEAST_EXPLAINED:
        return fitted, "the curve does not rise with distance within the maximum lag"
    return fitted, "" if reach <= 1 else _UNBOUNDED


def read_off(curve: Semivariogram) -> Semivariogram:
    """Return the empirical curve with range, sill and nugget read off it.

    The sill is the mean of the pairs in the farther half of the lags, the range where the non-decreasing curve first
    reaches 95 % of the rise to it, the nugget where that curve begins.
    """
    seen = curve.counts > 0
    lags = curve.lags[seen]
    weight = curve.counts[seen]
    far = lags >= 0.5 * curve.max_lag * (1 - TIE)
    far[-1] = True
    x, y = curve.isotonic_curve
    nugget = float(y[0])
    sill = max(float(np.average(curve.values[seen][far], weights=weight[far])), nugget)
    goal = nugget + PRACTICAL * (sill - nugget)
    above = np.flatnonzero(y >= goal)
    range_ = float(x[-1])
    if above.size:
        k = max(int(above[0]), 1)
        part = (goal - y[k - 1]) / (y[k] - y[k - 1]) if y[k] > y[k - 1] else 1.0
        range_ = float(x[k - 1] + part * (x[k] - x[k - 1]))
    return replace(
        curve,
        model=EMPIRICAL,
        range_=range_,
        sill_=sill,
        nugget_=nugget,
        length=np.nan,
        shape=np.nan,
        fit_lag=curve.max_lag,
        r2=np.nan,
    )


def _best_length(bins: _Bins, model: SemivariogramModel) -> float:
    """Return the length with the least weighted squared error."""
    lengths = _LENGTHS * float(bins.x.max())
    errors = _project(bins, model, lengths).errors
    at = int(errors.argmin())
    around = (np.log(lengths[max(at - 1, 0)]), np.log(lengths[min(at + 1, lengths.size - 1)]))
    least = minimize_scalar(
        lambda log: _project(bins, model, np.exp([log])).errors[0],
        bounds=around,
        method="bounded",
        options={"xatol": 1e-10},
    )
    return float(np.exp(least.x)) if least.fun <= errors[at] else float(lengths[at])


def _best_length_and_shape(bins: _Bins, model: SemivariogramModel, shapes: Array) -> tuple[float, float]:
    """Return the length and the shape with the least weighted squared error."""
    lengths = _LENGTHS[::3] * float(bins.x.max())
    tried = [(_project(bins, model, lengths, shape).errors, shape) for shape in shapes]
    errors, shape = min(tried, key=lambda trial: float(trial[0].min()))
    low, high = shapes[[0, -1]]

    def error(place: Array) -> float:
        bent = float(np.clip(place[1], low, high))
        return float(_project(bins, model, np.exp(place[:1]), bent).errors[0])

    start = np.array([np.log(lengths[errors.argmin()]), shape])
    simplex = start + np.array([[0.0, 0.0], [0.2, 0.0], [0.0, 0.05 * shape]])
    options = {"initial_simplex": simplex, "xatol": 1e-7, "fatol": 1e-14, "maxfev": 600}
    least = minimize(error, start, method="Nelder-Mead", options=options)
    return float(np.exp(least.x[0])), float(np.clip(least.x[1], low, high))


def _project(bins: _Bins, model: SemivariogramModel, lengths: Array, shape: float = np.nan) -> _Projection:
    """Find the best nugget + partial sill * rise with both >= 0, for each length."""
    y = bins.y
    weight = bins.weight
    rise = model.rise(bins.x, lengths, shape)
    mean_rise = rise @ weight
    mean = float(y @ weight)
    centred = rise - mean_rise[:, None]
    deviation = y - mean
    total = (centred**2) @ weight
    tiny = np.finfo(float).tiny
    free = np.maximum((centred * deviation) @ weight / np.maximum(total, tiny), 0.0)
    bound = np.maximum((rise * y) @ weight / np.maximum((rise**2) @ weight, tiny), 0.0)
    below = mean - free * mean_rise < 0  # then the nugget is zero
    partial = np.where(below, bound, free)
    nugget = np.where(below, 0.0, mean - partial * mean_rise)
    error = ((y - nugget[:, None] - partial[:, None] * rise) ** 2) @ weight
    return _Projection(error, nugget, partial)
