"""Reports are written whole or not at all, never over other files, and equal fits give equal files."""

from __future__ import annotations

import numpy as np
import pytest

from builders.descriptions import labelled
from mcgta import MCGTA
from mcgta.report import write_report


@pytest.fixture
def fit():
    labels = np.repeat([0, 1], 40)
    return labelled(np.random.default_rng(0).normal(size=(80, 2)) + labels[:, None], labels)


def test_equal_fits_give_equal_bytes(tmp_path):
    X = np.random.default_rng(1).normal(size=(300, 3)) + np.repeat([0, 3], 150)[:, None]
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        MCGTA(progress=False).fit(X).report(folder / "report.html")
    for name in ("report.html", "report.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_the_order_of_rows_in_memory_does_not_matter(tmp_path):
    X = np.random.default_rng(1).normal(size=(300, 3))
    MCGTA(n_neighbors=20, eps=1.0, progress=False).fit(X).report(tmp_path / "a.html", title="same")
    MCGTA(n_neighbors=20, eps=1.0, progress=False).fit(np.asfortranarray(X)).report(tmp_path / "b.html", title="same")
    one, two = ((tmp_path / name).read_text().replace("b.html", "a.html") for name in ("a.html", "b.html"))
    assert one == two


@pytest.mark.parametrize("name", ["report.html", "report.json"])
def test_files_that_exist_are_not_replaced(fit, tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(FileExistsError, match=r"exists already; force=True replaces it"):
        write_report(fit, tmp_path / "report.html")
    assert (tmp_path / name).read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 1


def test_with_force_both_are_replaced(fit, tmp_path):
    for name in ("report.html", "report.json"):
        (tmp_path / name).write_text("old")
    write_report(fit, tmp_path / "report.html", force=True)
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "report.json").read_text().startswith("{")


def test_a_failure_leaves_what_was_there(fit, tmp_path, monkeypatch):
    (tmp_path / "report.html").write_text("old")
    monkeypatch.setattr("mcgta.report.writing.to_json", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_report(fit, tmp_path / "report.html", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text() == "old"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"path": "report.json"}, "path='report.json' must be the name of a page"),
        ({"title": 7}, "title=7 must be a text"),
        ({"force": "yes"}, "force='yes' must be True or False"),
    ],
)
def test_what_cannot_be_is_refused_by_name(fit, tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=said):
        write_report(fit, **{"path": "report.html", **options})
    assert list(tmp_path.iterdir()) == []


def test_only_fitted_models_have_reports(tmp_path):
    with pytest.raises(ValueError, match="model must be a fitted MCGTA, got ndarray"):
        write_report(np.zeros(3), tmp_path / "report.html")


def test_a_report_needs_no_matplotlib(fit, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    write_report(fit, tmp_path / "report.html")
    assert (tmp_path / "report.html").exists()
