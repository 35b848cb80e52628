"""Traces one small default fit and draws its walk through the package: ``python docs/walk.py`` writes docs/images/walk.svg.

The walk goes down three levels of calls above the kernels. Each step stands in the column of its part of the package; a line
that changes column is a change of layer. It also prints how many functions, files and changes of layer the whole fit passes,
and with ``--list`` which functions, with the number of their calls.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from types import FrameType
from typing import Any

import mcgta
from mcgta import MCGTA
from mcgta.datasets import make_series

ROOT = Path(mcgta.__file__).parent
PICTURE = Path(__file__).parent / "images" / "walk.svg"
COLUMNS = (
    "estimator",
    "fitting",
    "pipeline",
    "observations",
    "positions",
    "selection",
    "stages",
    "clustering",
    "inference",
)
HIDDEN = ("kernels", "runtime", "settings")
DEPTH = 3
WIDTH = 150
HEIGHT = 26


@dataclass
class Step:
    """A call: the part of the package, the function, how deep it is, and how often it comes in a row."""

    part: str
    name: str
    depth: int
    times: int = 1


@dataclass
class Walk:
    """The calls of a fit, and what they passed.

    Attributes
    ----------
    steps : the first three levels, in order
    calls : how often each function above kernels was called, by its file and name
    changes : of the part of the package in the first three levels
    """

    steps: list[Step] = field(default_factory=list)
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    changes: int = 0
    _stack: list[str | None] = field(default_factory=list)

    def look(self, frame: FrameType, event: str, value: Any) -> None:
        """Take note of a call or a return."""
        path = Path(frame.f_code.co_filename)
        if not path.is_relative_to(ROOT):
            return
        part = path.relative_to(ROOT).parts[0].removesuffix(".py")
        name = frame.f_code.co_qualname
        is_named = "<" not in name.rsplit(".", 1)[-1]  # not a lambda or a comprehension
        visible = part not in HIDDEN and is_named and "__" not in name
        if event == "return" and self._stack:
            self._stack.pop()
        if event != "call":
            return
        above = [item for item in self._stack if item is not None]
        self._stack.append(part if visible else None)
        if part == "kernels":
            return
        if is_named:
            self.calls[str(path.relative_to(ROOT)), name] += 1
        if visible and len(above) < DEPTH:
            self.changes += bool(above) and above[-1] != part
            self._add(Step(part, name, len(above)))

    def _add(self, step: Step) -> None:
        for known in reversed(self.steps):
            if known.depth < step.depth:
                break
            if (known.part, known.name, known.depth) == (step.part, step.name, step.depth):
                known.times += 1
                return
        self.steps.append(step)


def trace() -> Walk:
    """Fit a small series, once to compile and once to look at."""
    data = make_series(600, n_clusters=2, separation=1.5, segment_lengths=(20, 40), random_state=20)
    walk = Walk()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        MCGTA(progress=False).fit(data.X)
        sys.setprofile(walk.look)
        try:
            MCGTA(progress=False).fit(data.X)
        finally:
            sys.setprofile(None)
    return walk


def draw(walk: Walk) -> str:
    """Return the walk as SVG: a row a step, a column a part of the package."""
    columns = [name for name in COLUMNS if any(step.part == name for step in walk.steps)]
    columns += sorted({step.part for step in walk.steps} - set(columns))
    height = HEIGHT * (len(walk.steps) + 2)
    width = WIDTH * len(columns) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for k, name in enumerate(columns):
        parts.append(f'<text x="{20 + WIDTH * k}" y="16" font-weight="bold">{escape(name)}</text>')
        x = 14 + WIDTH * k
        parts.append(f'<line x1="{x}" y1="24" x2="{x}" y2="{height}" stroke="#dddddd"/>')
    before: tuple[int, int] | None = None
    for row, step in enumerate(walk.steps):
        x = 20 + WIDTH * columns.index(step.part)
        y = 44 + HEIGHT * row
        if before is not None:
            parts.append(
                f'<path d="M{before[0]} {before[1]} L{x} {y - 4}" stroke="#4477aa" stroke-width="0.8" fill="none"/>'
            )
        shade = ("#4477aa", "#88aacc", "#ccddee")[step.depth]
        often = f" x {step.times}" if step.times > 1 else ""
        parts.append(f'<circle cx="{x}" cy="{y - 4}" r="4" fill="{shade}"/>')
        parts.append(f'<text x="{x + 8}" y="{y}">{escape(step.name)}{often}</text>')
        before = (x, y - 4)
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    """Draw the walk, and say what it passes."""
    walk = trace()
    PICTURE.write_text(draw(walk))
    files = {path for path, _ in walk.calls}
    lines = [
        f"{len(walk.calls)} functions in {len(files)} files above kernels; {walk.changes} changes of layer in the first "
        f"{DEPTH} levels"
    ]
    if "--list" in sys.argv:
        lines += [f"{path:<44} {name:<44} {number}" for (path, name), number in sorted(walk.calls.items())]
    print("\n".join(lines))  # noqa: T201 - this is what it is run for


if __name__ == "__main__":
    main()
