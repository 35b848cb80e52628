"""How many observations count as one: the estimate by its definition, and by what it says of rows that are repeated."""

import numpy as np
import pytest

from mcgta.datasets import make_series
from mcgta.positions.reading import read_positions
from mcgta.selection.field import Field
from mcgta.selection.overdispersion import BLOCKS, estimate_overdispersion
from mcgta.selection.scoring import Scored, estimate, fit_tails, score


def make_field(X, positions=None, groups=None):
    places = read_positions(positions, len(X), groups=groups)
    order = places.order(X)
    return Field.of(X[order], places.take(order))


def as_one(field: Field) -> Scored:
    """One cluster of independent rows."""
    return score(field, np.zeros(len(field), dtype=np.int64), kinds=np.zeros(field.d, dtype=np.int64))


def repeated(times, count, seed, place):
    """White noise, each row so many times in a row, or beside itself in the plane."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(count // times + 1, 2)), times, axis=0)[:count]
    if place == "time":
        return make_field(X)
    sites = np.repeat(rng.uniform(0, 20, (count // times + 1, 2)), times, axis=0)[:count]
    return make_field(X, sites + rng.normal(0, 1e-3, (count, 2)))


def naive_sandwich(field, scored):
    """Scores of each row by its derivatives, their sums over each cluster's part of each block, squared, in loops."""
    labels, d = scored.labels, field.d
    y, w, _ = field.whiten_by(labels, scored.kinds)
    prior = scored.marginal()[1]
    start = estimate(scored.counts, scored.sums, prior)
    clusters, weights = fit_tails(y, w, labels, scored.counts, prior, start, scored.tails)[1:]
    scores = []
    for i, k in enumerate(labels):
        off = clusters.inverse[k] @ (y[:, i] - w[:, i] * clusters.means[k])
        by_mean = [weights[i] * off[a] for a in range(d)]
        by_covariance = [weights[i] * off[a] * off[b] for a in range(d) for b in range(a, d)]
        scores.append(by_mean + by_covariance)
    scores = np.array(scores)
    ratios = [1.0]
    for size in BLOCKS:
        piece, ratio = field.pieces(size), []
        for p in range(scores.shape[1]):
            blocks = rows = 0.0
            for k in range(scored.clusters):
                inside = np.flatnonzero(labels == k)
                held = [np.sum(piece[inside] == b) / inside.size for b in np.unique(piece)]
                left = 1 - sum(share**2 for share in held)
                if left < 0.5 or inside.size < 3 * d:
                    continue
                mean = np.mean([scores[i, p] for i in inside])
                for b in np.unique(piece):
                    blocks += sum(scores[i, p] - mean for i in inside if piece[i] == b) ** 2 / left
                rows += sum((scores[i, p] - mean) ** 2 for i in inside)
            ratio.append(blocks / rows if rows else 1.0)
        ratios.append(np.mean(ratio))
    return max(ratios)


SERIES = make_series(400, n_clusters=3, correlation=0.6, segment_lengths=(20, 40), random_state=1)


def cases():
    rng = np.random.default_rng(0)
    yield "series", make_field(SERIES.X), SERIES.labels
    yield "groups", make_field(SERIES.X, groups=np.arange(400) // 100), SERIES.labels
    yield "one cluster", make_field(SERIES.X), np.zeros(400, dtype=np.int64)
    yield "in the plane", make_field(SERIES.X, rng.uniform(0, 9, (400, 2))), SERIES.labels
    yield "outlier_share", make_field(SERIES.X + (rng.random((400, 1)) < 0.05) * 30), SERIES.labels
    yield "a cluster in one block", make_field(SERIES.X), (np.arange(400) < 40).astype(np.int64)


CASES = {name: (field, labels) for name, field, labels in cases()}


@pytest.mark.parametrize("independent", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_the_sandwich_is_that_of_plain_loops(name, independent):
    field, labels = CASES[name]
    scored = score(field, labels, kinds=np.zeros(field.d, dtype=np.int64) if independent else None)
    assert estimate_overdispersion(field, scored) == pytest.approx(naive_sandwich(field, scored))


@pytest.mark.parametrize("place", ["time", "plane"])
def test_independent_rows_count_one_each(place):
    found = []
    for seed in range(6):
        field = repeated(1, 1500, seed, place)
        found.append(estimate_overdispersion(field, as_one(field)))
    assert min(found) >= 1
    assert np.median(found) < 1.35
    assert max(found) < 1.8


@pytest.mark.parametrize("place", ["time", "plane"])
@pytest.mark.parametrize("times", [3, 6])
def test_rows_that_are_there_several_times_count_as_one(times, place):
    found = []
    for seed in range(6):
        field = repeated(times, 1500, seed, place)
        found.append(estimate_overdispersion(field, as_one(field)))
    assert np.median(found) == pytest.approx(times, rel=0.3)


def test_a_slow_change_within_a_cluster_counts_and_a_cluster_for_each_level_takes_it_away():
    rng = np.random.default_rng(5)
    levels = np.repeat([0, 1, 2, 1, 0, 2, 1, 0], 120)
    field = make_field(rng.normal(size=(960, 2)) + 3.0 * levels[:, None])
    assert estimate_overdispersion(field, as_one(field)) > 10
    assert estimate_overdispersion(field, score(field, levels)) < 2


def test_the_order_of_clusters_does_not_matter():
    for field, labels in CASES.values():
        other = np.array([2, 0, 1])[labels]
        one, two = score(field, labels), score(field, other)
        assert estimate_overdispersion(field, two) == pytest.approx(estimate_overdispersion(field, one), rel=1e-6)


def test_clusters_that_lie_in_one_block_say_nothing():
    field = make_field(np.random.default_rng(0).normal(size=(45, 2)))
    assert estimate_overdispersion(field, as_one(field)) == 1.0
