"""The timeline: strips hold shares of time, features stand below, and a million rows draw as little as a thousand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import dates
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb

from builders.descriptions import labelled
from mcgta import plot
from mcgta.drawing.palette import NOISE_COLOR, cluster_color
from mcgta.drawing.time_shares import (
    GAP_STEPS,
    OWN_SHARE,
    course,
    envelope,
    shares_of_time,
    stack_shares,
    wide_stretches,
)
from mcgta.plot.times import MOST_GROUPS, MOST_NUMBERS
from naive import plots as naive


@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(-1, 2)), min_size=1, max_size=40),
    st.integers(1, 12),
    st.sampled_from([0.5, 1.0, 3.0]),
)
@settings(max_examples=60, deadline=None)
def test_shares_of_time_are_those_of_the_slow_twin(rows, columns, step):
    times = np.array(sorted(time for time, _ in rows), dtype=float)
    labels = np.array([label for _, label in rows])
    edges = np.linspace(times[0], times[-1] + step, columns + 1)
    fast = shares_of_time(times, labels, 3, edges, step)
    slow = naive.shares_of_time(times.tolist(), labels.tolist(), 3, edges.tolist(), step, GAP_STEPS)
    np.testing.assert_allclose(fast, slow, atol=1e-9)


def test_a_cluster_that_holds_little_of_a_column_still_has_a_pixel():
    picture = stack_shares(np.array([[0.999, 0.001, 0.0], [0.0, 0.0, 0.0]]), 48)
    assert np.count_nonzero(picture[:, 0] == 1) == 1
    assert np.count_nonzero(picture[:, 0] == 0) == 47
    assert (picture[:, 1] == -1).all()


@given(
    st.lists(st.sampled_from([(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.5, 0.5, 0.0), (0.0, 0.0, 1.0), (0.92, 0.08, 0.0)])),
    st.integers(1, 4),
)
@settings(max_examples=60, deadline=None)
def test_wide_stretches_are_those_of_the_slow_twin(columns, least):
    columns = [*columns, (0.0, 0.0, 0.0)]
    fast = wide_stretches(np.array(columns), least)
    assert [tuple(each) for each in fast] == naive.wide_stretches(columns, least, OWN_SHARE)


def strip(axes):
    """Return the picture of the first strip."""
    return np.asarray(axes.images[0].get_array())


def test_the_strip_has_the_colours_of_clusters_when_they_hold(machine):
    axes = plot.timeline(machine, features=0)
    picture = strip(axes)
    left, right, *_ = axes.images[0].get_extent()
    begin = dates.date2num(np.datetime64("2024-03-01T00:00"))
    assert left == pytest.approx(begin)
    for minute, label in ((25, 0), (75, 1), (175, 2), (360 + 225, -1), (360 + 275, 1)):
        share = (begin + minute / 1440 - left) / (right - left)
        color = picture[24, int(share * picture.shape[1])]
        assert color[:3] == pytest.approx(to_rgb(cluster_color(label)))
    gap = (begin + 300 / 1440 - left) / (right - left)
    assert picture[24, int(gap * picture.shape[1])][3] == 0


def names(axes):
    """Return the names of the bands, without the values below them."""
    return [text.get_text().split("\n")[0] for text in axes.get_yticklabels()]


def test_the_values_at_the_ends_of_a_band_stand_below_its_name(machine):
    said = plot.timeline(machine, features=["load"]).get_yticklabels()[1].get_text()
    low, high = np.quantile(machine.data.raw[:, 1], [0.001, 0.999])
    assert said == f"load\n{low:.3g} to {high:.3g}"


def test_the_most_distinguishing_features_stand_below_the_strip(machine):
    axes = plot.timeline(machine, features=2)
    heights = axes.get_yticks()
    assert names(axes) == ["cluster", "temp", "rpm"]
    assert (np.diff(heights) < 0).all()
    assert len(axes.lines) == 2


def test_features_can_be_named(machine):
    axes = plot.timeline(machine, features=["load"])
    assert names(axes) == ["cluster", "load"]


def test_the_legend_says_number_colour_and_share(machine):
    legend = plot.timeline(machine).get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["0   38 %", "1   25 %", "2   25 %", "noise   12 %"]
    colors = [to_rgb(patch.get_facecolor()) for patch in legend.get_patches()]
    assert colors == [to_rgb(color) for color in (*map(cluster_color, range(3)), NOISE_COLOR)]


def test_groups_are_strips_one_below_another():
    labels = np.repeat([0, 1, 1, 0], 25)
    groups = np.repeat(["b", "a"], 50)
    axes = plot.timeline(labelled(np.zeros((100, 1)), labels, groups=groups))
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b"]
    assert axes.get_xlabel() == "step"
    tops = [image.get_extent()[3] for image in axes.images]
    assert tops[0] > tops[1]
    assert strip(axes)[24, 0][:3] == pytest.approx(to_rgb(cluster_color(1)))


def test_wide_stretches_have_the_number_of_their_cluster_and_noise_has_none(machine):
    axes = plot.timeline(machine, features=0)
    begin = dates.date2num(np.datetime64("2024-03-01T00:00"))
    said = [(text.get_text(), round((text.get_position()[0] - begin) * 1440)) for text in axes.texts]
    spells = {("0", 25), ("1", 75), ("0", 125), ("2", 175), ("1", 635), ("2", 685), ("0", 735)}
    assert {(text, min(minute for _, minute in spells if abs(minute - at) < 5)) for text, at in said} == spells


def test_narrow_stretches_have_no_number():
    labels = np.arange(600) // 2 % 3
    assert not plot.timeline(labelled(np.zeros((600, 1)), labels), features=0).texts
    many = labelled(np.zeros((2000, 1)), np.arange(2000) // 20 % 2)
    assert len(plot.timeline(many, features=0, ax=wide_axes()).texts) <= MOST_NUMBERS


def test_the_first_of_many_groups_are_drawn():
    groups = np.repeat(np.arange(MOST_GROUPS + 3), 5)
    axes = plot.timeline(labelled(np.zeros((groups.size, 1)), np.zeros(groups.size, dtype=int), groups=groups))
    assert len(axes.images) == MOST_GROUPS
    assert axes.get_title(loc="right") == f"the first {MOST_GROUPS} of {MOST_GROUPS + 3} groups"


def test_an_envelope_holds_the_values_of_each_column():
    rng = np.random.default_rng(6)
    times = np.sort(rng.uniform(0, 10, 500))
    values = rng.normal(size=500)
    edges = np.linspace(0, 10, 6)
    seen = envelope(times, values, edges, 0.02)
    whole = np.isfinite(seen.mean)
    for place, column in enumerate(np.flatnonzero(whole)):
        own = np.sort(values[(times >= edges[place]) & (times < edges[place + 1])])
        assert seen.times[column] == pytest.approx(edges[place : place + 2].mean())
        assert seen.mean[column] == pytest.approx(own.mean())
        assert (seen.least[column], seen.largest[column]) == (own[0], own[-1])
        ranks = np.rint(np.array([0.1, 0.9]) * (own.size - 1)).astype(int)
        assert (seen.low[column], seen.high[column]) == tuple(own[ranks])


def test_lines_and_envelopes_are_broken_at_gaps():
    times = np.r_[np.arange(10.0), 100 + np.arange(10.0)]
    values = np.arange(20.0)
    for drawn in (course(times, values, 1.0)[1], envelope(times, values, np.linspace(0, 110, 111), 1.0).mean):
        assert np.count_nonzero(np.isnan(drawn)) == 1
        assert np.isnan(drawn[10])


def test_dates_stand_where_matplotlib_has_them_whatever_its_epoch(machine):
    offset = dates.date2num(np.datetime64("1970-01-01"))
    left = plot.timeline(machine, features=0).get_xlim()[0]
    assert left - offset == pytest.approx(np.datetime64("2024-03-01T00:00").astype("datetime64[m]").astype(int) / 1440)


def vertices(axes):
    """Return how many points of lines and areas, and how many pixels, are drawn."""
    lines = sum(line.get_xdata().size for line in axes.lines)
    areas = sum(path.vertices.shape[0] for collection in axes.collections for path in collection.get_paths())
    return lines + areas, sum(image.get_array().shape[1] for image in axes.images)


def test_what_is_drawn_of_a_million_rows_is_bounded_by_the_pixels():
    rng = np.random.default_rng(0)
    n = 1_000_000
    labels = np.repeat(rng.integers(0, 4, n // 100), 100)
    axes = plot.timeline(labelled(rng.normal(size=(n, 1)), labels, positions=np.arange(n, dtype=float)))
    points, columns = vertices(axes)
    width = axes.figure.bbox.width
    assert columns <= width
    assert points <= 12 * width
    assert len(axes.get_children()) < 30


def test_outliers_do_not_flatten_a_feature(machine):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(2000, 1))
    values[1000] = 1e6
    line = plot.timeline(labelled(values, np.zeros(2000, dtype=int)), features=1, ax=wide_axes()).lines[0]
    assert np.ptp(np.delete(line.get_ydata(), 1000)) > 0.5


def wide_axes():
    return plt.subplots(figsize=(30, 2))[1]


def test_a_timeline_of_places_is_refused(europe):
    with pytest.raises(ValueError, match=r"timeline shows times.*are places; use mcgta.plot.map"):
        plot.timeline(europe)


def test_features_that_are_not_there_are_refused(machine):
    with pytest.raises(ValueError, match="'torque' is no feature of this fit, which has temp, load, rpm"):
        plot.timeline(machine, features=["torque"])
    with pytest.raises(ValueError, match="features=-1"):
        plot.timeline(machine, features=-1)
