"""Formats are known by suffixes; each can be written from each other, and says what it needs."""

from __future__ import annotations

import builtins
import itertools

import numpy as np
import pytest

from mcgta.files import UnknownFormat, check_target, read_file, write_file
from mcgta.files.by_suffix import FORMATS, format_of

SUFFIXES = [known.suffixes[0] for known in FORMATS]
NEEDY = [known for known in FORMATS if known.packages]


def write_start(folder, suffix):
    """A table of each kind of column with gaps, by way of CSV."""
    start = folder / "start.csv"
    start.write_text("n,i,b,t,s\n1.5,1,yes,2024-01-01,x\n,,,,\n2.5,3,no,2024-01-02T10:00,größe\n")
    write_file(read_file(start), folder / f"a{suffix}", {}, force=True)
    return read_file(folder / f"a{suffix}")


@pytest.mark.parametrize(("source", "target"), [*itertools.product(SUFFIXES, SUFFIXES)])
def test_a_table_goes_from_each_format_to_each(tmp_path, source, target):
    table = write_start(tmp_path, source)
    write_file(table, tmp_path / f"b{target}", {"cluster": np.array([0, -1, 1])})
    back = read_file(tmp_path / f"b{target}")
    assert back.n_rows == 3
    np.testing.assert_array_equal(back.columns["n"], [1.5, np.nan, 2.5])
    np.testing.assert_array_equal(back.columns["i"], [1, np.nan, 3])
    assert back.columns["s"].tolist() == ["x", None, "größe"]
    assert [float(flag) for flag in (back.columns["b"][0], back.columns["b"][2])] == [1, 0]
    assert str(back.columns["t"][2]).startswith("2024-01-02T10:00")  # a text in h5ad, which has no times
    clusters = ["0", "noise", "1"] if target == ".h5ad" else [0, -1, 1]
    assert back.columns["cluster"].tolist() == clusters
    assert [name for name in back.columns if name in "nibts"] == [*"nibts"]


@pytest.mark.parametrize("suffix", [suffix for suffix in SUFFIXES if suffix != ".gpkg"])  # which writes its date down
def test_equal_tables_give_equal_bytes(tmp_path, suffix):
    for name in ("one", "two"):
        write_file(write_start(tmp_path, ".csv"), tmp_path / f"{name}{suffix}", {"cluster": np.array([0, -1, 1])})
    assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()


@pytest.mark.parametrize("known", NEEDY, ids=lambda known: known.name)
def test_a_package_that_is_not_installed_is_named_with_its_extra(tmp_path, known, monkeypatch):
    path = tmp_path / f"a{known.suffixes[0]}"
    path.write_bytes(b"")
    real = builtins.__import__

    def without(name, *arguments, **options):
        if name.split(".")[0] in known.packages:
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr("mcgta.files.problems.import_module", without)
    for act in (read_file, lambda path: check_target(path, force=True)):
        with pytest.raises(ImportError, match=rf"needs {known.packages[0]}: pip install 'mcgta\[{known.extra}\]'"):
            act(path)


@pytest.mark.parametrize(("name", "said"), [("a.json", "did you mean .geojson"), ("a.parqet", "did you mean .parquet")])
def test_a_suffix_that_is_near_another_is_explained(name, said):
    with pytest.raises(UnknownFormat, match=said):
        format_of(name)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_is_not_there_is_named(tmp_path, suffix):
    with pytest.raises(FileNotFoundError, match=rf"none\{suffix}"):
        read_file(tmp_path / f"none{suffix}")


def test_numbers_that_no_format_has_are_refused(tmp_path):
    table = write_start(tmp_path, ".csv")
    with pytest.raises(TypeError, match=r"added\['cluster'\] holds complex128; columns hold numbers"):
        write_file(table, tmp_path / "b.parquet", {"cluster": np.zeros(3, dtype=complex)})
