"""The plan has every table of the paper, and every method solves a small problem in each of its settings."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from mcgta.baselines import segments
from mcgta.datasets import make_regions, make_series
from paper import methods, plan, published
from paper.ablations import ABLATIONS, CURVES, curve_method, curve_variants
from paper.catalogue import METHODS, feature_radii, place_radii
from paper.methods import neighborhood_sizes
from paper.running.cells import Attempt, Cell, Unsuitable
from paper.sources import SOURCES
from problems.problem import SPACE, TIME, Problem, problem_of

pytestmark = pytest.mark.filterwarnings("ignore:semivariogram", "ignore:labels still changed", "ignore:HMM did not")


def small(kind: str) -> Problem:
    """Return a problem of two clusters that every method can be run on in no time."""
    if kind == TIME:
        series = make_series(240, n_clusters=2, n_features=2, segment_lengths=(8, 14), separation=1.5, random_state=3)
        return problem_of(series)
    regions = make_regions(240, n_clusters=2, n_features=2, separation=1.5, random_state=3)
    return problem_of(regions)


def test_every_row_and_column_of_table_1_is_planned() -> None:
    planned = {(cell.data, cell.method) for cell in plan.cells(["baselines"])}
    for data in published.DATA:
        for method in published.METHODS:
            assert (data, method) in planned


def test_every_variant_of_the_ablations_is_planned() -> None:
    for table, variants in published.ABLATIONS.items():
        assert set(variants) <= {cell.method for cell in plan.cells([table])}


def test_cells_are_named_once() -> None:
    keys = [cell.key for cell in plan.cells()]
    assert len(keys) == len(set(keys))


def test_what_is_asked_for_is_kept_to() -> None:
    cells = plan.cells(["baselines"], ["pavement"], ["gmm"], seeds=2)
    assert {cell.setting for cell in cells} == {"given", "tuned", "free"}
    assert max(cell.seed for cell in cells) == 1
    assert {cell.data for cell in plan.cells(quick=True)} <= set(plan.QUICK)


def test_made_data_have_several_seeds_and_tuning_on_given_data_has_one() -> None:
    count = {data: len(plan.cells(["baselines"], [data], ["gmm"])) for data in ("series", "pavement")}
    assert count == {"series": 3 * SOURCES["series"].seeds, "pavement": 2 * SOURCES["pavement"].seeds + 1}


def test_more_seeds_can_be_asked_for_than_there_are_by_default() -> None:
    assert max(cell.seed for cell in plan.cells(["baselines"], ["series"], ["gmm"], seeds=7)) == 6
    settings = {"given": 7, "tuned": 7, "free": 7}
    found = [cell.setting for cell in plan.cells(["baselines"], ["pavement"], ["gmm"], seeds=7)]
    assert {setting: found.count(setting) for setting in settings} == settings


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("setting", ["given", "free"])
def test_a_method_labels_every_row(name: str, setting: str) -> None:
    method = METHODS[name]
    problem = small(method.kinds[0])
    if getattr(method, setting) is None:
        with pytest.raises(Unsuitable):
            method.attempts(setting, problem, 0)
        return
    attempts = list(method.attempts(setting, problem, 0))
    assert setting == "free" or len(attempts) == 1
    for attempt in attempts:
        assert attempt.labels is not None
        assert attempt.labels.shape == (240,)
    assert setting == "free" or attempts[0].params["n_clusters"] == 2


@pytest.mark.parametrize("by", ["bic", "silhouette"])
def test_without_labels_the_best_number_of_clusters_so_far_is_told_after_each(by: str) -> None:
    problem = small(TIME)
    peer = methods.Peer("plain:GMM" if by == "bic" else "plain:KMeans")
    told = [
        attempt.params["n_clusters"] for attempt in (peer.by_bic if by == "bic" else peer.by_silhouette)(problem, 0)
    ]
    models = [peer.make(0, {"n_clusters": k}).fit(problem.X) for k in range(1 if by == "bic" else 2, 9)]
    worth = [-m.bic_ if by == "bic" else silhouette_score(problem.X, m.labels_) for m in models]
    assert told == [models[int(np.argmax(worth[: k + 1]))].n_clusters for k in range(len(models))]


def test_numbers_of_clusters_that_fail_are_passed_over_and_only_failures_are_told() -> None:
    class Fussy(methods.Peer):
        def attempt(self, problem, seed, params):
            if params["n_clusters"] not in fine:
                raise ValueError(f"not {params['n_clusters']}")
            return Attempt(params, np.zeros(3, dtype=np.int64)), SimpleNamespace(bic_=-params["n_clusters"])

    fine = {3, 5}
    assert [attempt.params["n_clusters"] for attempt in Fussy("").by_bic(small(TIME), 0)] == [3, 5]
    fine = set()
    with pytest.raises(ValueError, match="not 8"):
        list(Fussy("").by_bic(small(TIME), 0))


def test_segments_are_cut_once_for_all_numbers_of_states(monkeypatch) -> None:
    calls = []
    genuine = segments.find_segments
    counting = functools.wraps(genuine)(lambda *args, **named: calls.append(1) or genuine(*args, **named))
    monkeypatch.setattr(segments, "find_segments", counting)
    monkeypatch.setattr(methods, "_SHARED", methods._Shared())
    found = list(METHODS["segments"].attempts("free", small(TIME), 0))
    assert (len(found), len(calls)) == (7, 1)
    list(METHODS["segments"].attempts("tuned", small(TIME), 0))
    assert len(calls) == 6  # two costs and three least sizes, of which the default is one


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.tuned])
def test_tuning_gives_an_attempt_after_the_other(name: str) -> None:
    method = METHODS[name]
    attempts = method.attempts("tuned", small(method.kinds[0]), 0)
    first = next(attempts)
    assert first.params != next(attempts).params


@pytest.mark.parametrize("name", ["series", "long series", "regions"])
def test_made_data_are_of_all_five_clusters_and_differ_by_seed(name: str) -> None:
    one, again, other = (SOURCES[name].make(seed) for seed in (0, 0, 1))
    assert one.clusters == other.clusters == 5
    np.testing.assert_array_equal(one.X, again.X)
    assert not np.array_equal(one.X, other.X)


def test_seeds_that_are_asked_for_are_run_wherever_data_or_method_are_random() -> None:
    def count(*chosen) -> int:
        return len(plan.cells(*chosen, seeds=5))

    assert count(["runtime"], ["series"], ["dbscan"]) == count(["curves"], ["series"], ["beta=0.5"]) == 5
    assert count(["runtime"], ["pavement"], ["dbscan"]) == count(["curves"], ["pavement"], ["beta=0.5"]) == 1
    assert len(plan.cells(["runtime", "curves"], ["series"], ["dbscan", "beta=0.5"])) == 2


@pytest.mark.parametrize("setting", ["given", "free"])
def test_a_fit_is_timed_after_one_on_a_piece(setting: str, monkeypatch) -> None:
    sizes = []
    genuine = Problem.fit
    monkeypatch.setattr(Problem, "fit", lambda self, model: sizes.append(len(self.X)) or genuine(self, model))
    cell = Cell("baselines", "series", "gmm", setting, 0)
    solving = plan.solve(cell)
    assert sizes == ([500] if setting == "given" else [])  # before the clock starts
    next(solving.attempts)
    assert sizes[-1] == 1000
    assert not any(one.table == "runtime" and one.method == "gmm" for one in plan.cells())


def test_a_data_set_is_there_if_it_is_made_or_has_its_files(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("MCGTA_DATA", str(tmp_path))
    assert plan.has_data("series")
    assert not plan.has_data("gesture")


def test_a_method_for_time_does_not_suit_maps() -> None:
    with pytest.raises(Unsuitable, match="time"):
        METHODS["ticc"].attempts("given", small(SPACE), 0)


@pytest.mark.parametrize(("table", "name"), [(table, name) for table in ABLATIONS for name in ABLATIONS[table]])
def test_a_variant_is_tuned(table: str, name: str) -> None:
    attempts = ABLATIONS[table][name].attempts("tuned", small(TIME), 0)
    if name == "no hinge":
        with pytest.raises(ValueError, match="penalty='no_hinge'"):
            next(attempts)
        return
    attempt = next(attempts)
    assert attempt.labels is not None
    assert attempt.labels.shape == (240,)


def test_with_many_observations_each_beta_is_an_attempt_over_a_coarser_grid(monkeypatch) -> None:
    asked = []

    def tune(X, y, grid, **options):
        asked.append(grid)
        raise ValueError("no setting does")

    monkeypatch.setattr(methods, "tune", tune)
    few = [attempt.params for attempt in METHODS["mcgta"].attempts("tuned", small(TIME), 0)]
    assert [params["n_neighbors"] for params in few] == [30, 20, 45]
    assert all(grid["beta"] == (0.5, 1.0) and len(grid["margin_in_sills"]) == 3 for grid in asked)
    asked.clear()
    monkeypatch.setattr(methods, "TABLED", 100)
    many = [attempt.params for attempt in METHODS["mcgta"].attempts("tuned", small(TIME), 0)]
    assert [(params["beta"], params["n_neighbors"]) for params in many[:4]] == [
        (0.5, 90),
        (0.5, 30),
        (0.5, 180),
        (1.0, 90),
    ]
    assert all(grid["margin_in_sills"] == (0.25, 0.0) and len(grid["eps_quantile"]) == 16 for grid in asked)


def test_a_setting_of_ours_that_fails_is_an_attempt_without_labels(monkeypatch) -> None:
    monkeypatch.setattr(methods, "neighborhood_sizes", lambda problem: (100_000, 30))
    wrong, right = METHODS["mcgta-wo"].attempts("tuned", small(TIME), 0)
    assert wrong.labels is None
    assert "n_neighbors" in wrong.note
    assert right.labels is not None


def test_points_of_curves_are_named_by_parameter_and_value() -> None:
    assert len(curve_variants()) == sum(map(len, CURVES.values()))
    attempt = next(curve_method("beta=0.5").attempts("tuned", small(TIME), 0))
    assert attempt.params["beta"] == 0.5
    assert attempt.params["n_neighbors"] == 30


def test_a_cell_of_run_times_is_one_fit() -> None:
    for name in ("gmm", "mcgta", "mcgta-refined"):
        solving = plan.solve(Cell("runtime", "series", name, "given", 0))
        assert len(list(solving.attempts)) == 1


def test_radii_are_distances_to_the_nearest_in_their_own_unit() -> None:
    problem = Problem(np.arange(10.0)[:, None] ** 2, np.arange(10.0), np.zeros(10, dtype=np.int64))
    assert place_radii(problem, 2).tolist() == [1.0] * 8 + [2.0] * 2
    assert feature_radii(problem, 1)[0] == 1.0
    degrees = np.column_stack([np.arange(10.0), np.zeros(10)])
    turned = Problem(problem.X, degrees, problem.truth, metric="haversine")
    assert place_radii(turned, 1) == pytest.approx(111_195, rel=1e-3)


def test_what_the_paper_printed_is_at_hand() -> None:
    cell = published.printed("gmm", "pavement")
    assert cell is not None
    assert (cell.ari, cell.ami) == (28.05, 28.74)
    assert published.printed("sticc", "inat") == published.Printed(said="NC")
    assert published.printed("gmm", "elsewhere") is None
    assert published.printed_seconds("ticc", "vehicle") == 566


def test_larger_neighbourhoods_are_tuned_over_where_there_are_many_observations() -> None:
    large = SOURCES["regions"].make(0)
    assert max(neighborhood_sizes(large)) > max(neighborhood_sizes(small(TIME)))
