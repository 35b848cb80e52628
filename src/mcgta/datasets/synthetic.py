"""The paper's two synthetic data sets (appendix, "Synthetic Dataset"), whole or as a stream of blocks.

Clusters differ in covariance, by more than 1 in Wasserstein-2 distance. Around each cluster's covariance the observations'
own covariances are perturbed by Gaussian noise that grows with the distance from the start of a segment (1-D) or the centre
of a region (2-D), up to a tenth of the largest entry. Where noise would take the least eigenvalue below a hundredth of the
cluster's own, it is raised to that, so that every perturbed covariance is positive definite.

The paper leaves open how its random numbers are distributed. Here cluster covariances have random axes and log-uniform
eigenvalues, lengths and sizes are uniform, and centres are uniform in a square. What differs from the appendix by default is
that neighbouring segments have different states (``repeats=True`` draws them independently), that the length is given and
not the number of segments (``n_segments``), and that centres keep apart (``spacing=0`` lets them lie anywhere).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from mcgta.datasets.knobs import SINGLE
from mcgta.datasets.mixed_regions import MixedRegionsRecipe
from mcgta.datasets.regions import RegionsRecipe
from mcgta.datasets.sample import Sample, cut, gather
from mcgta.datasets.series import SeriesRecipe
from mcgta.runtime.rules import check_value

BLOCK = 65_536


def make_series(
    n_samples: int | None = None,
    *,
    n_clusters: int = 5,
    n_features: int = 5,
    n_segments: int | tuple[int, int] | None = None,
    segment_lengths: tuple[int, int] = (6, 30),
    repeats: bool = False,
    batch: int = 5,
    noise: float = 0.005,
    noise_limit: float | None = 0.1,
    separation: float = 1.0,
    log_scale: float = 1.2,
    shift: float = 0.0,
    correlation: float = 0.0,
    tails: float | None = None,
    volatility: float = 0.0,
    random_state: Any = 0,
) -> Sample:
    """Make a series whose state changes from segment to segment.

    Parameters
    ----------
    n_samples : length; the last segment is cut to it. 1000 where ``n_segments`` is None, too
    n_clusters : K states; neighbouring segments differ in state, and with one state there is one segment without end
    n_segments : N, number of segments, or its least and greatest value; the length is then what they give
    segment_lengths : least and greatest number of steps L of a segment, each step giving ``batch`` observations
    repeats : whether states of segments are independent, so that neighbouring ones may have the same
    batch : k, observations drawn from each perturbed covariance
    noise : alpha; the j-th step of a segment is perturbed by noise of scale j * alpha
    noise_limit : greatest scale of noise, as share of the largest entry of the cluster's covariance; None for no limit
    separation : least Wasserstein-2 distance between clusters
    log_scale : logarithms of the eigenvalues of the clusters' covariances are uniform between minus this and this; at most 12
    shift : standard deviation of the clusters' means' components; the paper's are zero
    correlation : phi of x_t = phi x_(t-1) + sqrt(1 - phi^2) e_t within a segment, e_t the draws; the first is e_t itself
    tails : degrees of freedom, more than 2, of the multivariate t distribution of the draws, which keep their covariance; None
        is the Gaussian
    volatility : standard deviation of the steps of h_t = 0.97 h_(t-1) + step, from h_0 = 0 through the whole series; the draws
        are multiplied by exp(h_t), so that only directions and ratios of their covariances stay those of the clusters

    Examples
    --------
    >>> make_series(n_segments=4, segment_lengths=(10, 10), repeats=True).X.shape
    (200, 5)
    """
    recipe = SeriesRecipe(
        n_samples=n_samples,
        n_segments=n_segments,
        n_clusters=n_clusters,
        n_features=n_features,
        segment_lengths=segment_lengths,
        repeats=repeats,
        batch=batch,
        noise=noise,
        noise_limit=noise_limit,
        separation=separation,
        log_scale=log_scale,
        shift=shift,
        correlation=correlation,
        tails=tails,
        volatility=volatility,
        random_state=random_state,
    )
    covariances, pieces = recipe.begin()
    return gather(pieces, covariances)


def make_regions(
    n_samples: int | None = None,
    *,
    n_clusters: int = 5,
    n_features: int = 5,
    sizes: tuple[int, int] | None = None,
    noise: float = 0.02,
    noise_limit: float | None = 0.1,
    extent: float = 10.0,
    spacing: float = 2.5,
    spread: tuple[float, float] = (0.3, 1.5),
    concentration: float = 5.0,
    separation: float = 1.0,
    log_scale: float = 1.2,
    shift: float = 0.0,
    random_state: Any = 0,
) -> Sample:
    """Make a map of overlapping regions, each a Gaussian cloud of places around a centre.

    Parameters
    ----------
    n_samples : number of places; the regions' shares of it are Dirichlet(``concentration``). 1200 where ``sizes`` is None, too
    sizes : least and greatest number of places of a region, drawn for each; the number of all is then what they give
    noise : alpha; a place at distance d from its centre is perturbed by noise of scale d * alpha
    noise_limit : greatest scale of noise, as share of the largest entry of the cluster's covariance; None for no limit
    extent : centres are uniform in a square of this side
    spacing : least distance between centres
    spread : range of the eigenvalues of the regions' shapes, which have random axes
    separation : least Wasserstein-2 distance between clusters
    log_scale : logarithms of the eigenvalues of the clusters' covariances are uniform between minus this and this; at most 12
    shift : standard deviation of the clusters' means' components; the paper's are zero

    Examples
    --------
    >>> make_regions(sizes=(50, 50)).positions.shape
    (250, 2)
    """
    recipe = RegionsRecipe(
        n_samples=n_samples,
        sizes=sizes,
        n_clusters=n_clusters,
        n_features=n_features,
        noise=noise,
        noise_limit=noise_limit,
        extent=extent,
        spacing=spacing,
        spread=spread,
        concentration=concentration,
        separation=separation,
        log_scale=log_scale,
        shift=shift,
        random_state=random_state,
    )
    covariances, pieces = recipe.begin()
    return gather(pieces, covariances)


def stream_series(n_samples: int | None = None, *, block_size: int = BLOCK, **knobs: Any) -> Iterator[Sample]:
    """Make the series of :func:`make_series` block by block, in memory that does not grow with its length.

    Put together, the blocks are the same as ``make_series(n_samples, **knobs)``, to the last bit, whatever their size.

    Parameters
    ----------
    n_samples : length
    block_size : rows of a block; the last has what is left
    knobs : those of :func:`make_series`

    Examples
    --------
    >>> [len(block.X) for block in stream_series(2500, block_size=1000)]
    [1000, 1000, 500]
    """
    _check_names("stream_series", knobs, SeriesRecipe)
    return _stream(SeriesRecipe(n_samples=n_samples, **knobs), block_size)


def stream_regions(n_samples: int | None = None, *, block_size: int = BLOCK, **knobs: Any) -> Iterator[Sample]:
    """Make the map of :func:`make_regions` block by block, in memory that does not grow with its size.

    Put together, the blocks are the same as ``make_regions(n_samples, **knobs)``, to the last bit, whatever their size: region
    after region.

    Parameters
    ----------
    n_samples : number of places
    block_size : rows of a block; the last has what is left
    knobs : those of :func:`make_regions`
    """
    _check_names("stream_regions", knobs, RegionsRecipe)
    return _stream(RegionsRecipe(n_samples=n_samples, **knobs), block_size)


def stream_mixed_regions(n_samples: int = 2000, *, block_size: int = BLOCK, **knobs: Any) -> Iterator[Sample]:
    """Make the observations of :func:`make_mixed_regions` block by block, in memory that does not grow with their number.

    Put together, the blocks are the same as ``make_mixed_regions(n_samples, **knobs)``, to the last bit, whatever their size,
    but without the kinds.

    Parameters
    ----------
    n_samples : number of observations
    block_size : rows of a block; the last has what is left
    knobs : those of :func:`make_mixed_regions`
    """
    _check_names("stream_mixed_regions", knobs, MixedRegionsRecipe)
    return _stream(MixedRegionsRecipe(n_samples=n_samples, **knobs), block_size)


def _check_names(
    function: str, knobs: dict[str, Any], recipe: type[SeriesRecipe | RegionsRecipe | MixedRegionsRecipe]
) -> None:
    known = [field.name for field in fields(recipe)]
    for name, value in knobs.items():
        if name not in known:
            raise TypeError(f"{name}={value!r} is not allowed: {function} takes {', '.join(known)} and block_size")


def _stream(recipe: SeriesRecipe | RegionsRecipe | MixedRegionsRecipe, block_size: int) -> Iterator[Sample]:
    check_value("block_size", block_size, SINGLE["block_size"])
    covariances, pieces = recipe.begin()
    return cut(pieces, covariances, block_size)
