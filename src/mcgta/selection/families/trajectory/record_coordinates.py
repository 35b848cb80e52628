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
_UNEQUAL_SHARE = 0.05  # by which records may tell differently much of the coefficients and be taken as alike
_EM_STEPS = 15
_RIDGE = 1e-9  # of what a record tells of a typical coefficient
_TINY = 1e-12


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
        found = np.empty((n_records, q, records.ways.size))
        left = np.einsum("rff->rf", records.squares).copy()
        for f, u in enumerate(records.ways):
            grams = records.grams[:, u, u]
            products = records.products[:, u, f]
            typical = grams.mean(axis=0)
            unequal = np.abs(grams - typical).max() > _UNEQUAL_SHARE * np.abs(typical).max()
            curves = (
                _shrunk_curves(grams, products, left[:, f], records.counts) if unequal else _curves(grams, products)
            )
            found[:, :, f] = curves @ np.linalg.cholesky(typical + _tiny_ridge(typical))
            # what the curves leave
            left[:, f] += ((grams @ curves[..., None])[..., 0] * curves - 2.0 * products * curves).sum(axis=1)
        freedom = max(float(records.counts.sum()) - n_records * q, 1.0)
        noise = np.sqrt(np.maximum(left.sum(axis=0) / freedom, _TINY))
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


def _tiny_ridge(gram: Array) -> Array:
    """A trace of the identity for each Gram matrix (..., q, q), which keeps it definite."""
    q = gram.shape[-1]
    return np.asarray(_RIDGE * np.trace(gram, axis1=-2, axis2=-1)[..., None, None] / q * np.eye(q))


def _curves(grams: Array, products: Array) -> Array:
    """Coefficients (R, q) by least squares."""
    return np.asarray(np.linalg.solve(grams + _tiny_ridge(grams), products[..., None])[..., 0])


def _shrunk_curves(grams: Array, products: Array, squares: Array, counts: Array) -> Array:
    """Coefficients (R, q) of records that tell differently much: what one does not tell is as in others that are like it.

    They are expected values, given that the coefficients of all records are of one Gaussian, which is fitted (EM).
    """
    q = products.shape[1]
    middle = np.linalg.solve(grams.sum(axis=0) + _tiny_ridge(grams.sum(axis=0)), products.sum(axis=0))
    noise = float((squares - products @ middle).sum() / counts.sum())
    spread = noise * np.eye(q)
    curves = np.empty_like(products)
    for _ in range(_EM_STEPS):
        precision = np.linalg.inv(spread)
        posterior = np.linalg.inv(grams / noise + precision)
        curves = (posterior @ (products / noise + precision @ middle)[..., None])[..., 0]
        middle = curves.mean(axis=0)
        spread = (curves - middle).T @ (curves - middle) / len(curves) + posterior.mean(axis=0)
        spread += _tiny_ridge(spread)
        explained = 2.0 * (products * curves).sum() - ((grams @ curves[..., None])[..., 0] * curves).sum()
        unsure = (posterior * grams).sum()
        noise = max(float(squares.sum() - explained + unsure), _TINY) / float(counts.sum())
    return curves


def _count_varying(coefficients: Array) -> int:
    """Return how many cosines there are up to the last that varies by more than the noise, two at least."""
    n_records, q, d = coefficients.shape
    variances = (coefficients**2).mean(axis=(0, 2))
    count = n_records * d
    nats = 0.5 * count * (variances - 1 - np.log(np.maximum(variances, 1e-300))) - 0.5 * np.log(count)
    varying = np.flatnonzero((variances > 1) & (nats > 0))
    return min(q, max(2, int(varying.max(initial=0)) + 1))
