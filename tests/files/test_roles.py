"""What columns are taken for: what is doubtful is asked for, in words that name the cell and the flags."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from mcgta.files import AmbiguousRoles, FileProblem, Roles, guess_roles, make_observations, read_file


def table_of(folder: Path, text: str):
    (folder / "a.csv").write_text(text, encoding="utf-8")
    return read_file(folder / "a.csv")


def test_numbers_named_as_a_time_that_fall_are_asked_for_and_not_taken_for_a_feature(tmp_path):
    table = table_of(tmp_path, "t,v\n1,5\n3,6\n2,8\n")
    with pytest.raises(AmbiguousRoles, match=r"line 4, column t: .* falls from 3 to 2") as raised:
        guess_roles(table)
    assert raised.value.flags == ("--time t", "--ignore t")
    assert guess_roles(table, Roles(time=("t",))).features == ("v",)
    assert guess_roles(table, Roles(features=("t", "v"))).features == ("t", "v")


def test_a_time_that_begins_again_with_each_group_is_no_doubt(tmp_path):
    rows = "".join(f"{car},{t},{t * 7 % 5}\n" for car in ("blue", "red") for t in range(30))
    assert guess_roles(table_of(tmp_path, f"car,t,v\n{rows}")).time == ("t",)


def test_another_column_of_times_leaves_falling_numbers_a_feature(tmp_path):
    table = table_of(tmp_path, "date,t,v\n2024-01-01,3.5,1\n2024-01-02,2.5,2\n2024-01-03,4.5,1\n")
    assert guess_roles(table).features == ("t", "v")


@pytest.mark.parametrize("cell", ["03/01/2024 10:00", "Jan 3, 2024"])
def test_text_named_as_a_time_that_cannot_be_read_is_refused(tmp_path, cell):
    other = "2024-01-01 10:00" if "/" in cell else "Jan 1, 2024"
    table = table_of(tmp_path, f'when,v\n"{other}",1\n"{cell}",2\n')
    with pytest.raises(FileProblem, match=r"line 2, column when: the column is named as a time"):
        guess_roles(table)


@pytest.mark.parametrize("cells", [("10:00", "10:01"), ("morning", "noon")])
def test_times_of_day_and_words_named_as_a_time_leave_the_order_of_the_rows(tmp_path, cells):
    table = table_of(tmp_path, f"time,v\n{cells[0]},1\n{cells[1]},2\n")
    assert guess_roles(table).time == ()


def test_latitudes_beyond_the_poles_are_asked_for_and_not_taken_for_a_feature(tmp_path):
    table = table_of(tmp_path, "lat,lon,v\n13.4,52.5,1\n100.2,53.6,2\n13.9,52.1,3\n")
    with pytest.raises(AmbiguousRoles, match=r"line 3, column lat: 100.2 is outside -90 to 90") as raised:
        guess_roles(table)
    assert raised.value.flags == ("--lon lat --lat lon", "--x lon --y lat")


def test_metres_named_longitude_are_offered_as_coordinates_of_a_plane(tmp_path):
    table = table_of(tmp_path, "lon,lat,v\n400000,5800000,1\n400010,5800020,2\n")
    with pytest.raises(AmbiguousRoles) as raised:
        guess_roles(table)
    assert raised.value.flags == ("--x lon --y lat",)


def test_flags_that_decide_can_be_typed_in_a_shell(tmp_path):
    table = table_of(tmp_path, "start time,end time,v\n2024-01-01,2024-01-02,1\n2024-01-03,2024-01-04,2\n")
    with pytest.raises(AmbiguousRoles) as raised:
        guess_roles(table)
    assert shlex.split(raised.value.flags[0]) == ["--time", "start time"]


@pytest.mark.parametrize(
    ("cells", "dress"),
    [
        (("3.5 kg", "4 kg"), "the unit"),
        (("3%", "4.5%"), "the unit"),
        (("1,234.5", "2,345.0"), "the signs between thousands"),
        (("1 234", "22"), "the signs between thousands"),
    ],
)
def test_numbers_with_units_or_thousands_are_not_left_out_without_a_word(tmp_path, cells, dress):
    table = table_of(tmp_path, f't,w,v\n1,"{cells[0]}",1\n2,"{cells[1]}",2\n')
    with pytest.raises(FileProblem, match=rf"line 2, column w: .* leave out {dress}, or the column by --ignore w"):
        guess_roles(table)
    assert guess_roles(table, Roles(ignored={"w": ""})).features == ("v",)


@pytest.mark.parametrize(
    "cells", [("A12", "A13"), ("3 kg", "4 lb"), ("12 Main Street", "13 Main Street"), ("5x", "5x")]
)
def test_other_text_with_digits_is_left_out(tmp_path, cells):
    table = table_of(tmp_path, f"t,w,v\n1,{cells[0]},1\n2,{cells[1]},2\n")
    assert guess_roles(table).features == ("v",)


@pytest.mark.parametrize("name", ["p", "v"])
def test_infinite_numbers_are_named_by_line_and_column(tmp_path, name):
    cells = {"p": "2", "v": "5", name: "-inf"}
    table = table_of(tmp_path, f"p,v\n1,5\n\n{cells['p']},{cells['v']}\n3,8\n")
    with pytest.raises(FileProblem, match=f"line 4, column {name}: -inf is not finite"):
        make_observations(table, guess_roles(table, Roles(position=("p",), features=("v",))))
