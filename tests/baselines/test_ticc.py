"""TICC: segments of series that are Markov random fields across time."""

from __future__ import annotations

import itertools
import random
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from mcgta.baselines import inverse_covariance
from mcgta.baselines.inverse_covariance import Clusters, ObjectiveWarning, Problem, alternate, start_labels
from mcgta.baselines.ticc import TICC, Chain, FastTICC, Windows
from mcgta.baselines.toeplitz_lasso import ToeplitzFit, toeplitz_lasso
from mcgta.runtime.types import Array, Index, Labels


def random_field(width: int, d: int, length: int, rng: np.random.Generator) -> Array:
    """Precision of ``length`` rows of a random block-Toeplitz Markov random field that reaches ``width`` - 1 rows."""
    out = np.zeros((length * d, length * d))
    for lag in range(width):
        block = rng.uniform(0.3, 0.6, (d, d)) * rng.choice([-1, 1], (d, d)) * (rng.random((d, d)) < 0.2)
        if lag == 0:
            block = np.triu(block, 1) + np.triu(block, 1).T
        for a in range(length - lag):
            b = a + lag
            out[a * d : (a + 1) * d, b * d : (b + 1) * d] = block
            out[b * d : (b + 1) * d, a * d : (a + 1) * d] = block.T
    return np.asarray(out + (0.03 - np.linalg.eigvalsh(out)[0]) * np.eye(length * d))


def segments(
    states: tuple[int, ...] = (0, 1, 0, 2, 1, 2), *, length: int = 80, width: int = 3, d: int = 4, seed: int = 0
) -> tuple[Array, Labels]:
    """Segments of mean 0 that differ in dependence only, the kind of data of the TICC paper."""
    rng = np.random.default_rng(seed)
    with threadpool_limits(limits=1):
        roots = [np.linalg.cholesky(random_field(width, d, length, rng)) for _ in range(max(states) + 1)]
        parts = [np.linalg.solve(roots[k].T, rng.normal(size=length * d)).reshape(length, d) for k in states]
    return np.concatenate(parts), np.repeat(states, length)


def problem_of(X: Array, model: TICC | FastTICC) -> tuple[Problem, Windows]:
    windows = Windows.of([np.arange(len(X))], model.window)
    rows = X[windows.members].reshape(len(windows.members), -1)
    return Problem(rows, model.window, model.n_clusters, model.sparsity, Chain(windows.first, model.beta)), windows


def least_objective(X: Array, model: TICC | FastTICC) -> float:
    """The objective of a model's labels with the best clusters for them."""
    problem, windows = problem_of(X, model)
    labels = np.unique(model.labels_[windows.members[:, (model.window - 1) // 2]], return_inverse=True)[1]
    return problem.objective(labels, problem.clusters(labels))


def test_segments_that_differ_in_dependence_are_found() -> None:
    X, y = segments(length=120, seed=1)
    model = TICC(3, window=3, beta=20, sparsity=0.03, n_init=3).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert model.n_clusters_ == 3
    assert model.converged_
    assert model.gap_ < 1e-5
    assert least_objective(X, model) == pytest.approx(model.objective_[-1], rel=1e-6)


def test_it_agrees_with_fast_ticc() -> None:
    X, y = segments(length=120, seed=2)
    ours = TICC(3, window=3, beta=20, sparsity=0.03, n_init=3).fit(X)
    theirs = FastTICC(3, window=3, beta=20, sparsity=0.03).fit(X)
    assert adjusted_rand_score(y, theirs.labels_) > 0.95
    assert adjusted_rand_score(ours.labels_, theirs.labels_) > 0.99
    assert least_objective(X, ours) <= least_objective(X, theirs) + 1e-3


def test_where_fast_ticc_stops_short_of_the_segments_so_do_we_if_we_start_there() -> None:
    """Where it settles there is little to gain for us; that our start leads on is another matter."""
    X, y = segments(length=120, seed=1)
    theirs = FastTICC(3, window=3, beta=20, sparsity=0.03).fit(X)
    assert adjusted_rand_score(y, theirs.labels_) < 0.6
    problem, windows = problem_of(X, theirs)
    start = theirs.labels_[windows.members[:, 1]]
    found = alternate(problem, start, max_iter=100, tol=0.0)
    assert adjusted_rand_score(start, found.labels) > 0.95
    ours = TICC(3, window=3, beta=20, sparsity=0.03, n_init=3).fit(X)
    assert ours.objective_[-1] < found.objective[-1] <= least_objective(X, theirs) + 1e-6


def test_dependence_across_time_tells_more_than_rows_do() -> None:
    """Two states whose single rows have one distribution: only windows tell them apart."""
    rng = np.random.default_rng(0)
    parts = []
    for phi in (0.8, -0.8, 0.8, -0.8):
        x = [rng.normal()]
        for _ in range(149):
            x.append(phi * x[-1] + np.sqrt(1 - phi**2) * rng.normal())
        parts.append(np.array(x))
    X, y = np.concatenate(parts)[:, None], np.repeat([0, 1, 0, 1], 150)
    assert adjusted_rand_score(y, TICC(2, window=2, beta=10).fit_predict(X)) > 0.9
    assert adjusted_rand_score(y, TICC(2, window=1, beta=10).fit_predict(X)) < 0.2


def test_a_greater_beta_makes_segments_longer() -> None:
    X, _ = segments()
    switches = [np.count_nonzero(np.diff(TICC(3, window=2, beta=beta).fit_predict(X))) for beta in (0, 2, 10, 1e6)]
    assert switches == sorted(switches, reverse=True)
    assert switches[0] > 50
    assert switches[1] < switches[0]
    assert switches[-1] == 0


def test_without_beta_each_window_has_the_cluster_that_suits_it_best() -> None:
    X, _ = segments()
    model = TICC(3, window=3, beta=0).fit(X)
    problem, windows = problem_of(X, model)
    best = Clusters(model.means_, model.precisions_, 0.0).costs(problem.rows).argmin(axis=1)
    assert (best == model.labels_[windows.members[:, 1]]).mean() > 0.999


def naive_best(costs: Array, first: Array, beta: float) -> float:
    rows, size = costs.shape
    return min(
        sum(costs[t, z[t]] + (beta if t and not first[t] and z[t] != z[t - 1] else 0.0) for t in range(rows))
        for z in itertools.product(range(size), repeat=rows)
    )


@given(st.integers(1, 7), st.integers(1, 3), st.floats(0, 3), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_labels_are_the_best_of_all(rows: int, size: int, beta: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs, first = rng.normal(size=(rows, size)), rng.random(rows) < 0.3
    first[0] = True
    chain = Chain(first, beta)
    labels = chain.best(costs)
    found = costs[np.arange(rows), labels].sum() + chain.price(labels)
    assert found == pytest.approx(naive_best(costs, first, beta), abs=1e-9)


@given(
    st.integers(0, 10**6),
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from([0.0, 1.0, 20.0]),
    st.floats(0.005, 1.0),
)
@settings(max_examples=20, deadline=None)
def test_the_objective_never_increases(seed: int, n_clusters: int, window: int, beta: float, sparsity: float) -> None:
    X, _ = segments((0, 1, 0), length=30, width=2, d=2, seed=seed % 50)
    init = ("gmm", "kmeans")[seed % 2]
    model = TICC(n_clusters, window=window, beta=beta, sparsity=sparsity, init=init, random_state=seed).fit(X)
    assert (np.diff(model.objective_) <= 1e-7 * np.abs(model.objective_[0])).all()
    assert model.n_iter_ == len(model.objective_) - 1
    assert model.n_clusters_ == len(model.means_) == len(model.precisions_) <= n_clusters


@dataclass(frozen=True, eq=False)
class Contrary:
    """Labels that are the worst, for once."""

    def best(self, costs: Array) -> Labels:
        return np.asarray(costs.argmax(axis=1))

    def price(self, labels: Labels) -> float:
        return 0.0


def test_an_objective_that_increases_is_warned_of_and_the_best_labels_are_kept() -> None:
    X, y = segments(length=30)
    X = X + 9.0 * y[:, None]
    problem = Problem(X, 1, 3, 0.1, Contrary())
    start = start_labels(X, 3, "kmeans", 0)
    with pytest.warns(ObjectiveWarning, match="the objective has increased"):
        found = alternate(problem, start, max_iter=1, tol=0.0)
    np.testing.assert_array_equal(found.labels, start)
    assert found.objective[1] > found.objective[0]


def test_a_precision_that_would_be_worse_than_before_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that stops after one turn spoils the best precision, but is better than one out of all proportion."""
    X, y = segments((0, 1), length=60)
    problem = Problem(X, 1, 2, 0.1, Chain(np.arange(len(X)) == 0, 0.0))
    best = problem.clusters(y).precisions
    before = np.stack([best[0], 1e4 * np.eye(4)])

    def lazy(covariances: Array, penalties: Array, width: int, *, start: Array) -> ToeplitzFit:
        return toeplitz_lasso(covariances, penalties, width, max_iter=1)

    monkeypatch.setattr(inverse_covariance, "toeplitz_lasso", lazy)
    found = problem.clusters(y, before).precisions
    np.testing.assert_array_equal(found[0], best[0])
    assert not np.array_equal(found[1], before[1])
    assert not np.array_equal(problem.clusters(y).precisions[0], best[0])


def test_the_best_of_several_runs_is_kept() -> None:
    X, _ = segments((0, 1, 2, 3, 0, 1), length=40, seed=3)
    least = [TICC(4, window=2, beta=5, n_init=n).fit(X).objective_[-1] for n in (1, 6)]
    assert least[1] <= least[0]


def test_clusters_that_die_out_stay_so() -> None:
    X, _ = segments((0,), length=60)
    model = TICC(4, window=2, beta=500).fit(X)
    assert model.n_clusters_ < 4
    assert model.precisions_.shape[0] == model.n_clusters_


def test_clusters_are_numbered_as_labels_are() -> None:
    X, y = segments()
    X = X + 3.0 * y[:, None]
    turned = np.arange(len(X))[::-1]
    model = TICC(3, window=1, beta=5).fit(X[turned], positions=turned.astype(float))
    own = [X[turned][model.labels_ == k].mean(axis=0) for k in range(3)]
    np.testing.assert_allclose(model.means_, own)


@pytest.mark.parametrize("make", [TICC, FastTICC])
def test_the_order_of_rows_does_not_change_labels(make: type[TICC] | type[FastTICC]) -> None:
    X, _ = segments(length=40)
    t = np.arange(len(X), dtype=float)
    groups = np.repeat(["a", "b"], len(X) // 2)
    order = np.random.default_rng(1).permutation(len(X))
    plain = make(3, window=3, beta=10).fit(X, positions=t, groups=groups).labels_
    mixed = make(3, window=3, beta=10).fit(X[order], positions=t[order], groups=groups[order]).labels_
    assert adjusted_rand_score(plain[order], mixed) == 1.0


@given(st.lists(st.integers(1, 12), min_size=1, max_size=5), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_windows_stay_within_groups_and_every_row_of_a_long_one_gets_a_label(sizes: list[int], width: int) -> None:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    series: list[Index] = [np.flatnonzero(codes == code) for code in range(len(sizes))]
    windows = Windows.of(series, width)
    assert (codes[windows.members] == codes[windows.members[:, :1]]).all()
    assert len(windows.members) == sum(max(size - width + 1, 0) for size in sizes)
    assert windows.first.sum() == sum(size >= width for size in sizes)
    middle = windows.members[:, (width - 1) // 2]
    out = windows.spread(np.arange(len(windows.members)), codes.size)
    np.testing.assert_array_equal(out[middle], np.arange(len(middle)))
    for row in range(codes.size):
        if sizes[codes[row]] < width:
            assert out[row] == -1
        else:
            near = [m for m in range(len(middle)) if codes[middle[m]] == codes[row]]
            assert out[row] == min(near, key=lambda m: abs(middle[m] - row))


@pytest.mark.parametrize("make", [TICC, FastTICC])
def test_a_switch_between_groups_costs_nothing(make: type[TICC] | type[FastTICC]) -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(4, 1, (40, 2))] * 2)
    groups = np.repeat([0, 1, 2, 3], 40)
    assert make(2, window=2, beta=1e5).fit(X, groups=groups).labels_.tolist() == np.repeat([0, 1, 0, 1], 40).tolist()
    assert np.unique(make(2, window=2, beta=1e5).fit(X).labels_).size == 1


def test_a_group_shorter_than_a_window_gets_the_cluster_that_suits_it() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(6, 1, (40, 2)), rng.normal(6, 1, (2, 2))])
    labels = TICC(2, window=4, beta=10).fit(X, groups=np.repeat([0, 1, 2], [40, 40, 2])).labels_
    assert labels[-2:].tolist() == [1, 1]
    assert labels[0] == 0


@pytest.mark.parametrize("make", [TICC, FastTICC])
def test_the_same_seed_gives_the_same_labels(make: type[TICC] | type[FastTICC]) -> None:
    X, _ = segments(length=30, seed=2)
    a, b = (make(3, window=2, beta=3, random_state=5).fit_predict(X) for _ in range(2))
    np.testing.assert_array_equal(a, b)


def test_fast_ticc_leaves_the_global_generators_and_the_screen_alone(capsys: pytest.CaptureFixture[str]) -> None:
    X, _ = segments(length=30)
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002 - what the package would disturb
    expected = random.random(), np.random.random()  # noqa: NPY002
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002
    FastTICC(2, window=2).fit(X)
    assert (random.random(), np.random.random()) == expected  # noqa: NPY002
    assert capsys.readouterr().out == ""


def test_fast_ticc_that_is_missing_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fast_ticc", None)
    with pytest.raises(ImportError, match=r"FastTICC needs fast-ticc: pip install 'mcgta\[baselines\]'"):
        FastTICC(2).fit(segments(length=30)[0])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0 is not allowed: n_clusters must be an integer >= 1"),
        ({"window": 0}, "window=0 is not allowed: window must be an integer >= 1"),
        ({"window": 31}, "window=31 but the longest series has only 30 rows"),
        ({"window": 29}, "n_clusters=3 but there are only 2 complete windows of window=29 rows"),
        ({"beta": -1.0}, "beta=-1.0 is not allowed: beta must be a number >= 0"),
        ({"beta": "auto"}, "beta='auto' is not allowed"),
        ({"sparsity": 0.0}, "sparsity=0.0 is not allowed: sparsity must be a number > 0"),
        ({"init": "random"}, "init='random' is not allowed: init must be one of 'gmm', 'kmeans'"),
        ({"max_iter": 0}, "max_iter=0 is not allowed"),
        ({"n_init": 0}, "n_init=0 is not allowed"),
    ],
)
def test_bad_parameters_are_named(params: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        TICC(**params).fit(segments((0,), length=30)[0])  # type: ignore[arg-type]


def test_positions_that_are_not_times_are_refused() -> None:
    X = segments((0,), length=30)[0]
    with pytest.raises(ValueError, match="positions are of metric 'euclidean', but TICC works on 'time' only"):
        TICC().fit(X, positions=X[:, :2])


def test_a_run_that_is_cut_short_says_so() -> None:
    X, _ = segments()
    with pytest.warns(ConvergenceWarning, match="labels still changed after max_iter=1 iterations"):
        model = TICC(3, window=3, beta=0, max_iter=1).fit(X)
    assert not model.converged_
    assert model.n_iter_ == 1


def test_precisions_that_miss_the_best_ones_are_warned_of() -> None:
    """Three copies of a feature have a singular covariance, and next to no penalty makes up for it."""
    X = np.repeat(np.random.default_rng(0).normal(size=(40, 1)), 3, axis=1)
    with pytest.warns(ConvergenceWarning, match="a larger sparsity would help"):
        model = TICC(1, window=2, sparsity=1e-9, n_init=1, max_iter=2).fit(X)
    assert model.gap_ > 1e-3


def test_where_fast_ticc_fails_it_is_said_with_what() -> None:
    X, _ = segments((0,), length=60)
    with pytest.raises(ValueError, match="fast-ticc failed with n_clusters=1 on 59 windows of window=2 rows"):
        FastTICC(1, window=2).fit(X)


def test_an_origin_far_away_changes_nothing() -> None:
    """Features are whole numbers, so that a shift of them loses nothing."""
    X, _ = segments(length=60)
    X = np.round(100 * X)
    near, far = (TICC(3, window=2, beta=5, sparsity=100.0).fit(X + shift) for shift in (0.0, 2.0**46))
    np.testing.assert_array_equal(near.labels_, far.labels_)
    np.testing.assert_allclose(far.objective_, near.objective_, rtol=1e-12)
    np.testing.assert_allclose(far.means_ - 2.0**46, near.means_, atol=0.1)
