"""Stage 4: how much observations differ at a given distance (lines 6-8 of Algorithm 1, equation 6).

gamma(h) is half the mean dissimilarity of the pairs at distance h, as geostatisticians write it. The expected
dissimilarity of a pair at distance h is 2 gamma(h).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mcgta.kernels.curves.heights import Curve, curve_heights, curve_of, line_through
from mcgta.kernels.positions.metrics import TIE
from mcgta.runtime.archive import Archived
from mcgta.runtime.types import Array, Index
from mcgta.runtime.warnings import warn
from mcgta.stages.semivariogram.models import MODELS, least_squares, make_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_PRACTICAL = 0.95
_EXPLAINED = 0.01
_ENOUGH_BINS, _ENOUGH_PAIRS = 8, 30
_UNBOUNDED = "it has not levelled off within the maximum lag"


@dataclass(frozen=True, eq=False, repr=False)
class Semivariogram(Archived):
    """A generalised model-based semivariogram, empirical and fitted.

    Calling it with distances gives gamma there.

    Attributes
    ----------
    model : "spherical", "exponential", "gaussian", "stable", "matern"; or "empirical" where no model fits, the curve
        then being the empirical one, made non-decreasing, joined by straight lines and cut off at the sill
    range_ : the distance rho beyond which observations tell nothing of each other, in ``unit``; for models that only
        approach their sill, where 95 % of the rise is reached
    sill_ : gamma far away, nugget included
    nugget_ : gamma at distance zero
    length : the model's own length scale (``len_scale`` of GSTools)
    shape : its exponent, for ``stable`` and ``matern``
    edges : (B + 1,) edges of the bins of distance
    lags : (B,) mean distance of the pairs in each bin; NaN in an empty one
    values : (B,) empirical gamma, half the mean dissimilarity; NaN in an empty bin
    counts : (B,) number of pairs
    errors : (B,) standard error of each value, where it was estimated from a sample of the pairs; 0 where all were
        compared, NaN in an empty bin
    unit : unit of distance
    fit_lag : the largest distance that the fit used, in ``unit``
    r2 : share of the (count-weighted) variance of the empirical curve, up to there, that the fitted one explains
    """

    model: str
    range_: float
    sill_: float
    nugget_: float
    edges: Array
    lags: Array
    values: Array
    counts: Index
    length: float = np.nan
    shape: float = np.nan
    unit: str = ""
    fit_lag: float = np.nan
    r2: float = np.nan
    errors: Array | None = None

    def __post_init__(self) -> None:
        if self.model not in (*MODELS, "empirical"):
            raise ValueError(f"model={self.model!r} is not one of {', '.join(MODELS)}, empirical")
        bins = self.lags.shape[0]
        if self.edges.shape != (bins + 1,) or not self.values.shape == self.counts.shape == self.lags.shape == (bins,):
            raise ValueError("edges, lags, values and counts disagree on the number of bins")
        if self.errors is None:
            object.__setattr__(self, "errors", np.zeros(bins))
        elif self.errors.shape != (bins,):
            raise ValueError("errors and lags disagree on the number of bins")
        if not (np.diff(self.edges) > 0).all():
            raise ValueError("edges must increase")

    def __repr__(self) -> str:
        far = f"range {self.range_:.4g} {self.unit}".rstrip()
        return f"Semivariogram({self.model}, {far}, sill {self.sill_:.4g}, nugget {self.nugget_:.4g})"

    def __call__(self, distance: Any) -> Array:
        """Gamma at each distance; the sill at infinity."""
        return curve_heights(self.form, np.asarray(distance, dtype=np.float64))

    def expected(self, distance: Any) -> Array:
        """Return the dissimilarity expected of a pair at each distance, 2 gamma."""
        return 2 * self(distance)

    @property
    def max_lag(self) -> float:
        """The largest distance that was looked at."""
        return float(self.edges[-1])

    @cached_property
    def form(self) -> Curve:
        """Code, parameters and table (x, y) of the curve, as :func:`mcgta.kernels.curves.heights.curve_height` takes them."""
        if self.model == "empirical":
            return line_through(*self._curve, self.sill_)
        return curve_of(self.model, self.nugget_, self.sill_, self.length, self.shape)

    @cached_property
    def _curve(self) -> tuple[Array, Array]:
        """Distances and heights of the non-decreasing empirical curve, from distance zero."""
        from sklearn.isotonic import isotonic_regression

        seen = self.counts > 0
        rising = isotonic_regression(self.values[seen], sample_weight=self.counts[seen].astype(float))
        return np.r_[0.0, self.lags[seen]], np.r_[rising[0], rising]

    def plot(self, ax: Axes | None = None, *, margin: float | None = None) -> Axes:
        """Draw the empirical points, the fitted curve, range, sill and nugget; needs matplotlib.

        ``margin`` adds the hinge's threshold, (2 gamma - margin)/2, the curve shifted down as in the paper's figure 2.
        """
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError as error:
                raise ImportError("plotting needs matplotlib: pip install 'mcgta[plot]'") from error
            ax = pyplot.subplots(figsize=(7, 4.2), layout="constrained")[1]
        seen = self.counts > 0
        size = 12 + 60 * np.sqrt(self.counts[seen] / self.counts.max())
        ax.scatter(
            self.lags[seen],
            self.values[seen],
            s=size,
            color="#4477aa",
            alpha=0.75,
            lw=0,
            label="empirical (larger: more pairs)",
        )
        x = np.linspace(0, self.max_lag, 400)
        ax.plot(x, self(x), color="#222222", lw=1.8, label=f"{self.model} model")
        if margin:
            ax.plot(x, self(x) - margin / 2, color="#aa3377", lw=1.4, ls="--", label=f"threshold, margin {margin:g}")
        if self.range_ <= self.max_lag:
            ax.axvline(self.range_, color="#888888", lw=1, ls=":")
            ax.annotate(
                f" range {self.range_:.4g} {self.unit}",
                (self.range_, 0.02),
                xycoords=("data", "axes fraction"),
                color="#555555",
            )
        ax.axhline(self.sill_, color="#888888", lw=1, ls=":")
        ax.annotate(
            f"sill {self.sill_:.4g}", (0.995, self.sill_), xycoords=("axes fraction", "data"), ha="right", va="bottom"
        )
        ax.set(
            xlabel=f"distance{f' [{self.unit}]' if self.unit else ''}", ylabel="semivariance", xlim=(0, self.max_lag)
        )
        ax.set_ylim(bottom=min(0.0, float(self(0.0)) - (margin or 0) / 2))
        ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 0.08))
        return ax


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
    if model == "empirical":
        return read_off(empirical)
    if model not in MODELS:
        raise ValueError(f"semivariogram={model!r} is not one of {', '.join(MODELS)}, empirical")
    trouble = ""
    for halvings in range(5 if adapt else 1):
        limit = empirical.max_lag / 2**halvings
        fitted, problem = _fit(empirical, model, limit)
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
        + "); the empirical curve is used instead",
        UserWarning,
    )
    return read_off(empirical)


def _fit(empirical: Semivariogram, model: str, limit: float) -> tuple[Semivariogram | None, str]:
    """Fit the bins within ``limit``; return the fit and what is wrong with it, if anything."""
    seen = (empirical.counts > 0) & (empirical.edges[1:] <= limit * (1 + 1e-12))
    x, y, weight = empirical.lags[seen], empirical.values[seen], empirical.counts[seen].astype(float)
    if x.size < 4:
        return None, f"only {x.size} bins hold pairs within the maximum lag"
    level = float(np.average(y, weights=weight))
    spread = float(np.average((y - level) ** 2, weights=weight))
    if spread <= (1e-9 * level) ** 2:
        return None, "the curve is flat within the maximum lag"
    # In units of the limit and the level, so that neither metres nor microvolts upset the optimiser's tolerances.
    found = least_squares(x / limit, y / level, weight, model)
    reach = found.length
    if model != "spherical":
        reach = float(make_model(model, found.shape, len_scale=found.length).percentile_scale(_PRACTICAL))
    fitted = replace(
        empirical,
        model=model,
        range_=reach * limit,
        sill_=(found.nugget + found.partial) * level,
        nugget_=found.nugget * level,
        length=found.length * limit,
        shape=found.shape,
        fit_lag=limit,
        r2=1 - found.error * level**2 / spread,
    )
    if found.partial <= 1e-6 or fitted.r2 < _EXPLAINED:
        return fitted, "the curve does not rise with distance within the maximum lag"
    if not reach <= 1:
        return fitted, _UNBOUNDED
    return fitted, ""


def read_off(curve: Semivariogram) -> Semivariogram:
    """Return the empirical curve with range, sill and nugget read off it.

    The sill is the mean of the pairs in the farther half of the lags, the range where the non-decreasing curve first
    reaches 95 % of the rise to it, the nugget where that curve begins.
    """
    seen = curve.counts > 0
    lags, values, weight = curve.lags[seen], curve.values[seen], curve.counts[seen]
    far = lags >= 0.5 * curve.max_lag * (1 - TIE)
    far[-1] = True
    x, y = curve._curve
    nugget = float(y[0])
    sill = max(float(np.average(values[far], weights=weight[far])), nugget)
    goal = nugget + _PRACTICAL * (sill - nugget)
    above = np.flatnonzero(y >= goal)
    range_ = float(x[-1])
    if above.size:
        k = max(int(above[0]), 1)
        part = (goal - y[k - 1]) / (y[k] - y[k - 1]) if y[k] > y[k - 1] else 1.0
        range_ = float(x[k - 1] + part * (x[k] - x[k - 1]))
    return replace(
        curve,
        model="empirical",
        range_=range_,
        sill_=sill,
        nugget_=nugget,
        length=np.nan,
        shape=np.nan,
        fit_lag=curve.max_lag,
        r2=np.nan,
    )
