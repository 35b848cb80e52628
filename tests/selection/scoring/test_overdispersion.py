"""How many observations count as one: the estimate by its definition, and by what it says of rows that are repeated."""

import numpy as np
import pytest

from mcgta.datasets import make_series
from mcgta.positions.reading import read_positions
from mcgta.selection.scoring.overdispersion import BLOCK_ROWS, estimate_overdispersion
from mcgta.selection.scoring.scored_labelling import ScoredLabelling, fit_clusters, score, whiten_as_scored
from mcgta.selection.scoring.scoring_data import ScoringData


def make_scoring_data(X, positions=None, groups=None):
    places = read_positions(positions, len(X), groups=groups)
    order = places.order(X)
    return ScoringData.of(X[order], places.take(order))


def as_one(scoring_data: ScoringData) -> ScoredLabelling:
    """One cluster of independent rows."""
    return score(
        scoring_data, np.zeros(len(scoring_data), dtype=np.int64), correlations=np.zeros(scoring_data.d, dtype=np.int64)
    )


def repeated(times, count, seed, place):
    """White noise, each row so many times in a row, or beside itself in the plane."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(count // times + 1, 2)), times, axis=0)[:count]
    if place == "time":
        return make_scoring_data(X)
    sites = np.repeat(rng.uniform(0, 20, (count // times + 1, 2)), times, axis=0)[:count]
    return make_scoring_data(X, sites + rng.normal(0, 1e-3, (count, 2)))


def naive_sandwich(scoring_data, scored):
    """Scores of each row by its derivatives, their sums over each cluster's part of each block, squared, in loops."""
    labels, d = scored.labels, scoring_data.d
    whitened = whiten_as_scored(scoring_data, scored)
    y, w, _ = whitened
    fitted = fit_clusters(whitened, labels, scored.tails, scored.marginal()[1])
    clusters, weights = fitted.gaussians, fitted.weights
    scores = []
    for i, k in enumerate(labels):
        off = clusters.inverse[k] @ (y[:, i] - w[:, i] * clusters.means[k])
        by_mean = [weights[i] * off[a] for a in range(d)]
        by_covariance = [weights[i] * off[a] * off[b] for a in range(d) for b in range(a, d)]
        scores.append(by_mean + by_covariance)
    scores = np.array(scores)
    ratios = [1.0]
    for size in BLOCK_ROWS:
        piece, ratio = scoring_data.blocks(size), []
        for p in range(scores.shape[1]):
            blocks = rows = 0.0
            for k in range(scored.n_clusters):
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
    yield "series", make_scoring_data(SERIES.X), SERIES.labels
    yield "groups", make_scoring_data(SERIES.X, groups=np.arange(400) // 100), SERIES.labels
    yield "one cluster", make_scoring_data(SERIES.X), np.zeros(400, dtype=np.int64)
    yield "in the plane", make_scoring_data(SERIES.X, rng.uniform(0, 9, (400, 2))), SERIES.labels
    yield "outlier_share", make_scoring_data(SERIES.X + (rng.random((400, 1)) < 0.05) * 30), SERIES.labels
    yield "a cluster in one block", make_scoring_data(SERIES.X), (np.arange(400) < 40).astype(np.int64)


CASES = {name: (scoring_data, labels) for name, scoring_data, labels in cases()}


@pytest.mark.parametrize("independent", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_the_sandwich_is_that_of_plain_loops(name, independent):
    scoring_data, labels = CASES[name]
    scored = score(scoring_data, labels, correlations=np.zeros(scoring_data.d, dtype=np.int64) if independent else None)
    assert estimate_overdispersion(scoring_data, scored) == pytest.approx(naive_sandwich(scoring_data, scored))


@pytest.mark.parametrize("place", ["time", "plane"])
def test_independent_rows_count_one_each(place):
    found = []
    for seed in range(6):
        scoring_data = repeated(1, 1500, seed, place)
        found.append(estimate_overdispersion(scoring_data, as_one(scoring_data)))
    assert min(found) >= 1
    assert np.median(found) < 1.35
    assert max(found) < 1.8


@pytest.mark.parametrize("place", ["time", "plane"])
@pytest.mark.parametrize("times", [3, 6])
def test_rows_that_are_there_several_times_count_as_one(times, place):
    found = []
    for seed in range(6):
        scoring_data = repeated(times, 1500, seed, place)
        found.append(estimate_overdispersion(scoring_data, as_one(scoring_data)))
    assert np.median(found) == pytest.approx(times, rel=0.3)


def test_a_slow_change_within_a_cluster_counts_and_a_cluster_for_each_level_takes_it_away():
    rng = np.random.default_rng(5)
    levels = np.repeat([0, 1, 2, 1, 0, 2, 1, 0], 120)
    scoring_data = make_scoring_data(rng.normal(size=(960, 2)) + 3.0 * levels[:, None])
    assert estimate_overdispersion(scoring_data, as_one(scoring_data)) > 10
    assert estimate_overdispersion(scoring_data, score(scoring_data, levels)) < 2


def test_the_order_of_clusters_does_not_matter():
    for scoring_data, labels in CASES.values():
        other = np.array([2, 0, 1])[labels]
        one, two = score(scoring_data, labels), score(scoring_data, other)
        assert estimate_overdispersion(scoring_data, two) == pytest.approx(
            estimate_overdispersion(scoring_data, one), rel=1e-6
        )


def test_clusters_that_lie_in_one_block_say_nothing():
    scoring_data = make_scoring_data(np.random.default_rng(0).normal(size=(45, 2)))
    assert estimate_overdispersion(scoring_data, as_one(scoring_data)) == 1.0
