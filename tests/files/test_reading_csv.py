"""Delimited text is read with the type of every column found over all rows, and errors name the line."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

from mcgta.files import FileProblem, FileTable, UnknownFormat, guess_roles, read_file, write_file
from mcgta.files.delimited.reading import CHUNK_ROWS


def read(folder: Path, text: str | bytes, name: str = "a.csv") -> FileTable:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_file(path)


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1", " 2", "-3"], "integer", [1, 2, -3]),
        (["1", "2.5", "1e3"], "number", [1, 2.5, 1000]),
        (["9223372036854775808", "1", "2"], "number", [2.0**63, 1, 2]),
        (["true", "False", "TRUE"], "flag", [True, False, True]),
        (["yes", "no", "no"], "flag", [True, False, False]),
        (["a", "b c", "1"], "text", ["a", "b c", "1"]),
        (["1_000", "2_000", "3"], "text", ["1_000", "2_000", "3"]),
        (["\u0661", "\u0662", "\u0663"], "text", ["\u0661", "\u0662", "\u0663"]),  # digits, but not ours
    ],
)
def test_the_kind_of_a_column_is_found(tmp_path, cells, kind, values):
    table = read(tmp_path, "name,v\n" + "".join(f"x,{cell}\n" for cell in cells))
    assert table.kinds["v"] == kind
    assert table.columns["v"].tolist() == values


@pytest.mark.parametrize(
    ("cell", "other", "time"),
    [
        ("2024-03-04", "2024-03-05", "2024-03-04"),
        ("2024-03-04 05:06", "2024-03-05 05:06", "2024-03-04T05:06"),
        ("2024-03-04T05:06:07.123456789", "2024-03-05", "2024-03-04T05:06:07.123456789"),
        ("2024-03-04T05:06:07Z", "2024-03-05T05:06:07+01:00", "2024-03-04T05:06:07"),
        ("2024-03-04 05:06:07+0130", "2024-03-05T05:06:07Z", "2024-03-04T03:36:07"),
        ("2024-03-04T05:06-03", "2024-03-05T05:06:07Z", "2024-03-04T08:06"),
        ("4.3.2024", "05.03.2024 10:00", "2024-03-04"),
        ("04.03.2024 05:06:07", "05.03.2024", "2024-03-04T05:06:07"),
        ("03/04/2024", "03/13/2024", "2024-03-04"),
        ("04/03/2024 05:06 PM", "13/03/2024 12:00 AM", "2024-03-04T17:06"),
        ("2024-03", "2024-04", "2024-03-01"),
    ],
)
def test_times_are_read_where_they_are_unambiguous(tmp_path, cell, other, time):
    table = read(tmp_path, f"v\n{cell}\n{other}\n")
    assert table.kinds["v"] == "time"
    assert table.columns["v"].dtype == "datetime64[ns]"
    assert table.columns["v"][0] == np.datetime64(time, "ns")


@pytest.mark.parametrize(
    "cell", ["03/04/2024", "2024-02-30", "1600-01-01", "25:00", "2024-01-01T00:00:00+99:00", "now"]
)
def test_what_is_no_certain_time_is_text(tmp_path, cell):
    assert read(tmp_path, f"v,w\n{cell},1\n").kinds["v"] == "text"


def test_a_date_that_could_be_two_says_so(tmp_path):
    table = read(tmp_path, "v,w\n03/04/2024,1\n04/05/2024,2\n")
    assert "line 2, column v: '03/04/2024' could be month/day/year or day/month/year" in table.say_bad_cells("v")


@pytest.mark.parametrize("mark", ["", "NA", "NaN", "nan", "null", "None", "N/A", "#N/A", " "])
def test_missing_cells_are_found_in_columns_of_every_kind(tmp_path, mark):
    table = read(tmp_path, f"i,f,t,s\n1,1.5,2024-01-01,a\n{mark},{mark},{mark},\n3,2.5,2024-01-03,b\n")
    assert list(table.kinds.values()) == ["integer", "number", "time", "text"]
    assert {name: rows.tolist() for name, rows in table.missing.items()} == {name: [1] for name in "ifts"}
    assert np.isnan(table.columns["i"][1])
    assert np.isnat(table.columns["t"][1])
    assert table.columns["s"][1] is None


def test_a_dash_is_no_missing_number(tmp_path):
    table = read(tmp_path, "v\n1\n-\n3\n")
    with pytest.raises(FileProblem, match=r"a\.csv: line 3, column v: '-' is not a number"):
        table.numbers("v")


def test_text_that_looks_like_a_missing_mark_stays_in_a_column_of_text(tmp_path):
    assert read(tmp_path, "country,v\nNA,1\nDE,2\nFR,3\n").columns["country"].tolist() == ["NA", "DE", "FR"]


def test_a_cell_that_is_no_number_is_named_however_late_it_comes(tmp_path):
    rows = [f"{k},{k / 2}\n" for k in range(CHUNK_ROWS + 10)]
    rows[-3] = "7,n/a?\n"
    table = read(tmp_path, "id,temp\n" + "".join(rows))
    assert table.kinds == {"id": "integer", "temp": "text"}
    assert table.columns["temp"][2] == "1.0"
    assert table.bad_cells["temp"].count == 1
    with pytest.raises(FileProblem, match=rf"line {CHUNK_ROWS + 9}, column temp: 'n/a\?' is not a number"):
        table.numbers("temp")


def test_a_column_widens_from_whole_to_broken_numbers_over_all_rows(tmp_path):
    table = read(tmp_path, "v\n" + "1\n" * CHUNK_ROWS + "0.5\n")
    assert table.kinds["v"] == "number"
    assert table.columns["v"][[0, -1]].tolist() == [1.0, 0.5]


def test_a_column_that_begins_with_missing_cells_is_read(tmp_path):
    table = read(tmp_path, "v,w,s\n" + "NA,1,\n" * CHUNK_ROWS + "3,4,x\n")
    assert table.kinds == {"v": "integer", "w": "integer", "s": "text"}
    assert table.columns["v"][-1] == 3
    assert table.missing["v"].size == CHUNK_ROWS
    assert table.columns["s"][[0, -1]].tolist() == [None, "x"]


def test_a_line_of_units_below_the_header_is_named(tmp_path):
    table = read(tmp_path, "t,v\ns,degC\n1,2\n2,3\n3,4\n")
    assert "line 2, column v: 'degC' is not a number" in table.say_bad_cells("v")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separators_are_found(tmp_path, separator):
    table = read(tmp_path, "a,b,c\n1,2,x y\n3,4,z\n".replace(",", separator))
    assert list(table.columns) == ["a", "b", "c"]


def test_semicolons_go_with_decimal_commas(tmp_path):
    table = read(tmp_path, "a;b;c\n1,5;2;-0,25\n2,5;3;1e2\n")
    assert table.columns["a"].tolist() == [1.5, 2.5]
    assert table.columns["c"].tolist() == [-0.25, 100]
    assert table.kinds["b"] == "integer"


def test_a_single_column_may_have_decimal_commas(tmp_path):
    assert read(tmp_path, "a\n1,5\n2,5\n").columns["a"].tolist() == [1.5, 2.5]


def test_numbers_that_could_be_thousands_are_not_guessed(tmp_path):
    table = read(tmp_path, "a;b\n1.234;1,5\n999;2,25\n")
    assert "line 2, column a: '1.234' could be a thousand" in table.say_bad_cells("a")
    assert table.columns["b"].tolist() == [1.5, 2.25]


def test_a_text_that_two_separators_fit_is_refused(tmp_path):
    with pytest.raises(FileProblem, match="separated by commas or semicolons"):
        read(tmp_path, "a,b;c\n1,2;3\n4,5;6\n")


def test_tabs_win_in_a_file_of_that_suffix(tmp_path):
    assert list(read(tmp_path, "a,b\tc\n1,2\t3\n", "a.tsv").columns) == ["a,b", "c"]


def test_a_byte_order_mark_and_windows_line_ends_are_no_part_of_cells(tmp_path):
    table = read(tmp_path, "\ufeffa,b\r\n1,x\r\n2,y\r\n\r\n\r\n")
    assert table.columns["a"].tolist() == [1, 2]
    assert table.columns["b"].tolist() == ["x", "y"]


def test_lines_that_end_as_on_old_computers_are_read(tmp_path):
    assert read(tmp_path, "a,b\r1,2\r3,4\r").columns["b"].tolist() == [2, 4]


def test_cells_in_quotes_may_hold_line_ends_and_separators(tmp_path):
    table = read(tmp_path, 'a,b\n1,"x\ny"\n\n2,"p, ""q"""\n')
    assert table.columns["b"].tolist() == ["x\ny", 'p, "q"']
    assert [table.line_of(row) for row in range(2)] == [2, 5]


@pytest.mark.parametrize("text", ['a,b\n1,2\n3,"x\n', 'a,b\n1,2\n3,"x"y\n'])
def test_quotes_that_are_not_in_order_are_named(tmp_path, text):
    with pytest.raises(FileProblem, match="line 3: a cell in quotes"):
        read(tmp_path, text)


@pytest.mark.parametrize(("row", "said"), [("1,2,3", "3 cells"), ("1", "1 cell,"), ("1,2,", "end with a separator")])
def test_a_row_of_another_length_is_named(tmp_path, row, said):
    with pytest.raises(FileProblem, match=rf"a\.csv: line 4: .*{said}"):
        read(tmp_path, f"a,b\n1,2\n3,4\n{row}\n")


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_file_is_refused(tmp_path, text):
    with pytest.raises(FileProblem, match="is empty"):
        read(tmp_path, text)


def test_a_header_alone_is_refused(tmp_path):
    with pytest.raises(FileProblem, match="followed by no row"):
        read(tmp_path, "a,b\n")


def test_a_first_row_of_numbers_and_times_is_no_header(tmp_path):
    table = read(tmp_path, "2024-01-01,1.5\n2024-01-02,2.5\n")
    assert list(table.columns) == ["column_1", "column_2"]
    assert table.n_rows == 2
    assert table.line_of(0) == 1
    assert "holds no names" in table.notes[0]


def test_columns_of_the_same_name_or_without_one_are_numbered(tmp_path):
    table = read(tmp_path, "a,a,,a_2,a\n1,2,3,4,5\n")
    assert list(table.columns) == ["a", "a_3", "column_3", "a_2", "a_4"]
    assert len(table.notes) == 3


def test_bytes_that_are_no_utf8_are_named_by_line_and_byte(tmp_path):
    with pytest.raises(FileProblem, match="line 3, byte 4 of the line: 0xe4 is no text in UTF-8"):
        read(tmp_path, "a,b\n1,ö\n".encode() + b"2,x\xe4\n")


def test_bytes_that_are_no_utf8_are_named_far_into_a_file(tmp_path):
    lines = "a,b\n" + "1,x\n" * 400_000
    with pytest.raises(FileProblem, match="line 400002, byte 6 of the line"):
        read(tmp_path, lines.encode() + "2,ö".encode() + b"z\xff\n")


def test_another_encoding_can_be_said(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("größe,v\nä,1\n".encode("cp1252"))
    assert read_file(path, encoding="cp1252").columns["größe"].tolist() == ["ä"]
    with pytest.raises(ValueError, match="extends ASCII"):
        read_file(path, encoding="utf-16")


def test_utf16_is_refused_by_its_name(tmp_path):
    with pytest.raises(FileProblem, match="UTF-16"):
        read(tmp_path, "a,b\n1,2\n".encode("utf-16"))


def test_an_endless_line_is_refused(tmp_path):
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(40):
            file.write(b"a" * 2**20)
    with pytest.raises(FileProblem, match="is this a table in plain text"):
        read_file(path)


def test_gzip_is_unpacked_and_the_hash_is_that_of_the_file(tmp_path):
    packed = gzip.compress(b"a,b\n1,2\n")
    table = read(tmp_path, packed, "a.csv.gz")
    assert table.columns["b"].tolist() == [2]
    assert table.sha256 == hashlib.sha256(packed).hexdigest()


def test_a_gzip_file_that_is_cut_short_is_refused(tmp_path):
    packed = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    with pytest.raises(FileProblem, match="damaged or cut short"):
        read(tmp_path, packed[:-12], "a.csv.gz")


def test_an_unknown_suffix_gives_the_nearest(tmp_path):
    with pytest.raises(UnknownFormat, match=r"did you mean \.csv\?"):
        read_file(tmp_path / "a.cvs")
    with pytest.raises(UnknownFormat, match="a suffix must say"):
        read_file(tmp_path / "a")


def test_a_file_that_is_not_there_and_a_folder_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "a.csv")
    (tmp_path / "b.csv").mkdir()
    with pytest.raises(IsADirectoryError):
        read_file(tmp_path / "b.csv")


def test_a_line_of_blanks_is_skipped_as_an_empty_one_is(tmp_path):
    table = read(tmp_path, "t,v\n1,5\n   \n\n2,x\n")
    assert table.columns["t"].tolist() == [1, 2]
    assert table.line_of(1) == 5
    write_file(table, tmp_path / "b.csv", {"k": np.array([0, 1])})
    assert (tmp_path / "b.csv").read_text() == "t,v,k\n1,5,0\n   \n\n2,x,1\n"


def test_an_empty_cell_in_quotes_is_a_row_of_a_single_column(tmp_path):
    assert read(tmp_path, 'v\n1\n""\n2\n').n_rows == 3


@pytest.mark.parametrize("title", ["My readings", "# made by a logger"])
def test_a_line_above_the_names_of_columns_is_named(tmp_path, title):
    with pytest.raises(
        FileProblem, match="the first line has 1 cell, but rows below it have 2; remove what stands above"
    ):
        read(tmp_path, f"{title}\n\nt,v\n1,5\n2,6\n")


def test_a_note_to_spreadsheets_is_named(tmp_path):
    with pytest.raises(FileProblem, match="line 1: 'sep=;' is a note to spreadsheets and no header; remove this line"):
        read(tmp_path, "sep=;\nt;v\n1;5\n")


def test_separators_that_are_not_known_are_guessed_at_in_words(tmp_path):
    with pytest.raises(FileProblem, match="must be separated by commas, semicolons or tabs"):
        guess_roles(read(tmp_path, "t|v\n1|5\n2|6\n"))


def test_utf16_without_a_mark_is_refused_by_its_name(tmp_path):
    with pytest.raises(FileProblem, match="text in UTF-16, or no text; save it as UTF-8"):
        read(tmp_path, "t,v\n1,5\n".encode("utf-16-le"))
