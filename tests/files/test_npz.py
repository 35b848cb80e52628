"""Archives of arrays: read as they were written, refused where they are damaged."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from mcgta.files import FileProblem, read_file, write_file


def test_each_array_is_a_column_and_comes_back_with_those_added(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, v=np.arange(3.0), name=np.array(["a", "b", "c"]))
    table = read_file(path)
    assert list(table.columns) == ["v", "name"]
    assert table.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    write_file(table, tmp_path / "b.npz", {"cluster": np.array([0, 1, -1])})
    with np.load(tmp_path / "b.npz") as back:
        assert back.files == ["v", "name", "cluster"]
        assert back["cluster"].tolist() == [0, 1, -1]
        assert back["name"].tolist() == ["a", "b", "c"]


def test_a_matrix_of_features_and_its_positions_are_known_by_their_names(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.ones((4, 2)), t=np.arange(4.0), names=np.array(["speed", "load"]))
    table = read_file(tmp_path / "a.npz")
    assert table.declared.features == ("speed", "load")
    assert table.declared.time == ("t",)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 cut short"])
def test_a_damaged_archive_is_refused(content, tmp_path):
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(FileProblem, match=r"a\.npz: damaged"):
        read_file(tmp_path / "a.npz")


def test_objects_are_not_unpickled(tmp_path):
    np.savez(tmp_path / "a.npz", v=np.array([{}, {}], dtype=object))
    with pytest.raises(FileProblem, match=r"a\.npz"):
        read_file(tmp_path / "a.npz")


@pytest.mark.parametrize("name", ["t", "positions", "coords", "groups"])
def test_positions_and_groups_of_another_length_are_refused(tmp_path, name):
    np.savez(tmp_path / "a.npz", X=np.ones((4, 2)), **{name: np.arange(3)})
    with pytest.raises(FileProblem, match=rf"{name} must have 4 rows as X has, is of shape \(3,\)"):
        read_file(tmp_path / "a.npz")
