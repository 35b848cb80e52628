"""The program: help without the numerics, errors in words, and exit codes."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest

import mcgta
from mcgta.cli import main
from mcgta.cli.commands.registry import COMMANDS
from mcgta.cli.failures import EXIT_CODES, CommandError, explain

HEAVY = ("numpy", "scipy", "sklearn", "numba", "rich", "shtab", "pandas", "mcgta.estimator", "importlib.metadata")


@pytest.fixture
def look(monkeypatch):
    """Have `mcgta look` do something else."""

    def do(work):
        monkeypatch.setattr(COMMANDS["look"].module, "run", lambda options, screen: work())

    return do


def fail(error):
    raise error


def test_without_an_argument_the_help_is_shown(capsys):
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in COMMANDS)
    assert all(meaning.split(",")[0] in shown for meaning in EXIT_CODES.values())


def test_the_version_is_that_of_the_package(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"mcgta {mcgta.__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["cluster", "--help"]])
def test_help_and_version_import_nothing_heavy(arguments):
    code = (
        "import sys; from mcgta.cli import main\n"
        f"try: main({arguments!r})\n"
        "except SystemExit: pass\n"
        f"print('heavy:', *sorted({{*{HEAVY!r}}} & {{*sys.modules}}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("heavy:\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_with_examples(name, capsys):
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"usage: mcgta {name}" in shown
    assert "examples:" in shown
    assert "--debug" in shown


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (["clutser"], "there is no command 'clutser'; did you mean cluster?", "commands are look, cluster"),
        (["bench"], "there is no command 'bench'\n", "commands are look"),
        (["look"], "required: FILE", "mcgta look --help"),
        (["look", "a.csv", "b.csv"], "mcgta look has no argument 'b.csv'", "mcgta look --help"),
        (["look", "a.csv", "--feature", "x"], "has no flag '--feature'; did you mean --features?", "mcgta look --help"),
        (["cluster", "a.csv", "--clusters", "three"], "'three' must be a whole number from 1 on", ""),
        (["cluster", "a.csv", "--clusters", "0"], "'0' must be a whole number from 1 on", ""),
        (["cluster", "a.csv", "--missing", "skip"], "'skip'", "mcgta cluster --help"),
        (["cluster", "a.csv", "--set", "n_neighbors"], "must be name=value", ""),
        (["cluster", "a.csv", "--time-scale", "-1"], "must be a number above 0", ""),
        (["cluster", "a.csv", "--jobs", "0"], "--jobs: '0' must be a number of threads, or -1 for all cores", ""),
        (["look", "a.csv", "--lon", "l"], "--lon l needs --lat as well", ""),
        (["look", "a.csv", "--y", "b"], "--y b needs --x as well", ""),
        (
            ["look", "a.csv", *["--x", "a", "--y", "b", "--position", "c"]],
            "--x and --position both say where rows are",
            "",
        ),
        (["--verbose"], "mcgta has no flag '--verbose'; did you mean --version?", "mcgta --help"),
        (["tune", "a.csv"], "required: --labels", ""),
        (["completion", "fish"], "'fish'", ""),
    ],
)
def test_a_command_that_cannot_be_meant_so_ends_with_2_and_a_hint(arguments, said, hint, capsys):
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("mcgta: ")
    assert said in shown.err
    assert hint in shown.err


def test_a_bug_ends_with_1_and_a_sentence_on_how_to_report_it(look, capsys):
    look(lambda: fail(ZeroDivisionError("division by zero")))
    assert main(["look", "a.csv"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("mcgta: a bug in mcgta: ZeroDivisionError: division by zero\n  please report it")
    assert "Traceback" not in said


def test_a_value_error_deep_in_the_numerics_is_a_bug_and_one_of_a_check_is_not(look, capsys):
    import numpy as np

    look(lambda: np.zeros(2) + np.zeros(3))
    assert main(["look", "a.csv"]) == 1
    look(lambda: mcgta.MCGTA(n_neighbors=0).fit(np.zeros((5, 2))))
    assert main(["look", "a.csv"]) == 3
    assert "n_neighbors=0 is not allowed" in capsys.readouterr().err


def test_debug_shows_where_an_error_came_from(look, capsys):
    look(lambda: fail(ZeroDivisionError("division by zero")))
    assert main(["look", "a.csv", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError("200 observations need 3 GB"), 4, "200 observations need 3 GB"),
        (FileNotFoundError(2, "No such file or directory", "a.csv"), 3, "a.csv: No such file"),
        (PermissionError(13, "Permission denied", "a.csv"), 4, "a.csv: Permission denied"),
        (OSError(28, "No space left on device"), 4, "No space left on device"),
        (ImportError("reading Parquet needs pyarrow: pip install 'mcgta[files]'"), 3, "pip install"),
        (ImportError("cannot import name"), 1, "bug"),
        (CommandError(2, "no"), 2, "no"),
    ],
)
def test_every_kind_of_error_has_its_exit_code(error, code, said):
    failure = explain(error)
    assert failure.code == code
    assert said in failure.message


def test_warnings_are_notes_in_the_words_of_the_command_line_each_once(look, capsys):
    def warn():
        for _ in range(2):
            warnings.warn("X: column 'a' is odd. failed_ lists them all", stacklevel=1)
        warnings.warn("for programmers", DeprecationWarning, stacklevel=1)

    look(warn)
    assert main(["look", "a.csv"]) == 0
    assert capsys.readouterr().err == "note     features: column 'a' is odd\n"


def test_quiet_leaves_notes_out_but_not_errors(look, capsys):
    look(lambda: warnings.warn("odd", stacklevel=1))
    assert main(["look", "a.csv", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    look(lambda: fail(MemoryError("too much")))
    assert main(["look", "a.csv", "--quiet"]) == 4
    assert "too much" in capsys.readouterr().err


def test_names_in_a_file_cannot_steer_a_terminal(tmp_path, capsys):
    path = tmp_path / "evil.csv"
    path.write_text("a,\x1b[31mred,b\n1,2,3\n4,5,9\n7,3,5\n", encoding="utf-8")
    assert main(["look", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\\x1b[31mred" in shown
