"""What pages hold for their pictures, unpacked and compared with plain loops; and how large pages are."""

from __future__ import annotations

import base64
import gzip
import json
import re

import numpy as np
import pytest

from builders.descriptions import labelled
from mcgta import MCGTA
from mcgta.report import write_report
from mcgta.report.pictures.alternatives import keep_numbers
from mcgta.report.pictures.courses import fits_in_full
from mcgta.report.pictures.packing import Pack

NOISE = 65_534
MAX_BYTES = 5_000_000
MAX_FULL_BYTES = 3_000_000
MAX_STILL_BYTES = 100_000


def read_array(content, kind, offset, count, summed):
    """Read planes of bytes the slow way."""
    size = int(kind[1])
    numbers = [sum(content[offset + plane * count + i] << (8 * plane) for plane in range(size)) for i in range(count)]
    total = 0
    for i in range(count if summed else 0):
        total = (total + numbers[i]) % 256**size
        numbers[i] = total
    return numbers


def unpack(text):
    """Return the values of a page, as its script reads them."""
    packed = re.search(r'<script type="text/plain" id="data">(.*?)</script>', text).group(1)
    return unpack_text(packed)


def unpack_text(packed):
    content = gzip.decompress(base64.b64decode(packed))
    size = int.from_bytes(content[:4], "little")
    arrays = content[4 + size :]

    def read(part):
        if isinstance(part, dict):
            return (
                read_array(arrays, *part["array"])
                if "array" in part
                else {key: read(each) for key, each in part.items()}
            )
        return [read(each) for each in part] if isinstance(part, list) else part

    return read(json.loads(content[4 : 4 + size]))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("summed", [False, True])
def test_packed_numbers_are_those_that_were_packed(dtype, summed):
    values = np.random.default_rng(0).integers(0, np.iinfo(dtype).max, 50, endpoint=True).astype(dtype)
    pack = Pack()
    pack.add(np.zeros(3, dtype=np.uint8))
    found = unpack_text(pack.to_text({"values": pack.add(np.sort(values) if summed else values, summed=summed)}))
    assert found["values"] == (np.sort(values) if summed else values).tolist()


def test_only_unsigned_integers_are_packed():
    with pytest.raises(TypeError, match="cannot pack float64"):
        Pack().add(np.zeros(3))


def test_strips_hold_each_row_for_its_cluster(machines, written):
    timeline = unpack(written(machines, "machines").text)["timeline"]
    first, last = timeline["axis"]["ends"]
    assert timeline["groups"] == ["fan", "pump"]
    positions = machines.data.positions
    for row in range(0, 400, 7):
        strip = timeline["strips"][0][positions.groups[row]]
        milliseconds = positions.origin / 1e6 + 1e3 * positions.coordinates[row, 0]
        place = (milliseconds + 30_000 - first) / (last - first) * (2**32 - 1)  # half a minute after the row
        run = max(k for k, start in enumerate(strip["starts"]) if start <= place)
        label = machines.labelling.labels[row]
        assert strip["codes"][run] == (NOISE if label < 0 else label)


def test_courses_hold_every_value_to_a_part_in_four_thousand(machines, written):
    timeline = unpack(written(machines, "machines").text)["timeline"]
    for group, line in enumerate(timeline["lines"]):
        rows = machines.data.order[machines.data.positions.groups == group]
        for k, name in enumerate(timeline["features"]):
            low, high = timeline["ranges"][k]
            values = low + (high - low) * np.array(line["values"][k]) / 4095
            own = np.clip(machines.data.raw[rows, list(machines.names).index(name)], low, high)
            np.testing.assert_allclose(values, own, atol=(high - low) / 8000)


def test_points_of_a_map_are_where_the_observations_are(europe, written):
    found = unpack(written(europe, "europe").text)["map"]
    west, south, east, north = found["view"]
    x = west + (east - west) * np.array(found["x"]) / 65535
    y = south + (north - south) * np.array(found["y"]) / 65535
    own = europe.data.positions.coordinates
    away = np.abs(own[:, None, :] - np.column_stack([x, y])[None]).max(axis=2)
    assert away.min(axis=1).max() < 0.001
    assert np.array(found["codes"][0])[away.argmin(axis=1)].tolist() == europe.labelling.labels.tolist()
    assert len(found["coast"]["sizes"]) > 0


def test_a_view_of_a_city_has_no_coast(written):
    rng = np.random.default_rng(7)
    places = np.column_stack([rng.uniform(13.3, 13.5, 100), rng.uniform(52.4, 52.6, 100)])
    fit = labelled(rng.normal(size=(100, 2)), np.zeros(100, dtype=int), positions=places, metric="haversine")
    found = unpack(written(fit, "city").text)["map"]
    assert found["coast"] is None
    assert 10_000 < found["metres"] < 20_000


def test_stations_that_report_again_are_stacked_and_their_times_are_kept(spacetime, written):
    found = unpack(written(spacetime, "spacetime").text)
    assert found["map"]["stacked"]
    assert len(set(found["map"]["times"])) == 10
    assert found["timeline"]["lines"][0]["rows"] == 10


def test_alternatives_keep_the_colours_of_the_clusters_that_they_share_most_rows_with():
    taken = np.repeat([0, 1, 2], 10)
    assert keep_numbers(taken, np.repeat([2, 0, 1], 10)).tolist() == taken.tolist()
    split = np.r_[np.zeros(10), np.ones(3), np.full(7, 2), np.full(10, 3), -1].astype(int)
    assert keep_numbers(np.r_[taken, -1], split).tolist() == [0] * 10 + [3] * 3 + [1] * 7 + [2] * 10 + [-1]


def test_the_page_can_show_what_the_search_has_looked_at(series, written):
    shown = unpack(written(series, "series").text)["shown"]
    assert [each["clusters"] for each in shown][:2] == ["1 cluster", "2 clusters"]
    assert sum(each["taken"] for each in shown) == 1
    for each in shown:
        assert sum(each["shares"]) == pytest.approx(1)


def test_values_far_from_the_others_do_not_flatten_them(written):
    X = np.random.default_rng(8).normal(size=(4000, 1))
    X[17] = 1e6
    report = written(labelled(X, np.zeros(4000, dtype=int)), "outlier")
    low, high = unpack(report.text)["timeline"]["ranges"][0]
    assert high - low < 20
    assert "of the values lie beyond the edges" in report.text


def test_still_pictures_are_small(series, spacetime, europe, machines, written):
    for name, model in (("series", series), ("spacetime", spacetime), ("europe", europe), ("machines", machines)):
        pictures = re.findall(r"<svg.*?</svg>", written(model, name).text, flags=re.DOTALL)
        assert pictures
        assert max(map(len, pictures)) <= MAX_STILL_BYTES


def many_rows(n_rows, n_features):
    rng = np.random.default_rng(9)
    labels = np.repeat(rng.integers(0, 5, n_rows // 200), 200)
    return labelled(rng.normal(size=(5, n_features))[labels] + rng.normal(size=(n_rows, n_features)), labels)


def test_a_hundred_thousand_rows_of_ten_features_are_there_in_full(tmp_path):
    write_report(many_rows(100_000, 10), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert len(text) < MAX_FULL_BYTES
    assert "All 100,000 rows are in the page." in text


@pytest.mark.slow
def test_a_million_rows_are_thinned_and_the_page_says_so(tmp_path):
    write_report(many_rows(1_000_000, 5), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert len(text) < MAX_BYTES
    assert "Thinned: of 1,000,000 rows" in text
    assert "a sample of 20,000 of 1,000,000 rows" in text
    assert max(map(len, re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL))) <= MAX_STILL_BYTES


def test_many_places_are_counted_in_cells(tmp_path):
    rng = np.random.default_rng(10)
    places = rng.uniform(0, 1, (120_000, 2))
    labels = (places[:, 0] > 0.5).astype(int)
    write_report(labelled(rng.normal(size=(120_000, 1)), labels, positions=places), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    found = unpack(text)["map"]
    counts = np.array(found["cells"][0]["counts"]).reshape(2, found["rows"], found["columns"])
    assert counts.sum(axis=(1, 2)).tolist() == np.bincount(labels).tolist()
    assert counts[0, :, -1].sum() == 0
    assert "Thinned: the 120,000 rows are counted in cells" in text


def test_full_resolution_ends_before_a_page_has_three_million_bytes():
    assert fits_in_full(100_000, 10, regular=True)
    assert fits_in_full(100_000, 10, regular=False)
    assert not fits_in_full(200_000, 10, regular=True)


def test_rows_that_were_left_out_count_in_the_legend(written):
    X = np.random.default_rng(11).normal(size=(120, 2)) + np.repeat([0, 4], 60)[:, None]
    X[:12, 0] = np.nan
    with pytest.warns(UserWarning, match="12 of 120 rows"):
        model = MCGTA(n_neighbors=10, eps=2.0, semivariogram="empirical", missing="drop", progress=False).fit(X)
    shares = unpack(written(model, "left out").text)["shown"][0]["shares"]
    assert shares[-1] == pytest.approx(model.noise_share_)
