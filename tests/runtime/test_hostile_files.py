"""Files of unknown origin: each is refused with an ArchiveError, or loads something that passes its checks."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import pickle
import time
import tracemalloc
import zipfile

import numpy as np
import pytest

from mcgta import MCGTA, ArchiveError, Semivariogram, load, read_positions
from mcgta.runtime import archive


@pytest.fixture(scope="module")
def genuine(series, tmp_path_factory):
    """The bytes of a saved estimator."""
    path = tmp_path_factory.mktemp("genuine") / "model.mcgta"
    MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical").fit(series.X, positions=series.positions).save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def genuine_evidence(series, tmp_path_factory):
    """The bytes of a saved estimator whose labels were chosen by evidence."""
    path = tmp_path_factory.mktemp("evidence") / "model.mcgta"
    MCGTA(n_neighbors=6, n_clusters=2).fit(series.X, positions=series.positions).save(path)
    return path.read_bytes()


def unpacked(data: bytes):
    with zipfile.ZipFile(io.BytesIO(data)) as bundle:
        tree = json.loads(bundle.read("archive.json"))
        return tree, {name: bundle.read(name) for name in bundle.namelist() if name != "archive.json"}


@pytest.fixture
def opened(genuine):
    """Its tree and its arrays, to be changed and packed again."""
    return unpacked(genuine)


@pytest.fixture
def attempt(tmp_path):
    """Load bytes from a file."""

    def load_bytes(data: bytes):
        path = tmp_path / "hostile.mcgta"
        path.write_bytes(data)
        return load(path)

    return load_bytes


def pack(tree, arrays, compression=zipfile.ZIP_STORED) -> bytes:
    text = tree if isinstance(tree, (str, bytes)) else json.dumps(tree)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as bundle:
        bundle.writestr("archive.json", text)
        for name, data in arrays.items():
            bundle.writestr(name, data)
    return file.getvalue()


def npy(header: str, data: bytes = b"") -> bytes:
    """An array file with any header."""
    text = header.encode("latin1")
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def array(values) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(values), allow_pickle=False)
    return file.getvalue()


def holding(member: bytes) -> bytes:
    """A file of positions whose coordinates are the given array file."""
    time = {"$object": "Time", "state": {}}
    state = {"metric": time, "coordinates": {"$array": 0}, "groups": {"$array": 1}, "group_names": {"$array": 2}}
    tree = {"format": "mcgta-archive", "version": 1, "content": {"$object": "Positions", "state": state}}
    arrays = {"arrays/0.npy": member, "arrays/1.npy": array([0, 0]), "arrays/2.npy": array([0])}
    return pack(tree, arrays)


def content(node) -> bytes:
    return pack({"format": "mcgta-archive", "version": 1, "content": node}, {"arrays/0.npy": array([1.0])})


def test_repacking_an_unchanged_file_changes_nothing(genuine, opened, attempt):
    np.testing.assert_array_equal(attempt(pack(*opened)).labels_, attempt(genuine).labels_)
    assert len(attempt(holding(array([[1.0], [2.0]])))) == 2


def test_a_file_cut_short_anywhere_is_refused(genuine, attempt):
    for size in np.linspace(0, len(genuine) - 1, 150).astype(int):
        with pytest.raises(ArchiveError, match=r"hostile\.mcgta: "):
            attempt(genuine[:size])


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bytes_are_refused_or_leave_a_whole_estimator(genuine, attempt, seed):
    rng = np.random.default_rng(seed)
    refused = 0
    for _ in range(100):
        data = bytearray(genuine)
        for where in rng.integers(len(data), size=rng.integers(1, 4)):
            data[where] ^= int(rng.integers(1, 256))
        try:
            model = attempt(bytes(data))
        except ArchiveError:
            refused += 1
        else:
            assert model.labels_.shape == (120,)
            assert model.predict(model.fitted_.data.raw[:1] + 0.1, positions=[3.3]).shape == (1,)
    assert refused > 50


def test_bytes_before_and_behind_the_archive_are_harmless(genuine, attempt):
    for data in (genuine + b"tail", b"head" + genuine, genuine + genuine):
        assert attempt(data).n_clusters_ == 2


@pytest.mark.parametrize(
    "data",
    [b"", b"PK\x05\x06", b"not a zip" * 100, pickle.dumps({"a": 1}), b"\x93NUMPY\x01\x00", b"PK\x05\x06" + 18 * b"\0"],
    ids=["empty", "magic only", "text", "pickle", "npy", "empty zip"],
)
def test_what_is_no_archive_is_refused(attempt, data):
    with pytest.raises(ArchiveError, match="not a file that mcgta wrote"):
        attempt(data)


def test_a_zip_of_something_else_is_refused(attempt):
    with pytest.raises(ArchiveError, match="not a file that mcgta wrote"):
        attempt(pack({"hello": "world"}, {}))
    file = io.BytesIO()
    np.savez(file, a=np.ones(3))
    with pytest.raises(ArchiveError, match="not a file that mcgta wrote"):
        attempt(file.getvalue())


@pytest.mark.parametrize("version", [2, 10**9])
def test_a_newer_version_is_refused_with_the_advice_to_upgrade(attempt, opened, version):
    tree, arrays = opened
    tree["version"] = version
    with pytest.raises(ArchiveError, match=rf"format version {version} is newer .*\(1\); upgrade mcgta"):
        attempt(pack(tree, arrays))


@pytest.mark.parametrize("version", ["1", None, 1.0, [1]])
def test_a_version_that_is_no_number_is_refused(attempt, opened, version):
    tree, arrays = opened
    tree["version"] = version
    with pytest.raises(ArchiveError, match="format version"):
        attempt(pack(tree, arrays))


def test_arrays_of_python_objects_are_refused_without_unpickling(attempt):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    file = io.BytesIO()
    np.lib.format.write_array(file, np.array([[Trap()], [None]], dtype=object), allow_pickle=True)
    with pytest.raises(ArchiveError, match=r"array 0 holds object, which is refused"):
        attempt(holding(file.getvalue()))


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressed_members_are_refused_before_they_are_unpacked(attempt, compression):
    bomb = array(np.zeros((2_000_000, 1)))
    data = pack({"format": "mcgta-archive", "version": 1}, {"arrays/0.npy": bomb}, compression)
    assert len(data) < len(bomb) / 100
    tracemalloc.start()
    with pytest.raises(ArchiveError, match="compressed or encrypted members"):
        attempt(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


def test_members_that_overlap_are_refused(attempt, genuine):
    big = array(np.zeros((1000, 1)))
    data = bytearray(pack({"format": "mcgta-archive", "version": 1}, {"arrays/0.npy": big, "arrays/1.npy": big[:200]}))
    start = data.index(b"PK\x01\x02")
    first = data.index(b"PK\x01\x02", start + 4)
    second = data.index(b"PK\x01\x02", first + 4)
    data[second + 16 : second + 28] = data[first + 16 : first + 28]  # checksum and sizes
    data[second + 42 : second + 46] = data[first + 42 : first + 46]  # where it begins
    with pytest.raises(ArchiveError, match="more than its size"):
        attempt(bytes(data))


def test_two_members_of_one_name_are_refused(attempt):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as bundle:
        bundle.writestr("archive.json", "{}")
        with pytest.warns(UserWarning, match="Duplicate name"):
            bundle.writestr("archive.json", "{}")
    with pytest.raises(ArchiveError, match="not a file that mcgta wrote"):
        attempt(file.getvalue())


@pytest.mark.parametrize(
    "shape",
    [
        "(100000000000, 1)",
        f"({2**63}, 1)",
        f"({2**40}, {2**40})",
        "(3, 1)",
        "(1, 1)",
        "(-1, 1)",
        "(-2, -1)",
        "(2.0, 1)",
    ],
)
def test_a_shape_that_the_data_do_not_fill_is_refused(attempt, shape):
    data = holding(npy(f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}", bytes(16)))
    tracemalloc.start()
    with pytest.raises(ArchiveError):
        attempt(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '|O', 'fortran_order': False, 'shape': (2, 1)}",
        "{'descr': '<c16', 'fortran_order': False, 'shape': (1, 1)}",
        "{'descr': '|V8', 'fortran_order': False, 'shape': (2, 1)}",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2, 1)}",
        "{'descr': '<q9', 'fortran_order': False, 'shape': (2, 1)}",
        "{'descr': '<f8', 'fortran_order': False}",
        "{'descr': '<f8', 'fortran_order': 3, 'shape': (2, 1)}",
        "{'descr': '<U0', 'fortran_order': False, 'shape': (2, 1)}",
        "[" * 2000 + "]" * 2000,
        "__import__('os').getcwd()",
        "2 + 2",
    ],
)
def test_a_header_that_describes_no_plain_array_is_refused(attempt, header):
    with pytest.raises(ArchiveError):
        attempt(holding(npy(header, bytes(16))))


@pytest.mark.parametrize("version", [(2, 0), (3, 0), (9, 9)])
def test_an_array_of_another_version_of_the_format_is_refused(attempt, version):
    member = bytearray(array([[1.0], [2.0]]))
    member[6:8] = bytes(version)
    with pytest.raises(ArchiveError, match="array 0 has an unknown version"):
        attempt(holding(bytes(member)))


def test_an_unknown_class_is_refused_by_name(attempt):
    with pytest.raises(ArchiveError, match=r"'Popen', which this mcgta does not know"):
        attempt(content({"$object": "Popen", "state": {"args": "ls"}}))


@pytest.mark.parametrize(
    "node",
    [
        None,
        3,
        "text",
        [],
        {},
        {"$array": 0},
        {"$array": 7},
        {"$array": -1},
        {"$array": "x"},
        {"$array": None},
        {"$float": "1e3"},
        {"$float": 3},
        {"$tuple": 3},
        {"$map": [[1]]},
        {"$map": [[{"$map": []}, 1]]},
        {"$object": "Positions"},
        {"$object": ["Positions"], "state": {}},
        {"$object": "Positions", "state": []},
        {"$object": "Positions", "state": {}},
        {"$object": "Positions", "state": {"unknown": 1}},
        {"$object": "Archived", "state": {}},
        {"$object": "MCGTA", "state": {}},
        {"$object": "MCGTA", "state": {"asked": {"$map": []}, "settings": {"$map": []}}},
        {"$object": "MCGTA", "state": {"fit": 1}},
        {"unknown": 1},
    ],
    ids=repr,
)
def test_a_tree_that_makes_no_object_is_refused(attempt, node):
    with pytest.raises(ArchiveError):
        attempt(content(node))


@pytest.mark.parametrize("depth", [500, 100_000])
@pytest.mark.parametrize("brackets", [("[", "]"), ('{"$tuple": [', "]}"), ('{"a": ', "}")])
def test_deep_nesting_is_refused(attempt, depth, brackets):
    inside = brackets[0] * depth + "1" + brackets[1] * depth
    with pytest.raises(ArchiveError):
        attempt(pack(f'{{"format": "mcgta-archive", "version": 1, "content": {inside}}}', {}))


@pytest.mark.parametrize(
    "text", ["", "{", "[1, 2", '"\\ud800', b"\xff\xfe\x00", '{"format": "mcgta-archive", "version": 1e999}', "9" * 9999]
)
def test_json_that_cannot_be_read_is_refused(attempt, text):
    with pytest.raises(ArchiveError):
        attempt(pack(text, {}))


@pytest.mark.parametrize("part", ["asked", "settings"])
@pytest.mark.parametrize("entry", [["n_neighbors", -1], ["__class__", 1], ["fit", 1], [3, 4]], ids=repr)
def test_settings_that_an_estimator_would_refuse_are_refused(attempt, opened, part, entry):
    tree, arrays = opened
    tree["content"]["state"][part]["$map"].append(entry)
    with pytest.raises(ArchiveError, match=r"n_neighbors=-1 is not allowed|has unknown entries"):
        attempt(pack(tree, arrays))


def test_settings_that_are_left_open_take_their_plain_values(attempt, opened):
    tree, arrays = opened
    tree["content"]["state"]["settings"]["$map"].append(["beta", "auto"])
    assert attempt(pack(tree, arrays)).beta_ == 1.0


PARTS = [
    "asked",
    "settings",
    "X",
    "positions",
    "n_neighbors",
    "models",
    "failed",
    "semivariogram",
    "labels",
    "source",
    "rule",
]


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("value", [None, 3, "text", [1, 2], {"$map": [[5000, "far"]]}, {"$array": 0}])
def test_an_estimator_with_a_part_of_the_wrong_kind_is_refused(attempt, opened, name, value):
    tree, arrays = opened
    arrays["arrays/0.npy"] = array(np.zeros((2, 2, 2)))
    tree["content"]["state"][name] = value
    with pytest.raises(ArchiveError, match=r"does not fit together|named twice"):
        attempt(pack(tree, arrays))


@pytest.mark.parametrize("name", [*PARTS, "eps", "prior", "choice"])
def test_an_estimator_with_a_part_missing_is_refused(attempt, opened, name):
    tree, arrays = opened
    del tree["content"]["state"][name]
    with pytest.raises(ArchiveError, match=rf"parts are missing or unknown: \['{name}'\]"):
        attempt(pack(tree, arrays))


def test_parts_of_an_estimator_that_name_rows_which_are_not_there_are_refused(attempt, opened):
    for wrong in (120, -1, 2**62):
        with pytest.raises(ArchiveError, match="names a row or a cluster that does not exist"):
            attempt(changed(opened, "rule", "anchors", values=with_last(wrong)))


def test_a_semivariogram_whose_bins_disagree_is_refused(attempt, tmp_path):
    three = np.ones(3)
    curve = Semivariogram("empirical", 1.0, 1.0, 0.0, np.arange(4.0), three, three, np.ones(3, dtype=int))
    curve.save(tmp_path / "curve")
    with zipfile.ZipFile(tmp_path / "curve") as bundle:
        tree = json.loads(bundle.read("archive.json"))
        arrays = {name: bundle.read(name) for name in bundle.namelist()[1:]}
    for k, wrong in enumerate([[3.0, 2.0, 1.0, 0.0], np.ones(2), np.ones((3, 1)), np.ones(4, dtype=int)]):
        with pytest.raises(ArchiveError, match="edges"):
            attempt(pack(tree, {**arrays, f"arrays/{k}.npy": array(wrong)}))


def test_positions_whose_parts_disagree_are_refused(attempt, tmp_path):
    read_positions([1.0, 2.0, 3.0], 3).save(tmp_path / "places")
    with zipfile.ZipFile(tmp_path / "places") as bundle:
        tree = json.loads(bundle.read("archive.json"))
        arrays = {name: bundle.read(name) for name in bundle.namelist()[1:]}
    for k, wrong in [(0, np.ones(3)), (0, np.ones((3, 1), dtype=int)), (1, [0, 0]), (1, [0, 1, 0]), (1, [0, -1, 0])]:
        with pytest.raises(ArchiveError, match=r"coordinates|groups"):
            attempt(pack(tree, {**arrays, f"arrays/{k}.npy": array(wrong)}))
    auto = {"$object": "Auto", "state": {}}
    scaled = {"$object": "SpaceTime", "state": {"time_scale": -1.0, "space": "euclidean"}}
    for metric in (
        "manhattan",
        {"$object": "Manhattan", "state": {}},
        auto,
        scaled,
        {"$object": "Precomputed", "state": {}},
    ):
        tree["content"]["state"]["metric"] = metric
        with pytest.raises(ArchiveError, match=r"metric|Manhattan|time_scale"):
            attempt(pack(tree, arrays))


def test_an_array_named_many_times_is_refused_before_it_multiplies(attempt, opened):
    tree, arrays = opened
    tree["content"]["state"]["asked"]["$map"].append(["bins", [{"$array": 0}] * 300])
    with pytest.raises(ArchiveError, match="named twice"):
        attempt(pack(tree, arrays))


@pytest.mark.parametrize("where", ["array header", "directory"])
def test_flips_where_readers_are_most_delicate_end_in_an_archive_error_or_a_checked_object(attempt, genuine, where):
    rng = np.random.default_rng(8)
    start = genuine.index(b"\x93NUMPY") if where == "array header" else genuine.index(b"PK\x01\x02")
    for _ in range(300):
        data = bytearray(genuine)
        data[start + int(rng.integers(128))] ^= 1 << int(rng.integers(8))
        try:
            assert isinstance(attempt(bytes(data)), MCGTA)
        except ArchiveError:
            continue


@pytest.mark.parametrize(
    ("owner", "field", "value"),
    [
        ("semivariogram", "range_", "abc"),
        ("semivariogram", "sill_", None),
        ("semivariogram", "counts", [1, 2]),
        ("models", "failures", {"$map": [["a", 1]]}),
        ("positions", "dated", 3),
        ("rule", "labels", "none"),
    ],
)
def test_value_objects_hold_what_their_fields_say(attempt, opened, owner, field, value):
    tree, arrays = opened
    tree["content"]["state"][owner]["state"][field] = value
    with pytest.raises(ArchiveError, match=f"{field} is not of type"):
        attempt(pack(tree, arrays))


def test_every_field_that_is_saved_has_a_known_type():
    for kind in archive.Archived._registry.values():
        if dataclasses.is_dataclass(kind):
            for item in dataclasses.fields(kind):
                assert not item.metadata.get("archive", True) or str(item.type) in archive._FIELD_KINDS, (
                    kind,
                    item.name,
                )


def changed(opened, *path, values):
    """The file with one array of the estimator replaced by a function of it."""
    tree, arrays = opened
    node = tree["content"]["state"][path[0]]
    for name in path[1:]:
        node = node["state"][name]
    name = f"arrays/{node['$array']}.npy"
    old = np.lib.format.read_array(io.BytesIO(arrays[name]))
    return pack(tree, {**arrays, name: array(values(old))})


def with_last(value):
    def change(old):
        new = old.copy()
        new.flat[-1] = value
        return new

    return change


@pytest.mark.parametrize("value", [1e197, -1e197, 1e61, np.nan, np.inf])
@pytest.mark.parametrize("field", ["means", "covariances"])
def test_local_models_too_large_to_square_or_not_finite_are_refused(attempt, opened, field, value):
    value = value * (1e60 if field == "covariances" and abs(value) < 1e100 else 1)
    with pytest.raises(ArchiveError, match=f"{field} of fitted models must be finite and at most"):
        attempt(changed(opened, "models", field, values=with_last(value)))


@pytest.mark.parametrize("value", [2, 120, 2**62, -2, -(2**62)])
def test_labels_beyond_the_clusters_are_refused(attempt, opened, value):
    with pytest.raises(
        ArchiveError, match=r"labels must be clusters 0, 1, \.\.\. without gaps|a cluster that does not exist"
    ):
        attempt(changed(opened, "labels", values=with_last(value)))


@pytest.mark.parametrize("value", [3, 120, -2])
def test_labels_by_evidence_with_a_gap_are_refused(attempt, genuine_evidence, value):
    with pytest.raises(ArchiveError, match=r"labels must be clusters 0, 1, \.\.\. without gaps"):
        attempt(changed(unpacked(genuine_evidence), "labels", values=with_last(value)))


@pytest.mark.parametrize("count", [0, 1, 3, 121])
def test_another_number_of_radii_than_of_clusters_is_refused(attempt, opened, count):
    with pytest.raises(ArchiveError, match=r"a cluster without radius|a cluster that does not exist"):
        attempt(changed(opened, "rule", "radii", values=lambda old: np.resize(old, count)))


def test_core_observations_of_another_cluster_than_their_label_are_refused(attempt, opened):
    with pytest.raises(ArchiveError, match="the rule and the labels disagree"):
        attempt(changed(opened, "rule", "labels", values=lambda old: 1 - old))


@pytest.mark.parametrize("source", ["evidence", "nowhere"])
def test_another_source_of_the_labels_than_their_rule_is_refused(attempt, opened, source):
    tree, arrays = opened
    tree["content"]["state"]["source"] = source
    with pytest.raises(ArchiveError, match=f"source='{source}'"):
        attempt(pack(tree, arrays))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e197])
def test_positions_too_large_to_square_are_refused(attempt, opened, value):
    with pytest.raises(ArchiveError, match="positions must be finite and at most"):
        attempt(changed(opened, "positions", "coordinates", values=with_last(value)))


@pytest.mark.parametrize("item", ["[]", "{}", "0", '""', "[[]]"])
def test_a_long_json_is_refused_before_it_is_parsed(attempt, item):
    text = '{"format": "mcgta-archive", "version": 1, "content": [' + ",".join([item] * 4_000_000) + "]}"
    data = pack(text, {})
    tracemalloc.start()
    begin = time.perf_counter()
    with pytest.raises(ArchiveError, match=r"archive.json has \d+ bytes, and mcgta writes 4194304 at most"):
        attempt(data)
    seconds = time.perf_counter() - begin
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    assert seconds < 5


def test_a_directory_of_many_members_is_refused_before_it_is_read(attempt):
    entry = b"PK\x01\x02" + bytes(42)
    directory = entry * 100_000
    end = b"PK\x05\x06" + bytes(4) + 2 * (100_000 % 2**16).to_bytes(2, "little")
    end += len(directory).to_bytes(4, "little") + bytes(6)
    tracemalloc.start()
    with pytest.raises(ArchiveError, match="a directory of more than 262144 bytes"):
        attempt(directory + end)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize(
    "node",
    [
        {"$texts": [{"$array": 0}]},
        {"$texts": [{"$array": 0}, {"$array": 1}, {"$array": 1}]},
        {"$texts": [{"$array": 2}, {"$array": 1}, {"$array": 3}]},
        {"$texts": [{"$array": 0}, {"$array": 4}, {"$array": 3}]},
        {"$texts": [1, 2, 3]},
        {"$texts": 3},
    ],
    ids=repr,
)
def test_a_map_of_rows_to_texts_that_does_not_fit_together_is_refused(attempt, node):
    state = {"means": {"$array": 5}, "covariances": {"$array": 6}, "failures": node}
    tree = {"format": "mcgta-archive", "version": 1, "content": {"$object": "LocalModels", "state": state}}
    parts = [[0], [0], [0.0], ["why"], [1], [[np.nan]], [[[np.nan]]]]
    whole = {"$texts": [{"$array": 0}, {"$array": 1}, {"$array": 3}]}
    arrays = {f"arrays/{k}.npy": array(values) for k, values in enumerate(parts)}
    with pytest.raises(ArchiveError):
        attempt(pack(tree, arrays))
    state["failures"] = whole
    assert attempt(pack(tree, arrays)).failures == {0: "why"}


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null", "pipe"])
def test_devices_and_pipes_are_refused_at_once(tmp_path, name):
    os.mkfifo(tmp_path / "pipe")
    begin = time.perf_counter()
    with pytest.raises(ArchiveError, match=r"is a (device|pipe), not a file that mcgta wrote"):
        load(tmp_path / name)
    assert time.perf_counter() - begin < 5
