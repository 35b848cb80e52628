"""Records as points: the coefficients of each record's own curve, in units of the noise, by their principal directions.

One record is one observation of a curve, however many rows it has: rows of a record deviate from the curve of its cluster
together. So clusters of records are scored as levels, which are regressions on one regressor, of these points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.kernels.simd.compiled import native
from mcgta.runtime.types import Array
from mcgta.selection.families.trajectory.curve_data import CurveSums

NUMBERS_OF_DIRECTIONS = (4, 8, 12, 20)
"""Principal directions that clusters of records may differ in; in the others all records are alike."""

_CURVE_DIRECTIONS = 12  # in which a curve that all records have in common is looked for
_RECORDS_OF_A_DIRECTION = 3  # at least
_RIDGE = 1e-3  # of what a typical record tells of a coefficient, where records tell differently much


@dataclass(frozen=True, eq=False)
class RecordCoordinates:
    """R records as points.

    Attributes
    ----------
    coefficients : (R, q, d) of each record's own curve, in units of the noise that a typical record leaves in them
    """

    coefficients: Array

    def __len__(self) -> int:
        return len(self.coefficients)

    @classmethod
    def of(cls, records: CurveSums) -> RecordCoordinates:
        """Fit a curve of its own to each record; as many cosines are kept as vary between records by more than the noise."""
        n_records = records.counts.size
        q = records.n_regressors
        d = records.ways.size
        found = np.empty((n_records, q, d))
        left = records.squares.copy()
        for f, u in enumerate(records.ways):
            grams = records.grams[:, u, u]
            typical = grams.mean(axis=0)
            ridge = (
                _RIDGE * typical if np.abs(grams - typical).max() > _RIDGE * np.abs(typical).max() else 0.0 * typical
            )
            ridge = ridge + 1e-9 * np.trace(typical) / q * np.eye(q)
            curves = np.linalg.solve(grams + ridge, records.products[:, u, f, :, None])[..., 0]
            found[:, :, f] = curves @ np.linalg.cholesky(typical)
            # what the curves leave, feature by feature
            explained = (curves * records.products[:, u, f]).sum(axis=1)
            left[:, f, f] -= explained
        freedom = max(float(records.counts.sum()) - n_records * q, 1.0)
        noise = np.sqrt(np.maximum(np.einsum("rff->f", left) / freedom, 1e-12))
        found /= noise
        return cls(found[:, : _count_varying(found)])

    def points(self, number: int, *, first: int = 0) -> Array:
        """Return (m, R) principal coordinates, ``number`` at most, of coefficients from ``first`` on; each of variance one."""
        n_records = len(self.coefficients)
        flat = self.coefficients[:, first:].reshape(n_records, -1)
        flat = flat - flat.mean(axis=0)
        most = min(number, flat.shape[1], max(1, n_records // _RECORDS_OF_A_DIRECTION))
        left, values, _ = np.linalg.svd(flat, full_matrices=False)
        kept = min(most, int((values > 1e-9 * max(values[0], 1e-300)).sum()))
        return native(left[:, :kept].T * np.sqrt(n_records))

    def curve_nats(self) -> float:
        """Return the log evidence of a curve that all records have in common over a level: of coefficients whose mean is not 0.

        That is by their covariance about the mean and about 0, less half the log of the number of records for each direction.
        """
        n_records = len(self)
        flat = self.coefficients[:, 1:].reshape(n_records, -1)
        left, values, _ = np.linalg.svd(flat, full_matrices=False)
        most = min(_CURVE_DIRECTIONS, flat.shape[1], max(1, n_records // _RECORDS_OF_A_DIRECTION))
        points = left[:, :most] * values[:most]
        about_zero = points.T @ points + np.eye(points.shape[1])
        mean = points.sum(axis=0) / np.sqrt(n_records)
        explained = float(mean @ np.linalg.solve(about_zero, mean))
        return -0.5 * n_records * float(np.log1p(-min(explained, 1 - 1e-12))) - 0.5 * most * float(np.log(n_records))

    @property
    def n_regressors(self) -> int:
        """Cosines, the constant among them, that vary between records."""
        return int(self.coefficients.shape[1])


def _count_varying(coefficients: Array) -> int:
    """Return how many cosines there are up to the last that varies by more than the noise, two at least."""
    n_records, q, d = coefficients.shape
    variances = (coefficients**2).mean(axis=(0, 2))
    count = n_records * d
    nats = 0.5 * count * (variances - 1 - np.log(np.maximum(variances, 1e-300))) - 0.5 * np.log(count)
    varying = np.flatnonzero((variances > 1) & (nats > 0))
    return min(q, max(2, int(varying.max(initial=0)) + 1))
