"""The semivariogram: points, curve, guides, threshold, and the share of pairs within clusters behind them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.patches import StepPatch

from builders.descriptions import labelled
from mcgta import plot
from mcgta.description.pair_shares import MAX_PAIRED_ROWS, count_pairs_within
from naive import plots as naive


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def texts(axes):
    return [text.get_text() for text in axes.texts]


def twin(axes):
    """Return the axes of the shares of pairs."""
    return next(other for other in axes.figure.axes if other is not axes)


def test_points_are_the_empirical_values_and_larger_where_there_are_more_pairs(searched):
    axes = plot.semivariogram(searched)
    curve = searched.semivariogram_
    points = next(each for each in axes.collections if isinstance(each, PathCollection))
    seen = curve.counts > 0
    np.testing.assert_allclose(points.get_offsets(), np.column_stack([curve.lags[seen], curve.values[seen]]))
    assert (np.argsort(points.get_sizes(), kind="stable") == np.argsort(curve.counts[seen], kind="stable")).all()


def test_the_line_is_the_fitted_curve(searched):
    line = plot.semivariogram(searched).lines[0]
    np.testing.assert_allclose(line.get_ydata(), searched.semivariogram_(line.get_xdata()))


def test_range_sill_and_nugget_are_drawn_and_said(searched):
    axes = plot.semivariogram(searched)
    curve = searched.semivariogram_
    said = texts(axes)
    assert f"range {curve.range_:.3g} steps" in said
    assert f"sill {curve.sill_:.3g}" in said
    assert any(text.startswith("nugget") for text in said)
    levels = [
        line.get_ydata()[0] for line in axes.lines if line.get_linestyle() == ":" and len(set(line.get_ydata())) == 1
    ]
    assert sorted(levels) == pytest.approx(sorted([curve.sill_, curve.nugget_]))


def test_the_threshold_is_the_curve_less_half_the_margin(searched):
    fit = replace(searched.fitted_, margin=0.5)
    axes = plot.semivariogram(fit)
    curve, threshold = axes.lines[:2]
    assert threshold.get_linestyle() == "--"
    np.testing.assert_allclose(curve.get_ydata() - threshold.get_ydata(), 0.25)
    assert "threshold, margin 0.5" in legend(axes)


def test_without_a_margin_the_curve_is_said_to_be_the_threshold(searched):
    axes = plot.semivariogram(replace(searched.fitted_, margin=0.0))
    assert any("and threshold: the margin is 0" in text for text in legend(axes))
    assert not any("threshold" in text for text in legend(searched.semivariogram_.plot()))


def test_pairs_within_clusters_are_those_of_the_slow_twin():
    rng = np.random.default_rng(0)
    places = rng.uniform(size=(60, 2)) * 5
    labels = rng.integers(-1, 3, 60)
    fit = labelled(rng.normal(size=(60, 1)), labels, positions=places)
    found = count_pairs_within(fit)
    sorted_places = fit.data.positions.coordinates
    distances = np.linalg.norm(sorted_places[:, None] - sorted_places[None], axis=2)
    pairs, within = naive.pairs_within(distances, fit.labelling.labels.tolist(), found.edges.tolist())
    assert found.pairs.tolist() == pairs
    assert found.within.tolist() == within
    assert sum(within) > 0


def test_steps_are_the_shares_of_pairs_within_clusters(searched):
    right = twin(plot.semivariogram(searched))
    steps = [patch for patch in right.patches if isinstance(patch, StepPatch)]
    values, edges, _ = steps[-1].get_data()
    shares = count_pairs_within(searched.fitted_)
    np.testing.assert_allclose(values, shares.shares)
    np.testing.assert_allclose(edges, shares.edges)
    assert right.get_ylabel() == "pairs within one cluster"
    assert right.get_ylim() == (0, 1)


def test_a_sample_of_many_rows_is_said_to_be_one():
    n = MAX_PAIRED_ROWS + 1
    right = twin(plot.semivariogram(labelled(np.zeros((n, 1)), np.zeros(n, dtype=int))))
    assert right.get_ylabel() == "pairs within one cluster\n(of 20,000 of 20,001 rows)"


@pytest.mark.parametrize(("spacing", "unit"), [("s", "s"), ("m", "min"), ("h", "h"), ("D", "d")])
def test_distances_of_dates_are_in_a_unit_that_suits_them(spacing, unit):
    from mcgta import MCGTA

    X = np.random.default_rng(1).normal(size=(60, 2))
    times = np.datetime64("2024-01-01T00:00:00") + np.arange(60) * np.timedelta64(1, spacing)
    model = MCGTA(n_neighbors=6, eps=1.0, progress=False).fit(X, positions=times)
    assert plot.semivariogram(model).get_xlabel() == f"distance [{unit}]"
