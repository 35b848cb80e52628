"""A series like recorded gestures: smooth curves of a few types, one after the other, of any length."""

from __future__ import annotations

import numpy as np

from mcgta.datasets.knobs import check_knobs
from mcgta.datasets.sample import Sample
from mcgta.runtime.rules import INF, Rule, check_value
from mcgta.runtime.types import Array

_HARMONICS = np.arange(1, 5)
_SHORTEST = 2 * _HARMONICS.size + 1  # steps that tell the harmonics apart
_COEFFICIENT_SPREAD = 0.08
_WARP_SPREAD = 0.03
_AMPLITUDE_SPREAD = 0.1
_BLOCK = 256  # records in work at a time


def make_gestures(
    n_records: int,
    *,
    record_length: int = 315,
    n_types: int = 8,
    n_features: int = 3,
    noise: float = 0.15,
    random_state: int = 0,
) -> Sample:
    """Make a series of records, each a variation of one of a few smooth curves.

    A type is a random Fourier series of four harmonics for each feature, of amplitudes that fall as one over the harmonic. A
    record adds a little to its coefficients, runs it faster here and slower there, and scales its features; features are then
    brought to mean 0 and variance 1 within the record, and white noise is added. Time and memory are linear in the length.

    Parameters
    ----------
    n_records : number of records; their types are drawn with equal chances
    record_length : steps of a record, at least 9
    n_types : K curves, which are the labels
    noise : standard deviation of the noise

    Returns
    -------
    Sample
        ``n_records * record_length`` observations; ``covariances`` are those of a type's own curve, its features at variance 1,
        plus the noise's.

    Examples
    --------
    >>> make_gestures(4).X.shape
    (1260, 3)
    """
    check_value("record_length", record_length, Rule(integer=(_SHORTEST, INF)))
    check_knobs(
        {
            "n_records": n_records,
            "n_types": n_types,
            "n_features": n_features,
            "noise": noise,
            "random_state": random_state,
        }
    )
    rng = np.random.default_rng(random_state)
    sizes = (2, _HARMONICS.size, n_features)  # sine and cosine
    curves = rng.normal(size=(n_types, *sizes)) / _HARMONICS[:, None]
    types = rng.integers(n_types, size=n_records)
    changes = rng.normal(scale=_COEFFICIENT_SPREAD, size=(n_records, *sizes))
    changes += curves[types]
    changes *= 1 + _AMPLITUDE_SPREAD * rng.normal(size=(n_records, 1, 1, n_features))
    warps = rng.normal(scale=_WARP_SPREAD, size=n_records)
    X = noise * rng.normal(size=(n_records, record_length, n_features))
    for first in range(0, n_records, _BLOCK):
        block = slice(first, first + _BLOCK)
        X[block] += _trace(changes[block], warps[block], record_length)
    return Sample(
        X.reshape(-1, n_features),
        np.arange(1.0, n_records * record_length + 1),
        np.repeat(types, record_length),
        _correlations(curves) + noise**2 * np.eye(n_features),
    )


def _trace(coefficients: Array, warps: Array, length: int) -> Array:
    """Return the standardised curves (records, length, d) of coefficients (records, 2, harmonics, d)."""
    time = np.linspace(0.0, 1.0, length)
    warped = time + warps[:, None] * np.sin(2 * np.pi * time)
    angles = 2 * np.pi * warped[:, :, None] * _HARMONICS
    curves = np.sin(angles) @ coefficients[:, 0] + np.cos(angles) @ coefficients[:, 1]
    curves -= curves.mean(axis=1, keepdims=True)
    return np.asarray(curves / curves.std(axis=1, keepdims=True))


def _correlations(curves: Array) -> Array:
    """Correlations (K, d, d) of the features along each curve; its harmonics are orthogonal over a period."""
    flat = curves.reshape(len(curves), -1, curves.shape[-1])
    products = np.swapaxes(flat, 1, 2) @ flat
    scales = np.sqrt(np.diagonal(products, axis1=1, axis2=2))
    return np.asarray(products / (scales[:, :, None] * scales[:, None, :]))
