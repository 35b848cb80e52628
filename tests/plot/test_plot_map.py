"""The map: points or cells in the colours of clusters, coastlines and scale on earth, groups beside each other."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgb

from builders.descriptions import labelled
from mcgta import SpaceTime, plot
from mcgta.palette import cluster_color
from mcgta.plot.cells import count_cells, deal_out
from mcgta.plot.frames import unwrap
from naive import plots as naive


def points(axes):
    """Return where points are, and their colours."""
    found = next(each for each in axes.collections if isinstance(each, PathCollection))
    return np.asarray(found.get_offsets()), found.get_facecolors()[:, :3]


def test_points_have_the_colours_of_their_clusters(europe):
    where, colors = points(plot.map(europe))
    assert len(where) == 600
    for cluster in (0, 1):
        own = (where[:, 0] > 5) == bool(cluster)
        np.testing.assert_allclose(colors[own], np.tile(to_rgb(cluster_color(cluster)), (own.sum(), 1)))


def test_maps_of_the_earth_have_coastlines_and_degrees(europe):
    axes = plot.map(europe)
    coast = next(each for each in axes.collections if isinstance(each, LineCollection))
    assert len(coast.get_segments()) > 10
    axes.figure.canvas.draw()
    assert "50°N" in [text.get_text() for text in axes.get_yticklabels()]
    assert axes.get_aspect() == pytest.approx(1 / np.cos(np.radians(48)), rel=0.01)


def test_small_maps_have_a_scale_bar():
    rng = np.random.default_rng(0)
    places = np.column_stack([rng.uniform(-74.1, -73.9, 50), rng.uniform(40.6, 40.8, 50)])
    axes = plot.map(labelled(np.zeros((50, 1)), np.zeros(50, dtype=int), positions=places, metric="haversine"))
    bar = axes.lines[0].get_xdata()
    kilometres = (bar[1] - bar[0]) * 111.19 * np.cos(np.radians(40.7))
    text = next(text.get_text() for text in axes.texts if "km" in text.get_text())
    assert kilometres == pytest.approx(float(text.split()[0]), rel=0.01)


def test_a_map_across_the_antimeridian_is_in_one_piece():
    longitude = unwrap(np.array([170.0, 179.0, -179.0, -170.0]))
    assert longitude.tolist() == [170, 179, 181, 190]


def test_cells_are_those_of_the_slow_twin():
    rng = np.random.default_rng(1)
    x = np.round(rng.uniform(-0.1, 1.1, 200), 1)
    y = np.round(rng.uniform(-0.1, 2.1, 200), 1)
    labels = rng.integers(-1, 3, 200)
    edges = (np.linspace(0, 1, 5), np.linspace(0, 2, 4))
    slow = naive.count_cells(x.tolist(), y.tolist(), labels.tolist(), 3, (edges[0].tolist(), edges[1].tolist()))
    assert count_cells(x, y, labels, 3, edges).tolist() == slow


def test_a_cell_is_dealt_out_by_shares():
    dealt = deal_out(np.array([[[12, 4, 0], [0, 0, 0]]]))
    assert np.bincount(dealt[:4, :4].ravel()).tolist() == [12, 4]
    assert (dealt[:4, 4:] == -1).all()


def test_very_many_places_are_one_picture_of_cells():
    rng = np.random.default_rng(2)
    places = rng.uniform(size=(300_000, 2))
    labels = (places[:, 0] > 0.5).astype(int)
    axes = plot.map(labelled(np.zeros((300_000, 1)), labels, positions=places))
    assert not axes.collections
    picture = np.asarray(axes.images[0].get_array())
    assert picture.shape[0] * picture.shape[1] <= axes.figure.bbox.width * axes.figure.bbox.height
    middle = picture.shape[0] // 2
    for share, cluster in ((0.25, 0), (0.75, 1)):
        color = picture[middle, int(share * picture.shape[1])]
        assert color[:3] == pytest.approx(to_rgb(cluster_color(cluster)))
    assert "300,000 rows" in axes.get_title(loc="right")


def test_slides_that_would_cover_each_other_are_drawn_beside_each_other():
    rng = np.random.default_rng(3)
    places = rng.uniform(size=(90, 2))
    groups = np.repeat(["one", "two", "three"], 30)
    axes = plot.map(labelled(np.zeros((90, 1)), np.zeros(90, dtype=int), positions=places, groups=groups))
    assert [text.get_text() for text in axes.texts] == ["0", "one", "three", "two"]
    where, _ = points(axes)
    assert np.ptp(where[:, 0]) > 2
    assert np.ptp(where[:, 1]) > 2


def test_other_coordinates_can_be_drawn():
    rng = np.random.default_rng(4)
    places = rng.uniform(size=(60, 3)) * [1, 10, 100]
    fit = labelled(np.zeros((60, 1)), np.zeros(60, dtype=int), positions=places)
    axes = plot.map(fit, columns=(2, 1))
    assert axes.get_xlabel() == "coordinate 2"
    assert points(axes)[0][:, 0].max() > 50
    with pytest.raises(ValueError, match=r"columns=\(0, 3\) must be two coordinates, from 0 to 2"):
        plot.map(fit, columns=(0, 3))


def test_places_and_times_are_drawn_as_a_map_or_a_timeline():
    rng = np.random.default_rng(5)
    where = np.column_stack([rng.uniform(size=(60, 2)), np.arange(60.0)])
    fit = labelled(np.zeros((60, 1)), np.repeat([0, 1], 30), positions=where, metric=SpaceTime(time_scale=1.0))
    assert len(points(plot.map(fit))[0]) == 60
    assert len(plot.timeline(fit).images) == 1


def test_a_map_of_times_is_refused(machine):
    with pytest.raises(ValueError, match=r"map shows places.*are times; use mcgta.plot.timeline"):
        plot.map(machine)
