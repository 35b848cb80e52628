"""The benchmark of fits without settings runs, on little data, and counts as it says."""

from __future__ import annotations

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import auto
import runs
import workers
from problems.auto_sets import ALL, sets
from problems.problem import Problem
from problems.sources import Key
from results import Limits
from rows import PARTS, ROWS, Row
from runs import Candidate, Extent, Given, Run
from score_lines import score_head, score_line, selection_lines
from scores import Score, selection_records

DOCUMENTS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def folder(tmp_path):
    """Small files in the place of the real ones."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 0], 50)
    X = rng.normal(0, 0.5, (150, 10)) + 4 * labels[:, None]
    places = rng.uniform(10, 20, (150, 2))
    for name in ("pavement", "vehicle"):
        np.savez(tmp_path / f"{name}.npz", X=X, y=labels)
    np.savez(tmp_path / "inat_subset.npz", X=X, y=labels, coords=places)
    series = ("tssb_A", "tssb_B", "mocap6_A", "synthetic_A", "rooms_A")
    np.savez(tmp_path / "states.npz", **{f"{n}_X": X for n in series}, **{f"{n}_y": labels for n in series})
    maps = ("dlpfc151669", "indian_pines", "cortex")
    arrays = {"X": X, "y": labels, "coords": places}
    np.savez(tmp_path / "places.npz", **{f"{n}_{kind}": array for n in maps for kind, array in arrays.items()})
    return tmp_path


def test_every_set_is_labelled_and_made_by_its_seed(folder):
    first, again = (list(sets(seeds=[7], folder=folder, share=0.1)) for _ in range(2))
    assert list(dict.fromkeys(data.name for data in first)) == list(ALL)
    assert [data.name for data in first].count("tssb") == 2
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a.X, b.X)
        np.testing.assert_array_equal(a.truth, b.truth)
        assert len(a.X) == len(a.truth) == len(a.X if a.positions is None else a.positions)
        assert np.isfinite(a.X).all()
        nothing = PARTS[ROWS[a.name].part].one
        assert len(np.unique(a.truth)) == 1 or not nothing
    other = next(sets(["series-long"], seeds=[8]))
    assert not np.array_equal(other.X, next(sets(["series-long"], seeds=[7])).X)


def test_sets_without_a_file_are_left_out_and_unknown_names_refused(tmp_path):
    assert list(sets(["vehicle", "tssb", "cortex"], folder=tmp_path)) == []
    assert ALL["tssb"].lacks("tssb") == "states.npz is not in the data folder"
    with pytest.raises(ValueError, match="name='vehicles' must be one of series-short"):
        list(sets(["vehicles"]))


def test_every_row_has_a_part_and_data():
    for name, row in ROWS.items():
        assert name == row.name
        assert row.part in PARTS
        assert row.data in ALL
    assert auto.rows_of(["alone-vehicle", "alone", "one-tails"])[:2] == ["alone-vehicle", "alone-series-short"]


class Estimator:
    """Calls the second half noise unless it is told to assign it."""

    labels_source_ = "clusterer"
    family_ = "level"

    def __init__(self, refine="auto", n_jobs=None, progress="auto", metric="auto"):
        self.refine = refine
        self.n_jobs = n_jobs

    def get_params(self):
        return {"refine": self.refine, "n_jobs": self.n_jobs, "progress": "auto", "metric": "auto"}

    def fit(self, X, positions, groups):
        self.labels_ = np.repeat([0, 1 if self.refine == "noise" else -1], len(X) // 2)
        self.noise_share_ = np.mean(self.labels_ < 0)
        self.fitted_ = SimpleNamespace(labelling=SimpleNamespace(labels=self.labels_))
        return self


class Refining(Estimator):
    """Chooses its labels by evidence; what has no model is noise."""

    labels_source_ = "evidence"


def test_noise_of_labels_by_evidence_stays(monkeypatch):
    monkeypatch.setattr(runs, "MCGTA", Refining)
    run = runs.fit_and_score(Problem(np.zeros((50, 2)), None, np.repeat([0, 1], 25)), {}, Extent())
    assert (run.clusters, run.assigned_clusters, run.noise) == (1, 1, 50.0)


def test_noise_is_assigned_in_a_second_fit(monkeypatch):
    monkeypatch.setattr(runs, "MCGTA", Estimator)
    run = runs.fit_and_score(Problem(np.zeros((50, 2)), None, np.repeat([0, 1], 25)), {}, Extent())
    assert (run.clusters, run.assigned_clusters, run.noise) == (1, 2, 50.0)
    assert run.ari == run.assigned == 100


def render_tables():
    """The module that renders results for the documents."""
    spec = spec_from_file_location("benchmark_tables", DOCUMENTS / "benchmark_tables.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def row(must=None, aim=None, part="table", **options):
    return Row("a", "a", part, "vehicle", Limits(must, aim), **options)


def test_limits_are_for_the_mean_or_for_the_share_of_single_clusters():
    some = [Run(100, 2, ari=90.0, clusters=2), Run(100, 2, ari=80.0, clusters=1)]
    assert Score(row(), some).value == pytest.approx(85)
    assert [Score(row(*limits), some).reached for limits in ((84, 90), (80, 85), (86, 90), (None, None))] == [
        "must",
        "aim",
        "no",
        "",
    ]
    assert Score(row(part="one"), some).value == 50
    assert Score(row(None, 80, "heavy"), some).reached == "no"
    assert Score(row(84, 90), []).reached == "not measured"


def test_a_limit_of_both_ari_and_ami_is_reached_where_both_are():
    some = [Run(100, 2, ari=73.0, ami=73.0, clusters=2)]
    assert Score(row(72, 82, ami=Limits(73, 84)), some).reached == "must"
    assert Score(row(72, 82, ami=Limits(74, 84)), some).reached == "no"
    assert Score(row(72, 73, ami=Limits(70, 84)), some).reached == "must"


def test_an_earlier_value_is_held_up_to_its_rounding():
    some = [Run(100, 2, ari=95.68, clusters=2)]
    assert [Score(row(before=before), some).held for before in (95.7, 95.8, None)] == ["yes", "no", ""]


def test_clusters_that_neighbours_do_not_share_are_kinds_and_no_regions():
    rng = np.random.default_rng(0)
    places = rng.uniform(size=(400, 2))
    problem = Problem(np.zeros((400, 1)), places, np.zeros(400, dtype=np.int64))
    kinds = runs.join_ratio(problem, rng.integers(2, size=400))
    regions = runs.join_ratio(problem, (places[:, 0] > 0.5).astype(np.int64))
    assert regions < 0.2 < 0.9 < kinds < 1.1
    found = [Run(400, 1, clusters=2, join_ratio=ratio) for ratio in (kinds, regions)]
    assert Score(row(part="mixed-nulls"), found).value == 50
    assert Score(row(part="nulls"), found).value == 0


def test_a_fit_with_k_given_is_compared_on_the_problems_that_have_one():
    told = Run(100, 2, ari=50.0, clusters=2, given=Given(60.0, 61.0, 1.0))
    single = Run(100, 1, ari=100.0, clusters=1)
    score = Score(row(), [told, single])
    assert score.columns()["given"].middle == 60
    assert score.given_reached == "yes"
    assert Score(row(), [Run(100, 2, ari=70.0, clusters=2, given=told.given)]).given_reached == "no"
    assert Score(row(), [single]).given_reached == ""


def test_the_best_of_the_candidates_is_told_beside_the_chosen_one():
    best = Candidate(3, 90.0, 80.0, 5.0, "dynamics")
    run = Run(100, 3, ari=70.0, ami=75.0, clusters=4, gain=9.0, best=best, seen=8, family="level", source="evidence")
    (record,) = selection_records(Score(row(), [run]), ["a 7"])
    assert (record["clusters"], record["gain"], record["best_clusters"], record["best_gain"]) == (4, 9.0, 3, 5.0)
    line = list(selection_lines([record]))[2]
    assert " ".join(line.split()) == "a 7 3 8 level 4 70.0 75.0 9.0 dynamics 3 90.0 80.0 5.0 20.0"


def test_a_fit_that_fails_counts_as_nothing_found_and_says_why():
    problem = Problem(np.full((50, 2), np.nan), None, np.repeat([0, 1], 25))
    run = runs.fit_and_score(problem, {}, Extent())
    assert (run.ari, run.clusters, run.true, run.noise) == (0.0, 0, 2, 100.0)
    assert run.failed.startswith("ValueError: ")
    assert "1 failed: ValueError" in score_line(Score(row(), [run]))


def test_a_fit_that_takes_too_long_is_cut(monkeypatch):
    class Endless(Estimator):
        def fit(self, X, positions, groups):
            while True:
                pass

    monkeypatch.setattr(runs, "MCGTA", Endless)
    problem = Problem(np.zeros((50, 2)), None, np.repeat([0, 1], 25))
    assert runs.fit_and_score(problem, {}, Extent(fit_seconds=0.05)).failed == "cut at 0.05 s"


def test_the_head_of_a_part_has_the_columns_that_it_measures():
    assert "K given" in score_head(PARTS["states"])
    assert "CLaP" in score_head(PARTS["states"])
    assert "CLaP" not in score_head(PARTS["one"])
    assert "no regions" in score_head(PARTS["mixed-nulls"])


@pytest.mark.slow
def test_processes_hand_back_what_one_process_finds_in_the_order_asked_for(folder):
    tasks = [
        workers.Task(Key(name, member), (("refine", "none"),), Extent(), folder, 1.0)
        for name, member in (("vehicle", ""), ("tssb", "B"), ("cortex", ""))
    ]
    found = []
    for jobs in (1, 2):
        with workers.Workers(jobs) as processes:
            found.append([(run.count, run.ari, run.clusters) for run in processes.measure(tasks)])
    assert found[0] == found[1]


@pytest.mark.slow
def test_the_benchmark_prints_its_table_and_writes_its_results(folder, capsys, monkeypatch):
    monkeypatch.setattr(workers, "WARM_ROWS", 100)
    monkeypatch.setenv("PEERS", str(folder))
    names = ["series-long", "inat_subset", "tssb", "cortex", "one", "one-tails", "alone-vehicle", "mixture"]
    file = folder / "auto.json"
    options = ["--quick", "--seeds", "2", "--data", str(folder), "--json", str(file), "--jobs", "1"]
    auto.main(["--only", *names, "time", "memory", *options])
    printed = capsys.readouterr().out
    written = json.loads(file.read_text())
    counts = {record["name"]: record["runs"] for record in written["scores"]}
    assert {name: counts[name] for name in ("series-long", "inat_subset", "tssb", "one")} == {
        "series-long": 2,
        "inat_subset": 1,
        "tssb": 2,
        "one": 10,
    }
    assert written["environment"]["seeds"] == "1000 to 1001"
    assert [record["row"] for record in written["measures"]] == ["families", "time", "memory"]
    assert all(record["value"] > 0 for record in written["measures"] if record["row"] != "families")
    tables = render_tables()
    rendered = tables.render_auto(written)
    for record in written["scores"]:
        assert record["title"] in printed
        assert record["title"] in rendered
        assert record["note"] == ""
    peers = next(record["peers"] for record in written["scores"] if record["name"] == "tssb")
    assert peers["HMM, K"]["ari"] > 50
    assert peers["CLaP"]["ari"] is None
    assert "claspy is not installed" in peers["CLaP"]["note"]
    assert {record["row"] for record in written["selection"]} >= {"series-long", "tssb", "cortex"}
    assert "AR(0.95)" in tables.render_null(written)
