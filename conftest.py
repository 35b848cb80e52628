"""Doctests of the documents run in a folder of their own, so that what they save litters nothing."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _doctests_write_elsewhere(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        request.getfixturevalue("monkeypatch").chdir(tmp_path_factory.mktemp("doctest"))
