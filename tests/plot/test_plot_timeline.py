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
from mcgta.palette import NOISE_COLOR, cluster_color
from mcgta.plot.time_shares import GAP_STEPS, shares_of_time, stack_shares
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
