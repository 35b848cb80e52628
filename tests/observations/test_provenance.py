"""Where observations came from: kept with a fit, saved with it, and dropped where it would not be true any more."""

from __future__ import annotations

import json
import zipfile
from copy import copy
from dataclasses import replace

import pytest

from mcgta import MCGTA, ArchiveError, load
from mcgta.observations.provenance import Provenance

ORIGIN = Provenance(
    name="road.csv",
    sha256="0f" * 32,
    n_rows=120,
    columns=["t", "a", "b", "id"],
    positions=["t"],
    features=["a", "b"],
    ignored={"id": "unique text"},
    missing={"a": 3},
    missing_rule="impute",
    command="mcgta cluster road.csv --time t --features a,b",
    roles={"time": ["t"]},
)


@pytest.fixture(scope="module")
def model(series):
    fitted = MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical").fit(series.X, positions=series.positions)
    return fitted.with_provenance(ORIGIN)


def change_saved(path, change):
    """Change the saved provenance in a file."""
    with zipfile.ZipFile(path) as bundle:
        parts = {name: bundle.read(name) for name in bundle.namelist()}
    tree = json.loads(parts["archive.json"])
    change(tree["content"]["state"])
    parts["archive.json"] = json.dumps(tree).encode()
    with zipfile.ZipFile(path, "w") as bundle:
        for name, data in parts.items():
            bundle.writestr(name, data)


def test_a_fit_has_none_until_it_is_told(series):
    fitted = MCGTA(n_neighbors=6, eps=4.0).fit(series.X)
    assert fitted.fitted_.provenance is None
    told = fitted.with_provenance(ORIGIN)
    assert told.fitted_.provenance is ORIGIN
    assert fitted.fitted_.provenance is None


def test_something_else_is_refused(model):
    with pytest.raises(ValueError, match="must be a Provenance"):
        model.with_provenance("road.csv")


def test_it_is_saved_and_loaded(model, tmp_path):
    model.save(tmp_path / "road.mcgta")
    assert load(tmp_path / "road.mcgta").fitted_.provenance == ORIGIN


def test_a_file_of_an_earlier_version_has_none(model, tmp_path):
    model.save(tmp_path / "road.mcgta")
    change_saved(tmp_path / "road.mcgta", lambda state: state.pop("provenance"))
    assert load(tmp_path / "road.mcgta").fitted_.provenance is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sha256", "zz"),
        ("sha256", 12),
        ("n_rows", -1),
        ("n_rows", True),
        ("columns", "t"),
        ("columns", ["t", 3]),
        ("features", ["a"]),
        ("missing", {"$map": [["a", 121]]}),
        ("missing", {"$map": [["a", True]]}),
        ("missing_rule", "forget"),
        ("ignored", {"$map": [[3, "unique"]]}),
        ("roles", {"$map": [["time", "t"]]}),
        ("roles", {"$map": [["time", [1]]]}),
        ("command", None),
        ("unknown", 1),
    ],
)
def test_a_file_with_a_wrong_one_is_refused(model, tmp_path, name, value):
    model.save(tmp_path / "road.mcgta")
    change_saved(tmp_path / "road.mcgta", lambda state: state["provenance"]["state"].update({name: value}))
    with pytest.raises(ArchiveError, match="does not fit together"):
        load(tmp_path / "road.mcgta")


def test_a_refit_keeps_the_file_but_not_the_command(model):
    assert model.refit(n_jobs=1).fitted_.provenance == ORIGIN
    assert model.refit(eps=3.0).fitted_.provenance == replace(ORIGIN, command="")


def test_added_observations_are_not_from_the_file(model, series):
    grown = copy(model).append(series.X[:20], positions=series.positions[-1] + 1 + series.positions[:20])
    assert grown.fitted_.provenance is None


@pytest.mark.parametrize(
    ("changed", "said"),
    [({"sha256": ""}, "64"), ({"n_rows": -3}, "n_rows=-3"), ({"missing_rule": "skip"}, "error, drop, impute")],
)
def test_wrong_values_are_refused_with_what_is_right(changed, said):
    with pytest.raises(ValueError, match=said):
        replace(ORIGIN, **changed)
