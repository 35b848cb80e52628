"""How much models of one Gaussian differ by chance, against a simulation in plain loops."""

import numpy as np
import pytest
from scipy import stats

from builders.work import on_threads
from mcgta import load, read_positions
from mcgta.inference.null_distribution import NullDistribution, draw_null
from mcgta.kernels.gaussians.calibration import chance
from mcgta.stages import find_neighborhoods
from mcgta.stages.local_models import LocalModels
from mcgta.stages.shared_neighbors import overlaps
from naive import algorithm as naive


def simulate(cov, n, *, covariance="empirical", alpha=0.01, weights="uniform", rows=200, seed=3):
    """The null distribution of a series of models with one covariance."""
    near = find_neighborhoods(read_positions(None, rows), n, weights=weights)
    models = LocalModels(np.zeros((rows, len(cov))), np.tile(cov, (rows, 1, 1)), sizes=near.sizes)
    return draw_null(models, near, covariance=covariance, alpha=alpha, random_state=seed)


# -------------------------------------------------------------------------------------------- overlap of neighbourhoods


@pytest.mark.parametrize("weights", ["uniform", "triangular", "gaussian"])
@pytest.mark.parametrize("place", ["steps", "irregular", "plane"])
def test_overlaps_are_those_of_counting(weights, place):
    rng = np.random.default_rng(1)
    positions = {"steps": None, "irregular": np.cumsum(rng.exponential(size=60)), "plane": rng.uniform(size=(60, 2))}
    places = read_positions(positions[place], 60, groups=None if place == "plane" else np.repeat([0, 1], 30))
    near = find_neighborhoods(places, 8, weights=weights)
    i, j = (part.ravel() for part in np.mgrid[:60, :60])
    found = overlaps(near, i, j)
    indices, weight = near.part(slice(None))
    expected = [naive.overlap(indices[a], weight[a], indices[b], weight[b]) for a, b in zip(i, j, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert (found[i == j] == 1).all()
    few = rng.permutation(60)[:20]
    np.testing.assert_allclose(
        overlaps(near.take(few), *np.triu_indices(20)), found.reshape(60, 60)[np.ix_(few, few)][np.triu_indices(20)]
    )


# -------------------------------------------------------------------------------------------------- the distribution


@pytest.mark.parametrize("share", [0.0, 0.5, 0.8])
def test_what_is_shared_lessens_the_expectation_in_proportion(share):
    """E W = (1 - o) c to first order, which the ratio has divided by."""
    n = 60
    found = naive.simulated_ratios(np.array([[2.0, 0.3], [0.3, 0.5]]), n, int(share * n), 600, seed=1)
    assert found.mean() == pytest.approx(1.0, abs=0.03 + 4 * found.std() / np.sqrt(found.size))


@pytest.mark.parametrize(("d", "n", "shared"), [(1, 20, 0), (2, 20, 0), (2, 20, 10), (3, 12, 9), (3, 12, 11)])
def test_simulated_ratios_are_those_of_plain_loops(d, n, shared):
    cov = np.diag(np.linspace(0.5, 2.0, d)) + 0.2
    null = simulate(cov, n)
    slow = naive.simulated_ratios(cov, n, shared, 1500, seed=d)
    p_values = null.p_value(slow, shared / n)
    assert stats.kstest(p_values, "uniform").statistic < 0.055
    for level in (0.5, 0.95):
        beyond = np.mean(slow > null.quantile(level, shared / n))
        assert beyond == pytest.approx(1 - level, abs=0.045)


def test_the_fewer_are_not_shared_the_longer_is_the_tail():
    """Why there is a distribution for each overlap: that of disjoint samples would be passed three times too often."""
    null = simulate(np.diag(np.linspace(0.3, 3, 8)), 30)
    tails = null.quantile(0.95, null.overlaps)
    assert (np.diff(tails) > 0).all()
    assert np.mean(null.ratios[-1] > tails[0]) > 0.15


@pytest.mark.parametrize("covariance", ["graphical_lasso", "shrunk", "ledoit_wolf", "oas", "min_cov_det"])
def test_samples_are_fitted_as_the_models_were(covariance, monkeypatch):
    """Regularised covariances vary less, robust ones more, than the moments of the sample."""
    cov = np.diag([1.0, 2.0, 3.0])
    monkeypatch.setattr("mcgta.inference.null_distribution._FEWEST_PAIRS", 40)  # of the slow one
    null, plain = simulate(cov, 14, covariance=covariance, rows=40), simulate(cov, 14, rows=40)
    assert null.ratios.shape == ((3, 40) if covariance == "min_cov_det" else (5, 4120))
    if covariance == "min_cov_det":
        assert null.quantile(0.5) > plain.quantile(0.5)
    else:
        assert null.quantile(0.5) < plain.quantile(0.5)


def test_weights_make_samples_smaller_and_their_ratios_alike():
    cov = np.diag([1.0, 2.0])
    weighted = simulate(cov, 30, weights="triangular")
    assert weighted.ratios[0].mean() == pytest.approx(1.0, abs=0.12)
    assert weighted.quantile(0.95) == pytest.approx(float(simulate(cov, 30).quantile(0.95)), rel=0.1)


def test_the_ratios_depend_on_the_seed_alone():
    cov = np.diag([1.0, 2.0, 5.0])
    one, two, other = simulate(cov, 10), on_threads(2, lambda: simulate(cov, 10)), simulate(cov, 10, seed=4)
    np.testing.assert_array_equal(one.ratios, two.ratios)
    assert not np.array_equal(one.ratios, other.ratios)
    assert (one.overlaps == [0.0, 0.5, 0.7, 0.8, 0.9]).all()


def test_rotation_and_unit_do_not_change_the_ratios():
    cov = np.diag([1.0, 2.0, 5.0])
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    plain = simulate(cov, 10)
    for other in (turn @ cov @ turn.T, 1e-6 * cov, 1e8 * cov):
        np.testing.assert_allclose(simulate(other, 10).ratios, plain.ratios, rtol=1e-9)


def test_models_without_spread_do_not_differ_by_chance():
    null = simulate(np.zeros((2, 2)), 10)
    assert (null.ratios == 0).all()
    assert null.p_value(0.0) == 1
    assert null.quantile(0.95) == 0


# ----------------------------------------------------------------------------------------------------- the value object


def test_a_p_value_counts_what_was_simulated():
    null = NullDistribution(np.array([0.0, 0.5]), np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]))
    assert [float(null.p_value(x)) for x in (0, 1, 1.5, 3, 3.5, np.inf)] == [1, 1, 0.75, 0.5, 0.25, 0.25]
    assert null.p_value(3.0, 0.5) == 0.75
    assert null.p_value(3.0, 0.9) == 0.75  # beyond what was simulated, the last of it
    assert null.p_value(3.0, 1 - np.sqrt(0.5)) == pytest.approx(0.625)  # half way, in halvings
    assert null.p_value(9.0, 1.0) == 1
    np.testing.assert_array_equal(null.p_value(np.array([0.0, 3.0])[:, None], np.zeros(2)), [[1, 1], [0.5, 0.5]])
    assert null.quantile(0.5) == 2
    np.testing.assert_array_equal(null.quantile(np.array([0.5, 1.0]), np.array([0.0, 0.5])), [[2, 4], [3, 6]])


def test_a_null_distribution_survives_a_file(tmp_path):
    null = simulate(np.eye(2), 6)
    null.save(tmp_path / "null.mcgta")
    again = load(tmp_path / "null.mcgta")
    np.testing.assert_array_equal(again.ratios, null.ratios)
    np.testing.assert_array_equal(again.overlaps, null.overlaps)


@pytest.mark.parametrize(
    ("overlap", "ratios", "said"),
    [
        ([0.0], [[2.0, 1.0]], "ascending"),
        ([0.0], [[-1.0, 1.0]], ">= 0"),
        ([0.0], [[1.0, np.inf]], "numbers"),
        ([0.1], [[1.0]], "from 0"),
        ([0.0, 1.0], [[1.0], [1.0]], "below 1"),
        ([0.0, 0.5], [[1.0]], "do not fit together"),
    ],
)
def test_what_is_no_distribution_is_refused(overlap, ratios, said):
    with pytest.raises(ValueError, match=said):
        NullDistribution(np.array(overlap), np.array(ratios))


@pytest.mark.parametrize("d", [1, 2, 4])
def test_chance_is_the_formula_and_never_less_than_rounding(d):
    rng = np.random.default_rng(d)
    factors = rng.normal(size=(5, d, d))
    covs, means, sizes = factors @ np.swapaxes(factors, 1, 2), rng.normal(size=(5, d)), rng.uniform(5, 50, 5)
    expected = [naive.chance(cov, n) for cov, n in zip(covs, sizes, strict=True)]
    np.testing.assert_allclose(chance(means, covs, sizes), expected, rtol=1e-9)
    flat = chance(means, np.zeros_like(covs), sizes)
    assert (flat > 0).all()
    assert (flat < 1e-25).all()
    assert (chance(np.zeros_like(means), np.zeros_like(covs), sizes) == 0).all()
