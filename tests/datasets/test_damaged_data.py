"""Files of data sets that were cut short or changed on their way: each is refused by name, or still whole."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile

import numpy as np
import pytest

from builders.data_files import offline, write
from mcgta.datasets import load_inat2018, load_nyc_landuse, load_pavement, load_vehicle

ROADS = "@classLabel true a\n@data\n" + "".join(f"{','.join(str(j * k % 7) for j in range(12))}:a\n" for k in range(20))
CHECKINS = "".join(f"1\tv{k}\tc\tBar\t40.7\t-74\t-240\tTue Apr 03 18:00:09 +0000 2012\n" for k in range(20))
LOTS = "borough,landuse,latitude,longitude\nMN,4,40.7,-74\nBK,1,40.6,-73.9\n"
NOTES = json.dumps(
    {
        "images": [{"id": k} for k in range(20)],
        "categories": [{"id": 0, "supercategory": "Aves"}],
        "annotations": [{"image_id": k, "category_id": 0} for k in range(20)],
    }
)
SPOTS = json.dumps([{"id": k, "lon": k, "lat": k} for k in range(20)])


def zipped(name: str, text: str, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr(name, text)
    return file.getvalue()


def tarred(name: str, text: str) -> bytes:
    file, member = io.BytesIO(), tarfile.TarInfo(name)
    member.size = len(text)
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        tar.addfile(member, io.BytesIO(text.encode()))
    return file.getvalue()


def saved(save, *arrays, **named) -> bytes:
    file = io.BytesIO()
    save(file, *arrays, **named)
    return file.getvalue()


X = np.random.default_rng(0).normal(size=(20, 18))
INAT = {
    "val2018.json.tar.gz": tarred("val2018.json", NOTES),
    "inat2018_locations.zip": zipped("val2018_locations.json", SPOTS),
    "inat2018_features.npy": saved(np.save, X),
}
FILES = {  # the file that is damaged comes first
    "npz": (
        load_vehicle,
        {"vehicle.npz": saved(np.savez_compressed, X=X, y=np.arange(20) % 3, t=np.arange(20.0) ** 2)},
    ),
    "series": (load_pavement, {"AsphaltPavementType.zip": zipped("AsphaltPavementType_TRAIN.ts", ROADS)}),
    "series, bzip2": (load_pavement, {"AsphaltPavementType.zip": zipped("AsphaltPavementType_TRAIN.ts", ROADS, 12)}),
    "check-ins": (
        load_nyc_landuse,
        {"dataset_tsmc2014.zip": zipped("dataset_TSMC2014_NYC.txt", CHECKINS), "pluto.csv": LOTS.encode()},
    ),
    "lots": (
        load_nyc_landuse,
        {"nyc_pluto_1.zip": zipped("pluto.csv", LOTS), "dataset_TSMC2014_NYC.txt": CHECKINS.encode()},
    ),
    "annotations": (load_inat2018, INAT),
    "places": (load_inat2018, dict(reversed(list(INAT.items())[:2])) | {"inat2018_features.npy": saved(np.save, X)}),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_file_cut_short_is_refused_by_name(tmp_path, kind):
    load, files = FILES[kind]
    for name, content in files.items():
        write(tmp_path / name, content)
    offline(load, tmp_path)
    first = next(iter(files))
    for size in np.linspace(0, len(files[first]) - 30, 15).astype(int):
        write(tmp_path / first, files[first][:size])
        with pytest.raises(ValueError, match=first):
            offline(load, tmp_path)


@pytest.mark.parametrize("kind", FILES)
def test_a_file_with_changed_bytes_is_refused_by_name_or_still_whole(tmp_path, kind):
    load, files = FILES[kind]
    for name, content in files.items():
        write(tmp_path / name, content)
    first, rng, refused = next(iter(files)), np.random.default_rng(1), 0
    for _ in range(40):
        data = bytearray(files[first])
        for where in rng.integers(len(data), size=3):
            data[where] ^= int(rng.integers(1, 256))
        write(tmp_path / first, bytes(data))
        try:
            data = offline(load, tmp_path)
        except ValueError as error:
            said = str(error)
            refused += 1
        else:
            said = first
            assert np.isfinite(data.X).all()
        assert first in said
    assert refused > 10
