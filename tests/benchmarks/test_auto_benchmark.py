"""The benchmark of fits without settings runs, on little data, and counts as it says."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    """Import a module of the benchmarks by name."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module


@pytest.fixture
def folder(tmp_path):
    """Small files in the place of the real ones."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 0], 50)
    X = rng.normal(0, 0.5, (150, 3)) + 4 * labels[:, None]
    for name in ("pavement", "vehicle"):
        np.savez(tmp_path / f"{name}.npz", X=X, y=labels)
    np.savez(tmp_path / "inat_subset.npz", X=X, y=labels, coords=rng.uniform(10, 20, (150, 2)))
    return tmp_path


def test_every_set_is_labelled_and_made_by_its_seed(bench, folder):
    sets, names = bench("auto_sets").sets, bench("auto_sets").ALL
    first, again = (list(sets(seeds=[7], folder=folder, share=0.1)) for _ in range(2))
    assert [data.name for data in first] == list(names)
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a.X, b.X)
        np.testing.assert_array_equal(a.labels, b.labels)
        assert len(a.X) == len(a.labels) == len(a.X if a.positions is None else a.positions)
        assert np.isfinite(a.X).all()
        assert len(np.unique(a.labels)) == 1 or not a.name.startswith("one-")
    other = next(sets(["series-long"], seeds=[8]))
    assert not np.array_equal(other.X, next(sets(["series-long"], seeds=[7])).X)


def test_sets_without_a_file_are_left_out_and_unknown_names_refused(bench, tmp_path):
    sets = bench("auto_sets").sets
    assert list(sets(["vehicle"], folder=tmp_path)) == []
    with pytest.raises(ValueError, match="name='vehicles' must be one of series-short"):
        list(sets(["vehicles"]))


def test_noise_goes_to_the_nearest_cluster_of_its_own_group(bench):
    data = bench("data_sets").Labelled(
        np.zeros((7, 1)),
        np.array([0.0, 1.0, 5.0, 0.0, 1.0, 5.0, 9.0]),
        np.zeros(7),
        groups=np.array([0, 0, 0, 1, 1, 1, 2]),
    )
    found = bench("scores").nearest_labels(data, np.array([2, -1, 3, 4, -1, -1, -1]))
    assert found.tolist() == [2, 2, 3, 4, 4, 4, -1]


def test_noise_on_the_globe_looks_across_the_date_line(bench):
    places = np.array([[179.0, 0.0], [-179.0, 0.0], [170.0, 0.0]])
    data = bench("data_sets").Labelled(np.zeros((3, 1)), places, np.zeros(3), metric="haversine")
    assert bench("scores").nearest_labels(data, np.array([-1, 0, 1])).tolist() == [0, 0, 1]


class Estimator:
    """Calls the second half noise unless it is told to assign it."""

    def __init__(self, **options):
        self.options = options

    def get_params(self):
        return {"noise": "keep", "n_jobs": None, "progress": "auto", "metric": "auto"}

    def fit(self, X, positions, groups):
        assert set(self.options) <= set(self.get_params())
        self.labels_ = np.repeat([0, 1 if self.options.get("noise") == "assign" else -1], len(X) // 2)
        return self


def test_the_estimator_assigns_noise_itself_where_it_can(bench, monkeypatch):
    monkeypatch.setattr(bench("scores"), "MCGTA", Estimator)
    run = bench("scores").fit_and_score(bench("data_sets").Labelled(np.zeros((50, 2)), None, np.repeat([0, 1], 25)))
    assert (run.clusters, run.assigned_clusters, run.noise) == (1, 2, 50.0)
    assert run.ari == run.assigned == 100
    assert bench("scores").known(noise="assign", refine=False) == {"noise": "assign"}


def test_limits_are_for_the_mean_or_for_the_share_of_single_clusters(bench):
    Run, Score = bench("scores").Run, bench("scores").Score
    runs = [Run(100, 2, ari=90.0, clusters=2), Run(100, 2, ari=80.0, clusters=1)]
    assert Score("a", "a", runs, 84, 90).value == pytest.approx(85)
    assert [Score("a", "a", runs, *limits).reached for limits in ((84, 90), (80, 85), (86, 90))] == [
        "must",
        "aim",
        "no",
    ]
    assert Score("a", "a", runs, one=True).value == 50
    assert Score("a", "a", runs, None, 80, one=True).reached == "no"
    assert Score("a", "a", [], 84, 90).reached == "not measured"


def test_a_fit_that_fails_counts_as_nothing_found_and_says_why(bench):
    data = bench("data_sets").Labelled(np.full((50, 2), np.nan), None, np.repeat([0, 1], 25))
    run = bench("scores").fit_and_score(data)
    assert (run.ari, run.clusters, run.true, run.noise) == (0.0, 0, 2, 100.0)
    assert run.failed.startswith("ValueError: ")
    assert "1 failed: ValueError" in bench("scores").score_line(bench("scores").Score("a", "a", [run]))


@pytest.mark.slow
def test_the_benchmark_prints_its_table_and_writes_its_results(bench, folder, capsys, monkeypatch):
    monkeypatch.setattr(bench("auto"), "WARM", 100)
    names = ["series-long", "inat_subset", "one", "one-tails", "mixture", "time", "memory"]
    file = folder / "auto.json"
    options = ["--quick", "--seeds", "2", "--data", str(folder), "--json", str(file)]
    bench("auto").main(["--only", *names, *options])
    printed = capsys.readouterr().out
    found = json.loads(file.read_text())
    assert [row["name"] for row in found["scores"]][:3] == ["series-long", "inat_subset", "mixture"]
    assert [row["runs"] for row in found["scores"] if row["name"] in ("series-long", "inat_subset", "one")] == [
        2,
        1,
        10,
    ]
    assert found["environment"]["seeds"] == "1000 to 1001"
    assert [row["row"] for row in found["measures"]] == ["time", "memory"]
    assert all(row["value"] > 0 for row in found["measures"])
    for row in found["scores"]:
        assert row["title"] in printed
        assert row["note"] == ""
