"""Coastlines in view of a map."""

from __future__ import annotations

from importlib import resources
from itertools import pairwise

import numpy as np
import pytest

from mcgta.drawing.coastlines import FILES, coastlines


def meets_view(arc, west, south, east, north):
    """Whether any segment of an arc has a bounding box that meets the view; segment by segment."""
    for (x0, y0), (x1, y1) in pairwise(arc):
        if min(x0, x1) <= east and max(x0, x1) >= west and min(y0, y1) <= north and max(y0, y1) >= south:
            return True
    return False


def nearest(arcs, longitude, latitude):
    """Return the distance in degrees of latitude from a place to the nearest point of coast."""
    points = np.concatenate(arcs)
    east = (points[:, 0] - longitude) * np.cos(np.radians(latitude))
    return float(np.hypot(east, points[:, 1] - latitude).min())


def test_the_coast_passes_by_places_on_the_coast():
    for longitude, latitude in ((-9.5, 38.78), (18.47, -34.36), (151.3, -33.85), (-5.6, 36.0)):  # capes and a strait
        view = (longitude - 3, latitude - 3, longitude + 3, latitude + 3)
        assert nearest(coastlines(*view), longitude, latitude) < 0.3


def test_only_stretches_in_view_are_returned():
    view = (0.0, 40.0, 12.0, 50.0)
    arcs = coastlines(*view)
    assert arcs
    assert all(meets_view(arc, *view) for arc in arcs)
    assert sum(map(len, arcs)) < 0.1 * sum(map(len, coastlines(-9, -10, 9, 9.9) + coastlines(-180, -90, 180, 90)))


def test_inland_and_at_sea_there_is_no_coast():
    assert coastlines(14, 49, 16, 50.5) == []
    assert coastlines(-40, 30, -35, 35) == []


def test_small_views_have_more_detail():
    small = sum(len(arc) for arc in coastlines(0, 55, 20, 71))
    large = [
        arc[(arc[:, 0] > 0) & (arc[:, 0] < 20) & (arc[:, 1] > 55) & (arc[:, 1] < 71)]
        for arc in coastlines(-1, 54, 20, 75)
    ]
    assert small > 3 * sum(map(len, large))


def test_a_view_across_the_antimeridian_is_continuous():
    across = coastlines(176, -20, -178, -14)  # Fiji
    beyond = coastlines(176, -20, 182, -14)
    assert [arc.tolist() for arc in across] == [arc.tolist() for arc in beyond]
    longitudes = np.concatenate(across)[:, 0]
    assert 176 < longitudes.min() < 180 < longitudes.max() < 182.5


def test_the_edge_of_the_flat_map_is_no_coast():
    for arc in coastlines(-180, -90, 180, 90):
        assert arc[:, 1].min() > -89
        on_edge = np.abs(arc[:, 0]) == 180
        assert not (on_edge[1:] & on_edge[:-1]).any()


def test_callers_cannot_change_the_coast():
    coastlines(0, 40, 12, 50)[0][:] = 0
    assert np.abs(np.concatenate(coastlines(0, 40, 12, 50))).min() > 0


def test_the_files_are_small_and_carry_no_time():
    for file, most in (("110m", 14_000), ("50m", 100_000)):
        packed = resources.files("mcgta.drawing").joinpath(FILES[file]).read_bytes()
        assert len(packed) < most
        assert packed[4:8] == bytes(4)


@pytest.mark.parametrize(
    ("view", "said"),
    [
        ((0, -91, 1, 0), "south=-91"),
        ((0, 2, 1, 1), "must not exceed north=1"),
        ((np.nan, 0, 1, 1), "west=nan"),
        ((0, 0, 400, 1), "east=400"),
    ],
)
def test_what_is_no_view_is_refused(view, said):
    with pytest.raises(ValueError, match=said):
        coastlines(*view)
