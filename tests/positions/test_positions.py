"""Distances between positions, and what users may give as positions."""

import datetime
import math

import numpy as np
import pytest

from mcgta.kernels.positions import metrics
from mcgta.kernels.simd.compiled import kernel
from mcgta.positions.metrics import SpaceTime
from mcgta.positions.reading import read_positions
from naive import algorithm as naive

HALF_WAY = math.pi * naive.EARTH_RADIUS


def globe(count, seed):
    """Places all over the globe, with both poles and both sides of the date line among them."""
    rng = np.random.default_rng(seed)
    anywhere = np.column_stack([rng.uniform(-180, 180, count), np.degrees(np.arcsin(rng.uniform(-1, 1, count)))])
    special = [(0, 90), (77, 90), (0, -90), (180, 0), (-180, 0), (179.9999, 10), (-179.9999, 10), (0, 0), (359.5, 3)]
    return np.concatenate([anywhere, special]).astype(float)


def whole(positions):
    every = np.arange(len(positions))
    return positions.between(every, every)


@pytest.mark.parametrize("p", [1, 2, 3, 7])
def test_distances_in_a_flat_space_of_any_dimension_agree_with_pythagoras(p):
    places = np.random.default_rng(p).normal(size=(25, p))
    found = whole(read_positions(places, 25, metric="time" if p == 1 else "euclidean"))
    np.testing.assert_allclose(found, naive.distance_table(places), rtol=1e-14)


def test_distances_on_the_sphere_agree_with_the_haversine_formula_at_the_poles_and_the_date_line():
    places = globe(40, 0)
    found = whole(read_positions(places, len(places), metric="haversine"))
    expected = naive.distance_table(places, naive.great_circle)
    far = expected > 0.9 * HALF_WAY  # there the haversine formula itself keeps seven digits only
    np.testing.assert_allclose(found[~far], expected[~far], rtol=1e-10, atol=1e-6)
    np.testing.assert_allclose(found[far], expected[far], atol=1.0)


@pytest.mark.parametrize(
    ("a", "b", "metres"),
    [
        ((0, 90), (123, 90), 0.0),
        ((180, 12), (-180, 12), 0.0),
        ((360, 5), (0, 5), 0.0),
        ((0, 90), (0, -90), HALF_WAY),
        ((10, 20), (-170, -20), HALF_WAY),
        ((179, 0), (-179, 0), HALF_WAY / 90),
        ((50, 89), (-130, 89), HALF_WAY / 90),
        ((-70, 0), (20, 45), HALF_WAY / 2),
    ],
)
def test_well_known_arcs_have_their_length(a, b, metres):
    found = whole(read_positions(np.array([a, b], dtype=float), 2, metric="haversine"))[0, 1]
    assert found == pytest.approx(metres, rel=1e-13, abs=1e-8)


@pytest.mark.parametrize("metres", [1e-3, 1.0, 1e3])
def test_neighbours_a_millimetre_apart_are_told_apart(metres):
    step = math.degrees(metres / naive.EARTH_RADIUS)
    places = np.array([[12.0, 0.0], [12.0, step]])
    found = whole(read_positions(places, 2, metric="haversine"))[0, 1]
    assert found == pytest.approx(metres, abs=1e-8)


@pytest.mark.parametrize(("space", "measure"), [("euclidean", naive.euclidean), ("haversine", naive.great_circle)])
def test_distances_in_space_and_time_add_their_squares(space, measure):
    rng = np.random.default_rng(3)
    places = np.column_stack([rng.uniform(-60, 60, (20, 2)), rng.uniform(0, 100, 20)])
    found = whole(read_positions(places, 20, metric=SpaceTime(250.0, space)))
    expected = naive.distance_table(places, lambda a, b: naive.spacetime(a, b, 250.0, measure))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("metric", ["time", "euclidean", "haversine", "precomputed", "callable"])
def test_observations_of_different_groups_are_infinitely_far_apart(metric):
    rng = np.random.default_rng(5)
    places = rng.uniform(-50, 50, (12, 1 if metric == "time" else 2))
    groups = np.array(["b", "a", "c"] * 4)
    measure = naive.great_circle if metric == "haversine" else naive.euclidean
    given = naive.distance_table(places) if metric == "precomputed" else places
    found = read_positions(given, 12, groups=groups, metric=naive.euclidean if metric == "callable" else metric)
    expected = naive.distance_table(places, measure, groups)
    np.testing.assert_allclose(whole(found), expected, rtol=1e-10, atol=1e-6 if metric == "haversine" else 0)
    i, j = np.triu_indices(12)
    np.testing.assert_array_equal(found.of_pairs(i, j), whole(found)[i, j])


@pytest.mark.parametrize("metric", ["time", "euclidean", "haversine", "spacetime"])
def test_equal_positions_are_at_distance_zero_to_the_last_bit(metric):
    rng = np.random.default_rng(7)
    width = {"time": 1, "spacetime": 3}.get(metric, 2)
    places = np.repeat(rng.uniform(0, 80, (6, width)), 2, axis=0) + (0 if metric == "haversine" else 1e6)
    if metric == "spacetime":
        places[:, :2] -= 1e6
    measure = SpaceTime(3.3, "haversine") if metric == "spacetime" else metric
    groups = np.arange(12) % 2 if metric == "time" else None
    found = read_positions(places, 12, metric=measure, groups=groups)
    assert (np.diagonal(whole(found)) == 0).all()
    if metric != "time":
        assert (found.of_pairs(np.arange(0, 12, 2), np.arange(1, 12, 2)) == 0).all()


@kernel("void(float64[:, ::1], int64, float64[:, ::1])")
def fused_distances(points, kind, out):
    """Compiled as most kernels are, with products and sums fused where the compiler likes."""
    for i in range(points.shape[0]):
        for j in range(points.shape[0]):
            out[i, j] = metrics.place_distance(points, i, points, j, kind)


def every_metric():
    rng, places = np.random.default_rng(23), globe(60, 23)
    times = rng.uniform(0, 1e7, len(places))
    times[:3] = times[0]
    yield "time", rng.uniform(0, 1e7, (60, 1)), metrics.FLAT
    yield "euclidean", places, metrics.FLAT
    yield "euclidean", rng.normal(size=(60, 7)), metrics.FLAT
    yield SpaceTime(0.7, "euclidean"), np.column_stack([places, times]), metrics.FLAT
    yield "haversine", places, metrics.SPHERE
    yield SpaceTime(0.7, "haversine"), np.column_stack([places, times]), metrics.SPHERE_TIME


@pytest.mark.parametrize(("metric", "places", "kind"), list(every_metric()))
def test_a_distance_has_the_same_bits_in_tables_lists_and_other_kernels_and_either_way_round(metric, places, kind):
    positions = read_positions(places, len(places), metric=metric)
    assert positions.kind == kind
    table, other, every = whole(positions), np.empty((len(places), len(places))), np.arange(len(places))
    fused_distances(positions.points, kind, other)
    np.testing.assert_array_equal(table, other)
    np.testing.assert_array_equal(table, table.T)
    np.testing.assert_array_equal(table, positions.of_pairs(every[:, None], every))
    np.testing.assert_array_equal(table[3], positions.of_pairs(every, np.array(3)))
    np.testing.assert_array_equal(table[::-7, 5:], positions.between(every[::-7], slice(5, None)))
    np.testing.assert_array_equal(positions.of_pairs(every - len(places), every[::-1]), table[every, every[::-1]])
    assert (np.diagonal(table) == 0).all()


def test_distances_in_a_flat_space_have_numpys_bits():
    places = np.random.default_rng(29).normal(size=(50, 3))
    square = (places[:, None, 0] - places[:, 0]) ** 2
    for k in (1, 2):
        square += (places[:, None, k] - places[:, k]) ** 2
    np.testing.assert_array_equal(whole(read_positions(places, 50, metric="euclidean")), np.sqrt(square))


def test_rows_that_are_not_there_have_no_distance():
    positions = read_positions(np.arange(4.0), 4)
    for row in (4, -5):
        with pytest.raises(IndexError, match="rows"):
            positions.of_pairs(np.array([0]), np.array([row]))


def test_distances_that_are_held_in_a_matrix_have_no_kind():
    positions = read_positions(np.zeros((3, 3)), 3, metric="precomputed")
    assert positions.kind is None
    assert positions.points is None


def test_places_at_the_same_spot_are_as_far_apart_as_their_times_to_the_last_bit():
    given = np.column_stack([np.full((4, 2), 12.3), [0.0, 1e-200, 0.1, 1e140]])
    positions = read_positions(given, 4, metric=SpaceTime(1.0, "haversine"))
    np.testing.assert_array_equal(whole(positions), naive.distance_table(given[:, 2:], lambda a, b: abs(a[0] - b[0])))


def test_points_for_the_search_tree_never_overstate_a_distance():
    places = globe(60, 11)
    timed = np.column_stack([places, np.arange(len(places))])
    for metric, given in (("haversine", places), (SpaceTime(7.0, "haversine"), timed)):
        found = read_positions(given, len(places), metric=metric)
        chord = naive.distance_table(found.points)
        assert (chord <= whole(found) * (1 + 1e-12) + 1e-8).all()


def test_datetimes_become_seconds_whatever_they_come_as():
    seconds = np.array([0.0, 1.5, 60.0, 86400.0, 90000.25])
    start = datetime.datetime(2024, 2, 28, 23, 59, 59)
    stamps = [start + datetime.timedelta(seconds=s) for s in seconds]
    zone = datetime.timezone(datetime.timedelta(hours=-5))
    for given in (
        np.array(stamps, dtype="datetime64[us]"),
        stamps,
        [stamp.replace(tzinfo=zone) for stamp in stamps],
        np.array([datetime.timedelta(seconds=s) for s in seconds], dtype="timedelta64[ms]"),
    ):
        found = read_positions(given, 5)
        assert (found.metric.name, found.unit) == ("time", "s")
        np.testing.assert_allclose(whole(found), naive.distance_table(seconds[:, None]), rtol=1e-15)


def test_without_positions_the_order_of_the_rows_is_time_within_each_group():
    groups = np.array([1, 0, 1, 1, 0])
    found = read_positions(None, 5, groups=groups)
    expected = naive.distance_table([[0], [0], [1], [2], [1]], groups=groups)
    np.testing.assert_array_equal(whole(found), expected)
    assert found.unit == "step"


def test_named_columns_say_which_is_longitude():
    import pandas as frames

    places = globe(10, 13)
    frame = frames.DataFrame({"Latitude": places[:, 1], "lon": places[:, 0]})
    found = read_positions(frame, len(places))
    assert found.metric.name == "haversine"
    np.testing.assert_array_equal(whole(found), whole(read_positions(places, len(places), metric="haversine")))


def test_the_canonical_order_is_by_group_then_position_then_features():
    rng = np.random.default_rng(17)
    places, X = rng.integers(0, 3, (40, 2)).astype(float), rng.integers(0, 3, (40, 2)).astype(float)
    groups = rng.integers(0, 2, 40)
    order = read_positions(places, 40, groups=groups).order(X)
    keys = [(groups[k], *places[k], *X[k]) for k in range(40)]
    assert [keys[k] for k in order] == sorted(keys)


def test_joining_keeps_groups_of_one_name_together():
    a = read_positions(np.arange(4.0), 4, groups=["x", "x", "y", "y"])
    b = read_positions(np.arange(2.0) + 10, 2, groups=["y", "z"])
    names = ["x", "x", "y", "y", "y", "z"]
    expected = naive.distance_table([[0], [1], [2], [3], [10], [11]], groups=names)
    np.testing.assert_array_equal(whole(a.join(b)), expected)
    apart = naive.distance_table([[0], [1], [2], [3], [10], [11]], groups=["x", "x", "y", "y", "Y", "z"])
    np.testing.assert_array_equal(whole(a.join(b, apart=True)), apart)


def test_unit_vectors_have_length_one():
    vectors = metrics.unit_vectors(globe(100, 19))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-15)


def test_positions_that_are_read_already_are_returned_as_they_are():
    read = read_positions([[0.0, 1.0], [2.0, 3.0]], 2, groups=["a", "b"])
    assert read_positions(read, 2, metric="euclidean") is read
    with pytest.raises(ValueError, match="positions has 2 rows, but X has 3"):
        read_positions(read, 3, metric="euclidean")
    with pytest.raises(ValueError, match="groups has no effect"):
        read_positions(read, 2, groups=[0, 0], metric="euclidean")
    with pytest.raises(ValueError, match="metric='auto', but positions are read already, for metric=Euclidean"):
        read_positions(read, 2)
