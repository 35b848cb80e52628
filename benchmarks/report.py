"""Reports of many rows: how large they are, how long writing, unpacking and drawing take, and a file from command to report.

The first table writes reports of made series and maps with known labels, and opens them in headless Chromium, where there is
one. The second makes a CSV of a million rows, runs ``mcgta cluster FILE --report`` on it in a process of its own, and tells the
time of each stage beside that of pandas for reading the same file in the same run, and the peak of memory.

    python benchmarks/report.py [--rows 1000000] [--only pages|file]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mcgta import MCGTA
from mcgta.datasets import make_series
from mcgta.fit import Fit
from mcgta.labelling import Labelling
from mcgta.observations.observations import sort_observations
from mcgta.positions.reading import read_positions
from mcgta.report import write_report
from measuring.usage import own_peak

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CASES = {"series, 10 features": (100_000, 10), "series, 5 features": (1_000_000, 5), "map": (1_000_000, 3)}
RUN_LENGTH = 200
N_CLUSTERS = 5
REDRAWS = 9
MAX_PAGE_BYTES = 5_000_000
MAX_PEAK_BYTES = 3_000_000_000
AIMED_PEAK_BYTES = 1_500_000_000
MEGABYTE = 1e6

_STAGES = {
    "read": "read_input",
    "fit": "fit_input",
    "tell": "show_found",
    "table": "write_clusters",
    "report": "write_report",
    "model and report": "_write_beside",
}
"""Stages of ``mcgta cluster`` and the functions that do them; the last saves the model and calls the one before."""

_CHILD = """
import json, sys, time
from measuring.usage import own_peak
from mcgta.cli import main
from mcgta.cli.commands import cluster

seconds = {}
peaks = {}

def watch(stage, name):
    work = getattr(cluster, name)
    def watched(*args, **options):
        start = time.perf_counter()
        try:
            return work(*args, **options)
        finally:
            seconds[stage] = time.perf_counter() - start
            peaks[stage] = own_peak()
    setattr(cluster, name, watched)

stages, arguments = json.loads(sys.argv[1]), json.loads(sys.argv[2])
for stage, name in stages.items():
    watch(stage, name)
start = time.perf_counter()
code = main(arguments)
print(json.dumps({"code": code, "seconds": seconds, "peaks": peaks, "total": time.perf_counter() - start, "peak": own_peak()}))
"""

_PANDAS = """
import sys, time
import pandas
start = time.perf_counter()
pandas.read_csv(sys.argv[1])
print(time.perf_counter() - start)
"""


def main() -> int:
    """Run what is asked for; return 1 where a limit is not kept."""
    parser = argparse.ArgumentParser(description="Sizes and times of reports.")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the file; default: 1,000,000")
    parser.add_argument("--only", choices=("pages", "file"), help="one of the two tables")
    options = parser.parse_args()
    kept = True
    with tempfile.TemporaryDirectory() as folder:
        if options.only != "file":
            kept &= measure_pages(Path(folder))
        if options.only != "pages":
            kept &= measure_file(Path(folder), options.rows)
    return 0 if kept else 1


def measure_pages(folder: Path) -> bool:
    """Print the table of pages; return whether each is small enough."""
    print(f"{'report':22}{'rows':>11}{'MB':>7}{'write s':>9}{'unpack ms':>11}{'draw ms':>9}{'redraw ms':>11}")
    kept = True
    with _chromium() as browser:
        for name, (n_rows, n_features) in CASES.items():
            fit = _labelled(n_rows, n_features, on_map=name == "map")
            path = folder / "report.html"
            start = time.perf_counter()
            write_report(fit, path, force=True)
            seconds = time.perf_counter() - start
            size = path.stat().st_size
            times = (
                ["-"] * 3 if browser is None else [f"{each:.0f}" for each in _open(browser, path, on_map=name == "map")]
            )
            print(
                f"{name:22}{n_rows:11,}{size / MEGABYTE:7.2f}{seconds:9.1f}{times[0]:>11}{times[1]:>9}{times[2]:>11}",
                flush=True,
            )
            kept &= size <= MAX_PAGE_BYTES
    said = "kept" if kept else "NOT KEPT"
    print(f"pages of at most {MAX_PAGE_BYTES / MEGABYTE:g} MB: {said}; peak {own_peak() / MEGABYTE:,.0f} MB\n")
    return kept


def measure_file(folder: Path, n_rows: int) -> bool:
    """Print the stages from command to report; return whether memory stayed within its limit."""
    path = folder / "readings.csv"
    data = make_series(n_rows, n_clusters=4, n_features=5, separation=1.5, segment_lengths=(200, 600), random_state=0)
    header = "t," + ",".join(f"x{k}" for k in range(data.X.shape[1]))
    np.savetxt(
        path, np.column_stack([np.arange(n_rows), data.X]), delimiter=",", header=header, comments="", fmt="%.6g"
    )
    by_pandas = float(_run(_PANDAS, str(path)))
    found = json.loads(_run(_CHILD, json.dumps(_STAGES), json.dumps(["cluster", str(path), "--report", "--quiet"])))
    if found["code"]:
        raise RuntimeError(f"mcgta cluster ended with code {found['code']}")
    stages = found["seconds"]
    stages["model"] = stages.pop("model and report") - stages["report"]
    rest = found["total"] - sum(found["seconds"].values())
    size = path.stat().st_size / MEGABYTE
    print(f"{'stage':10}{'s':>8}{'x pandas':>10}{'peak MB':>10}      of {n_rows:,} rows, {size:.0f} MB as CSV")
    for stage, seconds in {"pandas": by_pandas, **found["seconds"], "rest": rest, "total": found["total"]}.items():
        peak = f"{found['peaks'][stage] / MEGABYTE:,.0f}" if stage in found["peaks"] else ""
        print(f"{stage:10}{seconds:8.1f}{seconds / by_pandas:10.1f}{peak:>10}")
    size = path.with_suffix(".html").stat().st_size / MEGABYTE
    kept = found["peak"] <= MAX_PEAK_BYTES
    aim = "reached" if found["peak"] <= AIMED_PEAK_BYTES else "not reached"
    said = "kept" if kept else "NOT KEPT"
    print(f"report of {size:.2f} MB; peak {found['peak'] / MEGABYTE:,.0f} MB: {said}, aim {aim}")
    return kept


def _labelled(n_rows: int, n_features: int, *, on_map: bool) -> Fit:
    """Return a fit of made observations with given labels, so that only the report takes time."""
    rng = np.random.default_rng(0)
    positions = rng.uniform(0, 100, (n_rows, 2)) if on_map else None
    labels = np.repeat(rng.integers(0, N_CLUSTERS, n_rows // RUN_LENGTH), RUN_LENGTH)
    if positions is not None:
        labels = (positions[:, 0] // (100 / N_CLUSTERS)).astype(np.int64)
    X = 2 * rng.normal(size=(N_CLUSTERS, n_features))[labels] + rng.normal(size=(n_rows, n_features))
    small: Fit = MCGTA(n_neighbors=5, eps=1.0, progress=False).fit(rng.normal(size=(40, 2))).fitted_
    data = sort_observations(X, read_positions(positions, n_rows), n_neighbors=2, lags=0, seed=0)
    labelling = Labelling(labels[data.order], "clusterer", None)
    return replace(small, data=data, labelling=labelling, models=None, failed={})


@contextmanager
def _chromium() -> Iterator[Any]:
    """Open headless Chromium; None where there is none."""
    executable = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if executable is None:
        print(f"none of {', '.join(BROWSERS)} is installed, so pages are not opened")
        yield None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


def _open(browser: Any, path: Path, *, on_map: bool) -> tuple[float, float, float]:
    """Return the milliseconds that unpacking and the first drawing take, and the median of redrawings."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(path.as_uri())
    page.wait_for_function("document.documentElement.dataset.ready === 'true'")
    unpack, draw = (_measured(page, name) for name in ("mcgta-unpack", "mcgta-draw"))
    page.locator("#map-frame" if on_map else "#time-overview").focus()
    again = []
    for k in range(REDRAWS):
        page.keyboard.press(("+", "ArrowRight", "ArrowLeft")[k % 3])
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        again.append(_measured(page, "mcgta-redraw"))
    page.close()
    return unpack, draw, float(np.median(again))


def _measured(page: Any, name: str) -> float:
    return float(page.evaluate(f"performance.getEntriesByName('{name}')[0].duration"))


def _run(program: str, *arguments: str) -> str:
    """Run a program in a process of its own and return the last line that it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *arguments],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"a process failed:\n{done.stderr}")
    return done.stdout.splitlines()[-1]


if __name__ == "__main__":
    sys.exit(main())
