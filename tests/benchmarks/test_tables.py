"""Tables show what records hold, say in a word why something is missing, and never lose a row of the paper's."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper import published
from paper.ablations import ABLATIONS
from paper.catalogue import METHODS
from paper.rendering import overview, tables
from paper.rendering.layout import FAMILIES
from paper.rendering.summary import WORDS, Board, Summary
from paper.running.cells import SETTINGS, STATUSES, Cell


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
    """Rows of a data set by the name of the method and the setting."""
    head, rows = rows_of(tables.render_baselines(records, cells), f"### {data}")
    names = {method.title: name for name, method in METHODS.items()}
    return {(names.get(row[0], row[0]), row[1]): dict(zip(head, row, strict=True)) for row in rows}


def test_means_and_deviations_are_over_seeds():
    found = block([record(seed=0, ari=60.0), record(seed=1, ari=70.0), record(seed=2, ari=80.0)])
    row = found["mcgta", "tuned"]
    assert row["ARI"] == row["AMI"] == "**70.00 ± 10.00**"
    assert (row["noise %"], row["clusters"]) == ("12.5", "4 of 3")


def test_what_rounds_to_nothing_has_no_sign():
    assert block([record(ari=-0.001)])["mcgta", "tuned"]["ARI"] == "**0.00**"
    assert "-0.0" not in overview.overview_text([record(ari=-0.001)])


def test_the_papers_figures_stand_beside_what_was_found_with_labels():
    found = block([record(setting="tuned"), record(setting="free"), record("gmm")])
    assert found["mcgta", "tuned"]["paper's ARI"] == "**77.64**"
    assert found["mcgta", "free"]["paper's ARI"] == ""
    assert found["gmm", "tuned"]["paper's NMI"] == "28.74"


@pytest.mark.parametrize("data", published.DATA)
def test_every_method_of_the_paper_has_a_row_in_its_order_and_others_follow(data):
    found = block([record("new", data), record("hmm", data)], data=data)
    named = [name for name, _ in found if not name.startswith("*")]
    theirs = [name for _, names in FAMILIES for name in names]
    assert named == [*theirs, "new", "hmm"]
    assert set(theirs) == set(published.METHODS)
    for name in theirs:
        cell = published.printed(name, data)
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
    records = [record(status=status, ari=None), record("gmm")]
    setting = "" if word == "-" else "tuned"  # one row for all settings
    assert block(records)["mcgta", setting]["ARI"] == word == WORDS[status]
    assert word in overview.overview_text(records)


def test_numbers_that_are_not_all_they_could_be_are_marked():
    assert block([record(status="capped")])["mcgta", "tuned"]["ARI"] == "**50.00**†"
    assert block([record(status="not converged")])["mcgta", "tuned"]["ARI"] == "**50.00**‡"
    some = [record(seed=0), record(seed=1, status="failed", ari=None)]
    assert block(some)["mcgta", "tuned"]["ARI"] == "50.00 (1 of 2)"
    planned = [Cell("baselines", "pavement", "mcgta", "tuned", seed) for seed in range(5)]
    assert block(some, planned)["mcgta", "tuned"]["ARI"] == "50.00 (1 of 5)"


def test_a_mean_of_some_seeds_is_not_compared_with_means_of_all():
    records = [record(seed=seed, ari=60.0) for seed in (0, 1)] + [record("gmm", ari=90.0)]
    records += [record("gmm", seed=1, status="time", ari=None)]
    found = block(records)
    assert (found["mcgta", "tuned"]["ARI"], found["gmm", "tuned"]["ARI"]) == ("**60.00 ± 0.00**", "90.00 (1 of 2)")
    shown = overview.overview_text(records)
    assert "*60.0 / not run" in shown
    assert "*90.0" not in shown


def test_noise_as_singletons_stands_beside_and_numbers_of_clusters_may_differ_by_seed():
    records = [record(ari=97.0, ari_singletons=70.0), record(seed=1, ari=97.0, ari_singletons=71.0, true_clusters=4)]
    row = block(records)["mcgta", "tuned"]
    assert (row["ARI, noise single"], row["clusters"]) == ("70.50", "4 of 3.5")
    assert "### pavement (N = 1,055, d = 10, c = 3 to 4)" in tables.render(records)


def test_a_failed_cell_shows_no_number_even_if_it_has_one():
    assert block([record(status="failed", ari=99.0)])["mcgta", "tuned"]["ARI"] == "failed"


def test_planned_cells_without_a_record_are_shown_as_not_run():
    planned = [Cell("baselines", "climate", "gmm", "free", 0), Cell("range", "pavement", "everywhere", "tuned", 0)]
    records = [record("ticc", "climate"), record("everywhere", table="range", setting="free")]
    text = tables.render(records, planned)
    assert block(records, planned, "climate")["gmm", ""]["ARI"] == "not run"
    head, rows = rows_of(text, "## Ablation: range")
    assert [row[:3] for row in rows[:2]] == [["Within the range", "", "not run"], ["Everywhere", "tuned", "not run"]]
    assert [row[-2:] for row in rows[:2]] == [["77.64", "77.22"], ["76.91", "76.25"]]
    assert len(head) == len(rows[0])


def test_the_overview_has_tuned_and_free_side_by_side():
    records = [record(ari=70.0), record(setting="free", ari=40.0), record("gmm", ari=80.0)]
    records += [record("gmm", data="climate", status="unsuitable", ari=None)]
    head, rows = rows_of(overview.render_overview(records), "## ARI")
    found = {row[0]: row[1:] for row in rows}
    assert head == ["method", "pavement", "climate"]
    assert found["MC-GTA"] == ["70.0 / **40.0**", "not run"]
    assert found["GMM"] == ["**80.0** / not run", "- / not run"]


def test_a_setting_that_a_method_does_not_have_is_told_from_data_that_do_not_suit_it():
    records = [record(ari=70.0), record(setting="free", status="unsuitable", ari=None)]
    records += [record("gmm", setting=setting, status="unsuitable", ari=None) for setting in ("tuned", "free")]
    found = {row[0]: row[1:] for row in rows_of(overview.render_overview(records), "## ARI")[1]}
    assert found == {"MC-GTA": ["**70.0** / none"], "GMM": ["-"]}


def test_the_paper_has_no_figure_for_what_is_found_without_labels():
    records = [record("kl", table="dissimilarity"), record("kl", table="dissimilarity", setting="free")]
    _, rows = rows_of(tables.render(records), "### pavement")
    shown = {row[1]: row[-2:] for row in rows if row[0] == "KL divergence"}
    assert shown == {
        "tuned": [f"{value:.2f}" for value in published.ABLATIONS["dissimilarity"]["kl"]],
        "free": ["", ""],
    }


def test_the_overview_for_a_terminal_is_aligned():
    records = [record(ari=7.0), record("gmm", ari=80.0), record("a long name of a method", data="climate")]
    title, head, *rows = overview.overview_text(records).splitlines()
    assert "noise counts as one class" in title
    assert len({len(row) for row in (head, *rows)}) == 1
    assert next(row for row in rows if row.startswith("gmm")).split("  ")[-1].strip() == "not run"
    assert "*80.0 / not run" in next(row for row in rows if row.startswith("gmm"))


def test_ablations_have_the_papers_variants_first_and_its_figures_on_its_data_only():
    records = [record("kl", table="dissimilarity"), record("hellinger", table="dissimilarity")]
    records += [record("kl", data="climate", table="dissimilarity")]
    text = tables.render(records)
    _, rows = rows_of(text, "### pavement")
    titles = [ABLATIONS["dissimilarity"][name].title for name in published.ABLATIONS["dissimilarity"]]
    assert [row[0] for row in rows] == [*titles, "hellinger"]
    assert rows[4][:3] == ["KL divergence", "tuned", "**50.00**"]
    assert rows[4][-2:] == ["56.73", "66.10"]
    _, rows = rows_of(text, "### climate")
    assert {cell for row in rows for cell in row[-2:]} == {""}


def test_run_times_are_those_of_their_table_or_else_of_the_methods():
    given = {"setting": "given"}
    records = [record(**given), record("gmm", seconds=1.0, total=1.0, tried=1, **given), record("gmm", seconds=0.1)]
    records += [record(table="runtime", seconds=0.5, **given), record("ticc", status="unsuitable", ari=None)]
    head, rows = rows_of(tables.render_runtime(records), "## Run time")
    found = {(row[1], row[2]): dict(zip(head, row, strict=True)) for row in rows}
    ours, theirs = found["MC-GTA", "given"], found["GMM", "given"]
    assert (ours["an attempt"], theirs["an attempt"]) == ("**0.50**", "1.00")
    assert found["GMM", "tuned"]["an attempt"] == "0.10"  # attempts of tuning are not alike, and not compared
    assert (ours["all that was tried"], ours["tried"]) == ("30.00", "15")
    assert (ours["peak"], ours["before"]) == ("2 GB", "100 MB")
    assert (ours["paper's fit"], theirs["paper's fit"], found["GMM", "tuned"]["paper's fit"]) == ("14", "< 1", "")
    assert len(found) == len(rows) == 3


def test_a_data_set_without_files_and_one_that_was_not_run_are_one_line_and_no_block():
    absent = {"status": "missing data", "ari": None, "note": "NoFilesError: none"}
    records = [record(), *(record(name, "climate", seed=k, **absent) for name in ("gmm", "ticc") for k in range(3))]
    planned = [Cell("baselines", "poi", "gmm", "free", 0), Cell("baselines", "pavement", "hmm", "free", 0)]
    text = tables.render(records, planned)
    assert "### climate" not in text
    assert "### poi" not in text
    assert text.count("No data, since their files are not there: climate.") == 3  # overview, blocks, run times
    assert "Not run: poi, hmm." in text
    assert "- climate: its files are not there (6 cells)" in text.splitlines()
    assert "NoFilesError" not in text
    shown = overview.overview_text(records, planned)
    assert shown.splitlines()[1].split() == ["method", "pavement"]
    assert "climate" in shown.splitlines()[-2]


def test_where_nothing_has_a_result_yet_there_are_lines_and_no_empty_table():
    text = tables.render([], [Cell(table, "poi", "gmm", "given", 0) for table in ("baselines", "runtime", "range")])
    assert text.count("Not run: poi.") == 4
    assert "| method |" not in text.replace("| method | `--method` |", "")
    assert overview.overview_text([], [Cell("baselines", "poi", "gmm", "given", 0)]) == "Not run: poi."


def test_settings_that_a_method_does_not_have_take_no_row_and_a_method_that_does_not_suit_takes_one():
    no = {"status": "unsuitable", "ari": None}
    records = [record(setting="given", **no), record(setting="free")]
    records += [record("sticc", setting=setting, **no) for setting in SETTINGS]
    found = block(records)
    assert ("mcgta", "given") not in found
    assert found["mcgta", "free"]["paper's ARI"] == "**77.64**"
    assert [(one, row["ARI"]) for (name, one), row in found.items() if name == "sticc"] == [("", "-")]


def test_methods_are_called_by_their_titles_and_the_legend_tells_their_names_and_rules():
    text = tables.render([record("mcgta-refined", setting="free"), record("hmm"), record("unheard of")])
    _, rows = rows_of(text, "## Methods\n")
    found = {row[0]: row[1:] for row in rows}
    assert found["mcgta as it comes"] == ["`mcgta-refined`", "every setting at its default"]
    assert found["HMM"][0] == "`hmm`"
    assert {"TICC, beta = 0", "STICC, beta = 0"} <= set(found)
    assert "| unheard of | tuned |" in text
    assert "### series: 1-D synthetic (N" in tables.render([record(data="series")])


def test_every_method_that_can_be_set_without_labels_has_a_rule():
    for method in METHODS.values():
        assert bool(method.rule) == (method.free is not None)


def test_remarks_say_why_once_for_all_seeds():
    why = {"status": "failed", "ari": None, "note": "ValueError: a | b\nc"}
    text = tables.render_remarks([record(seed=1, **why), record(seed=0, **why), record(seed=2)])
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    assert lines == [r"- baselines, pavement, mcgta, tuned: failed: ValueError: a \| b c (seed 0, 1)"]
    assert tables.render_remarks([record()]) == ""


def test_remarks_name_a_missing_package_once_for_each_method():
    lacking = {"status": "missing package", "ari": None, "note": "HMM needs hmmlearn: pip install 'mcgta[baselines]'"}
    text = tables.render_remarks([record("hmm", data=data, **lacking) for data in ("series", "pavement")])
    assert text.splitlines()[2:] == ["- hmm: HMM needs hmmlearn: pip install 'mcgta[baselines]' (2 cells)"]


def test_the_caption_says_how_noise_is_counted():
    text = tables.render([record(), record("kl", table="dissimilarity")])
    assert text.count("Noise counts as one class of its own") == 3


def test_without_records_and_plan_there_is_nothing():
    assert tables.render([]).strip() == overview.overview_text([]) == ""
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


def test_caps_and_code_are_said_once_for_each_that_differs():
    caps = {"seconds": 100.0, "memory": 2_000_000_000}
    same = [record(name, caps=caps, code="1.0") for name in ("gmm", "hmm")]
    other = record("ticc", caps={"seconds": 5.0, "memory": None}, code="1.0")
    assert tables.render_caps([*same, other]).splitlines() == [
        "2 cells had up to 100 s of the processor and 2 GB of memory each, by mcgta 1.0.",
        "1 cell had up to 5 s of the processor and any amount of memory each, by mcgta 1.0.",
    ]
