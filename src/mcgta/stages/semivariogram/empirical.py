"""Stage 4, first half: the empirical semivariogram, from all pairs or from a sample of them (lines 6-7 of Algorithm 1).

Comparing all pairs is out of the question for many observations, and not needed: what is wanted is a mean for each bin of
distance. The dissimilarity D of a pair is close to the squared distance C of two points (for W2 squared: means and roots of
covariances, :func:`mcgta.kernels.gaussians.wasserstein.embed`), and the mean of C over *all* pairs of a bin is cheap
(:mod:`mcgta.stages.semivariogram.census`). With D known for a sample of the bin's pairs, drawn evenly,

    mean D = b * mean C (all pairs) + mean (D - b C) (sample),     b from the regression of D on C in the sample

is the control-variate estimate (Cochran 1977, chapter 7): its error is that of the mean of the residuals D - b C, which vary a
hundredth as much as D. The sample grows, bin by bin, until the standard error is as wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mcgta.kernels.curves import lag_sums
from mcgta.positions.positions import Positions
from mcgta.runtime.config import get_config
from mcgta.runtime.parallel import run, tiles, triangle
from mcgta.runtime.progress import stage
from mcgta.runtime.types import Array, Index
from mcgta.stages.dissimilarity.dissimilarity import Dissimilarity
from mcgta.stages.semivariogram.binning import DEFAULT_BINS, make_edges
from mcgta.stages.semivariogram.census import census_steps, take_census
from mcgta.stages.semivariogram.curve import Semivariogram
from mcgta.stages.semivariogram.fitting import read_off
from mcgta.stages.semivariogram.models import EMPIRICAL

ALL_PAIRS_ROWS = 2000
"""Up to this many observations all pairs are compared."""

_TILE_ROWS = 512
_FIRST_SAMPLE_PAIRS = 512
_LARGEST_SAMPLE_PAIRS = 2**15
_MOST_SAMPLES = 4
_SAMPLE_RESERVE = 1.2  # by how much samples are larger than the first one lets expect that they must be
_TILE_PAIRS = 4096
_NEGLIGIBLE_SHARE = 1e-6  # values below this share of the largest are not worth a relative error


def empirical_semivariogram(
    dissimilarity: Dissimilarity,
    positions: Positions,
    *,
    bins: int | Sequence[float] | Array = DEFAULT_BINS,
    max_lag: float | None = None,
    error: float | None = None,
    random_state: int = 0,
) -> Semivariogram:
    """Half the mean dissimilarity of the pairs at each distance.

    Parameters
    ----------
    bins : number of bins between zero and ``max_lag``, or their edges. A number gives widths that grow with distance,
        the k-th edge at (k/bins)^2 of the maximum lag, since the curve bends where distances are short (a larger power for
        long series without ``max_lag``; see :func:`mcgta.stages.semivariogram.binning.make_edges`)
    max_lag : the largest distance looked at; half the largest distance by default
    error : standard error wanted of each bin, relative to its value; None is ``semivariogram_error`` of the configuration.
        Up to 2,000 observations, or with 0, all pairs are compared; else samples of at most 32,768 of a bin, or all where
        there are not twice as many. What error that leaves is in ``errors``
    random_state : seed of the sample

    Returns
    -------
    Semivariogram
        with ``model="empirical"``: usable as it is, or as input of :func:`mcgta.stages.semivariogram.fitting.fit_semivariogram`
    """
    if len(dissimilarity) != len(positions):
        raise ValueError(f"{len(dissimilarity)} observations are compared, but {len(positions)} have positions")
    error = get_config().semivariogram_error if error is None else error
    if not error >= 0:
        raise ValueError(f"error={error!r} must be >= 0, the wanted relative standard error; 0 compares all pairs")
    edges = make_edges(positions, bins, max_lag)
    if error == 0 or len(positions) <= ALL_PAIRS_ROWS:
        means = _from_all(dissimilarity, positions, edges)
    else:
        means = _from_sample(dissimilarity, positions, edges, error, random_state)
    if not means.counts.any():
        limit = f"max_lag={edges[-1]:g}" if max_lag is not None else f"the last edge of bins, {edges[-1]:g}"
        raise ValueError(f"no pair of observations lies within {limit} {positions.unit}".rstrip())
    return read_off(
        Semivariogram(
            EMPIRICAL,
            *(np.nan, np.nan, np.nan),  # range, sill and nugget, which are read off
            edges,
            means.lags,
            means.values / 2,
            means.counts,
            unit=positions.unit,
            errors=means.errors / 2,
        )
    )


class _BinMeans(NamedTuple):
    """For each bin: number of pairs, mean distance, mean dissimilarity, standard error of the latter."""

    counts: Index
    lags: Array
    values: Array
    errors: Array


def _from_all(dissimilarity: Dissimilarity, positions: Positions, edges: Array) -> _BinMeans:
    """Compare all pairs."""
    pieces = triangle(len(positions), _TILE_ROWS)

    def add_up(piece: tuple[slice, slice]) -> Array:
        rows, cols = piece
        distance = positions.between(rows, cols)
        if not (distance <= edges[-1] * (1 + 1e-6) + positions.rounding).any():
            return np.zeros((3, edges.size - 1))
        value = np.ascontiguousarray(dissimilarity.between(rows, cols))
        return lag_sums.bin_sums(distance, value, edges, positions.rounding, above=rows == cols)

    sums = np.zeros((3, edges.size - 1))
    with stage("semivariogram", len(pieces)) as advance:
        for part in run(add_up, pieces):
            sums += part
            advance(1)
    seen = sums[0] > 0
    lags, values = (np.divide(total, sums[0], out=np.full(seen.size, np.nan), where=seen) for total in sums[1:])
    return _BinMeans(sums[0].astype(np.int64), lags, values, np.where(seen, 0.0, np.nan))


def _from_sample(
    dissimilarity: Dissimilarity, positions: Positions, edges: Array, error: float, random_state: int
) -> _BinMeans:
    """Compare a sample of the pairs, and correct for what the sample misses.

    A first sample of every bin tells how much the residuals vary, and so how large the second must be. As a rule there is no
    third.
    """
    passes = 1 if dissimilarity.exact_embedding else 3  # the census, and as a rule two samples
    with stage("semivariogram", passes * census_steps(positions, edges)) as advance:
        points = dissimilarity.embedding()
        census = take_census(positions, edges, points, advance=advance)
        counts = census.counts
        if not counts.any():
            return _BinMeans(counts, census.lags, np.full(counts.size, np.nan), np.full(counts.size, np.nan))
        close_of_all = np.maximum(dissimilarity.embedding_scale * census.squares, 0.0)
        # Where rounding is not small against what is wanted, the census knows less than the sample.
        lost = 10 * dissimilarity.embedding_scale * census.rounding > error * close_of_all
        samples = [_Sample(int(count), plain) for count, plain in zip(counts, lost.tolist(), strict=True)]
        values = np.full(counts.size, np.nan)
        errors = np.full(counts.size, np.nan)
        open_ = counts > 0
        if dissimilarity.exact_embedding:
            values = np.where(open_, close_of_all, np.nan)
            errors = np.where(open_, 0.0, np.nan)
            open_ &= lost
        wanted = np.where(open_, np.minimum(counts, _FIRST_SAMPLE_PAIRS), 0)
        for turn in range(_MOST_SAMPLES):
            if not wanted.any():
                break
            ranks = [sample.draw(int(wanted[k]), [random_state, k, turn]) for k, sample in enumerate(samples)]
            i, j = census.draw(ranks)
            compared = _compare(dissimilarity, i, j)
            close = dissimilarity.embedding_scale * _squares(points, i, j)
            cuts = np.cumsum([part.size for part in ranks])[:-1]
            for sample, *parts in zip(samples, np.split(compared, cuts), np.split(close, cuts), strict=True):
                sample.add(*parts)
            for k in np.flatnonzero(open_):
                values[k], errors[k] = samples[k].estimate(float(close_of_all[k]))
            goal = error * np.maximum(values, _NEGLIGIBLE_SHARE * np.nanmax(values))
            with np.errstate(invalid="ignore", divide="ignore"):
                needed = _SAMPLE_RESERVE * np.array([sample.size for sample in samples]) * (errors / goal) ** 2
            most = np.minimum(counts, _LARGEST_SAMPLE_PAIRS)
            wanted = np.where(open_ & (errors > goal), np.minimum(most, np.ceil(needed)), 0).astype(np.int64)
    return _BinMeans(counts, census.lags, values, errors)


class _Sample:
    """The pairs of a bin that have been compared.

    Drawn with replacement, or, where so many are wanted that all may as well be taken, all of them. A ``plain`` one makes no
    use of what is known of all pairs.
    """

    def __init__(self, count: int, plain: bool) -> None:
        self.count = count
        self.plain = plain
        self.compared = np.empty(0)
        self.close = np.empty(0)
        self.all_taken = False

    @property
    def size(self) -> int:
        return self.compared.size

    def draw(self, size: int, seed: list[int]) -> Index:
        """Return ascending ranks of pairs to compare for a sample of that size; none where it is as large already."""
        if self.all_taken or size <= self.size:
            return np.empty(0, dtype=np.int64)
        if 2 * size >= self.count:
            self.all_taken = True
            self.compared = np.empty(0)
            self.close = np.empty(0)
            return np.arange(self.count)
        return np.sort(np.random.default_rng(seed).integers(0, self.count, size - self.size))

    def add(self, compared: Array, close: Array) -> None:
        """Take note of compared pairs: their dissimilarities and the squared distances of their points."""
        self.compared = np.concatenate([self.compared, compared])
        self.close = np.concatenate([self.close, close])

    def estimate(self, close_of_all: float) -> tuple[float, float]:
        """Return the mean dissimilarity of all pairs of the bin and its standard error, from the mean of ``close`` over all."""
        mean = float(self.compared.mean())
        if self.all_taken:
            return mean, 0.0
        spread = self.close - self.close.mean()
        deviation = self.compared - mean
        total = float(spread @ spread)
        slope = float(spread @ deviation) / total if total > 0 and not self.plain else 0.0
        # A residual that pulls the line towards itself looks smaller than it is (MacKinnon and White 1985, HC3).
        leverage = 1 / self.size + (spread**2 / total if total > 0 else 0.0)
        residual = (deviation - slope * spread) / (1 - leverage + _NEGLIGIBLE_SHARE)
        value = mean + (slope * (close_of_all - float(self.close.mean())) if slope else 0.0)
        return max(value, 0.0), float(np.sqrt(residual @ residual) / self.size)


def _squares(points: Array, i: Index, j: Index) -> Array:
    """Squared distances of pairs of points."""
    parts = tiles(i.size, _TILE_PAIRS)
    return np.concatenate([np.empty(0), *(((points[i[part]] - points[j[part]]) ** 2).sum(axis=1) for part in parts)])


def _compare(dissimilarity: Dissimilarity, i: Index, j: Index) -> Array:
    """Dissimilarity of pairs, in tiles on threads."""
    parts = tiles(i.size, _TILE_PAIRS)
    return np.concatenate([np.empty(0), *run(lambda part: dissimilarity.of_pairs(i[part], j[part]), parts)])
