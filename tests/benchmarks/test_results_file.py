"""The file of results stays whole, whatever happens while it is written."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper.rendering import overview, tables
from paper.running.records import add_record, plain, read_records, repair

NAMES = {"table": "t", "data": "d", "method": "m", "setting": "free", "seed": 0, "status": "ok", "note": ""}
NAMES |= {"ari": 90.0, "ami": 80, "nmi": 85.5}
WHOLE = {
    **NAMES,
    "key": "a",
    "ari_singletons": 70.0,
    "ari_left_out": None,
    "noise": 0.0,
    "clusters": 4,
    "true_clusters": 4,
}
WHOLE |= {"n": 100, "d": 3, "params": {"k": 4}, "tried": 1, "seconds": 0.5, "total": 0.5, "wall": 1.0, "peak": 2e8}
WHOLE |= {"peak_before": None, "caps": {"seconds": 60.0, "memory": None}, "code": "0.1.0"}
PUBLISHED = Path(__file__).parents[2] / "docs" / "benchmarks" / "paper" / "results.jsonl"

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


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("caps", '"x"', "caps='x' is not allowed: caps must be an object or null"),
        ("caps", '{"seconds": "x"}', "caps.seconds='x' is not allowed: caps.seconds must be a number from 0 to"),
        ("caps", '{"seconds": null}', "caps.seconds=None is not allowed"),
        ("caps", '{"seconds": 1, "memory": 1e999}', "caps.memory=inf is not allowed"),
        ("total", '"x"', "total='x' is not allowed: total must be a number from 0 to 1e+18 or null"),
        ("peak", '"x"', "peak='x' is not allowed"),
        ("noise", '"x"', "noise='x' is not allowed: noise must be a number from 0 to 100 or null"),
        ("noise", "true", "noise=True is not allowed"),
        ("n", '"many"', "n='many' is not allowed: n must be an integer from 0 to 1e+18 or null"),
        ("n", "1e999", "n=inf is not allowed"),
        ("clusters", "2.5", "clusters=2.5 is not allowed"),
        ("peak_before", "-1", "peak_before=-1 is not allowed"),
        ("seconds", "1" + "0" * 400, "seconds=1000"),
        ("code", '["a"]', "code=['a'] is not allowed: code must be a text"),
        ("code", "null", "code=None is not allowed"),
        ("ari", "NaN", "ari=nan is not allowed: ari must be a number from -1e+18 to 1e+18 or null"),
        ("ami", "null", "ami=None is not allowed where ari=90.0: either all of ari, ami, nmi must be numbers, or none"),
        ("ari", "null", "ami=80 is not allowed where ari=None"),
        ("seed", "-1", "seed=-1 is not allowed"),
        ("seed", "false", "seed=False is not allowed"),
        ("setting", '"best"', "setting='best' is not allowed: setting must be one of 'given', 'tuned', 'free'"),
        ("status", '["ok"]', "status=['ok'] is not allowed: status must be one of 'ok', "),
        ("params", "[]", "params=[] is not allowed"),
    ],
)
def test_a_field_that_cannot_be_shown_is_refused_with_its_place_its_value_and_what_is_allowed(
    tmp_path, field, value, said
):
    file = tmp_path / "results.jsonl"
    line = json.dumps({**WHOLE, field: "PLACE"}).replace('"PLACE"', value)
    file.write_text(f"{json.dumps(WHOLE)}\n{line}\n")
    with pytest.raises(ValueError, match="line 2 is no result of a benchmark") as refused:
        read_records(file)
    told = str(refused.value)
    assert told.startswith(f"{file}, line 2 ")
    assert said in told
    assert "\n" not in told
    assert len(told) < 400 + len(str(file))


@pytest.mark.parametrize("field", [*NAMES, "key"])
def test_a_field_that_must_be_there_is_named(tmp_path, field):
    file = tmp_path / "results.jsonl"
    add_record(file, {name: value for name, value in WHOLE.items() if name != field})
    with pytest.raises(ValueError, match=f"line 1 is no result of a benchmark: {field} is missing: {field} must be"):
        read_records(file)


def test_a_line_of_brackets_only_is_no_record_either(tmp_path):
    file = tmp_path / "results.jsonl"
    file.write_text("[" * 100_000 + "\n")
    with pytest.raises(ValueError, match="line 1 is no result of a benchmark"):
        read_records(file)


@given(st.sampled_from([*WHOLE, "caps.seconds", "caps.memory"]), values | st.integers(-(10**400), 10**400))
def test_whatever_a_field_holds_it_is_refused_or_can_be_shown(tmp_path_factory, field, value):
    file = tmp_path_factory.mktemp("results") / "results.jsonl"
    damaged = {**WHOLE, "key": "b", "seed": 1}
    outer, _, inner = field.partition(".")
    damaged[outer] = {**WHOLE["caps"], inner: value} if inner else value
    file.write_text(f"{json.dumps(WHOLE)}\n{json.dumps(damaged)}\n")
    records = [WHOLE]
    with suppress(ValueError):
        records = read_records(file)
    for table in ("baselines", "t"):
        shown = [{**record, "table": table} for record in records]
        assert tables.render(shown) is not None
        assert overview.overview_text(shown) is not None


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the documents are not there")
def test_the_published_results_are_accepted_whole():
    lines = PUBLISHED.read_text(encoding="utf-8").splitlines()
    assert read_records(PUBLISHED) == [json.loads(line) for line in lines]
