"""What a page says: the verdict, its doubts, what was thinned, and how to repeat it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from builders.descriptions import labelled
from mcgta import MCGTA

SECTIONS = ["overview", "cards", "networks", "transitions", "certainty", "related", "input", "repeat", "tables"]


class Text(HTMLParser):
    """The words of a page, without style and scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.ids: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        if tag in ("meta", "input", "br", "col"):
            self.open.pop()

    def handle_startendtag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.words.append(data)


def read(text):
    page = Text()
    page.feed(text)
    return page


def words(text):
    return re.sub(r"\s+", " ", " ".join(read(text).words))


def test_every_element_is_closed_and_every_id_is_unique(series, spacetime, machines, hostile, written):
    for name, model in (("series", series), ("spacetime", spacetime), ("machines", machines), ("hostile", hostile)):
        page = read(written(model, name).text)
        assert page.open == []
        assert len(page.ids) == len(set(page.ids))


def test_sections_follow_each_other_from_the_verdict_to_the_tables(series, written):
    ids = read(written(series, "series").text).ids
    assert [name for name in ids if name in SECTIONS] == SECTIONS


def test_the_verdict_says_how_many_states_there_are_and_how_strong_the_evidence_is(series, written):
    said = words(written(series, "series").text)
    assert f"{series.n_clusters_} states in 600 readings" in said
    assert "evidence" in said.split("What sets each state apart")[0]


def test_doubts_of_the_choice_stand_in_the_verdict(written):
    model = MCGTA(progress=False).fit(np.random.default_rng(0).normal(size=(300, 2)))
    report = written(model, "no structure")
    assert model.choice_.doubts
    for doubt in model.choice_.doubts:
        assert doubt[1:] in words(report.text)
        assert doubt in report.values["verdict"]["doubts"]


def test_a_fit_without_a_search_says_that_nothing_tells_how_sure_it_is(machines, written):
    assert "other numbers of clusters were not looked at" in words(written(machines, "machines").text)


def test_noise_has_its_share_and_its_reasons_in_the_legend(machines, written):
    legend = written(machines, "machines").text.split('id="overview"')[0]
    assert "noise (too sparse: 50 rows)" in words(legend)


def test_every_cluster_has_a_card_with_its_words_and_typical_rows(series, written):
    said = words(written(series, "series").text)
    for cluster in series.describe().clusters:
        assert cluster.words in said
        assert f"State {cluster.cluster}" in said
    assert said.count("Typical rows") == series.n_clusters_


def test_a_report_of_noise_alone_is_written(written):
    X = np.random.default_rng(1).normal(size=(60, 2))
    report = written(labelled(X, np.full(60, -1)), "all noise")
    assert "No states in 60 readings" in words(report.text)
    assert report.values["description"]["clusters"] == []


def test_many_clusters_are_cut_and_the_page_says_so(written):
    rng = np.random.default_rng(2)
    labels = np.repeat(np.arange(70), 12)
    said = words(written(labelled(rng.normal(size=(840, 2)) + labels[:, None], labels), "seventy").text)
    assert "The 60 largest of 70 clusters have a card" in said


def test_many_features_are_cut_and_the_page_says_so(written):
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1], 60)
    said = words(written(labelled(rng.normal(size=(120, 40)) + labels[:, None], labels), "forty").text)
    assert "12 of 40 features" in said
    assert "Profile (6 of 40 features)" in said


def test_the_input_names_its_columns_hash_and_command(series, written):
    said = words(written(series, "series").text)
    assert "ignored: text" in said
    assert series.fitted_.provenance.sha256 in said
    assert series.fitted_.provenance.command in said
    assert "mcgta stability readings.mcgta" in said


def test_positions_that_cannot_be_drawn_give_profiles(written):
    rng = np.random.default_rng(6)
    places = rng.uniform(size=(80, 2))
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    labels = (places[:, 0] > 0.5).astype(int)
    fit = labelled(rng.normal(size=(80, 3)) + labels[:, None], labels, positions=distances, metric="precomputed")
    report = written(fit, "distances")
    assert "known by their distances only" in words(report.text)
    assert 'id="timeline"' not in report.text
    assert 'id="map"' not in report.text


def test_the_title_is_the_name_of_the_input_unless_one_is_given(series, tmp_path):
    series.report(tmp_path / "a.html")
    series.report(tmp_path / "b.html", title="Pump <7>")
    assert "<title>readings.csv: mcgta report</title>" in (tmp_path / "a.html").read_text()
    assert "<title>Pump &lt;7&gt;: mcgta report</title>" in (tmp_path / "b.html").read_text()


def test_values_hold_what_the_page_says(series, written):
    values = written(series, "series").values
    assert values["verdict"]["n_clusters"] == series.n_clusters_
    assert values["description"] == series.describe().to_dict()
    assert [each["n_clusters"] for each in values["alternatives"]] == [each.n_clusters for each in series.alternatives_]
    assert values["semivariogram"]["range"] == pytest.approx(series.semivariogram_.range_)
    assert values["settings"]["used"]["n_neighbors"] == series.n_neighbors_
    assert values["provenance"]["command"] == series.fitted_.provenance.command
    assert {"mcgta", "Python", "numpy"} <= set(values["versions"])
