"""Files that are written: their names, and that nothing is replaced or begun in vain."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcgta.cli import main
from mcgta.cli.targets import beside, default_table


@pytest.mark.parametrize(
    ("path", "table", "model"),
    [
        ("demo.csv", "demo_clusters.csv", "demo.mcgta"),
        ("a/b.c.csv", "a/b.c_clusters.csv", "a/b.c.mcgta"),
        ("demo.csv.gz", "demo_clusters.csv.gz", "demo.mcgta"),
        ("DEMO.CSV", "DEMO_clusters.CSV", "DEMO.mcgta"),
        ("x.geojson", "x_clusters.geojson", "x.mcgta"),
    ],
)
def test_default_names_are_beside_the_input(path, table, model):
    assert default_table(path) == str(Path(table))
    assert beside(path, ".mcgta", "--model") == str(Path(model))


def test_standard_input_goes_to_standard_output_and_has_no_files_beside_it(capsys):
    assert default_table("-") == "-"
    assert main(["cluster", "-", "--report"]) == 2
    assert "--report needs the name of a file" in capsys.readouterr().err


def unchanged(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("existing", ["demo_clusters.csv", "demo.mcgta", "demo.html", "demo.json"])
def test_a_file_that_exists_is_refused_before_the_input_is_read(existing, table, capsys):
    Path(existing).write_text("mine")
    Path(table).write_text("not, a\nusable file")
    before = unchanged(Path())
    assert main(["cluster", table, "--report"]) == 4
    said = capsys.readouterr().err
    assert f"{existing} exists already" in said
    assert "--force" in said
    assert unchanged(Path()) == before


def test_all_files_that_exist_are_named_at_once(table, capsys):
    for name in ("demo_clusters.csv", "demo.mcgta"):
        Path(name).write_text("mine")
    assert main(["cluster", table]) == 4
    assert "demo_clusters.csv, demo.mcgta exist already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["-o", "nowhere/out.csv"], 4, "there is no folder nowhere"),
        (["-o", "demo.csv"], 2, "demo.csv is the input already, and cannot be the table as well"),
        (["-o", "./demo.csv", "--force"], 2, "is the input already"),
        (["-o", "out.csv", "--model", "out.csv"], 2, "is the table already, and cannot be the model"),
        (["-o", "out.xyz"], 2, ".xyz is no known format"),
        (["-o", "out"], 2, "a suffix must say the format"),
        (["-o", "folder.csv", "--force"], 4, "folder.csv is a folder"),
        (["-o", "/dev/null"], 4, "/dev/null"),
        (["--model", "-"], 2, "this goes into a file"),
        (["-o", "-", "--json"], 2, "both go to standard output"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_input_is_read(arguments, code, said, table, capsys):
    Path("folder.csv").mkdir()
    Path(table).write_text("not, a\nusable file")
    assert main(["cluster", table, *arguments]) == code
    assert said in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_read_only_folder_is_refused_before_the_input_is_read(table, tmp_path, capsys):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert main(["cluster", table, "-o", "locked/out.csv"]) == 4
    assert "locked/out.csv cannot be written: Permission denied" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="there is no folder that nobody may write into")
def test_a_folder_that_takes_no_files_is_refused_also_for_the_superuser(table, capsys):
    assert main(["cluster", table, "-o", "/proc/out.csv"]) == 4
    assert "/proc/out.csv cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["cluster", "predict", "report"])
@pytest.mark.parametrize("path", [".", "/", ""])
def test_a_path_without_a_name_is_no_file(command, path, model, capsys):
    arguments = [model, path] if command == "predict" else [path]
    assert main([command, *arguments]) == 3
    assert capsys.readouterr().err in (f"mcgta: {path} is a folder, not a file\n", "mcgta: there is no file ''\n")
