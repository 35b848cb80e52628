"""Tables show what records hold, say in a word why something is missing, and never lose a row of the paper's."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcgta.experiments import paper, tables
from mcgta.experiments.cells import SETTINGS, STATUSES, Cell
from mcgta.experiments.summary import WORDS, Board, Summary


def record(method="mcgta", data="pavement", setting="tuned", seed=0, *, status="ok", ari=50.0, **rest):
    cell = Cell(rest.pop("table", "baselines"), data, method, setting, seed)
    scores = {"ari": ari, "ami": ari, "nmi": ari} if ari is not None else dict.fromkeys(("ari", "ami", "nmi"))
    sizes = {"n": 1055, "d": 10, "noise": 12.5, "clusters": 4, "true_clusters": 3}
    costs = {"seconds": 2.0, "total": 30.0, "tried": 15, "peak": 2 * 10**9, "peak_before": 10**8}
    return {"key": cell.key, **cell.fields(), "status": status, "note": "", **scores, **sizes, **costs, **rest}


def rows_of(text, heading):
    """Head and rows of the first table below a heading."""
    part = text[text.index(heading) :]
    lines = []
    for line in part.splitlines():
        if line.startswith("|"):
            lines.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif lines:
            break
    return lines[0], lines[2:]


def block(records, cells=(), data="pavement"):
    head, rows = rows_of(tables.render_baselines(records, cells), f"### {data}")
    return {(row[0], row[1]): dict(zip(head, row, strict=True)) for row in rows}


def test_means_and_deviations_are_over_seeds():
    found = block([record(seed=0, ari=60.0), record(seed=1, ari=70.0), record(seed=2, ari=80.0)])
    row = found["mcgta", "tuned"]
    assert row["ARI"] == row["AMI"] == "**70.00 ± 10.00**"
    assert (row["noise %"], row["clusters"]) == ("12.5", "4 of 3")


def test_what_rounds_to_nothing_has_no_sign():
    assert block([record(ari=-0.001)])["mcgta", "tuned"]["ARI"] == "**0.00**"
    assert "-0.0" not in tables.overview_text([record(ari=-0.001)])


def test_the_papers_figures_stand_beside_ours_once_for_each_method():
    found = block([record(setting="tuned"), record(setting="free"), record("gmm")])
    assert found["mcgta", "tuned"]["paper's ARI"] == "**77.64**"
    assert found["mcgta", "free"]["paper's ARI"] == ""
    assert found["gmm", "tuned"]["paper's NMI"] == "28.74"


@pytest.mark.parametrize("data", paper.DATA)
def test_every_method_of_the_paper_has_a_row_in_its_order_and_others_follow(data):
    found = block([record("new", data), record("hmm", data)], data=data)
    named = [name for name, _ in found if not name.startswith("*")]
    theirs = [name for _, names in tables.FAMILIES for name in names]
    assert named == [*theirs, "new", "hmm"]
    assert set(theirs) == set(paper._TABLE)
    for name in theirs:
        cell = paper.printed(name, data)
        assert found[name, ""]["ARI"] == "not run"
        assert found[name, ""]["paper's ARI"].strip("*") == (cell.said or f"{cell.ari:.2f}")


def test_the_best_of_each_setting_and_column_is_bold():
    records = [record("gmm", ari=10.0, ami=90.0), record("ticc", ari=20.0), record("mcgta", ari=20.001)]
    records += [record("gmm", setting="free", ari=5.0), record("ticc", setting="free", status="time", ari=None)]
    found = block(records)
    assert found["gmm", "tuned"]["ARI"] == "10.00"
    assert found["gmm", "tuned"]["AMI"] == "**90.00**"
    assert found["ticc", "tuned"]["ARI"] == found["mcgta", "tuned"]["ARI"] == "**20.00**"
    assert found["gmm", "free"]["ARI"] == "**5.00**"
    assert found["ticc", "free"]["ARI"] == "time"


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ("unsuitable", "-"),
        ("not converged", "NC"),
        ("time", "time"),
        ("memory", "memory"),
        ("failed", "failed"),
        ("missing data", "no data"),
        ("missing package", "not installed"),
    ],
)
def test_a_word_stands_where_there_is_no_number(status, word):
    records = [record(status=status, ari=None)]
    assert block(records)["mcgta", "tuned"]["ARI"] == word == WORDS[status]
    assert word in tables.overview_text(records)


def test_numbers_that_are_not_all_they_could_be_are_marked():
    assert block([record(status="capped")])["mcgta", "tuned"]["ARI"] == "**50.00**†"
    assert block([record(status="not converged")])["mcgta", "tuned"]["ARI"] == "**50.00**‡"
    some = [record(seed=0), record(seed=1, status="failed", ari=None)]
    assert block(some)["mcgta", "tuned"]["ARI"] == "**50.00** (1 of 2)"
    planned = [Cell("baselines", "pavement", "mcgta", "tuned", seed) for seed in range(5)]
    assert block(some, planned)["mcgta", "tuned"]["ARI"] == "**50.00** (1 of 5)"


def test_a_failed_cell_shows_no_number_even_if_it_has_one():
    assert block([record(status="failed", ari=99.0)])["mcgta", "tuned"]["ARI"] == "failed"


def test_planned_cells_without_a_record_are_shown_as_not_run():
    planned = [Cell("baselines", "climate", "gmm", "free", 0), Cell("range", "pavement", "everywhere", "tuned", 0)]
    text = tables.render([], planned)
    assert block([], planned, "climate")["gmm", "free"]["ARI"] == "not run"
    head, rows = rows_of(text, "## Ablation: range")
    assert [row[:3] for row in rows] == [["within range", "", "not run"], ["everywhere", "tuned", "not run"]]
    assert [row[-2:] for row in rows] == [["77.64", "77.22"], ["76.91", "76.25"]]
    assert len(head) == len(rows[0])


def test_the_overview_has_tuned_and_free_side_by_side():
    records = [record(ari=70.0), record(setting="free", ari=40.0), record("gmm", ari=80.0)]
    records += [record("gmm", data="climate", status="unsuitable", ari=None)]
    head, rows = rows_of(tables.render_overview(records), "## ARI")
    found = {row[0]: row[1:] for row in rows}
    assert head == ["method", "pavement", "climate"]
    assert found["mcgta"] == ["70.0 / **40.0**", "not run"]
    assert found["gmm"] == ["**80.0** / not run", "- / not run"]


def test_the_overview_for_a_terminal_is_aligned():
    records = [record(ari=7.0), record("gmm", ari=80.0), record("a long name of a method", data="climate")]
    title, head, *rows = tables.overview_text(records).splitlines()
    assert "noise counts as one class" in title
    assert len({len(row) for row in (head, *rows)}) == 1
    assert next(row for row in rows if row.startswith("gmm")).split("  ")[-1].strip() == "not run"
    assert "*80.0 / not run" in next(row for row in rows if row.startswith("gmm"))


def test_ablations_have_the_papers_variants_first_and_its_figures_on_its_data_only():
    records = [record("kl", table="dissimilarity"), record("hellinger", table="dissimilarity")]
    records += [record("kl", data="climate", table="dissimilarity")]
    text = tables.render(records)
    _, rows = rows_of(text, "### pavement")
    assert [row[0] for row in rows] == [*paper.ABLATIONS["dissimilarity"], "hellinger"]
    assert rows[4][:3] == ["kl", "tuned", "**50.00**"]
    assert rows[4][-2:] == ["56.73", "66.10"]
    _, rows = rows_of(text, "### climate")
    assert {cell for row in rows for cell in row[-2:]} == {""}


def test_run_times_are_those_of_their_table_or_else_of_the_methods():
    records = [record(), record("gmm", seconds=1.0, total=1.0, tried=1), record(table="runtime", seconds=0.5)]
    head, rows = rows_of(tables.render_runtime(records), "## Run time")
    found = {row[1]: dict(zip(head, row, strict=True)) for row in rows}
    assert found["mcgta"]["a fit"] == "**0.50**"
    assert found["gmm"]["a fit"] == "1.00"
    assert (found["mcgta"]["all that was tried"], found["mcgta"]["tried"]) == ("30.00", "15")
    assert (found["mcgta"]["peak"], found["mcgta"]["before"]) == ("2 GB", "100 MB")
    assert (found["mcgta"]["paper's fit"], found["gmm"]["paper's fit"]) == ("14", "1")


def test_remarks_say_why_once_for_all_seeds():
    why = {"status": "failed", "ari": None, "note": "ValueError: a | b\nc"}
    text = tables.render_remarks([record(seed=1, **why), record(seed=0, **why), record(seed=2)])
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    assert lines == [r"- baselines, pavement, mcgta, tuned: failed: ValueError: a \| b c (seed 0, 1)"]
    assert tables.render_remarks([record()]) == ""


def test_the_caption_says_how_noise_is_counted():
    text = tables.render([record(), record("kl", table="dissimilarity")])
    assert text.count("Noise counts as one class of its own") == 3


def test_without_records_and_plan_there_is_nothing():
    assert tables.render([]).strip() == tables.overview_text([]) == ""
    assert Board("baselines", []).at("pavement", "mcgta", "tuned") == Summary()


some_records = st.lists(
    st.builds(
        lambda method, data, setting, seed, status, table, ari: record(
            method, data, setting, seed, status=status, ari=ari, table=table
        ),
        st.sampled_from(["mcgta", "gmm", "new|method"]),
        st.sampled_from(["pavement", "moons"]),
        st.sampled_from(SETTINGS),
        st.integers(0, 2),
        st.sampled_from(STATUSES),
        st.sampled_from(["baselines", "runtime", "covariance", "curves", "other"]),
        st.none() | st.floats(-50, 100),
    ),
    unique_by=lambda one: one["key"],
    max_size=12,
)


@given(some_records, st.randoms(use_true_random=False))
def test_whatever_the_records_every_table_is_whole_and_the_order_of_seeds_is_of_no_matter(records, random):
    text = tables.render(records)
    for part in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in part.splitlines()}) == 1
    by_seed = sorted(records, key=lambda one: one["seed"])
    other = Board("baselines", random.sample(by_seed, len(by_seed)))
    for one in records:
        place = (one["data"], one["method"], one["setting"])
        assert Board("baselines", records).at(*place).show("ari") == other.at(*place).show("ari")
