"""Loaders of the paper's recorded series, on small files of the published formats."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from builders.data_files import offline, pack, write
from mcgta.datasets import load_gesture, load_inat_subset, load_pavement, load_vehicle
from mcgta.datasets.loaded import About, assemble

REAL = Path(os.environ.get("MCGTA_DATA", Path(__file__).parents[3] / "shared" / "data"))

TS = """#A comment
@problemName Toy
@timeStamps false
@univariate true
@equalLength false
@classLabel true cobblestone dirt flexible
@data
"""
ROADS = [
    ([1.5, -2, 3e-1], "flexible"),
    ([4, 5, 6, 7, 8], "dirt"),
    ([9, 10, 11, 12], "cobblestone"),
    ([0, 1, 2, 3], "dirt"),
]


def road_ts(roads) -> str:
    return TS + "".join(f"{','.join(map(str, values))}:{label}\n" for values, label in roads)


def road_arff(roads) -> str:
    head = "% a comment\n@RELATION Toy\n@ATTRIBUTE a0 NUMERIC\n@ATTRIBUTE target {flexible,dirt,cobblestone}\n\n@DATA\n"
    return head + "".join(
        f"{','.join([*map(str, values), *['?'] * (5 - len(values))])},{label}\n" for values, label in roads
    )


def hand_ts(hands) -> str:
    return "@univariate false\n@classLabel true 1.0 2.0 10.0\n@data\n" + "".join(
        ":".join(",".join(map(str, channel)) for channel in record.T) + f":{label}\n" for record, label in hands
    )


@pytest.fixture
def hands():
    rng = np.random.default_rng(0)
    return [(np.round(rng.normal(size=(6, 3)), 3), label) for label in ("10.0", "2.0", "1.0", "2.0", "10.0")]


# Pavement


def check_roads(data, n=3):
    assert data.X.tolist() == [values[:n] for values, _ in ROADS]
    assert [data.label_names[code] for code in data.labels] == [label for _, label in ROADS]
    assert data.label_names == ("cobblestone", "dirt", "flexible")
    assert data.positions is None
    assert data.X.dtype == np.float64
    assert data.labels.dtype == np.int64


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("AsphaltPavementType_TRAIN.ts", road_ts(ROADS)),
        ("AsphaltPavementType/AsphaltPavementType_TRAIN.ts", road_ts(ROADS).replace("\n", "\r\n")),
        ("AsphaltPavementType_TRAIN.arff", road_arff(ROADS)),
    ],
)
def test_pavement_is_read_from_the_archives_files(tmp_path, name, text):
    write(tmp_path / name, text)
    check_roads(offline(load_pavement, tmp_path, n_features=3))


@pytest.mark.parametrize("ending", ["ts", "arff"])
def test_pavement_is_read_from_a_zip(tmp_path, ending):
    text = road_ts(ROADS) if ending == "ts" else road_arff(ROADS)
    pack(tmp_path / "AsphaltPavementType.zip", {f"x/AsphaltPavementType_TRAIN.{ending}": text, "readme.txt": "hi"})
    check_roads(offline(load_pavement, tmp_path, n_features=3))


def test_pavement_takes_the_halves_that_are_asked_for(tmp_path):
    members = {"AsphaltPavementType_TRAIN.ts": road_ts(ROADS[:3]), "AsphaltPavementType_TEST.ts": road_ts(ROADS[3:])}
    pack(tmp_path / "AsphaltPavementType.zip", members)
    check_roads(offline(load_pavement, tmp_path, n_features=3, split="all"))
    assert offline(load_pavement, tmp_path, n_features=3, split="test").X.tolist() == [[0, 1, 2]]
    assert len(offline(load_pavement, tmp_path, n_features=3).X) == 3


def test_pavement_is_read_from_the_authors_texts(tmp_path):
    rows = np.arange(33.0).reshape(3, 11)
    write(tmp_path / "data/pavement/pavement-data.txt", "".join(",".join(map(str, row)) + "\n" for row in rows))
    write(tmp_path / "data/pavement/pavement-label.txt", "2\r\n0\r\n2\r\n")
    data = offline(load_pavement, tmp_path, n_features=4)
    assert data.X.tolist() == rows[:, :4].tolist()
    assert [data.label_names[code] for code in data.labels] == ["flexible", "cobblestone", "flexible"]
    assert data.feature_names == ("entry 1", "entry 2", "entry 3", "entry 4")


def test_prepared_arrays_come_before_all_else(tmp_path):
    np.savez(tmp_path / "pavement.npz", X=np.ones((2, 10)), y=[0, 1], t=[0, 1])
    write(tmp_path / "AsphaltPavementType_TRAIN.ts", road_ts([(range(12), "dirt")]))
    assert offline(load_pavement, tmp_path).X.tolist() == np.ones((2, 10)).tolist()
    assert offline(load_pavement, tmp_path, n_features=11).X.shape == (1, 11)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TS + "1,2,3:dirt\n1,x,3:dirt\n", r"AsphaltPavementType_TRAIN\.ts, line 9: 'x' is not a finite number"),
        (TS + "1,2,3:dirt\n1,?,3:dirt\n", r"line 9: '\?' is not"),
        (TS + "1,2,3:dirt\n1,2:dirt\n", r"n_features=3, but .*_TRAIN\.ts, line 9 has 2 entries"),
        (TS + "1,2,3\n", "line 8: a record must be values, a colon, and a class"),
        (TS + "1,2,3:\n", "line 8: a record must be"),
        ("@data\n1,2,3:4,5,6:dirt\n1,2,3:dirt\n", "line 3: 1 channels, but 2 in the first record"),
        (
            TS + "1,2,3:dirt\n1,2,3:di",
            r"_TRAIN\.ts, line 9: the class is 'di', but the header declares cobblestone, dirt, f",
        ),
        (TS + "1,2,3:4,5,6\n", "line 8: the class is '4,5,6', but the header declares"),
        (TS + "1,2,3:nan\n", "line 8: the class is 'nan', but the header declares"),
        (TS + "1,2,3:dirt\n1,2,3:4,5,6:dirt\n", "line 9: 2 channels, but the header declares one"),
        ("@univariate false\n@data\n1,2,3:dirt\n", "line 3: 1 channels, but the header declares several"),
        ("@dimensions 3\n@data\n1,2,3:4,5,6:dirt\n", "line 3: 2 channels, but the header declares 3"),
        ("@dimension 2\n@data\n1,2,3:dirt\n", "line 3: 1 channels, but the header declares 2"),
        ("@dimensions two\n@data\n1,2,3:dirt\n", "line 1: 'two' is not a finite number"),
        (TS + "1,2,3:4,5:dirt\n", "line 8: channels have 3, 2 values"),
        (TS, "has no records after @data"),
        ("@problemName a\n1,2,3:dirt\n", "line 2: '1,2,3:dirt' stands before @data"),
        ("@problemName a\n", "has no @data line"),
        ("@timeStamps true\n@data\n", "line 1: records with time stamps are not supported"),
        ("@classLabel false\n@data\n", "line 1: the records have no class labels"),
        (b"@data\n\xff\xfe:a\n", "line 2: this is no text in utf-8"),
    ],
)
def test_malformed_ts_files_are_refused_by_file_and_line(tmp_path, text, said):
    write(tmp_path / "AsphaltPavementType_TRAIN.ts", text)
    with pytest.raises(ValueError, match=said):
        offline(load_pavement, tmp_path, n_features=3)


@pytest.mark.parametrize("line", ["1,2,3,4,5,di", "1,2,3,4,5", "1,2,3,4,5,'dirt road'"])
def test_arff_records_of_classes_that_are_not_declared_are_refused_by_file_and_line(tmp_path, line):
    write(tmp_path / "AsphaltPavementType_TRAIN.arff", road_arff(ROADS) + line)
    with pytest.raises(
        ValueError, match=r"_TRAIN\.arff, line 11: the class is .* but the header declares flexible, dirt"
    ):
        offline(load_pavement, tmp_path, n_features=3)


def test_classes_in_other_letters_are_those_that_the_header_declares(tmp_path):
    write(tmp_path / "AsphaltPavementType_TRAIN.ts", TS + "1,2:dirt\n3,4:Dirt\n5,6:'DIRT'\n7,8:flexible\n")
    data = offline(load_pavement, tmp_path, n_features=2)
    assert data.label_names == ("dirt", "flexible")
    assert data.labels.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    "declared", ["@classLabel true", "@classLabel true NaN dirt", "@classLabel true Dirt nan 'NaN' dirt"]
)
def test_classes_are_read_as_they_are_where_the_header_does_not_say_otherwise(tmp_path, declared):
    write(tmp_path / "AsphaltPavementType_TRAIN.ts", f"{declared}\n@data\n1,2:NaN\n3,4:dirt\n")
    assert offline(load_pavement, tmp_path, n_features=2).label_names == ("NaN", "dirt")


def test_zips_without_the_series_are_refused(tmp_path):
    pack(tmp_path / "AsphaltPavementType.zip", {"other.ts": TS})
    with pytest.raises(ValueError, match=r"AsphaltPavementType\.zip holds neither AsphaltPavementType_TRAIN\.ts nor"):
        offline(load_pavement, tmp_path)
    write(tmp_path / "AsphaltPavementType.zip", b"no zip")
    with pytest.raises(ValueError, match=r"AsphaltPavementType\.zip is not a whole zip archive"):
        offline(load_pavement, tmp_path)


@pytest.mark.parametrize(
    ("load", "options", "said"),
    [
        (load_pavement, {"split": "half"}, "split='half'"),
        (load_pavement, {"n_features": 2.5}, "n_features=2.5"),
        (load_gesture, {"shuffle": 1}, "shuffle=1"),
        (load_gesture, {"random_state": -1}, "random_state=-1"),
        (load_gesture, {"record_groups": "yes"}, "record_groups='yes'"),
    ],
)
def test_wrong_parameters_are_refused_by_name(tmp_path, load, options, said):
    with pytest.raises(ValueError, match=said):
        offline(load, tmp_path, **options)


# Vehicle, and plain files in general

GOOD = {"X": np.ones((2, 5)), "y": [0, 1]}


def vehicle_texts(folder, data="1,2,3,4,5\n6,7,8,9,10\n", labels="3\n1\n"):
    write(folder / "commercial-vehicle/commercial-vehicle-data.txt", data)
    write(folder / "commercial-vehicle/commercial-vehicle-label.txt", labels)


def test_vehicle_is_read_from_the_authors_texts(tmp_path):
    vehicle_texts(tmp_path)
    data = offline(load_vehicle, tmp_path)
    assert data.X.tolist() == [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]
    assert data.labels.tolist() == [1, 0]
    assert data.label_names == ("1", "3")
    assert repr(data) == "DataSet('vehicle': 2 x 5, 2 clusters, time)"


@pytest.mark.parametrize(
    ("data", "labels", "said"),
    [
        ("1,2,3,4,5\n6,7,8,9\n", "3\n1\n", r"vehicle-data\.txt, line 2: 4 numbers, but 5 in the lines before"),
        ("1,2,3,4,5\n6,7,nan,9,10\n", "3\n1\n", r"vehicle-data\.txt, line 2: 'nan' is not a finite number"),
        ("1,2,3,4,5\n\n6,7,a,9,10\n", "3\n1\n", r"vehicle-data\.txt, line 3: 'a'"),
        ("1,2\n3,4\n", "3\n1\n", "lines have 2 numbers, expected 5 or more"),
        ("1,2,3,4,5\n", "3\n1\n", r"vehicle-label\.txt: there are 2 labels, but 1 lines"),
        ("1,2,3,4,5\n", "0.5\n", r"vehicle-label\.txt, line 1: '0.5' is not a whole number"),
        ("1,2,3,4,5\n6,7,8,9,10\n", "3\n1e300\n", r"vehicle-label\.txt, line 2: '1e300' is no label"),
        ("1,2,3,4,5\n", "9223372036854775808\n", r"vehicle-label\.txt, line 1: '9223372036854775808' is no label"),
        ("1,2,3,4,5\n", "-9007199254740993\n", r"vehicle-label\.txt, line 1: '-9007199254740993' is no label"),
        ("", "3\n", r"vehicle-data\.txt is empty"),
    ],
)
def test_malformed_texts_are_refused_by_file_and_line(tmp_path, data, labels, said):
    vehicle_texts(tmp_path, data, labels)
    with pytest.raises(ValueError, match=said):
        offline(load_vehicle, tmp_path)


def test_times_that_are_not_even_are_kept(tmp_path):
    X, y = np.ones((4, 5)), [1, 1, 2, 2]
    np.savez(tmp_path / "vehicle.npz", X=X, y=y, t=[3, 5, 7, 9])
    assert offline(load_vehicle, tmp_path).positions is None
    np.savez(tmp_path / "vehicle.npz", X=X, y=y, t=[3, 5, 6, 9], groups=[0, 0, 1, 1])
    data = offline(load_vehicle, tmp_path)
    assert data.positions.tolist() == [3, 5, 6, 9]
    assert data.groups.tolist() == [0, 0, 1, 1]
    assert repr(data).endswith("metric 'auto', 2 groups)")


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"X": np.ones((2, 5))}, r"vehicle\.npz has no array y; it has X"),
        (
            {"X": np.ones((2, 5)), "y": [1]},
            r"vehicle\.npz: y must be numbers or texts of shape \(2,\), is of shape \(1,\)",
        ),
        ({"X": np.ones((2, 5)), "y": [[1], [2]]}, r"vehicle\.npz: y must be .* is of shape \(2, 1\)"),
        ({"X": np.ones((2, 5)), "y": 1}, r"vehicle\.npz: y must be .* is of shape \(\)"),
        ({"X": np.ones((2, 5)), "y": [1, np.nan]}, r"vehicle\.npz: y must be numbers or texts, row 1 is nan"),
        ({"X": np.ones((2, 5)), "y": [b"a", b"b"]}, r"vehicle\.npz: y must be .* type \|S1"),
        ({**GOOD, "t": [0, np.nan]}, r"vehicle\.npz: t must be numbers, row 1 is nan"),
        ({**GOOD, "t": [[0], [1]]}, r"vehicle\.npz: t must be numbers of shape \(2,\), is of shape \(2, 1\)"),
        ({**GOOD, "t": ["a", "b"]}, r"vehicle\.npz: t must be numbers of shape \(2,\), is .* type <U1"),
        ({**GOOD, "t": [True, False]}, r"vehicle\.npz: t must be numbers of shape \(2,\), is .* type bool"),
        ({**GOOD, "groups": [0, 0.5]}, r"vehicle\.npz: groups must be whole numbers, row 1 is 0\.5"),
        ({**GOOD, "groups": [0, 1e300]}, r"vehicle\.npz: groups must be whole numbers, row 1 is 1e\+300"),
        ({**GOOD, "groups": ["a", "b"]}, r"vehicle\.npz: groups must be whole numbers of shape \(2,\), is .* type <U1"),
        ({**GOOD, "groups": 0}, r"vehicle\.npz: groups must be whole numbers of shape \(2,\), is of shape \(\)"),
        ({"X": np.ones((0, 5)), "y": []}, r"vehicle\.npz: X must be a table of numbers, is of shape \(0, 5\)"),
        ({"X": np.ones(5), "y": np.ones(5)}, "X must be a table of numbers"),
        ({"X": np.full((2, 2), "a"), "y": [0, 1]}, "X must be a table of numbers"),
        ({"X": np.full((2, 2), np.nan), "y": [0, 1]}, r"vehicle\.npz: X: row 0 has a feature that is not a finite"),
        ({"X": np.array([{}], dtype=object), "y": [0]}, r"vehicle\.npz is not an npz archive of plain arrays"),
    ],
)
def test_malformed_archives_are_refused(tmp_path, arrays, said):
    np.savez(tmp_path / "vehicle.npz", **arrays)
    with pytest.raises(ValueError, match=said):
        offline(load_vehicle, tmp_path)


def test_groups_may_be_whole_numbers_of_any_type(tmp_path):
    for kind in (np.int8, np.uint64, np.float32):
        np.savez(tmp_path / "vehicle.npz", **GOOD, groups=np.array([7, 3], dtype=kind))
        assert offline(load_vehicle, tmp_path).groups.tolist() == [7, 3]


def test_what_is_no_archive_is_refused(tmp_path):
    write(tmp_path / "vehicle.npz", b"no archive")
    with pytest.raises(ValueError, match=r"vehicle\.npz is not an npz archive"):
        offline(load_vehicle, tmp_path)


def test_a_data_set_checks_its_parts():
    about = About("toy", "here", "none stated", "made up")
    with pytest.raises(ValueError, match="toy: there are 2 labels, but 3 rows"):
        assemble(about, np.ones((3, 2)), [0, 1])
    with pytest.raises(ValueError, match="1 feature_names, but 2 features"):
        assemble(about, np.ones((3, 2)), [0, 1, 1], feature_names=["a"])
    data = assemble(about, np.ones((3, 2)), [0, 1, 1])
    assert (data.source, data.licence, data.recipe) == ("here", "none stated", "made up")


# Gesture


def test_gestures_are_read_step_by_step_in_the_order_of_the_file(tmp_path, hands):
    write(tmp_path / "UWaveGestureLibrary_TRAIN.ts", hand_ts(hands))
    data = offline(load_gesture, tmp_path, shuffle=False, record_groups=True)
    np.testing.assert_array_equal(data.X, np.concatenate([record for record, _ in hands]))
    assert data.label_names == ("1", "2", "10")
    assert data.labels.tolist() == np.repeat([2, 1, 0, 1, 2], 6).tolist()
    assert data.groups.tolist() == np.repeat(range(5), 6).tolist()


def test_gestures_may_be_numbered_in_another_way_than_declared(tmp_path, hands):
    text = hand_ts(hands).replace("@univariate false", "@univariate false\n@dimensions 3")
    write(tmp_path / "UWaveGestureLibrary_TRAIN.ts", text.replace(":10.0", ":10"))
    data = offline(load_gesture, tmp_path, shuffle=False)
    assert data.labels.tolist() == np.repeat([2, 1, 0, 1, 2], 6).tolist()


def test_shuffled_gestures_are_the_same_records_in_another_order(tmp_path, hands):
    write(tmp_path / "UWaveGestureLibrary_TRAIN.ts", hand_ts(hands))
    plain = offline(load_gesture, tmp_path, shuffle=False)
    mixed, again, other = (offline(load_gesture, tmp_path, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(mixed.X, again.X)
    assert mixed.groups is None
    assert not np.array_equal(mixed.X, plain.X)
    assert not np.array_equal(mixed.X, other.X)

    def whole(data):
        return sorted(
            (record.tolist(), label) for record, label in zip(data.X.reshape(5, 6, 3), data.labels[::6], strict=True)
        )

    assert whole(mixed) == whole(plain)


def test_gestures_are_read_from_relational_arff_and_from_arrays(tmp_path, hands):
    write(tmp_path / "ts" / "UWaveGestureLibrary_TRAIN.ts", hand_ts(hands))
    head = (
        "@relation UWave\n@attribute r relational\n@attribute a0 numeric\n@end r\n@attribute c {1.0,2.0,10.0}\n@data\n"
    )
    lines = [r"\n".join(",".join(map(str, channel)) for channel in record.T) for record, _ in hands]
    text = head + "".join(f"'{line}',{label}\n" for line, (_, label) in zip(lines, hands, strict=True))
    write(tmp_path / "arff" / "UWaveGestureLibrary_TRAIN.arff", text)
    (tmp_path / "npz").mkdir()
    np.savez(tmp_path / "npz" / "gesture.npz", X=[record for record, _ in hands], y=[10, 2, 1, 2, 10])
    first, *others = (offline(load_gesture, tmp_path / form) for form in ("ts", "arff", "npz"))
    for other in others:
        np.testing.assert_array_equal(first.X, other.X)
        np.testing.assert_array_equal(first.labels, other.labels)
        assert first.label_names == other.label_names


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        (np.ones((4, 3)), [0, 1, 0, 1], r"X must be \(records, steps, channels\) of numbers, is of shape \(4, 3\)"),
        (np.full((2, 3, 1), "a"), [0, 1], r"X must be \(records, steps, channels\) of numbers, is .* type <U1"),
        (np.ones((0, 3, 1)), [], r"X must be \(records, steps, channels\) of numbers, is of shape \(0, 3, 1\)"),
        (np.ones((2, 0, 1)), [0, 1], r"X must be .* is of shape \(2, 0, 1\)"),
        (np.full((2, 3, 1), np.inf), [0, 1], "X: row 0 has a feature that is not a finite number"),
        (np.ones((2, 3, 1)), [[0], [1]], r"y must be numbers or texts of shape \(2,\), is of shape \(2, 1\)"),
        (np.ones((2, 3, 1)), [0, np.nan], "y must be numbers or texts, row 1 is nan"),
    ],
)
def test_arrays_of_gestures_must_be_records(tmp_path, X, y, said):
    np.savez(tmp_path / "gesture.npz", X=X, y=y)
    with pytest.raises(ValueError, match=rf"gesture\.npz: {said}"):
        offline(load_gesture, tmp_path)


# The real files


@pytest.mark.parametrize(
    ("load", "shape", "clusters"),
    [(load_pavement, (1055, 10), 3), (load_vehicle, (16641, 5), 5), (load_inat_subset, (3639, 16), 2)],
)
def test_the_published_files_have_the_papers_sizes(monkeypatch, load, shape, clusters):
    if not (REAL / f"{load.__name__.removeprefix('load_')}.npz").exists():
        pytest.skip("the benchmark data are not at hand; MCGTA_DATA names their folder")
    monkeypatch.setenv("MCGTA_DATA", str(REAL))
    data = load(download=False)
    assert data.X.shape == shape
    assert np.unique(data.labels).size == len(data.label_names) == clusters
    texts = os.environ.get("MCGTA_AUTHORS")
    if texts:
        other = load(data_home=texts, download=False)
        for name in ("X", "labels") if data.positions is None else ("X", "labels", "positions"):
            np.testing.assert_array_equal(getattr(data, name), getattr(other, name))
