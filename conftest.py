"""Doctests write to a folder of their own, so that they litter nothing; and interrupts work, however the tests are started."""

from __future__ import annotations

import signal

import pytest


def pytest_configure() -> None:
    """Hear interrupts, as do the processes that tests start: shells have what runs in the background ignore them."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _doctests_write_elsewhere(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        request.getfixturevalue("monkeypatch").chdir(tmp_path_factory.mktemp("doctest"))
