"""Stage 4: how much observations differ at a given distance (lines 6-9 of Algorithm 1, equation 6).

gamma(h) is half the mean dissimilarity of the pairs at distance h, as geostatisticians write it. The expected
dissimilarity of a pair at distance h is 2 gamma(h).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mcgta.kernels.curves.heights import Curve, curve_heights, line_through
from mcgta.runtime.archive import Archived
from mcgta.runtime.cached import cached_property
from mcgta.runtime.types import Array, Index
from mcgta.stages.semivariogram.models import EMPIRICAL, get_model
from mcgta.stages.semivariogram.plot import plot_semivariogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Semivariogram(Archived):
    """A generalised model-based semivariogram, empirical and fitted.

    Calling it with distances gives gamma there.

    Attributes
    ----------
    model : a name of :data:`mcgta.stages.semivariogram.models.MODELS`; or "empirical" where no model fits, the curve
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
        if self.model != EMPIRICAL:
            get_model(self.model)  # refuses unknown ones
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
        return curve_heights(self.kernel_curve, np.asarray(distance, dtype=np.float64))

    def expected(self, distance: Any) -> Array:
        """Return the dissimilarity expected of a pair at each distance, 2 gamma."""
        return 2 * self(distance)

    @property
    def max_lag(self) -> float:
        """The largest distance that was looked at."""
        return float(self.edges[-1])

    @cached_property
    def kernel_curve(self) -> Curve:
        """Code, parameters and table (x, y) of the curve, as :func:`mcgta.kernels.curves.heights.curve_height` takes them."""
        if self.model == EMPIRICAL:
            return line_through(*self.isotonic_curve, self.sill_)
        return get_model(self.model).curve(self.nugget_, self.sill_, self.length, self.shape)

    @cached_property
    def isotonic_curve(self) -> tuple[Array, Array]:
        """Distances and heights of the non-decreasing empirical curve, from distance zero."""
        from sklearn.isotonic import isotonic_regression

        seen = self.counts > 0
        rising = isotonic_regression(self.values[seen], sample_weight=self.counts[seen].astype(float))
        return np.r_[0.0, self.lags[seen]], np.r_[rising[0], rising]

    def plot(self, ax: Axes | None = None, *, margin: float | None = None) -> Axes:
        """Draw the empirical points, the fitted curve, range, sill and nugget; needs matplotlib.

        ``margin`` adds the hinge's threshold, (2 gamma - margin)/2, the curve shifted down as in the paper's figure 2.
        """
        return plot_semivariogram(self, ax, margin)
