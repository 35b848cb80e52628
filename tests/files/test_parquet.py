"""Parquet and Feather: every type of column, written back as it was, and refused where it is damaged."""

from __future__ import annotations

import datetime
import hashlib
import io
import os
import subprocess
import sys
import threading
import time
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcgta.files import FileProblem, FileTable, guess_roles, make_observations, read_file, write_file
from mcgta.runtime.config import config_context

SUFFIXES = (".parquet", ".feather")
NAN = float("nan")


def save(table: pa.Table, path: Path) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    return path


def load(path: Path) -> pa.Table:
    return pq.read_table(path) if path.suffix == ".parquet" else pa.ipc.open_file(path).read_all()


def read(folder: Path, suffix: str = ".parquet", **columns: object) -> FileTable:
    return read_file(save(pa.table(columns), folder / f"a{suffix}"))


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("array", "kind", "values"),
    [
        (pa.array([1, 2, 3], pa.int8()), "integer", [1, 2, 3]),
        (pa.array([1, None, 3], pa.int32()), "integer", [1.0, NAN, 3.0]),
        (pa.array([1, 2, 2**63 - 1], pa.uint64()), "integer", [1, 2, 2**63 - 1]),
        (pa.array([1.5, None, NAN], pa.float32()), "number", [1.5, NAN, NAN]),
        (pa.array(np.array([1.5, 2, 3], np.float16)), "number", [1.5, 2.0, 3.0]),
        (pa.array([Decimal("1.25"), None, Decimal("-3.5")]), "number", [1.25, NAN, -3.5]),
        (pa.array([True, False, True]), "flag", [True, False, True]),
        (pa.array([True, None, False]), "flag", [1.0, NAN, 0.0]),
        (pa.array(["x", None, ""]), "text", ["x", None, ""]),
        (pa.array(["x", None, "z"], pa.large_string()), "text", ["x", None, "z"]),
        (pa.array(["x", None, "x"]).dictionary_encode(), "text", ["x", None, "x"]),
        (pa.array([5, None, 7]).dictionary_encode(), "integer", [5.0, NAN, 7.0]),
        (
            pa.array([datetime.time(1, 2, 3), None, datetime.time(4)]),
            "text",
            ["01:02:03.000000", None, "04:00:00.000000"],
        ),
        (pa.array([90, None, 1500], pa.duration("ms")), "number", [0.09, NAN, 1.5]),
        (pa.nulls(3), "number", [NAN, NAN, NAN]),
    ],
)
def test_a_column_of_each_type_becomes_numbers_flags_or_text(tmp_path, suffix, array, kind, values):
    table = read(tmp_path, suffix, v=array)
    assert table.kinds["v"] == kind
    assert repr(table.columns["v"].tolist()) == repr(values)


@pytest.mark.parametrize(
    "array",
    [
        pa.array([datetime.date(2024, 1, 2), None]),
        pa.array([datetime.date(2024, 1, 2), None], pa.date64()),
        pa.array([datetime.datetime(2024, 1, 2), None], pa.timestamp("s")),
        pa.array([datetime.datetime(2024, 1, 2), None], pa.timestamp("ns")),
        pa.array([datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC), None], pa.timestamp("us", "Europe/Berlin")),
    ],
)
def test_times_are_nanoseconds_of_utc(tmp_path, array):
    table = read(tmp_path, v=array)
    assert table.kinds["v"] == "time"
    expected = np.array(["2024-01-02", "NaT"], dtype="datetime64[ns]")
    np.testing.assert_array_equal(table.columns["v"], expected)


def test_a_time_beyond_nanoseconds_makes_its_column_text_and_is_named(tmp_path):
    times = pa.array([datetime.datetime(2024, 1, 1), datetime.datetime(9999, 12, 31)], pa.timestamp("us"))
    table = read(tmp_path, v=times, w=[1.0, 2.0])
    assert table.kinds["v"] == "text"
    assert table.say_bad_cells("v").startswith("a.parquet: row 1, column v: '9999-12-31T00:00:00.000000' is outside")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_is_written_back_with_its_types_order_and_metadata(tmp_path, suffix):
    schema = pa.schema(
        [
            pa.field("b", pa.int16(), metadata={"unit": "m"}),
            pa.field("nested", pa.list_(pa.int64())),
            pa.field("a", pa.timestamp("ms", "Asia/Tokyo")),
            pa.field("c", pa.dictionary(pa.int32(), pa.string())),
            pa.field("big", pa.int64()),
        ],
        metadata={"made": "by a test"},
    )
    rows = [[1, None], [[1], None], [0, None], ["x", None], [2**60 + 1, None]]
    arrays = [pa.array(row, kind) for row, kind in zip(rows, schema.types, strict=True)]
    before = pa.table(arrays, schema=schema)
    table = read_file(save(before, tmp_path / f"a{suffix}"))
    assert table.sha256 == hashlib.sha256((tmp_path / f"a{suffix}").read_bytes()).hexdigest()
    write_file(table, tmp_path / f"b{suffix}", {"cluster": np.array([0, -1]), "is_noise": np.array([False, True])})
    after = load(tmp_path / f"b{suffix}")
    assert after.column_names == [*before.column_names, "cluster", "is_noise"]
    kept = after.select(before.column_names)
    assert kept.equals(load(tmp_path / f"a{suffix}"), check_metadata=True)
    assert after.schema.metadata[b"made"] == b"by a test"
    assert after.column("cluster").to_pylist() == [0, -1]


def test_nested_columns_are_no_features_but_noted(tmp_path):
    table = read(tmp_path, v=[1.0, 2.0], embedding=[[1.0], [2.0]], raw=[b"a", b"b"])
    assert list(table.columns) == ["v"]
    assert table.others == ("embedding", "raw")
    assert "embedding (list<" in table.notes[0]
    with pytest.raises(FileProblem, match="a column 'raw' already"):
        write_file(table, tmp_path / "b.parquet", {"raw": np.zeros(2)})


def test_whole_numbers_that_are_rounded_are_noted_and_written_in_full(tmp_path):
    table = read(tmp_path, v=[2**60 + 1, None])
    assert table.notes == ("whole numbers beyond 2^53 are rounded where some are missing or beyond 2^63: v",)
    write_file(table, tmp_path / "b.parquet", {"k": np.zeros(2)})
    assert pq.read_table(tmp_path / "b.parquet").column("v").to_pylist() == [2**60 + 1, None]


def test_an_index_of_times_that_pandas_has_written_is_the_position(tmp_path):
    pandas = pytest.importorskip("pandas")
    times = pandas.date_range("2024-01-01", periods=30, freq="h")
    rng = np.random.default_rng(0)
    pandas.DataFrame({"v": rng.normal(size=30)}, index=times).to_parquet(tmp_path / "a.parquet")
    table = read_file(tmp_path / "a.parquet")
    roles = guess_roles(table)
    assert roles.time == ("__index_level_0__",)
    assert roles.features == ("v",)
    write_file(table, tmp_path / "b.parquet", {"k": np.arange(30)})
    back = pandas.read_parquet(tmp_path / "b.parquet")
    assert list(back.columns) == ["v", "k"]
    assert (back.index == times).all()


def test_a_stream_of_arrow_is_read(tmp_path):
    table = pa.table({"v": [1.0, 2.0]})
    with pa.ipc.new_stream(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    assert read_file(tmp_path / "a.arrow").columns["v"].tolist() == [1.0, 2.0]


def test_batches_with_dictionaries_of_their_own_are_one_column(tmp_path):
    parts = [
        pa.RecordBatch.from_pydict({"v": pa.array(texts).dictionary_encode()}) for texts in (["x", "y"], ["z", "x"])
    ]
    with pa.ipc.new_stream(tmp_path / "a.arrow", parts[0].schema) as writer:
        for part in parts:
            writer.write_batch(part)
    table = read_file(tmp_path / "a.arrow")
    assert table.columns["v"].tolist() == ["x", "y", "z", "x"]
    write_file(table, tmp_path / "b.arrow", {"k": np.arange(4)})
    assert load(tmp_path / "b.arrow").column("v").to_pylist() == ["x", "y", "z", "x"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_file_that_is_cut_short_is_refused_with_its_name(tmp_path, suffix, share):
    path = save(pa.table({"v": np.arange(1000.0)}), tmp_path / f"a{suffix}")
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(FileProblem, match=rf"^a\{suffix}: damaged, or not (Parquet|Feather)"):
        read_file(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"PAR1", b"FEA1xxxx", b"ARROW1\0\0", b"\xff" * 64])
def test_a_file_of_another_kind_is_refused_with_its_name(tmp_path, suffix, content):
    (tmp_path / f"a{suffix}").write_bytes(content)
    with pytest.raises(FileProblem, match=rf"^a\{suffix}: "):
        read_file(tmp_path / f"a{suffix}")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6), st.integers(0, 255), st.sampled_from(SUFFIXES))
def test_a_changed_byte_gives_a_table_or_a_problem_and_nothing_else(tmp_path, place, value, suffix):
    columns = {"v": np.arange(50.0), "s": ["ab", "c"] * 25, "d": pa.array(["p", "q"] * 25).dictionary_encode()}
    path = save(pa.table(columns), tmp_path / f"a{suffix}")
    data = bytearray(path.read_bytes())
    data[place % len(data)] = value
    path.write_bytes(data)
    try:
        found = {len(column) for column in read_file(path).columns.values()}
    except FileProblem as problem:
        found = str(problem).split(": ")[0]
    assert found in ({50}, f"a{suffix}")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_without_rows_or_with_two_columns_of_a_name_is_refused(tmp_path, suffix):
    with pytest.raises(FileProblem, match="the table has no row"):
        read(tmp_path, suffix, v=pa.array([], pa.float64()))
    twice = pa.table([pa.array([1]), pa.array([2])], names=["v", "v"])
    with pytest.raises(FileProblem, match="two columns are called 'v'"):
        read_file(save(twice, tmp_path / f"b{suffix}"))
    with pytest.raises(FileProblem, match="no column holds numbers"):
        read(tmp_path, suffix, v=[[1]])


def test_a_table_that_does_not_fit_into_memory_is_refused_before_it_is_unpacked(tmp_path):
    table = pa.table({"v": pa.array(np.zeros(3_000_000))})
    pq.write_table(table, tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 100_000
    with config_context(max_memory="10MB"), pytest.raises(FileProblem, match="its columns take 24 MB, of which 10 MB"):
        read_file(tmp_path / "a.parquet")


def test_a_batch_that_does_not_fit_into_memory_is_refused(tmp_path):
    path = save(pa.table({"v": np.zeros(300_000)}), tmp_path / "a.feather")
    with config_context(max_memory="1MB"), pytest.raises(FileProblem, match="its columns take"):
        read_file(path)


def test_a_csv_becomes_a_parquet_with_missing_whole_numbers_and_flags(tmp_path):
    (tmp_path / "a.csv").write_text("i,f,b,t,s\n1,0.5,yes,2024-01-01,x\n,,,,\n")
    write_file(read_file(tmp_path / "a.csv"), tmp_path / "b.parquet", {"cluster": np.array([0, -1])})
    back = pq.read_table(tmp_path / "b.parquet")
    assert [str(kind) for kind in back.schema.types] == ["int64", "double", "bool", "timestamp[ns]", "string", "int64"]
    assert back.to_pylist()[1] == {"i": None, "f": None, "b": None, "t": None, "s": None, "cluster": -1}


def test_a_parquet_becomes_a_csv_with_missing_whole_numbers_and_flags(tmp_path):
    table = read(tmp_path, i=[1, None], b=[True, None], s=["x", None])
    write_file(table, tmp_path / "b.csv", {"cluster": np.array([0, -1])})
    assert (tmp_path / "b.csv").read_text() == "i,b,s,cluster\n1,true,x,0\n,,,-1\n"


CELLS = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    pa.timestamp("us"): st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1)),
}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.sampled_from(SUFFIXES))
def test_any_table_comes_back_as_it_was(tmp_path, data, suffix):
    n_rows = data.draw(st.integers(1, 5))
    kinds = data.draw(st.lists(st.sampled_from(sorted(CELLS, key=str)), min_size=1, max_size=4))
    arrays = [
        pa.array(data.draw(st.lists(st.none() | CELLS[kind], min_size=n_rows, max_size=n_rows)), kind) for kind in kinds
    ]
    before = pa.table(arrays, names=[f"c{k}" for k in range(len(kinds))])
    table = read_file(save(before, tmp_path / f"a{suffix}"))
    write_file(table, tmp_path / f"b{suffix}", {"k": np.arange(n_rows)}, force=True)
    assert load(tmp_path / f"b{suffix}").drop_columns(["k"]).equals(before)


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_million_rows_take_seconds(tmp_path, suffix):
    rng = np.random.default_rng(0)
    columns = {f"x{k}": rng.normal(size=10**6) for k in range(6)}
    path = save(pa.table({"t": np.arange(10**6).astype("datetime64[s]"), **columns}), tmp_path / f"a{suffix}")
    start = time.perf_counter()
    table = read_file(path)
    assert time.perf_counter() - start < 5  # 0.2 s on two shared cores
    assert make_observations(table, guess_roles(table)).X.shape == (10**6, 6)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_whole_numbers_are_read_by_a_process_that_has_done_nothing_else(tmp_path, suffix):
    # pyarrow loads its functions with the first cast, so that a test after others does not see whether they are.
    path = save(pa.table({"t": [1, 2, 3]}), tmp_path / f"a{suffix}")
    code = "import sys; from mcgta.files import read_file; print(read_file(sys.argv[1]).columns['t'].tolist())"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert done.stdout == "[1, 2, 3]\n", done.stderr


def test_a_pipe_of_parquet_is_read_as_a_file_is(tmp_path):
    buffer = io.BytesIO()
    pq.write_table(pa.table({"v": [1.0, 2.0]}), buffer)
    os.mkfifo(tmp_path / "a.parquet")
    writer = threading.Thread(target=(tmp_path / "a.parquet").write_bytes, args=(buffer.getvalue(),))
    writer.start()
    table = read_file(tmp_path / "a.parquet")
    writer.join()
    assert table.columns["v"].tolist() == [1.0, 2.0]
