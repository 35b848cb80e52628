"""Figures show the pairs, means and scores that they say they show, of the data sets that are there."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcgta.datasets import MissingDataError, make_regions, make_series
from paper.ablations import curve_variants
from paper.rendering import figures, pairs
from paper.rendering.pairs import Pairs, means_by_distance, pairs_of_features, pairs_of_models, shares_together
from paper.sources import Source
from problems.problem import Problem

pytest.importorskip("matplotlib").use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot")
Legend = pytest.importorskip("matplotlib.legend").Legend
pytestmark = pytest.mark.filterwarnings("ignore:semivariogram")

KM = 1000


def series(groups=None) -> Problem:
    data = make_series(240, n_clusters=2, n_features=2, segment_lengths=(8, 14), separation=1.5, random_state=3)
    return Problem(data.X, data.positions, data.labels, groups)


def regions(metric="auto") -> Problem:
    data = make_regions(240, n_clusters=2, n_features=2, separation=1.5, random_state=3)
    return Problem(data.X, data.positions, data.labels, metric=metric)


@pytest.fixture
def small(monkeypatch):
    """Few pairs, and data sets of a few rows; that of places on earth has no files."""
    monkeypatch.setattr(pairs, "_PAIRS", 4000)
    made = {"series": series, "regions": regions, "pavement": series, "inat subset": absent, "inat": absent}
    monkeypatch.setattr(figures, "SOURCES", {name: Source(name.title(), _of(make)) for name, make in made.items()})
    yield
    pyplot.close("all")


def _of(make):
    return lambda seed: make()


def absent():
    raise MissingDataError("no files")


def record(data, method="gmm", table="baselines", **scores):
    return {"table": table, "data": data, "method": method, "ari": None, "ami": None, **scores}


def curves(data="series", **scores):
    return [record(data, name, "curves", **{"ari": 50.0, "ami": 40.0, **scores}) for name in curve_variants()]


def test_files_are_written_for_the_data_sets_that_records_are_of(small, tmp_path):
    written = figures.draw(tmp_path / "new" / "figures", [record("series"), record("regions"), *curves()])
    names = ["semivariogram-regions", "histograms-series", "loss-regions", "truth-series", "truth-regions"]
    assert [file.name for file in written] == [f"{name}.png" for name in [*names, "curves-series"]]
    assert sorted(written) == sorted((tmp_path / "new" / "figures").iterdir())
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in written)


def test_data_sets_without_files_or_without_records_are_passed_over(small, tmp_path):
    assert figures.load("inat subset") is None
    assert figures.draw(tmp_path, [record("inat subset"), record("a set of somebody else")]) == []
    assert figures.draw(tmp_path, []) == []


def test_the_paper_s_own_data_of_places_are_drawn_where_their_files_are(small, tmp_path, monkeypatch):
    assert figures.draw(tmp_path / "without", [record("inat")]) == []
    monkeypatch.setitem(figures.SOURCES, "inat", Source("Earth", lambda seed: regions("haversine")))
    written = figures.draw(tmp_path / "with", [record("inat")])
    assert [file.name for file in written] == ["semivariogram-inat.png", "loss-inat.png", "truth-inat.png"]


def test_a_file_that_cannot_be_read_ends_no_other_figure(small, tmp_path, monkeypatch):
    def damaged(seed):
        raise ValueError("pavement.npz is not an npz archive")

    monkeypatch.setitem(figures.SOURCES, "pavement", Source("Pavement", damaged))
    written = figures.draw(tmp_path, [record("pavement"), record("series")])
    assert [file.name for file in written] == ["histograms-series.png", "truth-series.png"]


def test_no_figure_stays_open(small, tmp_path):
    figures.draw(tmp_path, [record("series"), *curves()])
    assert pyplot.get_fignums() == []


def test_the_same_data_give_the_same_files(small, tmp_path):
    for name in ("one", "two"):
        figures.draw(tmp_path / name, [record("regions")])
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()


def test_figures_without_matplotlib_say_what_to_install():
    code = (
        "import sys; sys.modules['matplotlib'] = None; from pathlib import Path; "
        "from paper.rendering import figures; figures.draw(Path('never'), [])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "figures need matplotlib: pip install 'mcgta[plot]'" in done.stderr


def test_curves_go_through_the_scores_of_the_records(small):
    records = curves()
    scores = {one["method"]: one for one in records}
    scores["beta=0.5"].update(ari=-3.0, ami=7.0)
    scores["beta=2.0"].update(ari=None, ami=None)
    other = [record("series", "beta=4.0", "baselines", ari=99.0, ami=99.0), *curves("regions", ari=1.0)]
    figure = figures.draw_curves([*records, *other], "series")
    assert "n = 30, β = 1, δ = 0.25 sill" in figure.get_suptitle()
    ari, ami = figure.axes[1].lines
    assert ari.get_xdata().tolist() == [0.0, 0.5, 1.0, 4.0]
    assert ari.get_ydata().tolist() == [50.0, -3.0, 50.0, 50.0]
    assert ami.get_ydata().tolist() == [40.0, 7.0, 40.0, 40.0]
    assert figure.axes[1].get_ylim() == (-3.0, 100.0)


def test_without_a_result_there_are_no_curves(small):
    assert figures.draw_curves(curves(ari=None), "series") is None
    assert figures.draw_curves(curves("regions"), "series") is None


def test_semivariograms_have_one_scale_on_which_no_panel_is_cut(small):
    figure = figures.draw_semivariograms("regions")
    panels = figure.axes[:3]
    assert [ax.get_title() for ax in panels] == ["n = 15", "n = 20", "n = 30"]
    assert len({ax.get_ylim() for ax in panels}) == 1
    tops = [ax.collections[0].get_coordinates()[-1, -1, 1] for ax in panels]
    assert tops == pytest.approx([panels[0].get_ylim()[1]] * 3)


def test_what_has_no_pairs_differs_from_what_has_none_of_one_cluster(small):
    ax = figures.draw_semivariograms("regions").axes[0]
    none = ax.collections[0].to_rgba(np.zeros(1))[0]
    assert max(abs(np.array(ax.get_facecolor()) - none)) > 0.05
    assert "fewer than 5 pairs" in ax.get_legend_handles_labels()[1]


@pytest.mark.parametrize(
    "draw",
    [
        lambda: figures.draw_semivariograms("regions"),
        lambda: figures.draw_histograms("series"),
        lambda: figures.draw_loss("regions"),
        lambda: figures.draw_curves(curves(), "series"),
        lambda: figures.draw_truth("series"),
        lambda: figures.draw_truth("regions"),
    ],
)
def test_a_legend_covers_no_panel_and_is_within_the_figure(small, draw):
    figure = draw()
    figure.canvas.draw()
    (legend,) = figure.findobj(Legend)
    box = legend.get_window_extent()
    assert not any(box.overlaps(ax.get_window_extent()) for ax in figure.axes)
    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
    assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1


@pytest.mark.parametrize(
    ("metric", "labels"), [("auto", ("x", "y")), ("haversine", ("longitude, degrees", "latitude, degrees"))]
)
def test_a_map_names_its_axes_with_their_unit_where_there_is_one(small, monkeypatch, metric, labels):
    monkeypatch.setitem(figures.SOURCES, "regions", Source("Map", lambda seed: regions(metric)))
    ax = figures.draw_truth("regions").axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == labels


@pytest.mark.parametrize("shape", [(240,), (240, 2)], ids=["time", "space"])
@pytest.mark.parametrize("clusters", [2, 10, 12])
def test_the_legend_has_the_name_and_the_colour_of_each_cluster(small, monkeypatch, shape, clusters):
    truth = 3 + np.arange(240) % clusters  # names need not begin at 0
    problem = Problem(np.zeros((240, 1)), np.random.default_rng(0).random(shape), truth)
    monkeypatch.setitem(figures.SOURCES, "regions", Source("Many", lambda seed: problem))
    figure = figures.draw_truth("regions")
    figure.canvas.draw()
    (drawn,) = (*figure.axes[0].images, *figure.axes[0].collections)
    legend = figure.axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == [str(3 + code) for code in range(clusters)]
    shown = np.array([patch.get_facecolor() for patch in legend.get_patches()])
    assert shown == pytest.approx(drawn.to_rgba(np.arange(clusters)))
    assert len(np.unique(shown, axis=0)) == clusters
    assert figure.bbox.y0 <= legend.get_window_extent().y0 < legend.get_window_extent().y1 <= figure.bbox.y1


def test_many_clusters_have_no_legend(small, monkeypatch):
    problem = Problem(np.zeros((240, 1)), None, np.arange(240) % 13)
    monkeypatch.setitem(figures.SOURCES, "series", Source("Many", lambda seed: problem))
    assert figures.draw_truth("series").axes[0].get_legend() is None


def test_long_distances_on_earth_are_in_kilometres(small, monkeypatch):
    monkeypatch.setitem(figures.SOURCES, "regions", Source("Earth", lambda seed: regions("haversine")))
    figure = figures.draw_loss("regions")
    ax = figure.axes[0]
    assert ax.get_xlabel() == "distance, km"
    assert ax.get_xlim()[1] > 100 * KM
    assert ax.xaxis.get_major_formatter()(20 * KM, 0) == "20"
    assert figures.draw_loss("series").axes[0].get_xlabel() == "distance"


def test_histograms_are_densities_of_all_pairs_of_a_kind(small):
    figure = figures.draw_histograms("series")
    found = pairs_of_features(series(), "cosine")
    heights, edges, _ = figure.axes[0].patches[0].get_data()
    assert edges[-1] == 2.0
    assert (heights * np.diff(edges)).sum() == pytest.approx(1.0)
    inside = found.dissimilarity[found.together] < edges[1]
    assert heights[0] * edges[1] == pytest.approx(inside.mean())
    for ax in figure.axes[1:]:
        for patch in ax.patches:
            heights, edges, _ = patch.get_data()
            assert 0.9 < (heights * np.diff(edges)).sum() <= 1.0 + 1e-12


def test_the_band_and_the_map_show_every_row(small):
    band = figures.draw_truth("series").axes[0].images[0].get_array()
    assert band[0].tolist() == np.unique(series().truth, return_inverse=True)[1].tolist()
    drawn = figures.draw_truth("regions").axes[0].collections[0]
    places = {tuple(place): code for place, code in zip(regions().positions, regions().truth, strict=True)}
    assert len(drawn.get_offsets()) == 240
    shown = {tuple(place): code for place, code in zip(drawn.get_offsets().data, drawn.get_array(), strict=True)}
    assert shown == places


def test_pairs_of_features_are_those_of_a_loop(small):
    problem = series()
    found = pairs_of_features(problem, "euclidean", seed=5)
    i, j = np.random.default_rng(5).integers(240, size=(2, 4000))
    slow = [
        (abs(a - b), ((problem.X[a] - problem.X[b]) ** 2).sum(), problem.truth[a] == problem.truth[b])
        for a, b in zip(i.tolist(), j.tolist(), strict=True)
        if a != b
    ]
    assert found.distance.tolist() == [one[0] for one in slow]
    assert found.dissimilarity == pytest.approx(np.array([one[1] for one in slow]))
    assert found.together.tolist() == [one[2] for one in slow]


def test_half_of_the_pairs_are_near_unless_all_are_to_have_even_chances(small):
    even, semivariogram = pairs_of_models(regions(), 15, even=True)
    both, _ = pairs_of_models(regions(), 15)
    reach = 1.5 * semivariogram.range_
    assert len(even.distance) == 2000
    assert 2000 < len(both.distance) <= 4000
    assert (even.distance > reach).sum() == (both.distance > reach).sum()
    assert (both.distance <= reach).sum() >= (even.distance <= reach).sum()
    for found in (even, both):
        assert len(found.distance) == len(found.dissimilarity) == len(found.together)
        assert np.isfinite(found.dissimilarity).all()


def test_even_pairs_have_the_share_of_all_pairs(small):
    truth = regions().truth
    share = np.mean(truth[:, None] == truth[None, :])
    found, _ = pairs_of_models(regions(), 15, even=True)
    assert found.together.mean() == pytest.approx(share, abs=4 * np.sqrt(0.25 / 2000))


def test_pairs_are_of_one_group(small):
    problem = series(np.repeat([0, 1, 2], 80))
    found, _ = pairs_of_models(problem, 15, even=True)
    assert found.distance.max() < 80
    assert pairs_of_features(problem, "cosine").distance.max() < 80


def test_pairs_do_not_depend_on_the_order_of_rows(small):
    problem = regions()
    order = np.random.default_rng(1).permutation(240)
    turned = Problem(problem.X[order], problem.positions[order], problem.truth[order])
    one, _ = pairs_of_models(problem, 15)
    other, _ = pairs_of_models(turned, 15)
    assert (one.distance == other.distance).all()
    assert (one.dissimilarity == other.dissimilarity).all()
    assert (one.together == other.together).all()


some_pairs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.booleans()), max_size=40)


@settings(max_examples=60)
@given(some_pairs, st.integers(1, 4))
def test_shares_in_bins_are_those_of_a_loop(listed, least):
    found = Pairs(
        np.array([one[0] for one in listed], dtype=float),
        np.array([one[1] for one in listed], dtype=float),
        np.array([one[2] for one in listed], dtype=bool),
    )
    rows = np.array([0.0, 2.5, 5.5, 8.5])
    columns = np.array([0.5, 4.5, 7.5])
    shares = shares_together(found, rows, columns, least)
    for a in range(3):
        for b in range(2):
            inside = [own for x, y, own in listed if rows[a] <= x < rows[a + 1] and columns[b] <= y < columns[b + 1]]
            wanted = 100 * sum(inside) / len(inside) if len(inside) >= least else np.nan
            assert shares[a, b] == pytest.approx(wanted, nan_ok=True)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 12), st.floats(-9, 9)), max_size=30))
def test_means_by_distance_are_those_of_a_loop_and_leave_out_what_is_beyond(listed):
    edges = np.array([1.0, 3.0, 4.0, 8.0])
    distance, values = (np.array([one[k] for one in listed], dtype=float) for k in (0, 1))
    for low, high, mean in zip(edges[:-1], edges[1:], means_by_distance(distance, values, edges), strict=True):
        inside = [value for at, value in listed if low <= at < high]
        assert mean == pytest.approx(sum(inside) / len(inside) if inside else np.nan, nan_ok=True, abs=1e-12)
