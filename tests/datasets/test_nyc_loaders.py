"""Loaders of the check-ins of New York, on small files of the published formats."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

from builders.data_files import offline, pack, write
from mcgta.datasets import load_nyc_landuse, load_nyc_poi
from mcgta.datasets.nyc import LAND_USES, mix_types


def checkin(venue, kind, lat, lon, time, offset=-240):
    return f"470\t{venue}\tcat\t{kind}\t{lat}\t{lon}\t{offset}\t{time}\n"


WEEK = (
    checkin("v2", "Café", 40.72, -74.00, "Tue Apr 03 18:00:09 +0000 2012")  # Tuesday, 14 h
    + checkin("v1", "Bar", 40.80, -73.95, "Wed Apr 04 02:30:00 +0000 2012")  # Tuesday, 22 h
    + checkin("v2", "Café", 40.72, -74.00, "Sun Apr 08 10:00:00 +0000 2012")  # Sunday, 6 h
    + checkin("v2", "Tea Room", 40.74, -74.00, "Mon Feb 04 17:00:00 +0000 2013", -300)  # Monday, 12 h
    + checkin("v3", "Bar", 40.60, -73.90, "Fri Apr 06 04:10:00 +0000 2012")  # Friday, hour 0
)
LOTS = (
    'borough,address,landuse,latitude,longitude\nMN,"1, A ST",04,40.73,-74.0\nBX,2 B ST,11,40.801,-73.95\n'
    "BK,3 C ST,1,40.6,-73.9\nMN,4 D ST,,40.7301,-74.0\nMN,5 E ST,05,,\n"
)


@pytest.fixture
def venues():
    """Two hundred venues in two quarters of different types."""
    rng = np.random.default_rng(3)
    lines = []
    for k in range(200):
        north = k % 2
        kind = ["Bar", "Café"][int(rng.random() < 0.1)] if north else ["Office", "Bank"][int(rng.random() < 0.1)]
        lat, lon = 40.7 + 0.1 * north + rng.normal(0, 0.005), -74 + rng.normal(0, 0.005)
        lines.append(checkin(f"v{k:03}", kind, lat, lon, f"Wed Apr {rng.integers(4, 29):02} 12:00:00 +0000 2012"))
    return lines


def test_weeks_are_sums_of_hours_in_local_time(tmp_path):
    write(tmp_path / "dataset_TSMC2014_NYC.txt", WEEK, "latin-1")
    write(tmp_path / "pluto.csv", LOTS)
    data = offline(load_nyc_landuse, tmp_path, boroughs=("MN", "BX"))
    np.testing.assert_allclose(data.X, [[0, 1, 0, 0, 0, 0, 0], np.array([12, 14, 0, 0, 0, 0, 6]) / 32])
    assert data.positions.tolist() == [[-73.95, 40.80], [-74.0, 40.72]]
    assert [data.label_names[code] for code in data.labels] == ["vacant", "mixed and commercial"]
    assert data.feature_names[0] == "Monday"
    counted = offline(load_nyc_landuse, tmp_path, weight="count", norm="l2")
    np.testing.assert_allclose(counted.X[1], np.array([1, 1, 0, 0, 0, 0, 1]) / np.sqrt(3))
    assert len(offline(load_nyc_landuse, tmp_path, min_checkins=2).X) == 1


def test_all_forms_of_check_ins_and_lots_give_the_same(tmp_path):
    write(tmp_path / "a/dataset_TSMC2014_NYC.txt", WEEK, "latin-1")
    write(tmp_path / "a/pluto.csv", LOTS)
    names = "userId,venueId,venueCategoryId,venueCategory,latitude,longitude,timezoneOffset,utcTimestamp\n"
    write(tmp_path / "b/dataset_TSMC2014_NYC.csv", names + WEEK.replace("\t", ","))
    write(
        tmp_path / "b/pluto_22v3.csv",
        LOTS.replace("borough,", "BoroCode,").replace("MN", "1").replace("BX", "2").replace("BK", "3"),
    )
    (tmp_path / "c").mkdir()
    with zipfile.ZipFile(tmp_path / "c/dataset_tsmc2014.zip", "w") as archive:
        archive.writestr("dataset_tsmc2014/dataset_TSMC2014_NYC.txt", WEEK.encode("latin-1"))
        archive.writestr("dataset_tsmc2014/dataset_TSMC2014_TKY.txt", "")
    pack(
        tmp_path / "c/nyc_pluto_22v3_csv.zip", {"pluto_22v3.csv": LOTS.replace("landuse", "LandUse"), "readme.pdf": ""}
    )
    first, *others = (offline(load_nyc_landuse, tmp_path / name) for name in "abc")
    for other in others:
        for part in ("X", "positions", "labels"):
            np.testing.assert_array_equal(getattr(first, part), getattr(other, part))


def test_the_order_of_check_ins_does_not_matter(tmp_path, venues):
    write(tmp_path / "a/dataset_TSMC2014_NYC.txt", "".join(venues), "latin-1")
    write(tmp_path / "b/dataset_TSMC2014_NYC.txt", "".join(venues[::-1]), "latin-1")
    options = {"n_clusters": 2, "n_neighbors": 20}
    a, b = (offline(load_nyc_poi, tmp_path / name, **options) for name in "ab")
    for part in ("X", "positions", "labels"):
        np.testing.assert_array_equal(getattr(a, part), getattr(b, part))


def test_types_around_make_the_labels(tmp_path, venues):
    write(tmp_path / "dataset_TSMC2014_NYC.txt", "".join(venues), "latin-1")
    data = offline(load_nyc_poi, tmp_path, n_clusters=2, n_neighbors=20)
    north = data.positions[:, 1] > 40.75
    assert np.unique(data.labels[north]).size == np.unique(data.labels[~north]).size == 1
    assert data.label_names == ("0", "1")
    assert len(offline(load_nyc_poi, tmp_path).label_names) == 10


def test_mixes_are_those_of_the_nearest_others():
    rng = np.random.default_rng(4)
    places = np.column_stack([rng.uniform(-74, -73.9, 60), rng.uniform(40.7, 40.8, 60)])
    places[20:40] = places[20]  # more venues in one building than neighbours are asked for
    types = rng.choice(["a", "b", "c"], 60)
    found = mix_types(places, list(types), 5)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    flat = places * [np.cos(np.radians(40.75)), 1]
    for row in (*range(20), *range(40, 60)):
        away = np.linalg.norm(flat - flat[row], axis=1)
        away[row] = np.inf
        near = np.argsort(away, kind="stable")[:5]
        if away[near[-1]] < np.sort(away)[5] - 1e-6:  # not tied at the edge
            assert found[row].tolist() == [np.mean(types[near] == kind) for kind in "abc"]


def test_too_few_venues_are_refused(tmp_path):
    write(tmp_path / "dataset_TSMC2014_NYC.txt", WEEK, "latin-1")
    with pytest.raises(ValueError, match="n_neighbors=50 and n_clusters=10, but there are 3 venues"):
        offline(load_nyc_poi, tmp_path)
    with pytest.raises(ValueError, match="min_checkins=9 leaves no venue"):
        offline(load_nyc_poi, tmp_path, min_checkins=9)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1\t2\t3\n", r"dataset_TSMC2014_NYC\.txt, line 6: 3 fields separated by tabs, expected 8"),
        (checkin("v", "Bar", 40, "west", "Tue Apr 03 18:00:09 +0000 2012"), "line 6: 'west' is not a finite number"),
        (checkin("v", "Bar", 40, -74, "2012-04-03 18:00"), "line 6: '2012-04-03 18:00' is not a time such as"),
        (checkin("v", "Bar", 40, -74, "Tue Foo 03 18:00:09 +0000 2012"), "line 6: 'Tue Foo"),
        (checkin("v", "Bar", 40, -74, "Tue Apr 03 18:00:09 +0000 2012", "1e300"), r"line 6: 1e\+300 minutes from 'Tue"),
        (checkin("v", "Bar", 40, -74, "Fri Dec 31 23:00:09 +0000 9999", 120), "line 6: 120 minutes from 'Fri Dec 31"),
        (checkin("v", "Bar", 40, -74, f"Tue Apr 03 18:00:09 +0000 {10**30}"), "line 6: 'Tue Apr .* is not a time"),
        (checkin("", "Bar", 40, -74, "Tue Apr 03 18:00:09 +0000 2012"), "line 6: a check-in must have a venue"),
    ],
)
def test_malformed_check_ins_are_refused_by_line(tmp_path, line, said):
    write(tmp_path / "dataset_TSMC2014_NYC.txt", WEEK + line, "latin-1")
    with pytest.raises(ValueError, match=said):
        offline(load_nyc_poi, tmp_path)


def test_lots_of_the_kept_boroughs_alone_need_a_distance(tmp_path):
    write(tmp_path / "dataset_TSMC2014_NYC.txt", WEEK, "latin-1")
    write(tmp_path / "pluto.csv", "\n".join(line for line in LOTS.split("\n") if not line.startswith("BK")))
    with pytest.raises(ValueError, match=r"lots of BX, MN only, .* set max_distance"):
        offline(load_nyc_landuse, tmp_path)
    near = offline(
        load_nyc_landuse, tmp_path, max_distance=200
    )  # 111 m to the lot of the bar, 1.1 km to that of the café
    assert near.positions.tolist() == [[-73.95, 40.80]]
    assert len(offline(load_nyc_landuse, tmp_path, max_distance=2000).X) == 2
    with pytest.raises(ValueError, match="no venue of"):
        offline(load_nyc_landuse, tmp_path, max_distance=1)


def test_the_order_of_lots_does_not_matter_even_where_they_share_a_place(tmp_path):
    rng = np.random.default_rng(5)
    spots = [(40.7 + 0.01 * (k % 20), -74) for k in range(20)]
    checkins = "".join(checkin(f"v{k}", "Bar", *spot, "Wed Apr 04 12:00:00 +0000 2012") for k, spot in enumerate(spots))
    lots = [f"MN,{code},{lat},{lon}" for lat, lon in spots for code in rng.permutation(np.arange(1, 12))]
    head, elsewhere = "borough,landuse,latitude,longitude\n", "\nSI,1,40.5,-74.2\n"
    for name, order in (("a", np.arange(220)), ("b", rng.permutation(220))):
        write(tmp_path / name / "dataset_TSMC2014_NYC.txt", checkins)
        write(tmp_path / name / "pluto.csv", head + "\n".join(lots[k] for k in order) + elsewhere)
    a, b = (offline(load_nyc_landuse, tmp_path / name) for name in "ab")
    assert len(a.X) == 20
    np.testing.assert_array_equal(a.labels, b.labels)


def test_land_uses_can_be_grouped_otherwise(tmp_path):
    write(tmp_path / "dataset_TSMC2014_NYC.txt", WEEK, "latin-1")
    write(tmp_path / "pluto.csv", LOTS)
    data = offline(load_nyc_landuse, tmp_path, boroughs=["MN", "BK"], classes={1: "homes", 4: "homes", 11: "empty"})
    assert data.label_names == ("homes",)
    assert len(data.X) == 2
    assert set(LAND_USES) == set(range(1, 12))
    assert len(set(LAND_USES.values())) == 5


@pytest.mark.parametrize(
    ("lots", "said"),
    [
        (LOTS.replace("landuse", "use"), r"pluto\.csv has no column 'landuse'"),
        (LOTS.replace("BX,2", "NJ,2"), r"pluto\.csv, line 3: borough 'NJ' is not one of MN, BX"),
        (LOTS.replace("40.801", "north"), r"pluto\.csv, line 3: 'north' is not a finite number"),
        ("borough,landuse,latitude,longitude\nMN,,40,-74\n", "has no lots with land use and place"),
    ],
)
def test_malformed_lots_are_refused(tmp_path, lots, said):
    write(tmp_path / "dataset_TSMC2014_NYC.txt", WEEK, "latin-1")
    write(tmp_path / "pluto.csv", lots)
    with pytest.raises(ValueError, match=said):
        offline(load_nyc_landuse, tmp_path)


def test_bytes_that_are_no_text_are_refused_by_line_in_a_zip_too(tmp_path):
    write(tmp_path / "dataset_TSMC2014_NYC.txt", WEEK, "latin-1")
    pack(tmp_path / "nyc_pluto_1.zip", {"pluto.csv": LOTS.replace("3 C ST", "3 \xc7 ST").encode("latin-1")})
    with pytest.raises(ValueError, match=r"nyc_pluto_1\.zip, line 4: this is no text in utf-8"):
        offline(load_nyc_landuse, tmp_path)


@pytest.mark.parametrize(
    ("load", "options", "said"),
    [
        (load_nyc_poi, {"weight": "minute"}, "weight='minute'"),
        (load_nyc_poi, {"norm": "max"}, "norm='max'"),
        (load_nyc_poi, {"min_checkins": 0}, "min_checkins=0"),
        (load_nyc_poi, {"n_clusters": 0}, "n_clusters=0"),
        (load_nyc_poi, {"n_neighbors": 0}, "n_neighbors=0"),
        (load_nyc_poi, {"random_state": None}, "random_state=None"),
        (load_nyc_landuse, {"boroughs": ("XX",)}, r"boroughs=\('XX',\) is not allowed"),
        (load_nyc_landuse, {"boroughs": 5}, "boroughs=5 is not allowed: boroughs must be some of 'MN', 'BX', 'BK'"),
        (load_nyc_landuse, {"boroughs": None}, "boroughs=None is not allowed"),
        (load_nyc_landuse, {"boroughs": [["MN"]]}, r"boroughs=\[\['MN'\]\] is not allowed"),
        (load_nyc_landuse, {"classes": {99: "a"}}, "classes={99: 'a'} is not allowed"),
        (load_nyc_landuse, {"max_distance": 0}, "max_distance=0"),
    ],
)
def test_wrong_parameters_are_refused_by_name(tmp_path, load, options, said):
    with pytest.raises(ValueError, match=said):
        offline(load, tmp_path, **options)


@pytest.mark.parametrize("load", [load_nyc_poi, load_nyc_landuse])
def test_prepared_arrays_of_new_york_stand_for_the_defaults(tmp_path, load):
    arrays = {"X": np.ones((3, 7)), "y": ["a", "b", "a"], "coords": [[-74, 40.7]] * 3}
    np.savez(tmp_path / f"{load.__name__.removeprefix('load_')}.npz", **arrays)
    assert offline(load, tmp_path).label_names == ("a", "b")
    with pytest.raises(FileNotFoundError, match="check-ins"):
        offline(load, tmp_path, weight="count")
