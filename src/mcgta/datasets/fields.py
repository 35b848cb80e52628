"""Maps on which features change smoothly: regions of different means and covariances on a Gaussian random field."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky
from scipy.spatial.distance import cdist

from mcgta.datasets.covariances import make_covariances, space_centres
from mcgta.datasets.knobs import check_knobs
from mcgta.datasets.sample import Sample
from mcgta.runtime.rules import Rule, check_value
from mcgta.runtime.types import Array

KERNELS = ("gaussian", "exponential")
_MOST = 10_000  # places; their covariances take 0.8 GB
_EDGE = 0.1  # share of the extent that centres keep from the edge
_JITTER = 1e-9  # keeps the covariances of a field without nugget positive definite


def make_fields(
    n_samples: int = 1200,
    *,
    n_clusters: int = 5,
    n_features: int = 5,
    extent: float = 10.0,
    kernel: str = "gaussian",
    length: float = 1.0,
    nugget: float = 0.05,
    spacing: float = 2.8,
    shift: float = 1.2,
    boundary: float = 0.0,
    separation: float = 1.0,
    random_state: int = 0,
) -> Sample:
    """Make a map of regions on which neighbouring places are alike.

    Places are uniform in a square, and regions are the Voronoi cells of a few centres. A place in region k has the features
    m_k + L_k u, with m_k a mean, L_k the Cholesky factor of a covariance, and u the value at the place of a Gaussian random
    field: independent components of variance 1. The field is drawn from its dense covariance, so 10,000 places are the most.

    Parameters
    ----------
    n_samples : number of places
    n_clusters : K regions; with one the whole square is one smooth field
    extent : side of the square; centres keep a tenth of it from the edge
    kernel : correlation of the field at distance h, "gaussian" for exp(-h^2 / (2 length^2)), "exponential" for exp(-h / length)
    length : of the correlation, in the unit of the places
    nugget : share of the field's variance that is independent from place to place
    spacing : least distance between centres
    shift : standard deviation of the means' components
    boundary : width of the boundaries; means and factors of region k count with weights proportional to
        exp(-(distance to centre k - distance to the nearest) / boundary). 0 is sharp
    separation : least Wasserstein-2 distance between the covariances

    Returns
    -------
    Sample
        In no order; labels are the nearest centres.

    Examples
    --------
    >>> make_fields(100, kernel="exponential", length=2.0).positions.shape
    (100, 2)
    """
    check_value("n_samples", n_samples, Rule(integer=(1, _MOST)))
    check_value("kernel", kernel, Rule(words=KERNELS))
    check_knobs(
        {
            "n_clusters": n_clusters,
            "n_features": n_features,
            "extent": extent,
            "length": length,
            "nugget": nugget,
            "spacing": spacing,
            "shift": shift,
            "boundary": boundary,
            "separation": separation,
            "random_state": random_state,
        }
    )
    rng = np.random.default_rng(random_state)
    covariances = make_covariances(n_clusters, n_features, separation=separation, rng=rng)
    centres = space_centres(n_clusters, extent, spacing, rng, margin=_EDGE * extent)
    means = shift * rng.normal(size=(n_clusters, n_features))
    places = rng.uniform(0, extent, (n_samples, 2))
    field = _draw_field(places, kernel, length, nugget, n_features, rng)
    away = cdist(places, centres)
    weights = _weigh(away, boundary)
    X = weights @ means + np.einsum("ik,kab,ib->ia", weights, np.linalg.cholesky(covariances), field, optimize=True)
    return Sample(X, places, away.argmin(axis=1).astype(np.int64), covariances)


def _draw_field(
    places: Array, kernel: str, length: float, nugget: float, components: int, rng: np.random.Generator
) -> Array:
    """Values (N, components) of independent Gaussian random fields of variance 1."""
    correlations = cdist(places, places, "sqeuclidean" if kernel == "gaussian" else "euclidean")
    correlations *= -1 / (2 * length**2) if kernel == "gaussian" else -1 / length
    np.exp(correlations, out=correlations)
    correlations *= 1 - nugget
    correlations[np.diag_indices_from(correlations)] = 1 + _JITTER
    root = cholesky(correlations.T, lower=True, overwrite_a=True, check_finite=False)  # the transpose needs no copy
    return np.asarray(root @ rng.normal(size=(len(places), components)))


def _weigh(away: Array, boundary: float) -> Array:
    """Shares (N, K) of the regions in each place, by its distances from their centres."""
    if not boundary:
        return np.asarray(np.eye(away.shape[1])[away.argmin(axis=1)])
    weights = np.exp(-(away - away.min(axis=1, keepdims=True)) / boundary)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
