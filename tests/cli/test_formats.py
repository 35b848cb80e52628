"""Every command that reads a table, on every format, as a process of its own; results as JSON."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import geopandas
import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import pytest

from cli.conftest import run_process
from mcgta import load
from mcgta.files import read_file
from mcgta.files.by_suffix import FORMATS

SUFFIXES = [suffix for known in FORMATS for suffix in known.suffixes]
SETTINGS = ["--ignore", "state", "--set", "n_neighbors=10"]
ROWS = 120
ADDED = ("cluster", "probability", "is_noise")


def columns() -> dict[str, np.ndarray]:
    """A walk of two states, with a time, a place and two features."""
    rng = np.random.default_rng(5)
    state = np.arange(ROWS) // 20 % 2
    features = rng.normal(size=(ROWS, 2)) + 3.0 * state[:, None]
    steps = np.arange(ROWS)
    return {
        "lon": 13 + steps * 0.001,
        "lat": 52 + steps * 0.002,
        "speed": features[:, 0].round(4),
        "load": features[:, 1].round(4),
        "state": state,
    }


def write_text(path: Path) -> None:
    comma = "\t" if ".tsv" in path.name else ";" if ".txt" in path.name else ","
    table = columns()
    lines = [comma.join(table), *(comma.join(map(str, row)) for row in zip(*table.values(), strict=True))]
    data = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def write_npz(path: Path) -> None:
    np.savez(path, **columns())


def write_parquet(path: Path) -> None:
    pq.write_table(pa.table(columns()), path)


def write_arrow(path: Path) -> None:
    table = pa.table(columns())
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


def write_geojson(path: Path) -> None:
    table = columns()
    places = zip(table.pop("lon").tolist(), table.pop("lat").tolist(), strict=True)
    rows = zip(*(column.tolist() for column in table.values()), strict=True)
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": place},
            "properties": dict(zip(table, row, strict=True)),
        }
        for place, row in zip(places, rows, strict=True)
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))


def write_geopackage(path: Path) -> None:
    table = columns()
    points = geopandas.points_from_xy(table.pop("lon"), table.pop("lat"))
    pyogrio.write_dataframe(geopandas.GeoDataFrame(table, geometry=points, crs="EPSG:4326"), path)


def write_h5ad(path: Path) -> None:
    """Degrees and states are columns of the cells, and speed and load are genes."""
    table = columns()
    with h5py.File(path, "w") as file:
        file.attrs["encoding-type"] = "anndata"
        for name, index in (("obs", [f"cell{k}" for k in range(ROWS)]), ("var", ["speed", "load"])):
            frame = file.create_group(name)
            frame.attrs["_index"] = "_index"
            frame.attrs["column-order"] = ["lon", "lat", "state"] if name == "obs" else np.zeros(0)
            frame.create_dataset("_index", data=index)
        for name in ("lon", "lat", "state"):
            file["obs"].create_dataset(name, data=table[name])
        file.create_dataset("X", data=np.column_stack([table["speed"], table["load"]]))


WRITERS: dict[str, Callable[[Path], None]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"), write_text),
    ".npz": write_npz,
    **dict.fromkeys((".parquet", ".pq"), write_parquet),
    **dict.fromkeys((".feather", ".arrow"), write_arrow),
    ".geojson": write_geojson,
    ".gpkg": write_geopackage,
    ".h5ad": write_h5ad,
}
"""Functions that make a file, by suffix, without the code under test."""


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_can_be_looked_at(suffix, tmp_path):
    WRITERS[suffix](tmp_path / f"walk{suffix}")
    done = run_process("look", f"walk{suffix}", "--ignore", "state", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["input"]["rows"] == ROWS
    assert found["roles"]["features"] == ["speed", "load"]
    assert f"mcgta cluster walk{suffix} " in found["run"]


@pytest.mark.parametrize("suffix", [known.suffixes[0] for known in FORMATS])
def test_a_table_is_clustered_and_its_rows_are_placed_again(suffix, tmp_path):
    name = f"walk{suffix}"
    WRITERS[suffix](tmp_path / name)
    found = run_json("cluster", name, *SETTINGS, cwd=tmp_path)
    assert found["wrote"] == {"table": f"walk_clusters{suffix}", "model": "walk.mcgta", "report": None}
    before = read_file(tmp_path / name)
    after = read_file(tmp_path / f"walk_clusters{suffix}")
    assert [name for name in after.columns if name not in ADDED] == [*before.columns]
    assert [name for name in after.columns if name in ADDED] == [*ADDED]
    for column, values in before.columns.items():
        np.testing.assert_array_equal(after.columns[column], values)
    labels = load(tmp_path / "walk.mcgta").labels_
    np.testing.assert_array_equal(after.columns["cluster"].astype(int), labels)  # h5ad has texts, as scanpy does
    np.testing.assert_array_equal(after.columns["is_noise"].astype(bool), labels < 0)
    assert set(labels) == {0, 1}

    placed = run_json("predict", "walk.mcgta", name, "-o", f"placed{suffix}", cwd=tmp_path)
    assert placed["wrote"] == {"table": f"placed{suffix}"}
    np.testing.assert_array_equal(read_file(tmp_path / f"placed{suffix}").columns["cluster"].astype(int), labels)


@pytest.mark.parametrize("suffix", [known.suffixes[0] for known in FORMATS])
def test_a_semivariogram_and_settings_are_found_for_a_table(suffix, tmp_path):
    name = f"walk{suffix}"
    WRITERS[suffix](tmp_path / name)
    curve = run_json("semivariogram", name, *SETTINGS, cwd=tmp_path)
    assert curve["unit"] == "m"
    assert curve["range"] > 0
    chosen = run_json("tune", name, "--labels", "state", "--grid", "n_neighbors=8,12", "--folds", "2", cwd=tmp_path)
    assert chosen["best"]["params"]["n_neighbors"] in (8, 12)
    assert chosen["best"]["score"] > 0.5


def run_json(*arguments: str, cwd: Path):
    """Run a command with ``--json``, and return its result."""
    done = run_process(*arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
