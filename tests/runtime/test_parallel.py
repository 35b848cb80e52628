"""Running on threads: order, BLAS, and rows that do not exist."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from builders.work import on_threads
from mcgta import read_positions
from mcgta.runtime.parallel import run
from mcgta.stages import compare_models, find_neighborhoods, fit_local_models
from mcgta.stages.neighborhoods import Neighborhoods


def blas_threads():
    return sorted(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")


def test_results_come_in_the_order_of_the_tasks():
    assert on_threads(4, lambda: list(run(lambda k: k * k, range(50)))) == [k * k for k in range(50)]


def test_blas_has_one_thread_during_the_work_and_its_own_again_afterwards():
    before = blas_threads()
    during = on_threads(2, lambda: list(run(lambda _: blas_threads(), range(4))))
    assert all(threads == [1] * len(before) for threads in during)
    assert blas_threads() == before


def test_overlapping_runs_give_blas_back():
    before = blas_threads()
    with ThreadPoolExecutor(4) as pool:
        list(
            pool.map(lambda _: [on_threads(2, lambda: list(run(lambda k: k, range(20)))) for _ in range(10)], range(4))
        )
    assert blas_threads() == before


def test_an_error_in_a_task_is_raised_and_blas_given_back():
    before = blas_threads()
    with pytest.raises(ZeroDivisionError):
        on_threads(2, lambda: list(run(lambda k: 1 // (k - 3), range(9))))
    assert blas_threads() == before


def models():
    X = np.random.default_rng(0).normal(size=(60, 4))
    return X, fit_local_models(X, find_neighborhoods(read_positions(None, 60), 12))


@pytest.mark.parametrize("kind", ["wasserstein2", "kl"])
@pytest.mark.parametrize("row", [-1, 60, 10**6])
def test_rows_that_do_not_exist_are_refused_before_a_kernel_reads_them(kind, row):
    compared = compare_models(models()[1], kind)
    with pytest.raises(IndexError, match="of 60"):
        compared.of_pairs(np.array([row]), np.array([0]))


@pytest.mark.parametrize("weights", ["uniform", "gaussian"])
def test_neighbourhoods_of_other_observations_are_refused(weights):
    X, _ = models()
    near = find_neighborhoods(read_positions(None, 500), 12, weights=weights)
    with pytest.raises(ValueError, match="neighborhoods names row 499, but X has 60 rows"):
        fit_local_models(X, near)


def test_neighbourhoods_of_no_row_are_refused():
    near = find_neighborhoods(read_positions(None, 20), 5)
    with pytest.raises(ValueError, match="indices holds -7"):
        Neighborhoods(near.centers, np.where(near.indices == 0, -7, near.indices), near.distances, near.weights)


def test_a_dissimilarity_can_be_pickled():
    compared = compare_models(models()[1])
    again = pickle.loads(pickle.dumps(compared))
    np.testing.assert_array_equal(again.matrix(), compared.matrix())
