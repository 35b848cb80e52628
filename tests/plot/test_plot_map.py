"""The map: points or cells in the colours of clusters, coastlines and scale on earth, groups beside each other."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgb

from builders.descriptions import labelled
from mcgta import SpaceTime, plot
from mcgta.drawing.cells import count_cells, deal_out, densest_places, opacity
from mcgta.drawing.map_frame import MOST_TILES, make_frame, unwrap
from mcgta.drawing.palette import cluster_color
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


def test_a_map_of_the_whole_earth_begins_at_the_antimeridian():
    longitude = np.random.default_rng(0).uniform(-180, 180, 200)
    assert (unwrap(longitude) == longitude).all()


def test_maps_are_in_proportion_at_their_middle_latitude(europe):
    west, south, east, north = make_frame(europe, (0, 1)).view
    places = europe.data.positions.coordinates
    margins = 0.04 * np.ptp(places, axis=0)
    assert (west, south) == pytest.approx(tuple(places.min(axis=0) - margins))
    assert (east, north) == pytest.approx(tuple(places.max(axis=0) + margins))


def test_the_densest_places_are_those_of_the_slow_twin():
    rng = np.random.default_rng(8)
    x = rng.uniform(size=300)
    y = rng.uniform(size=300)
    labels = rng.integers(-1, 4, 300)
    labels[labels == 3] = 2
    edges = (np.linspace(0, 1, 5), np.linspace(0, 1, 4))
    found = densest_places(x, y, labels, 4, edges)
    counts = naive.count_cells(x.tolist(), y.tolist(), labels.tolist(), 4, (edges[0].tolist(), edges[1].tolist()))
    for cluster in range(3):
        row, column = naive.densest_cell(counts, cluster)
        own = (labels == cluster) & (x // 0.25 == column) & (y // (1 / 3) == row)
        assert found[cluster] == pytest.approx((x[own].mean(), y[own].mean()))
    assert np.isnan(found[3]).all()


def test_clusters_have_their_number_among_their_points(europe):
    numbers = {text.get_text(): text.get_position() for text in plot.map(europe).texts}
    assert numbers["0"][0] < 5 < numbers["1"][0]


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


def test_cells_with_many_rows_are_more_opaque():
    shades = opacity(np.array([[[1, 0], [100, 0], [0, 400]]]))
    assert 0.45 < shades[0, 0] < shades[0, 4] < shades[0, 8] == 1


def test_the_first_of_very_many_slides_are_drawn_and_it_is_said():
    rng = np.random.default_rng(9)
    groups = np.repeat(np.arange(40), 600)
    places = rng.uniform(size=(groups.size, 2))
    axes = plot.map(
        labelled(np.zeros((groups.size, 1)), np.zeros(groups.size, dtype=int), positions=places, groups=groups)
    )
    said = axes.get_title(loc="right").replace("\n", " ")
    assert said.startswith(f"the first {MOST_TILES} of 40 groups; 21,600 rows in cells")


def test_groups_that_do_not_cover_each_other_share_the_map():
    rng = np.random.default_rng(10)
    places = rng.uniform(size=(40, 2)) + np.repeat([[0, 0], [5, 0]], 20, axis=0)
    fit = labelled(np.zeros((40, 1)), np.zeros(40, dtype=int), positions=places, groups=np.repeat(["west", "east"], 20))
    where, _ = points(plot.map(fit))
    assert np.sort(where[:, 0]) == pytest.approx(np.sort(places[:, 0]))


def test_a_single_place_is_drawn():
    fit = labelled(np.zeros((5, 1)), np.zeros(5, dtype=int), positions=np.full((5, 2), 3.0))
    where, _ = points(plot.map(fit))
    assert (where == 3).all()


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
