"""Where files of data sets are looked for, how they are downloaded, and what is said where they are missing."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from pathlib import Path

import pooch
import pytest
import requests

from mcgta.datasets import (
    MissingDataError,
    load_climate,
    load_gesture,
    load_inat2018,
    load_inat_subset,
    load_nyc_landuse,
    load_nyc_poi,
    load_pavement,
    load_vehicle,
)
from mcgta.datasets.cache import DataFile, cache_folder, data_folders, fetch, locate

CONTENT = b"some data\n"
CHECKSUM = "sha256:" + hashlib.sha256(CONTENT).hexdigest()
FILE = DataFile(("deep/thing.bin", "thing-*.bin"), "https://example.org/thing.bin", CHECKSUM)
FORMS = {"first": (DataFile(("first.bin",)),), "second": (FILE,)}


class Server:
    """Stands in for pooch's downloader, and keeps what it was asked for."""

    def __init__(self, content: bytes | Exception = CONTENT) -> None:
        self.content, self.asked, self.options = content, [], {}

    def __call__(self, **options):
        self.options = options
        return self.download

    def download(self, url, output_file, _):
        self.asked.append(url)
        if isinstance(self.content, Exception):
            raise self.content
        Path(output_file).write_bytes(self.content)


@pytest.fixture
def server(monkeypatch, tmp_path):
    """No test reaches the network, nor the user's own cache."""
    stand_in = Server()
    monkeypatch.setattr(pooch, "HTTPDownloader", stand_in)
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    monkeypatch.delenv("MCGTA_DATA", raising=False)
    return stand_in


def test_folders_of_the_variable_come_before_the_cache(server, monkeypatch, tmp_path):
    monkeypatch.setenv("MCGTA_DATA", os.pathsep.join([str(tmp_path / "a"), "", str(tmp_path / "b")]))
    assert data_folders() == [tmp_path / "a", tmp_path / "b", tmp_path / "cache" / "mcgta"]
    assert data_folders(tmp_path / "c") == [tmp_path / "c"]


def test_a_file_is_found_in_a_folder_or_one_level_below_by_any_of_its_names(tmp_path):
    assert FILE.find([tmp_path, tmp_path / "nowhere"]) is None
    below = tmp_path / "unpacked" / "thing-2.bin"
    below.parent.mkdir()
    below.write_bytes(CONTENT)
    assert FILE.find([tmp_path]) == below
    first = tmp_path / "deep" / "thing.bin"
    first.parent.mkdir()
    first.write_bytes(CONTENT)
    assert FILE.find([tmp_path]) == first


def test_the_first_folder_wins(server, monkeypatch, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "first.bin").write_bytes(CONTENT)
    monkeypatch.setenv("MCGTA_DATA", os.pathsep.join([str(tmp_path / "b"), str(tmp_path / "a")]))
    assert locate("thing", FORMS) == ("first", [tmp_path / "b" / "first.bin"])
    assert server.asked == []


def test_a_form_counts_only_if_all_its_files_are_there(server, tmp_path):
    (tmp_path / "one.bin").write_bytes(CONTENT)
    (tmp_path / "last.bin").write_bytes(CONTENT)
    forms = {
        "pair": (DataFile(("one.bin",)), DataFile(("two.bin",))),
        "single": (DataFile(("last.bin",)),),
    }
    assert locate("thing", forms, data_home=tmp_path) == ("single", [tmp_path / "last.bin"])


def test_a_missing_file_is_downloaded_once_with_a_short_time_out(server, tmp_path):
    form, (path,) = locate("thing", FORMS)
    assert form == "second"
    assert path == tmp_path / "cache" / "mcgta" / "deep" / "thing.bin"
    assert path.read_bytes() == CONTENT
    assert server.asked == ["https://example.org/thing.bin"]
    assert 0 < server.options["timeout"] <= 30
    assert locate("thing", FORMS) == (form, [path])
    assert len(server.asked) == 1


def test_downloads_go_to_the_folder_that_is_given(server, tmp_path):
    _, (path,) = locate("thing", FORMS, data_home=tmp_path / "mine")
    assert path == tmp_path / "mine" / "deep" / "thing.bin"
    assert not (tmp_path / "cache").exists()


def test_a_download_that_is_not_what_was_published_is_refused_and_not_kept(server, tmp_path):
    server.content = b"something else"
    with pytest.raises(ValueError, match="does not match"):
        locate("thing", FORMS)
    assert not list((tmp_path / "cache").rglob("thing*"))


def test_a_file_without_checksum_is_taken_as_it_comes(server, tmp_path):
    server.content = b"anything"
    path = fetch(DataFile(("any.bin",), "https://example.org/any.bin"), data_home=tmp_path)
    assert path.read_bytes() == b"anything"


@pytest.mark.parametrize(
    "error", [requests.ConnectionError("no route"), requests.Timeout("too slow"), requests.HTTPError("404")]
)
def test_without_network_the_error_says_what_to_get_and_where_to_put_it(server, tmp_path, error):
    server.content = error
    with pytest.raises(MissingDataError) as caught:
        locate("thing", FORMS)
    said = str(caught.value)
    for part in (
        "'thing'",
        "first.bin",
        "deep/thing.bin",
        "https://example.org/thing.bin",
        "MCGTA_DATA",
        str(tmp_path),
    ):
        assert part in said
    assert str(error) in said
    assert isinstance(caught.value, FileNotFoundError)
    assert caught.value.__cause__ is error


def test_nothing_is_downloaded_where_that_is_not_wanted(server):
    with pytest.raises(MissingDataError, match="download=False"):
        locate("thing", FORMS, download=False)
    assert server.asked == []


def test_download_must_be_true_or_false(server):
    with pytest.raises(ValueError, match="download='no' is not allowed"):
        locate("thing", FORMS, download="no")


def test_the_next_form_is_tried_where_one_cannot_be_downloaded(server, tmp_path):
    def only_the_second(url, output_file, _):
        if "gone" in url:
            raise requests.HTTPError("404")
        Path(output_file).write_bytes(CONTENT)

    server.download = only_the_second
    forms = {"gone": (DataFile(("gone.bin",), "https://example.org/gone"),), "second": (FILE,)}
    assert locate("thing", forms, data_home=tmp_path)[0] == "second"


def test_without_pooch_files_at_hand_are_read_and_others_say_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert cache_folder() is None
    with pytest.raises(MissingDataError, match=r"pip install 'mcgta\[data\]'"):
        locate("thing", FORMS, data_home=tmp_path)
    (tmp_path / "first.bin").write_bytes(CONTENT)
    monkeypatch.setenv("MCGTA_DATA", str(tmp_path))
    assert locate("thing", FORMS)[0] == "first"


def test_loaders_name_their_files_and_sources(server):
    server.content = requests.ConnectionError("no route")
    with pytest.raises(MissingDataError, match=r"commercial-vehicle-data\.txt \(https://raw\.github") as caught:
        load_vehicle()
    assert "vehicle.npz" in str(caught.value)
    with pytest.raises(MissingDataError, match=r"AsphaltPavementType\.zip \(https://timeseriesclassification\.com"):
        load_pavement()
    assert sum("Asphalt" in url for url in server.asked) == 1


LOADERS = (
    load_climate,
    load_gesture,
    load_inat2018,
    load_inat_subset,
    load_nyc_landuse,
    load_nyc_poi,
    load_pavement,
    load_vehicle,
)


@pytest.mark.parametrize("load", LOADERS)
def test_every_file_that_is_missing_is_named_with_where_to_get_it(server, load):
    with pytest.raises(MissingDataError) as caught:
        load(download=False)
    lines = [line for line in str(caught.value).split("\n") if line.startswith("  - ")]
    assert len(lines) > 1
    for line in lines:
        for file in line.split(": ", 1)[1].split("), and "):
            assert re.search(r" \(.*(https?://|which you (make|compute))", file), file


def test_gestures_say_which_arrays_they_need(server):
    with pytest.raises(MissingDataError, match=r"of arrays X \(records, steps, channels\) and y \(records,\)"):
        load_gesture(download=False)


def test_climates_are_downloaded_from_the_commit_that_has_them_and_checked(server):
    with pytest.raises(ValueError, match="does not match"):
        load_climate()
    (asked,) = server.asked
    assert asked.endswith("/MC-GTA/c7f7d345076d31a19e19020d2678e392843cc302/data/climate/climate-data.txt")


def test_a_loader_without_downloads_asks_no_server(server, monkeypatch):
    with pytest.raises(MissingDataError, match=r"climate\.csv .*worldclim"):
        load_climate(download=False)
    with pytest.raises(MissingDataError, match="download=False"):
        load_pavement(download=False)
    assert server.asked == []


def test_a_download_of_the_authors_texts_is_checked(server):
    with pytest.raises(ValueError, match="does not match"):
        load_vehicle()


def test_wrong_parameters_are_refused_before_anything_is_downloaded(server):
    with pytest.raises(ValueError, match="n_features=0"):
        load_pavement(n_features=0)
    assert server.asked == []


def test_a_data_home_that_is_no_path_is_refused():
    with pytest.raises(ValueError, match="data_home=3 is not allowed"):
        data_folders(3)
