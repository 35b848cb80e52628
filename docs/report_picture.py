"""Writes docs/images/report.png, the report of ``make demo`` in headless Chromium: ``python docs/report_picture.py``."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parent / "images" / "report.png"
MAKEFILE = Path(__file__).parents[1] / "Makefile"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH = 1080
MARGIN = 12
COLORS = 96
MAX_BYTES = 300_000
DEMO = "demo/"
"""The folder that the commands of ``make demo`` write into."""


def demo_commands() -> list[list[str]]:
    """Return the commands of ``make demo``, as they stand in the Makefile."""
    recipe = MAKEFILE.read_text().split("\ndemo:")[1].split("\n\n")[0]
    lines = [line.strip() for line in recipe.splitlines() if "/mcgta " in line]
    return [shlex.split(line)[1:] for line in lines]


def take_picture(page: Path) -> None:
    """Take the picture of a page, from its top to the end of the first cards."""
    executable = next(path for name in BROWSERS if (path := shutil.which(name)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": WIDTH, "height": 900})
        tab.goto(page.as_uri())
        tab.wait_for_function("document.documentElement.dataset.ready === 'true'")
        box = tab.locator("article.card").first.bounding_box()
        if box is None:
            raise RuntimeError(f"{page} has no cards")
        height = box["y"] + box["height"] + MARGIN
        tab.screenshot(path=PICTURE, full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
        browser.close()
    Image.open(PICTURE).convert("RGB").quantize(COLORS).save(PICTURE, optimize=True)


def main() -> None:
    """Run the demo in a folder of its own, and take the picture of its report."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / DEMO).mkdir()
        for command in demo_commands():
            subprocess.run([sys.executable, "-m", "mcgta", *command], cwd=folder, check=True)
        take_picture(Path(folder) / DEMO / "report.html")
    size = PICTURE.stat().st_size
    if size > MAX_BYTES:
        raise RuntimeError(f"{PICTURE.name} has {size:,} bytes, more than {MAX_BYTES:,}")


if __name__ == "__main__":
    main()
