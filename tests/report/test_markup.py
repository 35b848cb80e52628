"""Pieces of pages: escaped texts, ticks, and pictures as PNG."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import pytest

from mcgta.drawing.palette import cluster_colors
from mcgta.report.markup.charts import Chart, line_path
from mcgta.report.markup.html import element, join, named, plain, table, text
from mcgta.report.markup.png import indexed_png, shaded_png
from mcgta.report.markup.ticks import date_ticks, number_ticks, say_tick, say_time
from mcgta.report.subject import ink_on


def decode(url):
    """Return the rows of bytes of a PNG, whose checksums are looked at."""
    content = base64.b64decode(url.split(",")[1])
    at = 8
    found = {}
    while at < len(content):
        size = struct.unpack(">I", content[at : at + 4])[0]
        name = content[at + 4 : at + 8]
        body = content[at + 8 : at + 8 + size]
        assert struct.unpack(">I", content[at + 8 + size : at + 12 + size])[0] == zlib.crc32(name + body)
        found[name.decode()] = body
        at += 12 + size
    width, height = struct.unpack(">II", found["IHDR"][:8])
    rows = np.frombuffer(zlib.decompress(found["IDAT"]), dtype=np.uint8).reshape(height, -1)[:, 1:]
    return found, rows.reshape(height, width, -1)


def test_texts_and_attributes_are_escaped():
    assert element("p", "<b>&", title='"x"') == '<p title="&quot;x&quot;">&lt;b&gt;&amp;</p>'
    assert text("a\x00b\ud800") == "a\ufffdb\ufffd"


def test_markup_is_not_escaped_twice():
    assert join([element("b", "1"), "<"]) == "<b>1</b>&lt;"
    assert plain(element("b", "1 < 2")) == "1 < 2"


def test_attributes_that_are_absent_are_left_out():
    assert (
        element("input", checked=True, hidden=False, id=None, data_x="1", class_="c")
        == '<input checked data-x="1" class="c"/>'
    )


def test_long_names_lose_their_middle():
    assert len(plain(named("x" * 100))) == 60


def test_the_first_cell_of_a_row_is_its_heading():
    made = table(("a", "b"), [("1", "2")], caption="c", numbers=(1,))
    assert '<th scope="row">1</th><td class="n">2</td>' in made
    assert "<caption>c</caption>" in made


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0, 10, ["0", "2", "4", "6", "8", "10"]),
        (-1, 1, ["-1.0", "-0.5", "0.0", "0.5", "1.0"]),
        (0, 5000, ["0", "1,000", "2,000", "3,000", "4,000", "5,000"]),
        (3, 3, ["3"]),
    ],
)
def test_ticks_are_round(low, high, labels):
    assert [tick.label for tick in number_ticks(low, high)] == labels


def test_ticks_of_numbers_tell_steps_apart():
    labels = [tick.label for tick in number_ticks(0, 0.011, 6)]
    assert len(set(labels)) == len(labels)
    assert say_tick(2e12, 1e12) == "2e+12"


@pytest.mark.parametrize(
    ("seconds", "first"),
    [
        (600, "00:00"),
        (86_400 * 3, "03-01 00:00"),
        (86_400 * 40, "2024-03-07"),
        (86_400 * 400, "2024-04"),
        (86_400 * 4000, "2026"),
    ],
)
def test_ticks_of_dates_are_round(seconds, first):
    origin = int(np.datetime64("2024-03-01", "ns").astype(np.int64))
    ticks = date_ticks(origin, 0.0, float(seconds))
    assert ticks[0].label == first
    assert 2 <= len(ticks) <= 8
    assert all(0 <= tick.at <= seconds for tick in ticks)


def test_times_are_told_as_exactly_as_they_are_known():
    origin = int(np.datetime64("2024-03-01", "ns").astype(np.int64))
    assert say_time(origin, 0.0, 86_400.0) == "2024-03-01"
    assert say_time(origin, 3600.0, 60.0) == "2024-03-01 01:00"
    assert say_time(origin, 1.25, 0.01) == "2024-03-01 00:00:01.250"
    assert say_time(None, 12.0, 1.0) == "12"


def test_pictures_of_indices_have_their_colours_and_holes():
    found, pixels = decode(indexed_png(np.array([[0, 1], [-1, 0]]), ["#102030", "#ffffff"]))
    assert found["PLTE"] == b"\0\0\0\x10\x20\x30\xff\xff\xff"
    assert found["tRNS"] == b"\0"
    assert pixels[:, :, 0].tolist() == [[1, 2], [0, 1]]


def test_shaded_pictures_have_an_opacity_for_each_pixel():
    _, pixels = decode(shaded_png(np.array([[0, -1]]), np.array([[0.5, 1.0]]), ["#102030"]))
    assert pixels.tolist() == [[[0x10, 0x20, 0x30, 128], [0, 0, 0, 0]]]


def test_lines_break_where_there_is_nothing():
    assert line_path(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, np.nan, 1.04, 2.0])) == "M0 0M2 1L3 2"


def test_charts_put_values_between_their_edges():
    chart = Chart(200, 100, left=20, right=20, top=10, bottom=10)
    chart.set_x(0, 10)
    chart.set_y(0, 1)
    assert [float(chart.x(5)), float(chart.y(0)), float(chart.y(1))] == [100, 90, 10]


@pytest.mark.parametrize("color", cluster_colors(24))
def test_numbers_can_be_read_on_every_colour(color):
    def luminance(hexadecimal):
        parts = np.array(list(bytes.fromhex(hexadecimal))) / 255
        return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]

    levels = sorted([luminance(color[1:]), luminance(ink_on(color)[1:] * 2)])
    assert (levels[1] + 0.05) / (levels[0] + 0.05) >= 4.5
