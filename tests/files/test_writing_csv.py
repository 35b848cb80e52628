"""A delimited text is written back as it was, byte for byte, with the added cells at the end of each row."""

from __future__ import annotations

import csv
import gzip
import io
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcgta.files import FileProblem, check_target, read_file, write_file
from mcgta.files.delimited.cells import MISSING
from mcgta.files.delimited.reading import CHUNK_ROWS


def copy(folder: Path, text: str | bytes, name: str = "a.csv", target: str = "b.csv", **added: object) -> bytes:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    table = read_file(folder / name)
    write_file(table, folder / target, {key: np.asarray(value) for key, value in added.items()}, force=True)
    return (folder / target).read_bytes()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a,b\n1.50,x\n2,y\n", "a,b,k,p\n1.50,x,0,0.5\n2,y,-1,\n"),
        ("a,b\r\n1,x\r\n2,y", "a,b,k,p\r\n1,x,0,0.5\r\n2,y,-1,"),
        ("a;b\n1,50;x\n2,0;y\n\n", "a;b;k;p\n1,50;x;0;0,5\n2,0;y;-1;\n\n"),
        ("a\tb\n1\tx\n2\ty\n", "a\tb\tk\tp\n1\tx\t0\t0.5\n2\ty\t-1\t\n"),
        ("\ufeffa,b\n 1, x\n2,y\n", "\ufeffa,b,k,p\n 1, x,0,0.5\n2,y,-1,\n"),
        ('"a","b"\n1,"x"\n2,"y"\n', '"a","b","k","p"\n1,"x",0,0.5\n2,"y",-1,\n'),
        ('"a","b"\n"1","x"\n"2","y"\n', '"a","b","k","p"\n"1","x","0","0.5"\n"2","y","-1",""\n'),
        ('a,b\n1,"x\ry"\n2,y\n', 'a,b,k,p\n1,"x\ry",0,0.5\n2,y,-1,\n'),
        ('a,b\n1,"x\n,"\n\n2,y\n', 'a,b,k,p\n1,"x\n,",0,0.5\n\n2,y,-1,\n'),
        ("1,2\n3,4\n", "column_1,column_2,k,p\n1,2,0,0.5\n3,4,-1,\n"),
        ("a,a,\n1,2,3\n3,4,5\n", "a,a,,k,p\n1,2,3,0,0.5\n3,4,5,-1,\n"),
    ],
)
def test_cells_stay_as_they_were_written(tmp_path, before, after):
    assert copy(tmp_path, before, k=[0, -1], p=[0.5, np.nan]).decode() == after


def test_added_text_flags_and_times_are_written_and_quoted_where_needed(tmp_path):
    times = np.array(["2024-01-01", "2024-01-02T03:00"], dtype="datetime64[ns]")
    out = copy(tmp_path, "a,b\n1,x\n2,y\n", s=["p,q", 'r"'], f=[True, False], t=times)
    assert out.decode() == 'a,b,s,f,t\n1,x,"p,q",true,2024-01-01T00:00:00\n2,y,"r""",false,2024-01-02T03:00:00\n'


def test_another_encoding_is_kept(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("größe,v\nä,1\n".encode("cp1252"))
    write_file(read_file(path, encoding="cp1252"), tmp_path / "b.csv", {"k": np.array([3])})
    assert (tmp_path / "b.csv").read_bytes() == "größe,v,k\nä,1,3\n".encode("cp1252")


def test_the_suffix_says_whether_tabs_separate(tmp_path):
    assert copy(tmp_path, 'a,b\n1.50,"x,y"\n', target="b.tsv", k=[7]).decode() == "a\tb\tk\n1.50\tx,y\t7\n"
    assert copy(tmp_path, "a\tb\n1.50\tx,y\n", "a.tsv", k=[7]).decode() == 'a,b,k\n1.50,"x,y",7\n'


def test_gzip_in_and_out_gives_equal_bytes_each_time(tmp_path):
    packed = gzip.compress(b"a,b\n1,2\n")
    first = copy(tmp_path, packed, "a.csv.gz", "b.csv.gz", k=[1])
    assert gzip.decompress(first) == b"a,b,k\n1,2,1\n"
    assert copy(tmp_path, packed, "a.csv.gz", "c.csv.gz", k=[1]) == first


def test_many_rows_are_written_with_their_own_cells(tmp_path):
    n_rows = 2 * CHUNK_ROWS + 5
    text = "a\n" + "".join(f"{k}\n" for k in range(n_rows))
    out = copy(tmp_path, text, k=np.arange(n_rows)).decode().splitlines()
    assert out[1:] == [f"{k},{k}" for k in range(n_rows)]


def test_a_file_that_has_changed_since_it_was_read_is_not_mixed_up(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    table = read_file(path)
    path.write_text("a,b\n1,2\n3,5\n")
    with pytest.raises(FileProblem, match="has changed since it was read"):
        write_file(table, tmp_path / "b.csv", {"k": np.array([1, 2])})
    assert os.listdir(tmp_path) == ["a.csv"]


def test_a_file_may_be_written_over_itself_by_force(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    write_file(read_file(path), path, {"k": np.array([1])}, force=True)
    assert path.read_text() == "a,b,k\n1,2,1\n"


def test_an_existing_file_is_replaced_by_force_only(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(FileExistsError):
        write_file(read_file(path), path, {"k": np.array([1])})
    assert path.read_text() == "a,b\n1,2\n"


@pytest.mark.parametrize(("name", "said"), [("a.csv/b.csv", "Not a directory"), ("no/b.csv", "No such file")])
def test_a_folder_that_is_none_is_refused_before_any_work(tmp_path, name, said):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(OSError, match=said):
        check_target(tmp_path / name)


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(OSError, match=r"/proc/.*b\.csv"):
        write_file(read_file(tmp_path / "a.csv"), "/proc/b.csv", {"k": np.array([1])})


def test_a_device_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "full.csv").symlink_to("/dev/full")
    with pytest.raises(ValueError, match="is a device"):
        write_file(read_file(tmp_path / "a.csv"), tmp_path / "full.csv", {"k": np.array([1])}, force=True)


def test_columns_that_are_there_already_or_too_short_are_refused(tmp_path):
    with pytest.raises(FileProblem, match="a column 'b' already"):
        copy(tmp_path, "a,b\n1,2\n", b=[1])
    with pytest.raises(ValueError, match=r"shape \(2,\), but a.csv has 1 rows"):
        copy(tmp_path, "a,b\n1,2\n", k=[1, 2])


COPY = """
import sys, numpy as np
from mcgta.files import read_file, write_file
table = read_file(sys.argv[1])
write_file(table, "-", {"k": np.arange(table.n_rows)})
print(table.name, table.sha256, file=sys.stderr)
"""


def run(path: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-c", COPY, path], check=False, **options)  # type: ignore[call-overload]


def test_standard_input_goes_to_standard_output():
    done = run("-", input=b"a;b\r\n1,5;x\r\n2,5;\r\n", capture_output=True)
    assert done.stdout == b"a;b;k\r\n1,5;x;0\r\n2,5;;1\r\n"
    assert done.stderr.startswith(b"- ")


def test_a_full_disk_is_an_error(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with open("/dev/full", "wb") as full:
        done = run(str(tmp_path / "a.csv"), stdout=full, stderr=subprocess.PIPE)
    assert done.returncode != 0
    assert b"No space left" in done.stderr


def test_a_pipe_is_read_once_and_written_back(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"a,b\n1,x\n2,3\n",))
    writer.start()
    table = read_file(pipe)
    writer.join()
    assert table.columns["b"].tolist() == ["x", "3"]
    write_file(table, tmp_path / "b.csv", {"k": np.array([5, 6])})
    assert (tmp_path / "b.csv").read_text() == "a,b,k\n1,x,5\n2,3,6\n"


# Python 3.11 leaves a lone carriage return without quotes.
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), max_size=8)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
COLUMNS = st.one_of(st.just(NUMBERS), st.just(st.integers(-(2**63), 2**63 - 1)), st.just(TEXTS.filter(str.strip)))


@st.composite
def tables(draw):
    kinds = draw(st.lists(COLUMNS, min_size=1, max_size=4))
    n_rows = draw(st.integers(1, 6))
    columns = {f"name {k}": draw(st.lists(kind, min_size=n_rows, max_size=n_rows)) for k, kind in enumerate(kinds)}
    separator = draw(st.sampled_from(",;\t"))
    decimal = draw(st.sampled_from(".,")) if separator == ";" else "."
    style = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return columns, {"delimiter": separator, "quoting": style, "lineterminator": end}, decimal, draw(st.booleans())


def as_cell(value: object, decimal: str) -> object:
    return str(value).replace(".", ",") if isinstance(value, float) and decimal == "," else value


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables())
def test_what_python_writes_is_read_back_equal_and_written_back_unchanged(tmp_path, table):
    columns, style, decimal, marked = table
    text = io.StringIO()
    writer = csv.writer(text, **style)
    writer.writerow(columns)
    writer.writerows([[as_cell(value, decimal) for value in row] for row in zip(*columns.values(), strict=True)])
    before = ("\ufeff" if marked else "") + text.getvalue()
    path = tmp_path / "table.csv"
    path.write_bytes(before.encode())
    try:
        read = read_file(path)
    except FileProblem as error:
        if "could be separated by" not in str(error):  # texts may hold separators, so that two of them fit
            raise
        return
    assert list(read.columns) == list(columns)
    for name, values in columns.items():
        if isinstance(values[0], str):
            assert all(same_text(a, b) for a, b in zip(read.columns[name].tolist(), values, strict=True))
        else:
            assert read.columns[name].tolist() == values
    target = tmp_path / "written.csv"
    write_file(read, target, {}, force=True)
    assert target.read_bytes() == before.encode()


def same_text(read: object, written: str) -> bool:
    """Whether text was read as it is; where all texts of a column are numbers, times or missing, it is read as those."""
    return not isinstance(read, str) or read == written or written.strip() in MISSING
