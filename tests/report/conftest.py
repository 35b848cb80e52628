"""Fits whose reports several tests read, and a browser for those that open them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders.descriptions import labelled
from mcgta import MCGTA, SpaceTime
from mcgta.datasets import make_series
from mcgta.fit import Fit
from mcgta.observations.provenance import Provenance
from mcgta.report import write_report

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "\u202eabc\x00\ud800",
    "'\"><svg onload=alert(2)>",
    "javascript:alert(3)",
)
"""Names of columns that would do harm on a careless page."""


@dataclass(frozen=True)
class Written:
    """A report that was written: its path, its text and its values."""

    path: Path
    text: str
    values: dict[str, Any]


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Written]:
    """Write the report of a model, once for each name."""
    folder = tmp_path_factory.mktemp("reports")
    done: dict[str, Written] = {}

    def write(model: Any, name: str) -> Written:
        if name not in done:
            path = folder / f"{name}.html"
            write_report(model, path)
            done[name] = Written(
                path, path.read_text(encoding="utf-8"), json.loads(path.with_suffix(".json").read_text())
            )
        return done[name]

    return write


@pytest.fixture(scope="session")
def series() -> MCGTA:
    """A series of three states whose settings were searched for, as read from a file."""
    data = make_series(600, n_clusters=3, n_features=5, separation=1.5, segment_lengths=(20, 40), random_state=1)
    provenance = Provenance(
        "readings.csv",
        "0" * 64,
        600,
        [*(f"x{k}" for k in range(5)), "note"],
        [],
        [f"x{k}" for k in range(5)],
        ignored={"note": "text"},
        command="mcgta cluster readings.csv --features x0,x1,x2,x3,x4",
    )
    return MCGTA(progress=False).fit(data.X).with_provenance(provenance)


@pytest.fixture(scope="session")
def spacetime() -> MCGTA:
    """Sixty stations that report ten times each; two clusters change places in the middle of the time."""
    rng = np.random.default_rng(2)
    stations = np.repeat(rng.uniform(0, 100, (60, 2)), 10, axis=0)
    positions = np.column_stack([stations, np.tile(np.arange(10.0), 60)])
    inside = (positions[:, 0] > 50) ^ (positions[:, 2] > 4)
    X = rng.normal(size=(600, 3)) + inside[:, None] * [4.0, 0.0, -3.0]
    return MCGTA(metric=SpaceTime(time_scale=5.0), progress=False).fit(X, positions=positions)


@pytest.fixture(scope="session")
def europe() -> Fit:
    """Places on earth in two clusters, east and west of 5 degrees."""
    rng = np.random.default_rng(4)
    places = np.column_stack([rng.uniform(-9, 20, 600), rng.uniform(38, 58, 600)])
    return labelled(rng.normal(size=(600, 2)), (places[:, 0] > 5).astype(int), positions=places, metric="haversine")


@pytest.fixture(scope="session")
def machines() -> Fit:
    """Two groups in minutes, with noise and a gap in the first."""
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1, 0, 2, -1, 1, 2, 0], 50)
    times = np.arange(400) * np.timedelta64(60, "s") + np.datetime64("2024-03-01T00:00")
    times[100:200] += np.timedelta64(6, "h")
    X = rng.normal(size=(400, 3)) + np.maximum(labels, 0)[:, None] * [3.0, 0.0, -1.0]
    return labelled(X, labels, positions=times, groups=np.repeat(["pump", "fan"], 200), names=["temp", "load", "rpm"])


@pytest.fixture(scope="session")
def hostile() -> Fit:
    """Columns and groups with names that would do harm."""
    rng = np.random.default_rng(5)
    labels = np.repeat([0, 1, 0, 2], 50)
    groups = np.repeat(["</style><script>alert(4)</script>", "b"], 100)
    return labelled(rng.normal(size=(200, 4)) + labels[:, None], labels, names=np.array(HOSTILE), groups=groups)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Return headless Chromium; tests are skipped where there is none."""
    executable = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if executable is None:
        pytest.skip(
            f"no browser to open reports in: none of {', '.join(BROWSERS)} is installed (tools/chromium.sh does that)"
        )
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield opened
        opened.close()
