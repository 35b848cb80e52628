"""Records prepared for being scored as curves: whitened rows and regressors, summed over records or over clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mcgta.kernels.evidence.whitening import whiten
from mcgta.kernels.simd.compiled import native
from mcgta.positions.positions import Positions
from mcgta.runtime.cached import cached_property
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.families.trajectory.records import Records
from mcgta.selection.scoring.correlation_grid import CorrelationGrid
from mcgta.selection.scoring.feature_scale import Scale
from mcgta.selection.scoring.scoring_data import ScoringData

MAX_REGRESSORS = 25
"""Cosines of the phase, the constant among them, that a curve is made of at most."""

MAX_WAYS = 3
"""Different correlations along time that features have at most."""

_ROWS_OF_A_REGRESSOR = 3  # in a typical record, at least
_PROFILED_ROWS = 12_000  # rows that correlations are chosen by; of whole records
_TINY = 1e-300


class CurveSums(NamedTuple):
    """Sums over the whitened rows of S records, or clusters; see :mod:`mcgta.kernels.evidence.regression_evidence`.

    Attributes
    ----------
    counts : (S,) rows
    grams : (S, U, U, q, q) of regressors
    products : (S, U, d, q) of regressors and features
    squares : (S, d, d) of features
    ways : (d,) the way of whitening of each feature
    log_scales : (S,) sums of the log standard deviations that whitening divides by
    """

    counts: Array
    grams: Array
    products: Array
    squares: Array
    ways: Index
    log_scales: Array

    @property
    def n_regressors(self) -> int:
        """Q."""
        return int(self.products.shape[-1])

    def first_regressors(self, number: int) -> CurveSums:
        """Return the sums with the first regressors only."""
        grams = native(self.grams[..., :number, :number])
        return self._replace(grams=grams, products=native(self.products[..., :number]))

    def take(self, parts: Index) -> CurveSums:
        """Return the sums of some of the records, or clusters."""
        counts, grams, products, squares = (
            native(part[parts]) for part in (self.counts, self.grams, self.products, self.squares)
        )
        return CurveSums(counts, grams, products, squares, self.ways, native(self.log_scales[parts]))

    def added(self, labels: Labels) -> CurveSums:
        """Return the sums of clusters 0 ... K - 1 of records."""
        members = np.zeros((int(labels.max()) + 1, labels.size))
        members[labels, np.arange(labels.size)] = 1.0
        counts, grams, products, squares, log_scales = (
            native((members @ part.reshape(labels.size, -1)).reshape(-1, *part.shape[1:]))
            for part in (self.counts, self.grams, self.products, self.squares, self.log_scales)
        )
        return CurveSums(counts, grams, products, squares, self.ways, log_scales)


@dataclass(frozen=True, eq=False)
class CurveData:
    """N rows of R records, with a basis of their phases.

    Attributes
    ----------
    scoring_data : of the rows, with records as groups, so that no row depends on one of another record
    records : of the rows
    basis : (q, N) cosines of the phase, the constant first, each of mean square about one
    """

    scoring_data: ScoringData
    records: Records
    basis: Array

    @classmethod
    def of(cls, features: Array, places: Positions, records: Records, *, seed: int) -> CurveData:
        """Prepare features (N, d) at positions, both in canonical order."""
        scoring_data = ScoringData.of(features, records.places(places), seed=seed)
        number = min(MAX_REGRESSORS, max(2, int(np.median(records.n_rows)) // _ROWS_OF_A_REGRESSOR))
        return cls(scoring_data, records, cosines(records.phases, number))

    @classmethod
    def like(
        cls,
        features: Array,
        places: Positions,
        records: Records,
        scale: Scale,
        grid: CorrelationGrid,
        n_regressors: int,
    ) -> CurveData:
        """Prepare more observations by the scale, the correlations and the number of cosines of others."""
        scoring_data = ScoringData.of(features, records.places(places), scale=scale, correlation_grid=grid)
        return cls(scoring_data, records, cosines(records.phases, n_regressors))

    @property
    def d(self) -> int:
        """Number of features that are used."""
        return self.scoring_data.d

    @cached_property
    def _profiled_rows(self) -> Index:
        """Rows by which correlations are chosen, of whole records."""
        count = self.records.of.size
        number = max(1, _PROFILED_ROWS * len(self.records) // count)
        if number >= len(self.records):
            return np.arange(count)
        taken = np.linspace(0, len(self.records) - 1, number).round().astype(np.int64)
        return np.flatnonzero(np.isin(self.records.of, taken))

    def whiten(
        self, values: Array, correlations: Index, rows: Index, chosen: Index | None = None
    ) -> tuple[Array, Array]:
        """Whiten values (m, N) by some correlations of the grid: (T, m, n) values and (T, n) log scales of n of the rows.

        ``chosen`` says which predecessors rows are predicted from; if not given, those of their record.
        """
        data = self.scoring_data
        grid = data.correlation_grid.take(correlations)
        lists = data.predecessors
        chosen = data.one_cluster_predictors if chosen is None else chosen
        shape = (len(grid), values.shape[1])
        out = (np.empty((len(grid), *values.shape)), np.empty(shape), np.empty(shape))
        listed = (lists.rows, lists.distances, lists.pair_distances)
        whiten(native(values), native(rows, np.int64), *listed, chosen, grid.families, grid.lengths, grid.nuggets, *out)
        if rows.size == shape[1]:
            return out[0], out[2]
        return out[0][:, :, rows], out[2][:, rows]

    def choose_correlations(self, labels: Labels, curves: Array) -> Index:
        """Return (d,) rows of the correlation grid that explain most of what ``curves`` leave, ``MAX_WAYS`` different at most.

        ``labels`` (N,) are the clusters of rows and ``curves`` (K, d, q) their coefficients.
        """
        grid = self.scoring_data.correlation_grid
        rows = self._profiled_rows
        whitened, log_scales = self.whiten(self.residuals(labels, curves), np.arange(len(grid)), rows)
        variances = np.maximum((whitened**2).mean(axis=2), _TINY)
        nats = 0.5 * rows.size * np.log(variances) + log_scales.sum(axis=1)[:, None]
        used = [int(nats.sum(axis=1).argmin())]
        while len(used) < MAX_WAYS:
            reached = nats[used].min(axis=0)
            totals = np.minimum(nats, reached).sum(axis=1)
            best = int(totals.argmin())
            if best in used or totals[best] >= reached.sum():
                break
            used.append(best)
        return np.asarray(used)[nats[used].argmin(axis=0)]

    def residuals(self, labels: Labels, curves: Array) -> Array:
        """Return (d, N) what the curves (K, d, q) of clusters leave of rows."""
        left = self.scoring_data.X.copy()
        basis = self.basis[: curves.shape[2]]
        for k, curve in enumerate(curves):
            rows = np.flatnonzero(labels == k)
            left[:, rows] -= curve @ basis[:, rows]
        return left

    def record_sums(self, correlations: Index) -> CurveSums:
        """Return the sums of all records, features whitened by ``correlations`` (d,)."""
        return self._sums(correlations, self.records.of, None)

    def sums_of(self, correlations: Index, parts: Index, labels: Labels) -> CurveSums:
        """Return the sums of ``parts`` (N,), 0 ... S - 1, of the rows, predicted from those of their label in their record."""
        return self._sums(correlations, parts, self.scoring_data.predictors(labels))

    def _sums(self, correlations: Index, parts: Index, chosen: Index | None) -> CurveSums:
        """Return the sums of each of S ``parts`` (N,) of the rows."""
        data = self.scoring_data
        q = len(self.basis)
        used, ways = np.unique(correlations, return_inverse=True)
        every = np.arange(len(data))
        whitened, log_scales = self.whiten(np.concatenate([self.basis, data.X]), used, every, chosen)
        regressors = whitened[:, :q].reshape(used.size * q, -1)
        values = np.concatenate([regressors, whitened[ways, q + np.arange(self.d)]])
        order = np.argsort(parts, kind="stable")
        if (order[1:] < order[:-1]).any():
            values = values[:, order]
        counts = np.bincount(parts)
        ends = np.cumsum(counts)
        table = np.empty((counts.size, len(values), len(values)))
        for part, end in enumerate(ends):
            own = values[:, end - counts[part] : end]
            np.matmul(own, own.T, out=table[part])
        wide = used.size * q
        grams = table[:, :wide, :wide].reshape(-1, used.size, q, used.size, q).transpose(0, 1, 3, 2, 4)
        products = table[:, :wide, wide:].reshape(-1, used.size, q, self.d).transpose(0, 1, 3, 2)
        return CurveSums(
            counts.astype(np.float64),
            native(grams),
            native(products),
            native(table[:, wide:, wide:]),
            native(ways, np.int64),
            np.bincount(parts, log_scales[ways].sum(axis=0)).astype(np.float64),
        )


def cosines(phases: Array, number: int) -> Array:
    """Return (number, N) cosines of phases (N,) from 0 to 1, the constant first, each of mean square about one."""
    basis = np.cos(np.pi * np.arange(number)[:, None] * phases)
    basis[1:] *= np.sqrt(2.0)
    return native(basis)
