"""A file can be read by a program that has imported nothing but the package."""

import subprocess
import sys

import numpy as np
import pytest

from mcgta import MCGTA, read_positions, stability


def run(code, *args):
    """Run a program in a process of its own; return what it prints."""
    command = [sys.executable, "-W", "ignore", "-c", code, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture(scope="module")
def fitted():
    X = np.random.default_rng(0).normal(size=(200, 2))
    return MCGTA(n_neighbors=10, eps=1.0, semivariogram="empirical", progress=False).fit(X)


@pytest.mark.parametrize("kind", ["MCGTA", "LocalModels", "Semivariogram", "Stability", "Positions"])
def test_a_fresh_process_loads_what_was_saved(fitted, tmp_path, kind):
    things = {
        "MCGTA": lambda: fitted,
        "LocalModels": lambda: fitted.local_models_,
        "Semivariogram": lambda: fitted.semivariogram_,
        "Stability": lambda: stability(fitted, n_resamples=2, progress=False),
        "Positions": lambda: read_positions(None, 3),
    }
    path = tmp_path / "thing.mcgta"
    things[kind]().save(path)
    assert run("import sys, mcgta; print(type(mcgta.load(sys.argv[1])).__name__)", path) == [kind]


def test_loading_knows_every_class_that_can_be_saved():
    code = (
        "import pkgutil, mcgta.loading; from importlib import import_module; "
        "from mcgta.runtime.archive import Archived; known = set(Archived._registry); "
        "names = [module.name for module in pkgutil.walk_packages(mcgta.__path__, 'mcgta.')]; "
        "[import_module(name) for name in names if not name.startswith(('mcgta.baselines', 'mcgta.__main__'))]; "
        "print(len(names) > 100, *(set(Archived._registry) - known))"
    )
    assert run(code) == ["True"]
