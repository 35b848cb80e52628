"""Data flows one way: kernels know arrays, stages know kernels, the pipeline knows stages, the estimator knows fits."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mcgta
from builders.versions import needs_new_sklearn
from layers import LAYERS

ROOT = Path(mcgta.__file__).parent
DOCS = Path(__file__).parents[1] / "docs"

RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


def rank(name: tuple[str, ...]) -> int:
    """Return the layer of a module."""
    for length in range(len(name), 0, -1):
        if ".".join(name[:length]) in RANK:
            return RANK[".".join(name[:length])]
    raise KeyError(f"{'.'.join(name)} has no layer")


def modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if path.name != "__init__.py" or path.parent == ROOT)


def parts(path: Path) -> tuple[str, ...]:
    return path.relative_to(ROOT).with_suffix("").parts


def _is_package(module: str) -> bool:
    return module.split(".")[0] == "mcgta" and ROOT.joinpath(*module.split(".")[1:]).is_dir()


def imported(path: Path) -> list[tuple[str, ...]]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and _is_package(node.module or ""):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        found += [tuple(name.split(".")[1:]) for name in names if name.split(".")[0] == "mcgta"]
    return found


def test_every_module_has_its_layer() -> None:
    for path in modules():
        rank(parts(path))


@pytest.mark.parametrize("path", modules(), ids=lambda path: ".".join(parts(path)))
def test_a_module_imports_from_lower_layers_only(path: Path) -> None:
    own = parts(path)
    for name in imported(path):
        assert rank(name) <= rank(own), f"{'.'.join(own)} imports {'.'.join(name)}"


def test_kernels_know_arrays_only() -> None:
    for path in (ROOT / "kernels").rglob("*.py"):
        assert all(name[0] == "kernels" or name == ("runtime", "types") for name in imported(path)), path.name


@needs_new_sklearn("a fit needs pandas where importing it is blocked")
def test_the_package_imports_without_its_extras() -> None:
    """Optional packages are imported when they are used, never before."""
    code = (
        "import sys; "
        "sys.modules.update(dict.fromkeys(['matplotlib', 'pandas', 'polars', 'geopandas', 'optuna', 'pooch', 'spopt'])); "
        "sys.modules.update(dict.fromkeys(['tslearn', 'hmmlearn', 'ruptures', 'fast_ticc'])); "
        "import mcgta; import mcgta.datasets; import mcgta.baselines; import mcgta.cli; "
        "m = mcgta.MCGTA(n_neighbors=10, eps=1.0).fit(mcgta.datasets.make_series(100, segment_lengths=(4, 8)).X); "
        "print(m.labels_.size)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "100", done.stderr


def test_plotting_without_matplotlib_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None; import mcgta.datasets as d; "
        "d.make_series(100, segment_lengths=(4, 8)); from mcgta import MCGTA; "
        "MCGTA(n_neighbors=10, eps=1.0).fit(d.make_series(100, segment_lengths=(4, 8)).X).semivariogram_.plot()"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'mcgta[plot]'" in done.stderr


def test_the_page_on_architecture_shows_these_layers():
    done = subprocess.run([sys.executable, DOCS / "map.py", "--check"], check=False)
    assert done.returncode == 0, "python docs/map.py writes docs/architecture.md anew"


def loaded(code: str) -> set[str]:
    """Return the modules that are loaded after some code, in a process of its own."""
    printing = f"{code}; import sys; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", printing], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_package_itself_loads_nothing():
    assert not loaded("import mcgta") & {"numpy", "scipy", "sklearn", "numba", "mcgta.estimator"}


def test_data_sets_do_not_load_the_estimator():
    modules = loaded("import mcgta.datasets")
    assert not modules & {"mcgta.estimator", "mcgta.pipeline", "mcgta.settings", "mcgta.fit"}
    assert not any(name.startswith("mcgta.selection") for name in modules)


def test_every_public_name_is_where_it_is_said_to_be():
    assert sorted(mcgta._HOMES) == sorted(mcgta.__all__)
    assert len(mcgta.__all__) <= 18
    for name in mcgta.__all__:
        assert getattr(mcgta, name).__name__ == name
