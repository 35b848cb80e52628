"""Places: where clusters are in space, and of how many connected parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mcgta.description.description import Places
from mcgta.kernels.positions.metrics import EARTH_RADIUS, SPHERE, distance_table
from mcgta.positions.metrics import Metric, SpaceTime
from mcgta.positions.positions import Positions
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.scoring.neighbor_graph import nearest_neighbors

PATCH_NEIGHBORS = 8
"""Nearest other places that a place is joined with, where they share a cluster."""


@dataclass(frozen=True, eq=False)
class Patches:
    """Connected parts of clusters.

    Attributes
    ----------
    of_rows : (N,) the patch of each row in canonical order; -1 for noise
    clusters : (P,) of the patches
    sizes : (P,) rows of each
    """

    of_rows: Index
    clusters: Labels
    sizes: Index


def find_patches(labels: Labels, positions: Positions) -> Patches:
    """Join rows of one cluster that are at one place, or where one's place is among the nearest of the other's."""
    place = _number_places(positions)
    first = np.r_[0, np.flatnonzero(np.diff(place)) + 1]
    near = nearest_neighbors(positions.take(first) if first.size < place.size else positions, PATCH_NEIGHBORS + 1)[0]
    clustered = np.flatnonzero(labels >= 0)
    width = int(labels.max(initial=-1)) + 1
    # A node is a place with a cluster that has rows there.
    nodes, of_clustered = np.unique(place[clustered] * width + labels[clustered], return_inverse=True)
    wanted = near[nodes // max(width, 1)] * width + (nodes % max(width, 1))[:, None]
    found = np.minimum(np.searchsorted(nodes, wanted), max(nodes.size - 1, 0))
    i, j = np.nonzero((near[nodes // max(width, 1)] >= 0) & (nodes[found] == wanted))
    shape = (nodes.size, nodes.size)
    graph = csr_array((np.ones(i.size, dtype=bool), (i.astype(np.int32), found[i, j].astype(np.int32))), shape=shape)
    patch_of_node = connected_components(graph, directed=False)[1] if nodes.size else np.empty(0, dtype=np.int64)
    of_rows = np.full(labels.size, -1, dtype=np.int64)
    of_rows[clustered] = patch_of_node[of_clustered]
    sizes = np.bincount(of_rows[clustered])
    clusters = np.empty(sizes.size, dtype=np.int64)
    clusters[of_rows[clustered]] = labels[clustered]
    return Patches(of_rows, clusters, sizes)


def describe_places(labels: Labels, n_clusters: int, positions: Positions) -> tuple[Places, ...]:
    """Return where each cluster is."""
    patches = find_patches(labels, positions)
    metric = spatial_metric(positions)
    places = spatial_coordinates(positions)
    described = []
    for k in range(n_clusters):
        sizes = patches.sizes[patches.clusters == k]
        center = None
        spread = np.nan
        points = None if metric is None else metric.points(places[labels == k])
        if points is not None and metric is not None and metric.kind is not None:
            middle = points.mean(axis=0)
            if metric.kind == SPHERE:
                middle *= EARTH_RADIUS / max(float(np.linalg.norm(middle)), np.finfo(float).tiny)
            center = tuple((_degrees_of(middle) if metric.kind == SPHERE else middle).tolist())
            spread = float(np.sqrt(np.mean(distance_table(points, middle[None], metric.kind) ** 2)))
        described.append(Places(center, spread, int(sizes.size), int(sizes.max()), positions.unit))
    return tuple(described)


def spatial_metric(positions: Positions) -> Metric | None:
    """Return the metric of the places alone; None where there are no coordinates that kernels measure between."""
    metric = positions.metric
    if isinstance(metric, SpaceTime):
        return metric.spatial
    return None if metric.kind is None or metric.is_chain else metric


def spatial_coordinates(positions: Positions) -> Array:
    """Return (N, p) the coordinates without time."""
    return positions.coordinates[:, :-1] if isinstance(positions.metric, SpaceTime) else positions.coordinates


def _number_places(positions: Positions) -> Index:
    """Return the (N,) number of each row's place; rows in canonical order at one place stand together."""
    if not positions.metric.has_coordinates:
        return np.arange(len(positions))
    coordinates = positions.coordinates
    moved = (coordinates[1:] != coordinates[:-1]).any(axis=1) | (positions.groups[1:] != positions.groups[:-1])
    return np.r_[0, np.cumsum(moved)]


def _degrees_of(vector: Array) -> Array:
    """Return longitude and latitude, in degrees, of the direction of a vector (3,)."""
    x, y, z = vector
    return np.degrees([np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))])
