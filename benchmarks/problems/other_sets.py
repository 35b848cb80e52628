"""Problem data unlike the paper's, small and made by seed, that show where a default is weak.

Each maker takes a seed and a number of observations, and returns them with the clusters they were made of. ``OTHERS`` lists
them with the number that is meant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.spatial.distance import cdist

from mcgta.datasets import make_series
from mcgta.datasets.covariances import make_covariances
from mcgta.runtime.types import Array, Index
from problems.problem import LONG_SEGMENTS, Problem, problem_of

Maker = Callable[[int, int], Problem]

DEGREES_OF_FREEDOM = 4.0  # of heavy tails
OUTLIER_SHARE = 0.05
OUTLIER_SCALE = 8.0


def states(seed: int, count: int, *, K: int, d: int) -> Problem:
    """The paper's series with another number of states and features."""
    return problem_of(
        make_series(count, n_clusters=K, n_features=d, segment_lengths=LONG_SEGMENTS, separation=0.8, random_state=seed)
    )


def shares(seed: int, count: int) -> Problem:
    """A series whose states are unequally common: rare ones come in short segments."""
    rng = np.random.default_rng(seed)
    common = np.array([0.55, 0.25, 0.12, 0.08])
    labels = _segments(count, np.round(400 * common).astype(int), rng)
    return _in_time(_draw(labels, np.zeros((4, 5)), make_covariances(4, 5, separation=1.0, rng=rng), rng), labels)


def means(seed: int, count: int) -> Problem:
    """A series whose states differ in mean, by less than the spread within them, and share a covariance."""
    rng = np.random.default_rng(seed)
    labels = _segments(count, np.full(4, 100), rng)
    covariance = make_covariances(1, 4, separation=1.0, rng=rng)
    return _in_time(_draw(labels, rng.normal(size=(4, 4)), np.repeat(covariance, 4, axis=0), rng), labels)


def irregular(seed: int, count: int) -> Problem:
    """A series at irregular times, with five gaps that keep to no segment."""
    rng = np.random.default_rng(seed)
    steps = rng.gamma(0.5, 2.0, count)
    steps[rng.choice(count, 5, replace=False)] += rng.uniform(50, 200, 5)
    return replace(_paper(seed, count), positions=np.cumsum(steps))


def groups(seed: int, count: int) -> Problem:
    """Four series of the same states, each with a time of its own."""
    length = -(-count // 4)
    steps = np.arange(count)
    return replace(_paper(seed, count), positions=1.0 + steps % length, groups=steps // length)


def space(seed: int, count: int) -> Problem:
    """Places in a cube, five Voronoi cells that differ in covariance."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(0, 10, (count, 3))
    labels = cdist(places, _apart(5, 3, 4.0, rng)).argmin(axis=1)
    return Problem(
        _draw(labels, np.zeros((5, 5)), make_covariances(5, 5, separation=1.0, rng=rng), rng), places, labels
    )


def spots(seed: int, count: int) -> Problem:
    """Spots on a hexagonal grid, like those on a slice of tissue: five wavy layers, with ten features each."""
    rng = np.random.default_rng(seed)
    width = round(count**0.5)
    row, column = np.divmod(np.arange(count), width)
    places = np.column_stack([column + 0.5 * (row % 2), row * 0.75**0.5])
    x, y = (places / places.max(axis=0)).T
    wave = 0.06 * np.sin(2 * np.pi * (x * rng.uniform(0.5, 1.5) + rng.uniform()))
    labels = np.digitize(y + wave, [0.15, 0.35, 0.6, 0.8])
    covariances = make_covariances(5, 10, separation=0.5, rng=rng)
    return Problem(_draw(labels, rng.normal(scale=0.6, size=(5, 10)), covariances, rng), places, labels)


def units(seed: int, count: int) -> Problem:
    """The paper's series with features in units from a ten-thousandth to ten thousand."""
    made = _paper(seed, count)
    return replace(made, X=made.X * 10.0 ** np.array([-4, 4, 0, 2, -2]))


def constant(seed: int, count: int) -> Problem:
    """The paper's series with a column that never changes."""
    made = _paper(seed, count)
    return replace(made, X=np.column_stack([made.X, np.full(count, 3.0)]))


def outliers(seed: int, count: int) -> Problem:
    """The paper's series, a twentieth of it far off in a direction of its own."""
    rng = np.random.default_rng(seed)
    made = _paper(seed, count)
    X = made.X.copy()
    far = rng.choice(count, round(OUTLIER_SHARE * count), replace=False)
    X[far] = OUTLIER_SCALE * rng.normal(size=X[far].shape)
    return replace(made, X=X)


def tails(seed: int, count: int) -> Problem:
    """The paper's series with the tails of a t distribution of four degrees of freedom."""
    return problem_of(make_series(count, segment_lengths=LONG_SEGMENTS, tails=DEGREES_OF_FREEDOM, random_state=seed))


def mixture(seed: int, count: int) -> Problem:
    """Four kinds that are well separated in their features and anywhere in the plane."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(4, count, p=[0.4, 0.3, 0.2, 0.1])
    covariances = make_covariances(4, 4, separation=0.5, rng=rng)
    return Problem(_draw(labels, 8 * np.eye(4), covariances, rng), rng.uniform(0, 10, (count, 2)), labels)


def compositions(seed: int, count: int) -> Problem:
    """Two regions of the same three kinds, mixed in other shares; the regions are the clusters."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(0, 10, (count, 2))
    labels = (places[:, 1] + np.sin(places[:, 0]) > 5).astype(np.int64)
    kinds = np.where(rng.uniform(size=count) < 0.2, 1, np.where((rng.uniform(size=count) < 0.8) == labels, 2, 0))
    covariances = make_covariances(3, 4, separation=0.5, rng=rng)
    return Problem(_draw(kinds, 4 * np.eye(3, 4), covariances, rng), places, labels)


def _paper(seed: int, count: int) -> Problem:
    return problem_of(make_series(count, segment_lengths=LONG_SEGMENTS, random_state=seed))


def _in_time(X: Array, labels: Index) -> Problem:
    return Problem(X, np.arange(1.0, len(X) + 1), labels)


def _draw(labels: Index, means: Array, covariances: Array, rng: np.random.Generator) -> Array:
    """One Gaussian vector for each label."""
    z = rng.normal(size=(len(labels), means.shape[1]))
    return np.asarray(means[labels] + np.einsum("iab,ib->ia", np.linalg.cholesky(covariances)[labels], z))


def _segments(count: int, lengths: Index, rng: np.random.Generator) -> Index:
    """States of a series in which all come again in random order; a segment is half to one and a half of its state's length."""
    out: list[int] = []
    while len(out) < count:
        order = rng.permutation(len(lengths))
        if out and order[0] == out[-1]:
            order = order[::-1]
        for state in order.tolist():
            out += [state] * int(lengths[state] * rng.uniform(0.5, 1.5))
    return np.array(out[:count])


def _apart(count: int, p: int, spacing: float, rng: np.random.Generator) -> Array:
    """Centres (count, p) in a cube of side 10, redrawn until all are apart."""
    while True:
        centres = rng.uniform(1, 9, (count, p))
        if (cdist(centres, centres) + spacing * np.eye(count) >= spacing).all():
            return centres


OTHERS: dict[str, tuple[Maker, int]] = {
    "series-k2-d2": (partial(states, K=2, d=2), 1000),
    "series-k2-d10": (partial(states, K=2, d=10), 1000),
    "series-k3-d3": (partial(states, K=3, d=3), 1000),
    "series-k8-d3": (partial(states, K=8, d=3), 2000),
    "series-k8-d10": (partial(states, K=8, d=10), 2000),
    "series-k12-d10": (partial(states, K=12, d=10), 3000),
    "series-shares": (shares, 1500),
    "series-means": (means, 1500),
    "series-irregular": (irregular, 1500),
    "series-groups": (groups, 2000),
    "series-units": (units, 1000),
    "series-constant": (constant, 1000),
    "series-outliers": (outliers, 1000),
    "series-tails": (tails, 1000),
    "space": (space, 2000),
    "spots": (spots, 3000),
    "mixture": (mixture, 1500),
    "compositions": (compositions, 2000),
}
