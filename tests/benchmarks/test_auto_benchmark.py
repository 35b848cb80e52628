"""The benchmark of fits without settings runs, on little data, and counts as it says."""

from __future__ import annotations

import json

import numpy as np
import pytest

import auto
import runs
from problems.auto_sets import ALL, sets
from problems.problem import Problem
from runs import Run, Score


@pytest.fixture
def folder(tmp_path):
    """Small files in the place of the real ones."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 0], 50)
    X = rng.normal(0, 0.5, (150, 10)) + 4 * labels[:, None]
    for name in ("pavement", "vehicle"):
        np.savez(tmp_path / f"{name}.npz", X=X, y=labels)
    np.savez(tmp_path / "inat_subset.npz", X=X, y=labels, coords=rng.uniform(10, 20, (150, 2)))
    return tmp_path


def test_every_set_is_labelled_and_made_by_its_seed(folder):
    first, again = (list(sets(seeds=[7], folder=folder, share=0.1)) for _ in range(2))
    assert [data.name for data in first] == list(ALL)
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a.X, b.X)
        np.testing.assert_array_equal(a.truth, b.truth)
        assert len(a.X) == len(a.truth) == len(a.X if a.positions is None else a.positions)
        assert np.isfinite(a.X).all()
        assert len(np.unique(a.truth)) == 1 or not a.name.startswith("one-")
    other = next(sets(["series-long"], seeds=[8]))
    assert not np.array_equal(other.X, next(sets(["series-long"], seeds=[7])).X)


def test_sets_without_a_file_are_left_out_and_unknown_names_refused(tmp_path):
    assert list(sets(["vehicle"], folder=tmp_path)) == []
    with pytest.raises(ValueError, match="name='vehicles' must be one of series-short"):
        list(sets(["vehicles"]))


class Estimator:
    """Calls the second half noise unless it is told to assign it."""

    labels_source_ = "clusterer"

    def __init__(self, refine="auto", n_jobs=None, progress="auto", metric="auto"):
        self.refine = refine
        self.n_jobs = n_jobs

    def get_params(self):
        return {"refine": self.refine, "n_jobs": self.n_jobs, "progress": "auto", "metric": "auto"}

    def fit(self, X, positions, groups):
        self.labels_ = np.repeat([0, 1 if self.refine == "noise" else -1], len(X) // 2)
        self.noise_share_ = np.mean(self.labels_ < 0)
        return self


class Refining(Estimator):
    """Chooses its labels by evidence; what has no model is noise."""

    labels_source_ = "evidence"


def test_noise_of_labels_by_evidence_stays(monkeypatch):
    monkeypatch.setattr(runs, "MCGTA", Refining)
    run = runs.fit_and_score(Problem(np.zeros((50, 2)), None, np.repeat([0, 1], 25)))
    assert (run.clusters, run.assigned_clusters, run.noise) == (1, 1, 50.0)


def test_noise_is_assigned_in_a_second_fit(monkeypatch):
    monkeypatch.setattr(runs, "MCGTA", Estimator)
    run = runs.fit_and_score(Problem(np.zeros((50, 2)), None, np.repeat([0, 1], 25)))
    assert (run.clusters, run.assigned_clusters, run.noise) == (1, 2, 50.0)
    assert run.ari == run.assigned == 100


def test_limits_are_for_the_mean_or_for_the_share_of_single_clusters():
    some = [Run(100, 2, ari=90.0, clusters=2), Run(100, 2, ari=80.0, clusters=1)]
    assert Score("a", "a", some, 84, 90).value == pytest.approx(85)
    assert [Score("a", "a", some, *limits).reached for limits in ((84, 90), (80, 85), (86, 90))] == [
        "must",
        "aim",
        "no",
    ]
    assert Score("a", "a", some, one=True).value == 50
    assert Score("a", "a", some, None, 80, one=True).reached == "no"
    assert Score("a", "a", [], 84, 90).reached == "not measured"


def test_a_fit_that_fails_counts_as_nothing_found_and_says_why():
    run = runs.fit_and_score(Problem(np.full((50, 2), np.nan), None, np.repeat([0, 1], 25)))
    assert (run.ari, run.clusters, run.true, run.noise) == (0.0, 0, 2, 100.0)
    assert run.failed.startswith("ValueError: ")
    assert "1 failed: ValueError" in runs.score_line(Score("a", "a", [run]))


@pytest.mark.slow
def test_the_benchmark_prints_its_table_and_writes_its_results(folder, capsys, monkeypatch):
    monkeypatch.setattr(auto, "WARM_ROWS", 100)
    names = ["series-long", "inat_subset", "one", "one-tails", "mixture", "time", "memory"]
    file = folder / "auto.json"
    options = ["--quick", "--seeds", "2", "--data", str(folder), "--json", str(file)]
    auto.main(["--only", *names, *options])
    printed = capsys.readouterr().out
    written = json.loads(file.read_text())
    assert [row["name"] for row in written["scores"]][:3] == ["series-long", "inat_subset", "mixture"]
    assert [row["runs"] for row in written["scores"] if row["name"] in ("series-long", "inat_subset", "one")] == [
        2,
        1,
        10,
    ]
    assert written["environment"]["seeds"] == "1000 to 1001"
    assert [row["row"] for row in written["measures"]] == ["time", "memory"]
    assert all(row["value"] > 0 for row in written["measures"])
    for row in written["scores"]:
        assert row["title"] in printed
        assert row["note"] == ""
