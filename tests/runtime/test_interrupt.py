"""Ctrl-C: it stops a fit soon, begins nothing new, and leaves files whole."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import mcgta
from builders.work import on_threads
from mcgta import MCGTA
from mcgta.runtime import archive, parallel
from mcgta.runtime.config import Config
from mcgta.runtime.parallel import run
from mcgta.stages import LocalModels

BEYOND = Config.table_rows + 1  # observations: the fewest that are not put into a table
SOON = 2.0  # seconds; a second is promised, and the machine may be busy

FIT = """
import gc, numpy as np
from mcgta import MCGTA, config_context
from mcgta.kernels.simd import compiled
X = np.random.default_rng(0).normal(size=({count}, {d}))
said = []
def tell(stage, share):
    if stage == {stage!r} and share == 0 and not said:
        said.append(stage)
        print("begun", flush=True)
options = dict(n_neighbors=30, n_jobs={n_jobs}, **{options})
def refuse(function, *_, **__):
    raise RuntimeError(f"{{function.__name__}} is not compiled by the fit of {warm}")
# The compiler's objects have destructors, in which an interrupt would be lost: nothing is compiled, loaded or left of it later.
with config_context(max_memory={memory!r}):
    MCGTA(**options).fit(X[:{warm}])
    compiled._compile = refuse
    gc.collect()
    try:
        while True:  # a fast machine may be through the stage, or the fit, before the interrupt comes
            MCGTA(**options, progress=tell).fit(X)
    except KeyboardInterrupt:
        print("stopped", flush=True)
        raise
"""

SAVE = """
import sys, numpy as np, mcgta
from mcgta.stages import LocalModels
model = mcgta.load(sys.argv[1])
models = LocalModels(np.zeros((400_000, 8)), np.zeros((400_000, 8, 8)))
print("begun", flush=True)
try:
    while True:
        models.save(sys.argv[1])
except KeyboardInterrupt:
    print("stopped", flush=True)
    raise
"""


def interrupted(code, *args, after):
    """Run a script, press Ctrl-C some time after it says that it has begun; return its status and how long it took to stop."""
    command = [sys.executable, "-W", "ignore", "-c", code, *map(str, args)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            said = child.stdout.readline()
            assert said == "begun\n", said or child.stderr.read()
            time.sleep(after)
            begun = time.perf_counter()
            child.send_signal(signal.SIGINT)
            said = child.stdout.readline()
            took = time.perf_counter() - begun
            _, err = child.communicate(timeout=60)
            assert said == "stopped\n", err
            return child.returncode, took
        finally:
            child.kill()


posix = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise")


@posix
@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    ("stage", "count", "warm", "d", "memory", "options"),  # a fit of as many as `warm` goes the same way
    [
        ("dissimilarity", 2000, 60, 20, "auto", {"eps": 1.0}),
        ("core rows", 12000, BEYOND, 10, "auto", {"eps": 1.0}),
        ("core rows", 700, 270, 3, "3MB", {"eps": 1.0, "dissimilarity": "js"}),
        ("spanning tree", 100_000, BEYOND, 3, "auto", {"clusterer": "hdbscan", "eps": 0.0}),
        ("ordering", 40_000, BEYOND, 3, "auto", {"clusterer": "optics", "eps": 1.0}),
        ("local models", 8000, 60, 30, "auto", {"eps": 1.0}),
        ("search", 4000, BEYOND, 5, "auto", {}),
        ("settings", 4000, BEYOND, 5, "auto", {"refine": "none"}),
        ("local models", 3000, 60, 4, "auto", {"eps": 1.0, "covariance": "min_cov_det"}),
    ],
)
def test_an_interrupt_stops_a_fit_soon(n_jobs, stage, count, warm, d, memory, options):
    code = FIT.format(n_jobs=n_jobs, stage=stage, count=count, warm=warm, d=d, memory=memory, options=options)
    status, took = interrupted(code, after=0.3)
    assert status == -signal.SIGINT
    assert took < SOON


@posix
@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("after", [0.05, 0.3, 0.7])
def test_an_interrupt_while_saving_leaves_a_whole_file_and_no_other(tmp_path, series, after):
    path = tmp_path / "model.mcgta"
    MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical").fit(series.X).save(path)
    status, took = interrupted(SAVE, path, after=after)
    assert status == -signal.SIGINT
    assert took < SOON
    assert [found.name for found in tmp_path.iterdir()] == ["model.mcgta"]
    assert isinstance(mcgta.load(path), (MCGTA, LocalModels))


@pytest.mark.parametrize("where", ["write_array", "replace"])
def test_an_interrupt_before_a_file_is_complete_leaves_the_one_before(tmp_path, series, monkeypatch, where):
    path = tmp_path / "model.mcgta"
    model = MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical").fit(series.X)
    model.save(path)
    before = path.read_bytes()

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(archive.npy if where == "write_array" else archive.os, where, interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.refit(beta=3.0).save(path)
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["model.mcgta"]


def test_an_interrupted_fit_leaves_the_fit_before_it_and_can_be_done_again(series, monkeypatch):
    model = MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical", n_jobs=2).fit(series.X)
    labels = model.labels_

    def interrupt(stage, share):
        if stage == "loss":
            raise KeyboardInterrupt

    model.set_params(progress=interrupt, beta=3.0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(series.X)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_array_equal(model.predict(series.X), labels)
    again = model.set_params(progress=False, beta=1.0).fit(series.X)
    np.testing.assert_array_equal(again.labels_, labels)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_nothing_is_begun_after_an_interrupt_in_a_task(n_jobs):
    begun, caller = [], threading.main_thread()

    def work(task):
        begun.append(task)
        if threading.current_thread() is caller:
            raise KeyboardInterrupt
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        on_threads(n_jobs, lambda: list(run(work, range(1000))))
    number = len(begun)
    time.sleep(0.1)
    assert len(begun) == number < 100


def test_nothing_is_begun_after_an_interrupt_between_tasks():
    begun = []

    def work(task):
        begun.append(task)
        time.sleep(0.01)

    def consume():
        for _ in on_threads(2, lambda: run(work, range(1000))):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        consume()
    number = len(begun)
    time.sleep(0.1)
    assert len(begun) == number < 100


def test_an_interrupt_does_not_wait_for_a_task_that_takes_long(monkeypatch):
    monkeypatch.setattr(parallel, "_INTERRUPT_SECONDS", 0.05)
    free, caller = threading.Event(), threading.main_thread()

    def work(task):
        if threading.current_thread() is caller:
            raise KeyboardInterrupt
        free.wait(30)

    begun = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        on_threads(2, lambda: list(run(work, range(4))))
    free.set()
    assert time.perf_counter() - begun < 10
    assert on_threads(2, lambda: list(run(lambda k: k, range(8)))) == list(range(8))


def test_an_error_that_only_ends_threads_reaches_the_caller():
    def work(task):
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        on_threads(2, lambda: list(run(work, range(4))))
