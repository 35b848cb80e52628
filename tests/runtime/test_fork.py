"""Children forked while other threads are at work: they begin with free locks and their own BLAS."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mcgta

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

# Each program forks while another thread is in the midst of something, and prints what the child answers; null for silence.
BEGIN = """
import json, multiprocessing, sys, threading, time
import numpy as np
from threadpoolctl import ThreadpoolController, threadpool_info
from mcgta.runtime import parallel, progress
from mcgta.runtime.parallel import run, threads

context = multiprocessing.get_context("fork")
busy = threading.Event()
answers = context.SimpleQueue()

def ask_child(function):
    child = context.Process(target=lambda: answers.put(function()), daemon=True)
    child.start()
    child.join(60)
    return None if child.is_alive() else answers.get()

def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

def in_thread(function, *args):
    threading.Thread(target=function, args=args, daemon=True).start()
    busy.wait()
"""


def answer(program: str):
    command = [sys.executable, "-W", "ignore", "-c", BEGIN + program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_child_forked_while_another_thread_limits_blas_runs_tasks():
    program = """
limit = ThreadpoolController.limit

def slowly(self, **limits):
    busy.set()
    time.sleep(0.5)
    return limit(self, **limits)

ThreadpoolController.limit = slowly
in_thread(lambda: list(run(abs, [1])))
json.dump(ask_child(lambda: list(run(abs, [-1, -2]))), sys.stdout)
"""
    assert answer(program) == [1, 2]


def test_a_child_forked_during_a_run_has_its_blas_back_and_limits_it_again():
    program = """
before = blas_threads()

def task(_):
    busy.set()
    time.sleep(2)

def in_child():
    first = blas_threads()
    during = list(run(lambda _: blas_threads(), [0]))[0]
    return [first, during, blas_threads()]

in_thread(lambda: list(run(task, [0])))
json.dump([before, *ask_child(in_child)], sys.stdout)
"""
    before, first, during, after = answer(program)
    assert first == before
    assert during == [1] * len(before)
    assert after == before


def test_a_child_forked_within_a_task_leaves_the_count_of_users_right():
    program = """
def task(_):
    def in_child():
        list(run(abs, [1]))
        return list(run(lambda _: blas_threads(), [0]))[0]
    return ask_child(in_child)

with threads(1):
    first = list(run(task, [0]))[0]
json.dump([first, blas_threads(), list(run(lambda _: blas_threads(), [0]))[0]], sys.stdout)
"""
    child, after, again = answer(program)
    assert child == again == [1] * len(after)


def test_a_child_forked_while_another_thread_draws_a_bar_reports_too():
    program = """
import io

class Slow(io.StringIO):
    def write(self, text):
        busy.set()
        if threading.current_thread() is not threading.main_thread():
            time.sleep(1)
        return super().write(text)

lines = progress.Progress(True, Slow())
in_thread(lines.note, "slowly")

def in_child():
    with lines.stage("in the child", 1) as advance:
        advance(1)
    return "done"

json.dump(ask_child(in_child), sys.stdout)
"""
    assert answer(program) == "done"


def test_a_child_forked_while_another_thread_computes_a_cached_property_computes_it_too():
    program = """
from mcgta.runtime.cached import cached_property

class Slow:
    @cached_property
    def value(self):
        busy.set()
        if threading.current_thread() is not threading.main_thread():
            time.sleep(5)
        return 7

in_thread(lambda: Slow().value)
json.dump(ask_child(lambda: Slow().value), sys.stdout)
"""
    assert answer(program) == 7


def test_no_module_uses_the_cached_property_that_locks():
    sources = Path(mcgta.__file__).parent.rglob("*.py")
    assert [path.name for path in sources if "functools import cached_property" in path.read_text()] == []


@pytest.mark.slow
def test_children_forked_at_any_time_of_a_fit_fit_too():
    program = """
from mcgta import MCGTA
X = np.random.default_rng(0).normal(size=(60, 2)).cumsum(axis=0)

def fit(n_jobs):
    return MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical", n_jobs=n_jobs).fit(X).labels_.tolist()

def fit_on():
    while True:
        fit(2)
        busy.set()

expected = fit(1)
in_thread(fit_on)
json.dump([ask_child(lambda: fit(2)) == expected for _ in range(8) if not time.sleep(0.013)], sys.stdout)
"""
    assert answer(program) == [True] * 8
