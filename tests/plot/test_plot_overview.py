"""Every plot takes axes and returns them, fits into small ones, and needs matplotlib and a fitted model."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.transforms import Bbox

import mcgta
from builders.descriptions import labelled, model_of
from mcgta import MCGTA, SpaceTime, plot
from mcgta.plot.canvas import shorten

NAMES = [
    "timeline",
    "map",
    "profiles",
    "networks",
    "transitions",
    "semivariogram",
    "evidence",
    "membership",
    "stability",
    "reachability",
    "condensed_tree",
    "compare",
]


@pytest.fixture(scope="module")
def resampled(plain):
    return mcgta.stability(plain, n_resamples=2, progress=False)


@pytest.fixture
def draw(searched, plain, visited, resampled, europe):
    """Return a function that draws a plot by its name."""
    given = {
        "timeline": searched,
        "map": europe,
        "transitions": searched,
        "evidence": searched,
        "stability": resampled,
        "reachability": visited,
    }

    def draw(name, **options):
        others = [searched.labels_] if name == "compare" else []
        return getattr(plot, name)(given.get(name, searched), *others, **options)

    return draw


def test_every_plot_is_listed():
    assert sorted(plot.__all__) == sorted(NAMES)
    assert set(NAMES) <= set(dir(plot))
    with pytest.raises(AttributeError, match="has no attribute 'pie'"):
        plot.pie  # noqa: B018


@pytest.mark.parametrize("name", NAMES)
def test_a_plot_takes_axes_and_returns_them(draw, name):
    axes = plt.subplots()[1]
    assert draw(name, ax=axes) is axes
    assert plt.get_fignums() == [axes.figure.number]


@pytest.mark.parametrize("name", NAMES)
def test_a_plot_makes_a_figure_where_no_axes_are_passed(draw, name):
    axes = draw(name)
    assert plt.get_fignums() == [axes.figure.number]
    axes.figure.canvas.draw()


def reach(axes):
    """Return the pixels that axes and their twins take, with all labels: left, bottom, right and top."""
    place = axes.get_position().bounds
    return Bbox.union(
        [other.get_tightbbox() for other in axes.figure.axes if other.get_position().bounds == place]
    ).extents


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_cut_off_in_a_small_figure(draw, name):
    figure, axes = plt.subplots(figsize=(4, 3), layout="constrained")
    draw(name, ax=axes)
    figure.canvas.draw()
    left, bottom, right, top = reach(axes)
    assert left >= -1
    assert bottom >= -1
    assert right <= figure.bbox.width + 1
    assert top <= figure.bbox.height + 1


@pytest.mark.parametrize("name", NAMES)
def test_without_a_layout_a_plot_leaves_the_axes_beside_it_alone(draw, name):
    figure, (axes, other) = plt.subplots(1, 2, figsize=(10, 4))
    untouched = other.get_position().bounds
    right_end = axes.get_position().x1 * figure.bbox.width
    draw(name, ax=axes)
    figure.canvas.draw()
    assert other.get_position().bounds == untouched
    assert reach(axes)[2] <= right_end + 0.2 * figure.dpi
    assert axes.get_in_layout()


def test_axes_of_a_subfigure_have_room_within_it(searched):
    figure = plt.figure(figsize=(10, 4))
    left, right = figure.subfigures(1, 2)
    axes = right.subplots()
    plot.timeline(searched, ax=axes)
    figure.canvas.draw()
    begin, _, end, _ = axes.get_tightbbox().extents
    assert begin >= right.bbox.x0 - 1
    assert end <= right.bbox.x1 + 1
    assert not left.axes


@pytest.mark.parametrize("name", NAMES)
def test_text_can_be_read_on_a_dark_ground(draw, name):
    with plt.style.context("dark_background"):
        axes = draw(name)
        texts = [axes.xaxis.label, axes.yaxis.label, *axes.get_xticklabels(), *axes.get_yticklabels()]
        if axes.get_legend() is not None:
            texts += axes.get_legend().get_texts()
        assert all(sum(to_rgb(text.get_color())) > 1.5 for text in texts if text.get_text())


@pytest.mark.parametrize("name", NAMES)
def test_a_plot_without_matplotlib_says_what_to_install(draw, name, monkeypatch):
    draw(name)  # what it needs is computed
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"^plotting needs matplotlib: pip install 'mcgta\[plot\]'$"):
        draw(name)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("stability", "compare")])
def test_what_is_no_fitted_model_is_refused(name):
    with pytest.raises(ValueError, match="model must be a fitted MCGTA, got list"):
        getattr(plot, name)([1, 2])
    with pytest.raises(ValueError, match="not fitted"):
        getattr(plot, name)(MCGTA())


def test_the_plot_of_a_series_is_a_timeline(machine):
    axes = model_of(machine).plot()
    assert [text.get_text().split("\n")[0] for text in axes.get_yticklabels()] == ["cluster", "temp", "rpm", "load"]


def test_the_plot_of_places_is_a_map(europe):
    axes = plt.subplots()[1]
    assert model_of(europe).plot(ax=axes) is axes
    assert axes.get_aspect() != "auto"


def test_the_plot_of_places_and_times_is_a_map():
    where = np.column_stack([np.random.default_rng(0).uniform(size=(40, 2)), np.arange(40.0)])
    fit = labelled(np.zeros((40, 1)), np.zeros(40, dtype=int), positions=where, metric=SpaceTime(time_scale=1.0))
    assert model_of(fit).plot().get_xlabel().startswith("coordinate 0")


def test_the_plot_of_distances_or_places_on_a_line_is_of_profiles():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2))
    table = np.abs(np.subtract.outer(X[:, 0], X[:, 0]))
    for positions, metric in ((table, "precomputed"), (rng.uniform(size=(30, 1)), "euclidean")):
        fit = labelled(X, np.repeat([0, 1], 15), positions=positions, metric=metric)
        assert model_of(fit).plot().get_xlabel().replace("\n", " ").startswith("mean ± standard deviation")


@pytest.fixture(scope="module")
def with_gaps():
    """A fit of which ten rows were left out, since a feature is missing."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3)) + np.repeat([0, 6], 100)[:, None]
    X[40:50, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MCGTA(n_neighbors=10, eps=1.0, missing="drop", progress=False).fit(X)


@pytest.mark.parametrize("name", ["timeline", "profiles", "networks", "transitions", "semivariogram", "membership"])
def test_rows_that_were_left_out_do_not_hinder(with_gaps, name):
    assert with_gaps.n_clusters_ == 2
    getattr(plot, name)(with_gaps).figure.canvas.draw()


def test_rows_that_were_left_out_are_noise_in_legends_and_comparisons(with_gaps):
    noise = np.mean(with_gaps.labels_ < 0)
    for name in ("timeline", "profiles", "condensed_tree"):
        assert getattr(plot, name)(with_gaps).get_legend().get_texts()[-1].get_text() == f"noise   {100 * noise:.0f} %"
    plot.compare(with_gaps, np.repeat([0, 1], 100))


@pytest.mark.parametrize("name", ["profiles", "networks", "transitions", "timeline", "map"])
def test_thirty_clusters_of_sixty_features_with_long_names_are_drawn(name):
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(30), 20)
    names = np.array([f"a rather long name of a sensor, number {k}" for k in range(60)])
    places = rng.uniform(size=(600, 2)) if name == "map" else None
    axes = getattr(plot, name)(labelled(rng.normal(size=(600, 60)), labels, names=names, positions=places))
    axes.figure.canvas.draw()
    width, height = axes.figure.get_size_inches()
    assert max(width, height) <= 14
    shown = [text.get_text() for text in (*axes.get_yticklabels(), *axes.texts)]
    assert all(len(line) <= 36 for text in shown for line in text.splitlines())
    assert len(axes.findobj()) < 3000


def test_a_legend_with_too_many_clusters_says_how_many_are_left_out():
    labels = np.repeat(np.arange(40), 5)
    entries = [text.get_text() for text in plot.timeline(labelled(np.zeros((200, 1)), labels)).get_legend().get_texts()]
    assert entries[0].startswith("0   ")
    assert entries[-1] == f"and {40 - (len(entries) - 1)} more"


@pytest.mark.parametrize("labels", [np.full(30, -1), np.zeros(30, dtype=int)])
def test_nothing_but_noise_and_a_single_cluster_are_drawn(labels):
    fit = labelled(np.random.default_rng(4).normal(size=(30, 2)), labels)
    said = [text.get_text() for text in plot.timeline(fit).get_legend().get_texts()]
    assert said == (["noise   100 %"] if labels[0] < 0 else ["0   100 %"])


@pytest.mark.parametrize("length", [1, 23, 24, 25, 80])
def test_long_names_are_cut_in_the_middle(length):
    name = "".join(chr(ord("a") + k % 26) for k in range(length))
    short = shorten(name)
    assert len(short) == min(length, 24)
    assert (short[0], short[-1]) == (name[0], name[-1])
