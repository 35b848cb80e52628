"""The file of results stays whole, whatever happens while it is written."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcgta.experiments.results import add_record, plain, read_records, repair

NAMES = {"table": "t", "data": "d", "method": "m", "setting": "free", "seed": 0, "status": "ok", "note": ""}
NAMES |= {"ari": 90.0, "ami": 80, "nmi": None}

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_where_there_is_no_file_there_are_no_records(tmp_path):
    assert read_records(tmp_path / "results.jsonl") == []
    repair(tmp_path / "results.jsonl")
    assert not (tmp_path / "results.jsonl").exists()


@given(values)
def test_what_is_written_is_read_and_written_again_the_same(tmp_path_factory, value):
    file = tmp_path_factory.mktemp("results") / "results.jsonl"
    add_record(file, {**NAMES, "key": "a", "value": value})
    (record,) = read_records(file)
    assert record == {**NAMES, "key": "a", "value": plain(value)} == plain(record)
    assert file.read_bytes().count(b"\n") == 1


def test_numbers_of_numpy_and_numbers_that_json_does_not_have_can_be_written():
    value = {"k": np.int64(4), "eps": np.inf, "flag": np.True_, "grid": np.arange(2), 3: (1.5, range(2))}
    wanted = {"k": 4, "eps": "inf", "flag": True, "grid": [0, 1], "3": [1.5, "range(0, 2)"]}
    assert plain(value) == wanted == json.loads(json.dumps(plain(value), allow_nan=False))


def test_of_two_lines_with_one_key_the_last_counts(tmp_path):
    file = tmp_path / "results.jsonl"
    for key, value in (("a", 1), ("b", 2), ("a", 3)):
        add_record(file, {**NAMES, "key": key, "value": value})
    assert read_records(file) == [{**NAMES, "key": "a", "value": 3}, {**NAMES, "key": "b", "value": 2}]


def test_wherever_the_last_line_is_torn_the_lines_before_are_kept(tmp_path):
    file = tmp_path / "results.jsonl"
    add_record(file, {**NAMES, "key": "a", "value": "é"})
    first = file.read_bytes()
    add_record(file, {**NAMES, "key": "b", "value": "ü"})
    whole = file.read_bytes()
    for end in range(len(first) + 1, len(whole)):
        file.write_bytes(whole[:end])
        assert [record["key"] for record in read_records(file)] == ["a"]
        repair(file)
        complete = end == len(whole) - 1  # only the end of the line was lost
        assert file.read_bytes() == (whole if complete else first)
        add_record(file, {**NAMES, "key": "c"})
        assert [record["key"] for record in read_records(file)] == ["a", *("b" * complete), "c"]


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[1]",
        '{"no": "key"}',
        '{"key": 3}',
        json.dumps({**NAMES, "key": "a", "seed": "0"}),
        json.dumps({**NAMES, "key": "a", "ari": "x"}),
        json.dumps({**NAMES, "key": "a", "status": "fine"}),
        json.dumps({**NAMES, "key": "a", "note": None}),
    ],
)
def test_a_line_in_the_middle_that_is_no_record_is_an_error_that_says_where(tmp_path, line):
    file = tmp_path / "results.jsonl"
    file.write_text("\n".join([json.dumps({**NAMES, "key": "a"}), line, json.dumps({**NAMES, "key": "b"}), ""]))
    with pytest.raises(ValueError, match="line 2"):
        read_records(file)
