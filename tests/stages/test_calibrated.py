"""dissimilarity="calibrated": W2 squared in units of what chance makes of it."""

from functools import partial

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.metrics import adjusted_rand_score

from mcgta import MCGTA, config_context, load, read_positions
from mcgta.clustering.backend import choose_backend
from mcgta.clustering.labels import number_by_first_member
from mcgta.clustering.registry import get_clusterer
from mcgta.datasets import make_regions, make_series
from mcgta.kernels.gaussians.calibration import calibrated_pairs, calibrated_tile
from mcgta.kernels.gaussians.wasserstein import pack
from mcgta.stages import LocalModels, compare_models, empirical_semivariogram
from mcgta.stages.dissimilarity.registry import get_dissimilarity
from mcgta.stages.semivariogram import empirical
from naive import algorithm as naive


def random_models(seed, count=40, d=3, scales=2.0):
    """Gaussians of very different scale, on samples of different size."""
    rng = np.random.default_rng(seed)
    scale = np.exp(scales * rng.normal(size=(count, 1, 1)))
    factors = scale * rng.normal(size=(count, d, d + 2))
    means = scale[:, :, 0] * rng.normal(size=(count, d))
    return LocalModels(means, factors @ np.swapaxes(factors, 1, 2), sizes=rng.uniform(5, 40, count))


def naive_table(models):
    """T = W / ((c_i + c_j) / 2), pair by pair."""
    count = len(models)
    out = np.zeros((count, count))
    c = [naive.chance(models.covariances[i], models.sizes[i]) for i in range(count)]
    for i in range(count):
        for j in range(i):
            pair = [(models.means[k], models.covariances[k]) for k in (i, j)]
            W = max(naive.wasserstein2(*pair[0], *pair[1]), 0.0)  # but for rounding
            out[i, j] = out[j, i] = W / ((c[i] + c[j]) / 2)
    return out


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7])
def test_the_table_is_that_of_the_equation(d):
    models = random_models(d, d=d)
    found = compare_models(models, "calibrated")
    np.testing.assert_allclose(found.matrix(), naive_table(models), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_tables_and_lists_have_the_same_bits(d):
    models = random_models(d, d=d)
    packed, half = pack(models.means, models.covariances), models.chance / 2
    i, j = (part.ravel() for part in np.mgrid[:40, :40])
    np.testing.assert_array_equal(
        calibrated_tile(packed, half, packed, half).ravel(), calibrated_pairs(packed, half, i, j)
    )


def test_unit_and_rotation_do_not_matter():
    models = random_models(1)
    plain = compare_models(models, "calibrated").matrix()
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    for change in (1e-6 * np.eye(3), 1e4 * np.eye(3), turn):
        other = LocalModels(models.means @ change.T, change @ models.covariances @ change.T, sizes=models.sizes)
        np.testing.assert_allclose(compare_models(other, "calibrated").matrix(), plain, rtol=1e-8, atol=1e-9)


def test_samples_of_one_gaussian_differ_by_about_one():
    rng = np.random.default_rng(0)
    X = np.repeat([1.0, 1e3], 3000)[:, None] * rng.normal(size=(6000, 3))
    options = {"covariance": "empirical", "semivariogram": "empirical", "eps": 1.0}
    model = MCGTA(n_neighbors=30, dissimilarity="calibrated", **options).fit(X, groups=np.arange(6000) // 30)
    first = 30 * np.arange(0, 200, 2)
    T = model.fitted_.derived.prepared.loss.dissimilarity.of_pairs(first, first + 30)
    assert T[:50].mean() == pytest.approx(1.0, abs=0.25)
    assert T[50:].mean() == pytest.approx(1.0, abs=0.25)


# -------------------------------------------------------------------------------------------------------- without spread


def test_models_without_spread_differ_by_nothing_or_by_very_much():
    means = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0 + 1e-15], [1.0, 2.5]])
    models = LocalModels(means, np.zeros((6, 2, 2)), sizes=np.full(6, 10.0))
    found = compare_models(models, "calibrated").matrix()
    assert np.isfinite(found).all()
    assert found[0, 1] == found[2, 3] == 0
    assert 0 < found[2, 4] < 0.1  # rounding
    assert found[2, 5] > 1e9
    assert found[0, 2] > 1e9


@pytest.mark.filterwarnings("ignore:semivariogram")
@pytest.mark.parametrize("clusterer", ["dbscan", "hdbscan", "optics"])
def test_constant_stretches_are_clustered_by_every_backend(backends, clusterer):
    X = np.repeat([[0.0, 0.0], [1.0, 5.0], [0.0, 0.0], [1 / 3, 0.1]], 40, axis=0)
    options = {"dissimilarity": "calibrated", "semivariogram": "empirical", "clusterer": clusterer, "min_samples": 5}
    options["eps"] = {"dbscan": 0.4, "hdbscan": 0.0, "optics": 0.4}[clusterer]
    found = [MCGTA(n_neighbors=6, **options).fit(X).labels_ for _ in backends()]
    for labels in found[1:]:
        np.testing.assert_array_equal(labels, found[0])
    inside = found[0][[10, 60, 100, 140]]
    assert inside[0] == inside[2]
    assert np.unique(inside).size == 3
    assert (inside >= 0).all()


# ------------------------------------------------------------------------------------------------------------- all of it


@pytest.fixture
def backends(monkeypatch):
    """Make fits of any size take each backend in turn."""

    def switch():
        yield "table"
        with config_context(table_rows=0):
            yield "tree"
            monkeypatch.setattr("mcgta.clustering.backend.MOST_OPEN_SHARE", -1.0)  # no bounds are good enough
            yield "tiled"

    return switch


def data(place):
    if place == "series":
        return make_series(500, n_clusters=3, separation=1.5, segment_lengths=(20, 40), random_state=1).X, {}
    regions = make_regions(450, n_clusters=3, random_state=2)
    return regions.X, {"positions": regions.positions}


@pytest.mark.filterwarnings("ignore:.* of 40 new observations are noise")
@pytest.mark.parametrize("place", ["series", "plane"])
@pytest.mark.parametrize(
    "options",
    [{}, {"clusterer": "hdbscan", "eps": 0.0}, {"clusterer": "optics"}, {"weights": "gaussian"}],
)
def test_every_backend_gives_the_same_fit(backends, place, options, tmp_path):
    X, where = data(place)
    fits, seen = [], []
    rng = np.random.default_rng(0)
    few = rng.choice(len(X), 40)
    asked = {"positions": where["positions"][few] + 0.001} if where else {}
    for name in backends():
        model = MCGTA(n_neighbors=20, **{"dissimilarity": "calibrated", "eps": 0.4, **options}).fit(X, **where)
        assert model.backend_.name == name
        model.save(tmp_path / name)
        again = load(tmp_path / name)
        new = X[few] + 0.01
        placed = again.predict(new, **asked, return_probabilities=True)
        seen.append((*placed, model.probabilities_, model.labels_, model.refit(eps="auto").labels_))
        fits.append(model)
    for other in seen[1:]:
        for one, two in zip(seen[0], other, strict=True):
            np.testing.assert_array_equal(two, one)
    assert fits[0].n_clusters_ > 0
    assert fits[0].refit(clusterer="dbscan", eps="auto").eps_ == 0.4


def test_labels_are_those_of_scikit_learn_on_the_plain_table():
    X, _ = data("series")
    model = MCGTA(n_neighbors=20, dissimilarity="calibrated", eps=0.5, beta=0.0, min_samples=10).fit(X[:200])
    theirs = DBSCAN(eps=0.5, min_samples=10, metric="precomputed").fit(naive_table(model.local_models_))
    np.testing.assert_array_equal(model.labels_, number_by_first_member(theirs.labels_))
    assert model.n_clusters_ > 0


def test_p_values_are_those_of_the_plain_dissimilarity():
    X, _ = data("series")
    plain, units = (
        MCGTA(n_neighbors=15, dissimilarity=kind, eps=0.4).fit(X) for kind in ("wasserstein2", "calibrated")
    )
    i, j = np.random.default_rng(0).integers(0, 500, (2, 1000))
    np.testing.assert_allclose(units.p_value(i, j), plain.p_value(i, j), atol=1e-3)
    level = units.refit(eps="5%")
    assert level.eps_ == pytest.approx(plain.refit(eps="5%").eps_ / np.median(plain.local_models_.chance))
    assert level.eps_ == float(units.fitted_.derived.significance.null.quantile(0.95))


def test_features_in_another_unit_get_the_same_labels():
    X, _ = data("series")
    fits = [
        MCGTA(n_neighbors=15, dissimilarity="calibrated", covariance="empirical", margin="5%", eps="30%").fit(scale * X)
        for scale in (1.0, 1024.0)
    ]
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
    assert fits[0].eps_ == pytest.approx(fits[1].eps_)
    assert fits[0].margin_ == pytest.approx(fits[1].margin_)


@pytest.mark.parametrize("seed", [1, 2])
def test_one_radius_serves_loud_and_quiet_states(seed):
    """Four states whose standard deviations go from 1 to 30; the radius of the median one suits few of them."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(rng.permutation(np.arange(24) % 4), 50)
    means, loudness = 3 * rng.normal(size=(4, 3)), np.geomspace(1, 30, 4)
    X = (rng.normal(size=(1200, 3)) + means[truth]) * loudness[truth, None]
    plain, units = (
        adjusted_rand_score(truth, MCGTA(n_neighbors=20, dissimilarity=kind, eps="50%").fit(X).labels_)
        for kind in ("wasserstein2", "calibrated")
    )
    assert units > 0.55
    assert units > plain + 0.1


@pytest.mark.parametrize("scales", [0.0, 0.3, 1.5])
def test_a_sampled_semivariogram_is_that_of_all_pairs_within_its_errors(scales, monkeypatch):
    monkeypatch.setattr(empirical, "ALL_PAIRS_ROWS", 0)
    compared, places = compare_models(random_models(5, 700, scales=scales), "calibrated"), read_positions(None, 700)
    found, exact = (empirical_semivariogram(compared, places, bins=8, error=error) for error in (5e-2, 0.0))
    assert (found.errors[found.counts > 10_000] > 0).all()
    assert (found.errors <= 0.07 * found.values).all()
    assert (np.abs(found.values - exact.values) <= 5 * found.errors + 1e-9 * exact.values).all()


def test_models_that_do_not_tell_their_sizes_are_refused():
    models = random_models(2)
    with pytest.raises(ValueError, match="do not tell their sizes"):
        compare_models(LocalModels(models.means, models.covariances), "calibrated")


def test_the_choice_of_backend_knows_its_bounds():
    choose = partial(choose_backend, 5000, clusterer=get_clusterer("dbscan"), measured=True, fits=True)
    assert choose(dissimilarity=get_dissimilarity("calibrated")).name == "tree"
    assert choose(dissimilarity=get_dissimilarity("kl")).name == "table"
