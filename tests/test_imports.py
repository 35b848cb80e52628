"""Data flows one way: kernels know arrays, stages know kernels, the estimator knows stages."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mcgta

ROOT = Path(mcgta.__file__).parent

# Lower layers first. A module may import from its own layer and from lower ones.
LAYERS = [
    ["types"],
    ["kernels"],
    ["archive", "memory", "position_table", "progress"],
    ["parallel", "positions"],
    ["position_input"],
    ["stages"],
    ["selection"],
    ["datasets", "observations", "parameters"],
    ["algorithm", "evidence", "prediction"],
    ["choice", "trials"],
    ["choosing"],
    ["fitted"],
    ["appending"],
    ["estimator"],
    ["tuning"],
    ["resampling"],
    ["baselines"],
    ["experiments"],
    ["cli"],
    ["__init__", "__main__"],
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}

# Within the stages, the order of Algorithm 1.
STAGES = [
    "neighborhoods",
    "overlap",
    "surroundings",
    "lags",
    "prior",
    "local_models",
    "null_distribution",
    "dissimilarity",
    "curve_fit",
    "semivariogram",
    "lag_bins",
    "tree_census",
    "pair_census",
    "empirical",
    "significance",
    "labelling",
    "loss",
    "loss_rows",
    "loss_tree",
    "clustering",
    "engine",
    "cuts",
    "membership",
    "goodness_of_fit",
]

# Within tuning, from what is asked to what is answered.
TUNING = ["agreement", "labels", "blocks", "grid", "shelf", "fits", "scores", "sampling", "result", "tune"]
ORDERED = {"stages": STAGES, "tuning": TUNING}


def modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if path.name != "__init__.py" or path.parent == ROOT)


def parts(path: Path) -> tuple[str, ...]:
    return path.relative_to(ROOT).with_suffix("").parts


def imported(path: Path) -> list[tuple[str, ...]]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module in ("mcgta", "mcgta.kernels", "mcgta.stages"):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        found += [tuple(name.split(".")[1:]) for name in names if name.split(".")[0] == "mcgta"]
    return found


def test_every_module_has_its_layer() -> None:
    assert {parts(path)[0] for path in modules()} == set(RANK)
    for package, order in ORDERED.items():
        assert {parts(path)[1] for path in modules() if parts(path)[0] == package} == set(order)


@pytest.mark.parametrize("path", modules(), ids=lambda path: ".".join(parts(path)))
def test_a_module_imports_from_lower_layers_only(path: Path) -> None:
    own = parts(path)
    for name in imported(path):
        assert RANK[name[0]] <= RANK[own[0]], f"{'.'.join(own)} imports {'.'.join(name)}"
        if own[0] == name[0] and own[0] in ORDERED:
            order = ORDERED[own[0]]
            assert order.index(name[1]) < order.index(own[1]), f"{own[1]} imports the later {name[1]}"


def test_kernels_know_arrays_only() -> None:
    for path in (ROOT / "kernels").glob("*.py"):
        assert all(name[0] in ("kernels", "types") for name in imported(path)), path.name


def test_the_package_imports_without_its_extras() -> None:
    """Optional packages are imported when they are used, never before."""
    code = (
        "import sys; "
        "sys.modules.update(dict.fromkeys(['matplotlib', 'pandas', 'polars', 'geopandas', 'optuna', 'pooch', 'spopt'])); "
        "sys.modules.update(dict.fromkeys(['tslearn', 'hmmlearn', 'ruptures', 'fast_ticc'])); "
        "import mcgta; import mcgta.datasets; import mcgta.baselines; import mcgta.experiments; import mcgta.cli; "
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
