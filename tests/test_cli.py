"""The command line says what it is, and starts without the numerics."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import mcgta
from mcgta.cli import main


def test_without_an_argument_the_help_is_shown(capsys):
    assert main([]) == 0
    assert "--version" in capsys.readouterr().out


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"mcgta {mcgta.__version__}\n"


def test_an_unknown_argument_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["bench"])
    assert ended.value.code == 2
    assert "bench" in capsys.readouterr().err


def test_the_package_can_be_run_as_the_command(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mcgta", "--version"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == f"mcgta {mcgta.__version__}\n"


def test_the_command_line_needs_no_numerics_of_its_own():
    """What the package itself imports is not the command line's doing, so an empty package stands for it here."""
    code = (
        "import sys, types; package = types.ModuleType('mcgta'); package.__version__ = '0'; "
        f"package.__path__ = [{str(Path(mcgta.__file__).parent)!r}]; "
        "sys.modules['mcgta'] = package; import mcgta.cli; "
        "heavy = {'numpy', 'scipy', 'sklearn', 'mcgta.estimator', 'importlib.metadata'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
