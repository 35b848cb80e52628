"""Data sets are drawn and read without the estimator, and without packages that are slow to import."""

import ast
from pathlib import Path

import mcgta

PACKAGE = Path(mcgta.__file__).parent
ALLOWED = ("mcgta.datasets", "mcgta.runtime", "mcgta.kernels")
SLOW_TO_IMPORT = ("sklearn", "scipy.signal", "scipy.stats")


def imports_of(name):
    """Modules that a module of the package imports when it is imported, and those that it imports later."""
    path = PACKAGE.joinpath(*name.split(".")[1:])
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    tree = ast.parse(path.read_text())
    at_once = {node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node in at_once) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module, node in at_once
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if PACKAGE.joinpath(*inner.split(".")[1:]).with_suffix(".py").exists():
                    yield inner, node in at_once


def test_data_sets_import_neither_the_estimator_nor_what_is_slow_to_import():
    seen = set()
    waiting = [f"mcgta.datasets.{path.stem}" for path in (PACKAGE / "datasets").glob("*.py") if path.stem != "__init__"]
    while waiting:
        name = waiting.pop()
        seen.add(name)
        for imported, at_once in imports_of(name):
            if imported.split(".")[0] == "mcgta":
                assert imported.startswith(ALLOWED), f"{name} imports {imported}"
                waiting += [imported] if imported not in seen else []
            elif at_once:
                assert not imported.startswith(SLOW_TO_IMPORT), f"{name} imports {imported}"
    assert "mcgta.runtime.rules" in seen
