"""Loaders of the paper's places on the globe, on small files of the published formats."""

from __future__ import annotations

import io
import json
import tarfile

import numpy as np
import pytest

from builders.data_files import offline, pack, write
from mcgta import MCGTA
from mcgta.datasets import MissingDataError, load_climate, load_inat2018, load_inat_subset
from mcgta.datasets.inat import KINGDOMS

# Climate

CLIMATES = (
    "Longitude,LAT,temperature,annual_rain,climate type\n10.5,-3,20,100,Af\n-170,60.25,-5,30,ET\n11,-2,21,90,Af\n"
)


def test_climates_are_read_from_a_table(tmp_path):
    write(tmp_path / "climate.csv", "\ufeff" + CLIMATES)
    data = offline(load_climate, tmp_path)
    assert data.positions.tolist() == [[10.5, -3], [-170, 60.25], [11, -2]]
    assert data.X.tolist() == [[20, 100], [-5, 30], [21, 90]]
    assert data.feature_names == ("temperature", "annualrain")
    assert data.label_names == ("Af", "ET")
    assert data.labels.tolist() == [0, 1, 0]
    assert data.metric == "haversine"


def test_climates_are_read_from_arrays_and_texts(tmp_path):
    X, places = np.arange(15.0).reshape(3, 5) / 7, [[-139.5, -76.25], [13.5, 52.5], [100.0, 10.0]]
    rows = [f"{','.join(map(str, x))}, {lat}, {lon}\n" for x, (lon, lat) in zip(X, places, strict=True)]
    write(tmp_path / "a/climate/climate-data.txt", "".join(rows))
    write(tmp_path / "a/climate/climate-label.txt", "4\r\n0\r\n4\r\n")
    (tmp_path / "b").mkdir()
    np.savez(tmp_path / "b/climate.npz", X=X, y=[4, 0, 4], coords=places)
    a, b = (offline(load_climate, tmp_path / name) for name in "ab")
    for name in ("X", "positions", "labels"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert a.positions.tolist() == places
    assert a.label_names == b.label_names == ("0", "4")
    assert "github.com/Octopolugal" in a.source
    assert "github.com" not in b.source


def test_the_authors_climates_are_read_as_they_were_published():
    try:
        data = load_climate(download=False)
    except MissingDataError:
        pytest.skip("the authors' texts are not at hand; MCGTA_DATA names their folder")
    if "Octopolugal" not in data.source:
        pytest.skip("what is at hand is not the authors' texts")
    assert data.X.shape == (4746, 5)
    assert len(data.label_names) == 14
    assert data.positions[0].tolist() == [-139.4380798, -76.9619675]
    np.testing.assert_allclose(data.X.std(axis=0), 1, atol=1e-3)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_tables_may_end_their_lines_as_they_like_and_hold_any_letters(tmp_path, end):
    write(tmp_path / "climate.csv", CLIMATES.replace("ET", "Tundra \u00c5\U0001f9ca").replace("\n", end))
    assert offline(load_climate, tmp_path).label_names == ("Af", "Tundra \u00c5\U0001f9ca")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CLIMATES.replace("Longitude", "east"), "has no column 'lon' or 'longitude'; it has east, lat"),
        (CLIMATES.replace("-5,30", "-5,wet"), r"climate\.csv, line 3: 'wet' is not a finite number"),
        (CLIMATES.replace("-5,30", "-5"), r"climate\.csv, line 3: 4 fields, but 5 in the header"),
        (CLIMATES.replace("30,ET", "30,"), r"climate\.csv, line 3: the place has no type"),
        (CLIMATES.replace("60.25", "91"), r"place 1 is \[-170.0, 91.0\], which is no longitude and latitude"),
        ("lon,lat,t,climate,label\n1,2,3,Af,4\n", r"climate\.csv has columns 'climate' and 'label', of which"),
        ("lon,lat,t,Climate Type,type\n1,2,3,Af,4\n", "has columns 'climatetype' and 'type', of which"),
        ("lon,longitude,lat,t,type\n1,2,3,4,Af\n", "has columns 'lon' and 'longitude', of which"),
        ("lon,lat,t,T,climate\n1,2,3,4,Af\n", r"climate\.csv, line 1: 2 columns are called 't'"),
        (
            CLIMATES.replace("20,100,Af", "20,100,\xc5f").encode("latin-1"),
            r"climate\.csv, line 2: this is no text in utf-8",
        ),
        (
            CLIMATES.replace("ET", "\xc5").replace("\n", "\r").encode("latin-1"),
            r"climate\.csv, line 3: this is no text",
        ),
        (CLIMATES.replace("ET", "E" * 200_000), r"climate\.csv, line 3: field larger than field limit"),
        ("lon,lat,climate\n1,2,Af\n", "has no features"),
        ("lon,lat,t,climate\n", "has no places"),
        ("", "has no places"),
    ],
)
def test_malformed_tables_are_refused(tmp_path, text, said):
    write(tmp_path / "climate.csv", text)
    with pytest.raises(ValueError, match=said):
        offline(load_climate, tmp_path)


# iNaturalist


@pytest.fixture
def inat(tmp_path):
    """Forty images, of which the fourth has no place and the fifth is not in the list of places."""
    rng = np.random.default_rng(1)
    kinds = ("Plantae", "Insecta", "Fungi", "Aves", "Bacteria", "Chromista", "Protozoa", "Mollusca")
    notes = {
        "images": [{"id": 100 + k, "file_name": f"{k}.jpg"} for k in range(40)],
        "categories": [{"id": k, "name": str(k), "supercategory": kind} for k, kind in enumerate(kinds)],
        "annotations": [{"id": 100 + k, "image_id": 100 + k, "category_id": k % 8} for k in range(40)],
    }
    spots = [{"id": 100 + k, "lat": 33 + k / 10, "lon": -123.0 + k / 2, "user_id": 1, "date": "x"} for k in range(40)]
    spots[3]["lat"] = spots[3]["lon"] = None
    del spots[4]
    features = rng.normal(size=(40, 24)) * np.linspace(5, 1, 24)
    write(tmp_path / "val2018.json", json.dumps(notes))
    write(tmp_path / "inat2018_locations/val2018_locations.json", json.dumps(spots[::-1]))
    np.save(tmp_path / "inat2018_features.npy", features.astype(np.float32))
    return notes, spots, features.astype(np.float32).astype(float)


def test_images_with_places_become_standardised_components(tmp_path, inat):
    _, _, features = inat
    data = offline(load_inat2018, tmp_path)
    kept = [k for k in range(40) if k not in (3, 4)]
    assert data.X.shape == (38, 16)
    np.testing.assert_allclose(data.X.std(axis=0), 1)
    centred = features[kept] - features[kept].mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(np.abs(data.X), np.abs(left[:, :16]) * np.sqrt(38), atol=1e-8)
    plain = offline(load_inat2018, tmp_path, standardize=False, n_components=3)
    np.testing.assert_allclose(np.abs(plain.X), np.abs(left[:, :3] * sizes[:3]), atol=1e-8)
    np.testing.assert_allclose(data.positions[0], [-123, 33])
    assert data.label_names == KINGDOMS
    expected = ["Plantae", "Animalia", "Fungi", "Animalia", "Bacteria", "Chromista", "Protozoa", "Animalia"]
    assert [data.label_names[code] for code in data.labels] == [expected[k % 8] for k in kept]


def test_packed_files_and_named_embeddings_give_the_same(tmp_path, inat):
    plain = offline(load_inat2018, tmp_path)
    packed, shuffled = tmp_path / "packed", np.random.default_rng(0).permutation(40)
    packed.mkdir()
    notes, spots, features = inat
    text = json.dumps(notes).encode()
    with tarfile.open(packed / "val2018.json.tar.gz", "w:gz") as tar:
        member = tarfile.TarInfo("val2018.json")
        member.size = len(text)
        tar.addfile(member, io.BytesIO(text))
    pack(packed / "inat2018_locations.zip", {"inat2018_locations/val2018_locations.json": json.dumps(spots)})
    np.savez(packed / "inat2018_features.npz", features=features[shuffled], image_id=100 + shuffled)
    found = offline(load_inat2018, packed)
    for name in ("X", "labels", "positions"):
        np.testing.assert_array_equal(getattr(found, name), getattr(plain, name))


def test_the_subset_is_animals_and_plants_in_a_box(tmp_path, inat):
    data = offline(load_inat2018, tmp_path, subset=True)
    assert data.label_names == ("Animalia", "Plantae")
    assert data.positions[:, 0].max() <= -110
    kept = [k for k in range(27) if k not in (3, 4) and k % 8 in (0, 1, 3, 7)]
    assert len(data.X) == len(kept)


def damage(change):
    def apply(folder, notes, spots):
        change(notes, spots)
        write(folder / "val2018.json", json.dumps(notes))
        write(folder / "inat2018_locations/val2018_locations.json", json.dumps(spots))

    return apply


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (damage(lambda n, s: n.pop("images")), r"val2018\.json has no list 'images'"),
        (damage(lambda n, s: n["annotations"][2].pop("image_id")), "entry 2 of 'annotations' must have 'image_id'"),
        (damage(lambda n, s: n["annotations"].pop(0)), "image 100 has no category"),
        (damage(lambda n, s: n["categories"][1].update(supercategory="Virus")), "unknown super-category 'Virus'"),
        (damage(lambda n, s: n["images"].pop()), "must hold a row for each of 39 images"),
        (damage(lambda n, s: s.clear()), "has no place for any image"),
        (
            damage(lambda n, s: s[0].update(lat=120)),
            r"val2018_locations\.json: entry 0 is at .*no longitude and latitude",
        ),
        (damage(lambda n, s: s[2].update(lon="west")), r"entry 2 is at \['west', 33\.2\], which is no longitude"),
        (damage(lambda n, s: s[2].update(lon=[1])), r"entry 2 is at \[\[1\], 33\.2\], which is no longitude"),
        (damage(lambda n, s: s[2].update(lat=10**400)), r"val2018_locations\.json: entry 2 is at"),
        (damage(lambda n, s: s.append("here")), r"val2018_locations\.json: entry 39 must have an 'id'"),
        (damage(lambda n, s: s[1].update(id=[1])), r"val2018_locations\.json: entry 1 must have an 'id'"),
        (damage(lambda n, s: n["images"][1].update(id=[1])), r"val2018\.json: entry 1 of 'images' must have 'id'"),
        (damage(lambda n, s: n["categories"][1].update(supercategory=[])), r"unknown super-category \[\]"),
        (lambda f, n, s: write(f / "val2018.json", '{\n"a": }'), r"val2018\.json, line 2"),
        (lambda f, n, s: write(f / "inat2018_features.npy", b"x"), r"inat2018_features\.npy is not an npy file"),
        (
            lambda f, n, s: np.save(f / "inat2018_features.npy", np.full((40, 24), 1e300)),
            r"features\.npy has embeddings",
        ),
        (lambda f, n, s: pack(f / "inat2018_features.npy", {"a": ""}), r"features\.npy is not an npy file"),
        (lambda f, n, s: np.save(f / "inat2018_features.npy", np.ones((40, 4))), "n_components=16, but"),
        (lambda f, n, s: pack(f / "inat2018_locations.zip", {"a": ""}), "holds no val2018_locations"),
    ],
)
def test_malformed_annotations_are_refused(tmp_path, inat, change, said):
    change(tmp_path, inat[0], inat[1])
    with pytest.raises(ValueError, match=said):
        offline(load_inat2018, tmp_path)


def test_the_authors_subset_is_read_from_texts(tmp_path):
    rows = np.column_stack([np.arange(32.0).reshape(2, 16), [[-120, 35], [-121, 36]]])
    write(tmp_path / "inat-subset/inat-data-subset.txt", "".join(",".join(map(str, row)) + "\n" for row in rows))
    write(tmp_path / "inat-subset/inat-label-subset.txt", "4.0\r\n0.0\r\n")
    data = offline(load_inat_subset, tmp_path)
    assert data.X.tolist() == rows[:, :16].tolist()
    assert data.positions.tolist() == [[-120, 35], [-121, 36]]
    assert [data.label_names[code] for code in data.labels] == ["Plantae", "Animalia"]


def test_classes_that_are_no_kingdoms_are_refused(tmp_path):
    arrays = {"X": np.ones((4, 16)), "coords": np.zeros((4, 2))}
    np.savez(tmp_path / "inat2018.npz", y=["Aves", "Plantae", "Insecta", "Fungi"], **arrays)
    assert offline(load_inat2018, tmp_path).label_names == ("Animalia", "Fungi", "Plantae")
    for y, said in (([0, 4, 7, 9], "'7', '9' is no kingdom"), (["Aves", "Virus", "Fungi", "Aves"], "'Virus' is no")):
        np.savez(tmp_path / "inat2018.npz", y=y, **arrays)
        with pytest.raises(ValueError, match=rf"inat2018\.npz: {said}"):
            offline(load_inat2018, tmp_path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"subset": "x"}, "subset='x'"),
        ({"n_components": 0}, "n_components=0"),
        ({"standardize": None}, "standardize=None"),
    ],
)
def test_wrong_parameters_are_refused_by_name(tmp_path, options, said):
    with pytest.raises(ValueError, match=said):
        offline(load_inat2018, tmp_path, **options)


def test_a_data_set_goes_into_a_fit(tmp_path, inat):
    data = offline(load_inat2018, tmp_path, n_components=2)
    fitted = MCGTA(n_neighbors=8, eps=1.0, metric=data.metric).fit(data.X, positions=data.positions, groups=data.groups)
    assert fitted.labels_.shape == data.labels.shape
