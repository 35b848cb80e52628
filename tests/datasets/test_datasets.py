"""The synthetic data sets of the paper's appendix."""

import itertools

import numpy as np
import pytest

from mcgta.datasets.covariances import make_covariances, perturb
from mcgta.datasets.synthetic import make_regions, make_series
from mcgta.kernels.gaussians.wasserstein import pack, wasserstein2_tile
from naive import algorithm as naive


def segments(labels):
    """(label, length) of each run of equal labels."""
    return [(label, len(list(run))) for label, run in itertools.groupby(labels.tolist())]


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_series_has_the_shape_that_was_asked_for(d):
    sample = make_series(123, n_clusters=2, n_features=d, separation=0.3)
    assert sample.X.shape == (123, d)
    assert sample.positions.tolist() == list(range(1, 124))
    assert sample.labels.shape == (123,)
    assert sample.covariances.shape == (2, d, d)
    assert np.isfinite(sample.X).all()


@pytest.mark.parametrize("d", [2, 5])
def test_a_map_has_the_shape_that_was_asked_for(d):
    sample = make_regions(150, n_clusters=3, n_features=d)
    assert sample.X.shape == (150, d)
    assert sample.positions.shape == (150, 2)
    assert set(sample.labels.tolist()) == {0, 1, 2}
    assert sample.covariances.shape == (3, d, d)


@pytest.mark.parametrize("make", [make_series, make_regions])
def test_the_same_seed_gives_the_same_data_and_another_seed_other_data(make):
    a, b, c = make(200, random_state=3), make(200, random_state=3), make(200, random_state=4)
    for name in ("X", "positions", "labels", "covariances"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert not np.array_equal(a.X, c.X)
    assert not np.array_equal(a.covariances, c.covariances)


@pytest.mark.parametrize("make", [make_series, make_regions])
@pytest.mark.parametrize("seed", range(4))
def test_clusters_are_more_than_one_apart_in_wasserstein_distance(make, seed):
    covs, zero = make(100, random_state=seed).covariances, np.zeros(5)
    for a, b in itertools.combinations(covs, 2):
        assert naive.wasserstein2(zero, a, zero, b) > 1
        assert np.linalg.eigvalsh(a)[0] > 0


def test_a_wider_separation_is_kept():
    covs = make_covariances(3, 6, separation=1.8, rng=np.random.default_rng(0))
    for a, b in itertools.combinations(covs, 2):
        assert naive.wasserstein2(np.zeros(6), a, np.zeros(6), b) > 1.8**2


@pytest.mark.parametrize("make", [make_series, make_regions])
@pytest.mark.parametrize("separation", [0.0, 1e-8])
def test_clusters_that_may_lie_near_each_other_are_still_different(make, separation):
    for seed in range(10):
        covs = make(50, separation=separation, random_state=seed).covariances
        assert len(np.unique(covs, axis=0)) == 5


@pytest.mark.parametrize(("count", "d", "separation"), [(200, 2, 0.0), (300, 2, 0.0), (300, 3, 1e-8), (450, 15, 1.0)])
def test_there_are_covariances_for_hundreds_of_clusters(count, d, separation):
    covs = make_covariances(count, d, separation=separation, rng=np.random.default_rng(0))
    packed = pack(np.zeros((count, d)), covs)
    assert len(np.unique(covs, axis=0)) == count
    assert (wasserstein2_tile(packed, packed)[~np.eye(count, dtype=bool)] >= separation**2).all()


def test_clusters_that_hardly_differ_are_not_refused_without_a_separation():
    covs = make_covariances(50, 5, separation=0.0, log_scale=1e-9, rng=np.random.default_rng(0))
    assert len(np.unique(covs, axis=0)) == 50


@pytest.mark.parametrize("seed", range(3))
def test_neighbouring_segments_differ_and_keep_to_their_lengths(seed):
    sample = make_series(3000, n_clusters=4, segment_lengths=(6, 30), batch=5, random_state=seed)
    runs = segments(sample.labels)
    assert all(a[0] != b[0] for a, b in itertools.pairwise(runs))
    assert all(30 <= length <= 150 and length % 5 == 0 for _, length in runs[:-1])
    assert runs[-1][1] <= 150
    assert {label for label, _ in runs} == {0, 1, 2, 3}


def test_a_series_of_one_state_has_one_segment():
    assert segments(make_series(500, n_clusters=1).labels) == [(0, 500)]


@pytest.mark.parametrize("make", [make_series, make_regions])
def test_features_have_mean_zero_and_the_covariance_of_their_cluster(make):
    sample = make(20_000, n_clusters=2, n_features=3, noise=0.0)
    for label in (0, 1):
        X = sample.X[sample.labels == label]
        mean, cov = X.mean(axis=0), X.T @ X / len(X)
        scale = np.abs(sample.covariances[label]).max()
        assert np.abs(mean).max() < 5 * np.sqrt(scale / len(X))
        np.testing.assert_allclose(cov, sample.covariances[label], atol=8 * scale / np.sqrt(len(X)))


@pytest.mark.parametrize("scale", [0.0, 0.01, 1.0, 1e6])
def test_perturbed_covariances_stay_positive_definite_and_near(scale):
    rng = np.random.default_rng(1)
    cov = make_covariances(1, 4, separation=1.0, rng=rng)[0]
    out = perturb(cov, np.full(200, scale), rng)
    least = np.linalg.eigvalsh(cov)[0]
    for one in out:
        np.testing.assert_allclose(one, one.T, atol=1e-12)
        assert np.linalg.eigvalsh(one)[0] >= 0.01 * least * (1 - 1e-9)
    limit = min(scale, 0.1 * np.abs(cov).max())
    assert np.std(out - cov, axis=0).mean() == pytest.approx(limit, rel=0.3, abs=1e-12)


def test_noise_grows_along_a_segment():
    rng = np.random.default_rng(2)
    cov = np.diag([2.0, 2.5, 3.0])
    out = perturb(cov, np.repeat([0.001, 0.01, 0.1], 300), rng)
    spread = [np.std(out[k : k + 300] - cov) for k in (0, 300, 600)]
    np.testing.assert_allclose(spread, [0.001, 0.01, 0.1], rtol=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_centres_of_regions_lie_apart(seed):
    sample = make_regions(4000, n_clusters=4, spread=(1e-9, 1e-8), spacing=2.5, random_state=seed)
    centres = [sample.positions[sample.labels == k].mean(axis=0) for k in range(4)]
    for a, b in itertools.combinations(centres, 2):
        assert naive.euclidean(a, b) > 2.49
    assert (np.array(centres) > -0.01).all()
    assert (np.array(centres) < 10.01).all()


@pytest.mark.parametrize(
    ("make", "options", "name"),
    [
        (make_series, {"separation": 50.0}, "separation=50"),
        (make_series, {"n_features": 1, "n_clusters": 9}, "n_clusters=9"),
        (make_series, {"n_features": 3, "n_clusters": 100_000}, "n_clusters=100000"),
        (make_regions, {"separation": 50.0, "n_clusters": 2}, "separation=50"),
        (make_regions, {"spacing": 20.0}, "spacing=20"),
        (make_regions, {"extent": 0.5}, "side 0.5"),
    ],
)
def test_impossible_requests_are_refused_by_name(make, options, name):
    with pytest.raises(ValueError, match=name):
        make(50, **options)


@pytest.mark.parametrize(
    ("sample", "last", "total"),
    [
        (make_series(), [0.935117979, 0.80966912, 1.178826836, 0.445654233, 0.098952111], 1415),
        (make_regions(), [3.073258651, 0.764196211, -1.962903604, -1.549450091, 0.510167904], 2483),
        (
            make_series(500, tails=4.0, volatility=0.2, correlation=0.5),
            [0.086092119, -0.262477502, 0.295200197, -0.124481644, 0.333417844],
            495,
        ),
    ],
    ids=["series", "regions", "dependent series"],
)
def test_data_of_a_seed_stay_what_they_have_been(sample, last, total):
    """Benchmarks and documents tell numbers of these data."""
    np.testing.assert_allclose(sample.X[-1], last, atol=1e-8)
    assert sample.labels.sum() == total
