"""Compiling on first use: once for a machine where a cache can be written, and right where it cannot be written or read."""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numba
import numpy as np
import pytest

import mcgta
from mcgta.kernels.gaussians import factors
from mcgta.kernels.simd import compiled

PACKAGE = Path(mcgta.__file__).parent
NOTICE = "mcgta: compiling"
FACTOR = [[2.0, 0.0], [1.0, 2.0]]

# Without what else the package imports, which takes longer than to compile.
KERNELS_ONLY = """
import json, sys, types
import numpy as np
sys.modules["mcgta"] = types.ModuleType("mcgta")
sys.modules["mcgta"].__path__ = [sys.argv[1]]
from mcgta.kernels.simd import compiled
from mcgta.kernels.gaussians import factors
cov = np.array([[[4.0, 2.0], [2.0, 5.0]]])
"""

PROGRAM = """
compiled._NOTICE_AFTER = float(sys.argv[2])
factor = factors.triangular_factors(cov)
stats = factors._cholesky.compile().stats
json.dump([factor[0].tolist(), sum(stats.cache_hits.values()), sum(stats.cache_misses.values())], sys.stdout)
"""

MODULE = """
from mcgta.kernels.simd.compiled import kernel

@kernel("float64(float64)")
def thrice(x):
    return 3.0 * x

@kernel("float64(float64)")
def half(x):
    return 0.5 * x
"""


def start(
    cache: Path, program: str = KERNELS_ONLY + PROGRAM, notice_after: float = 60.0, package: Path = PACKAGE, **env: str
) -> subprocess.Popen[str]:
    env = {**os.environ, "NUMBA_CACHE_DIR": str(cache), **env}
    command = [sys.executable, "-c", program, str(package), str(notice_after)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def result(process: subprocess.Popen[str]) -> tuple[list, str]:
    """What a program printed, and what it said on the side."""
    out, err = process.communicate()
    assert process.returncode == 0, err
    return json.loads(out), err


def files(folder: Path) -> dict[Path, tuple[int, bytes]]:
    found = [path for path in sorted(folder.rglob("*")) if path.suffix in (".nbi", ".nbc")]
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in found}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A cache that one process has filled, and what it said meanwhile."""
    cache = tmp_path_factory.mktemp("cache")
    (factor, hits, misses), said = result(start(cache, notice_after=0.0))
    assert factor == FACTOR
    assert (hits, misses) == (0, 1)
    return cache, said


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module with two cheap kernels, cached beside it."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    path = tmp_path / "cheap_kernels.py"
    path.write_text(MODULE)

    def load():
        spec = importlib.util.spec_from_file_location("cheap_kernels", path)
        found = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "cheap_kernels", found)
        spec.loader.exec_module(found)
        return found

    return load


def test_importing_the_package_compiles_nothing(tmp_path):
    program = """
import importlib, json, pkgutil, sys
from numba.core import event
with event.install_recorder("numba:compile") as imports:
    import mcgta, mcgta.kernels
    for module in pkgutil.walk_packages(mcgta.kernels.__path__, "mcgta.kernels."):
        importlib.import_module(module.name)
    before = len(imports.buffer)
    sys.modules["mcgta.kernels.gaussians.factors"]._cholesky.compile()
json.dump([before, len(imports.buffer) > before], sys.stdout)
"""
    assert result(start(tmp_path, program))[0] == [0, True]


def test_the_first_process_compiles_with_one_line_of_notice(filled):
    cache, said = filled
    assert said.count(NOTICE) == 1
    assert {path.suffix for path in files(cache)} == {".nbi", ".nbc"}


def test_the_next_process_reads_the_cache_without_a_word(filled):
    cache, _ = filled
    before = files(cache)
    (factor, hits, misses), said = result(start(cache))
    assert factor == FACTOR
    assert (hits, misses) == (1, 0)
    assert NOTICE not in said
    assert files(cache) == before


def test_two_processes_that_begin_together_are_both_right(tmp_path):
    for process in [start(tmp_path) for _ in range(2)]:
        assert result(process)[0][0] == FACTOR
    assert len(files(tmp_path)) == 2


def test_a_cache_folder_that_cannot_be_made_is_done_without(tmp_path):
    (tmp_path / "file").write_text("")
    assert result(start(tmp_path / "file" / "cache"))[0][0] == FACTOR


def test_kernels_work_where_no_cache_can_be_written_at_all(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "mcgta", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "mcgta" / "kernels", *(tmp_path / "mcgta" / "kernels").iterdir()):
        if folder.is_dir():
            (folder / "__pycache__").write_text("in the way of the cache beside the source")
    nowhere = str(tmp_path / "file" / "nowhere")
    homes = dict.fromkeys(["HOME", "USERPROFILE", "LOCALAPPDATA", "XDG_CACHE_HOME", "IPYTHONDIR"], nowhere)
    process = start(Path(nowhere), package=tmp_path / "mcgta", PYTHONDONTWRITEBYTECODE="1", **homes)
    (factor, hits, _), _ = result(process)
    assert factor == FACTOR
    assert hits == 0
    assert not files(tmp_path)


def test_a_cache_of_garbage_does_no_harm(filled, tmp_path):
    cache = shutil.copytree(filled[0], tmp_path / "cache")
    for path in files(cache):
        path.write_bytes(b"garbage\n" * 100)
    assert result(start(cache))[0][0] == FACTOR


DAMAGE = {
    "emptied": lambda whole: b"",
    "cut after a byte": lambda whole: whole[:1],
    "cut in half": lambda whole: whole[: len(whole) // 2],
    "cut at the end": lambda whole: whole[:-1],
    "zeroed": lambda whole: bytes(len(whole)),
    "zeroed from the middle": lambda whole: whole[: len(whole) // 2] + bytes(len(whole) - len(whole) // 2),
    "text": lambda whole: b"garbage\n",
    "noise": lambda whole: np.random.default_rng(0).bytes(len(whole)),
    "letters that are none": lambda whole: whole.replace(b"thrice", b"\xff\xfe\xfd\xfc\xfb\xfa"),
    "another number": lambda whole: pickle.dumps(3),
    "another list": lambda whole: pickle.dumps([1, 2, 3]),
    "a class that is gone": lambda whole: b"cnowhere\nNothing\n.",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_damage_to_the_cache_costs_time_only(module, tmp_path, suffix, damage):
    assert module().thrice(2.0) == 6.0
    damaged = [path for path in files(tmp_path) if path.suffix == suffix]
    assert damaged
    for path in damaged:
        path.write_bytes(damage(path.read_bytes()))
    again = module()
    assert again.thrice(2.0) == 6.0
    assert again.half(2.0) == 1.0


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("instead", [Path.unlink, lambda path: (path.unlink(), path.mkdir())])
def test_cache_files_that_are_gone_or_folders_cost_time_only(module, tmp_path, suffix, instead):
    assert module().thrice(2.0) == 6.0
    for path in files(tmp_path):
        if path.suffix == suffix:
            instead(path)
    assert module().thrice(2.0) == 6.0


def test_a_changed_source_is_compiled_anew(module, tmp_path):
    assert module().thrice(2.0) == 6.0
    path = tmp_path / "cheap_kernels.py"
    path.write_text(MODULE.replace("3.0 * x", "3.0 * x + 1.0"))
    assert module().thrice(2.0) == 7.0


def test_a_change_in_any_file_of_the_kernels_is_compiled_anew(tmp_path):
    package = shutil.copytree(PACKAGE, tmp_path / "mcgta", ignore=shutil.ignore_patterns("__pycache__"))
    program = KERNELS_ONLY + "json.dump(compiled._sources(), sys.stdout)"
    digests = {result(start(tmp_path, program, package=package))[0]}
    for name in ("simd/lanes.py", "gaussians/factors.py", "tree/build.py"):
        with (package / "kernels" / name).open("a") as file:
            file.write("\n")
        digests.add(result(start(tmp_path, program, package=package))[0])
    assert len(digests) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_that_is_forked_while_another_thread_compiles_can_compile(tmp_path):
    program = (
        KERNELS_ONLY
        + """
import multiprocessing, threading, time

@compiled.kernel("float64(float64)")
def thrice(x):
    return 3.0 * x

compiling = threading.Event()
real = compiled._compile

def slowly(*args, **kwargs):
    compiling.set()
    time.sleep(0.5)
    return real(*args, **kwargs)

compiled._compile = slowly
thread = threading.Thread(target=factors.triangular_factors, args=(cov,))
thread.start()
compiling.wait()
context = multiprocessing.get_context("fork")
answers = context.SimpleQueue()
child = context.Process(target=lambda: answers.put(thrice(2.0)), daemon=True)
child.start()
child.join(60)
json.dump(None if child.is_alive() else answers.get(), sys.stdout)
"""
    )
    assert result(start(tmp_path, program))[0] == 6.0


def test_threads_that_call_first_at_the_same_time_compile_once_and_agree(module):
    kernels = module()
    barrier = threading.Barrier(4)
    found = []

    def call():
        barrier.wait()
        found.append((kernels.thrice(2.0), kernels.thrice.compile()))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [value for value, _ in found] == [6.0] * 4
    assert len({id(function) for _, function in found}) == 1
    assert sum(found[0][1].stats.cache_misses.values()) == 1


def test_factors_asked_for_by_four_threads_on_first_use_agree(tmp_path):
    program = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(4) as pool:
    json.dump([found[0].tolist() for found in pool.map(factors.triangular_factors, [cov] * 4)], sys.stdout)
"""
    assert result(start(tmp_path, KERNELS_ONLY + program))[0] == [FACTOR] * 4


def test_the_notice_comes_once_and_only_when_compiling_takes_long(monkeypatch, capsys, module):
    kernels = module()
    monkeypatch.setattr(compiled, "_noticed", threading.Event())
    monkeypatch.setattr(compiled, "_NOTICE_AFTER", 60.0)
    kernels.thrice(1.0)
    assert NOTICE not in capsys.readouterr().err
    monkeypatch.setattr(compiled, "_NOTICE_AFTER", 0.0)
    monkeypatch.setattr(compiled, "_compile", lambda function, *_: compiled._noticed.wait(60) and function)
    kernels.half(1.0)
    module().half(1.0)
    assert capsys.readouterr().err.count(NOTICE) == 1


def test_on_a_terminal_the_notice_covers_the_whole_line_where_a_bar_may_be_drawn(monkeypatch, capsys):
    monkeypatch.setattr(compiled, "_noticed", threading.Event())
    monkeypatch.setattr(compiled.sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    compiled._tell()
    line = capsys.readouterr().err
    assert line.startswith(f"\r{NOTICE}")
    assert len(line) == len("\r") + 119 + len("\n")


def test_no_call_compiles_for_other_types():
    covs, lost = np.eye(2)[None], np.zeros(1, dtype=np.bool_)
    factors._cholesky(covs, np.zeros_like(covs), lost)
    with pytest.raises(TypeError, match="No matching definition"):
        factors._cholesky(covs.astype(np.float32), np.zeros_like(covs), lost)
    assert len(factors._cholesky.compile().signatures) == 1
