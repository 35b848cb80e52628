"""Small charts as SVG: a frame with two axes, and marks in the units of the data.

Lines and texts have classes of the page's style, so that they follow its light and its dark colours. Numbers are written with
one decimal of a pixel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from mcgta.report.markup.html import Markup, element
from mcgta.report.markup.ticks import Tick
from mcgta.runtime.types import Array

Scale = Callable[[Any], Any]


def digits(value: float) -> str:
    """Return a length in pixels with at most one decimal."""
    written = f"{value:.1f}"
    return written[:-2] if written.endswith(".0") else written


def svg(width: float, height: float, parts: Iterable[Any], label: str, *, kind: str = "chart") -> Markup:
    """Return a picture with a text for those who do not see it."""
    box = f"0 0 {digits(width)} {digits(height)}"
    return element("svg", *parts, viewBox=box, role="img", aria_label=label, class_=kind)


def line_path(x: Array, y: Array) -> str:
    """Return a path through points; a NaN breaks it."""
    parts = []
    pen = "M"
    for one, two in zip(x.tolist(), y.tolist(), strict=True):
        if one != one or two != two:
            pen = "M"
            continue
        parts.append(f"{pen}{digits(one)} {digits(two)}")
        pen = "L"
    return "".join(parts)


def label(words: Any, x: float, y: float, *, anchor: str = "start", kind: str | None = None) -> Markup:
    """Return a text at a point."""
    return element("text", words, x=digits(x), y=digits(y), text_anchor=anchor, class_=kind)


def rule(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """Return a straight line."""
    return element("path", d=f"M{digits(x1)} {digits(y1)}L{digits(x2)} {digits(y2)}", class_=kind)


class Chart:
    """A frame with an axis below and one on the left."""

    def __init__(
        self, width: float, height: float, *, left: float = 52, bottom: float = 40, top: float = 14, right: float = 14
    ) -> None:
        self.width = width
        self.height = height
        self.left = left
        self.right = width - right
        self.top = top
        self.bottom = height - bottom
        self.parts: list[Markup] = []
        self._x: Scale = lambda value: value
        self._y: Scale = lambda value: value
        self._x_ends = (0.0, 1.0)
        self._y_ends = (0.0, 1.0)

    def set_x(self, low: float, high: float) -> None:
        """Let the axis below go from low to high."""
        self._x_ends = (low, high)

    def set_y(self, low: float, high: float, scale: Scale | None = None) -> None:
        """Let the axis on the left go from low, at the bottom, to high, at the top, after a function of the values."""
        self._y = scale or self._y
        self._y_ends = (float(self._y(low)), float(self._y(high)))

    def x(self, value: Any) -> Any:
        """Return where values stand across, in pixels."""
        low, high = self._x_ends
        return self.left + (np.asarray(value, dtype=float) - low) / (high - low) * (self.right - self.left)

    def y(self, value: Any) -> Any:
        """Return where values stand upwards, in pixels from the top."""
        low, high = self._y_ends
        return self.bottom - (self._y(np.asarray(value, dtype=float)) - low) / (high - low) * (self.bottom - self.top)

    def add(self, part: Markup) -> None:
        """Put something into the chart, in pixels."""
        self.parts.append(part)

    def line(self, x: Any, y: Any, kind: str) -> None:
        """Draw a line through points; a NaN breaks it."""
        self.add(element("path", d=line_path(self.x(x), self.y(y)), class_=kind))

    def dots(self, x: Any, y: Any, radius: Any, kind: str) -> None:
        """Draw points, each with a radius in pixels."""
        for one, two, size in zip(*np.broadcast_arrays(self.x(x), self.y(y), radius), strict=True):
            self.add(element("circle", cx=digits(one), cy=digits(two), r=digits(size), class_=kind))

    def box(self, x1: Any, y1: Any, x2: Any, y2: Any, kind: str) -> None:
        """Fill a rectangle."""
        across = sorted([float(self.x(x1)), float(self.x(x2))])
        upward = sorted([float(self.y(y1)), float(self.y(y2))])
        self.add(
            element(
                "rect",
                x=digits(across[0]),
                y=digits(upward[0]),
                width=digits(across[1] - across[0]),
                height=digits(upward[1] - upward[0]),
                class_=kind,
            )
        )

    def axes(self, x_ticks: Sequence[Tick], y_ticks: Sequence[Tick], x_label: str, y_label: str) -> None:
        """Draw both axes with their ticks and what they show; lines at the ticks on the left go through the chart."""
        for tick in y_ticks:
            level = float(self.y(tick.at))
            self.add(rule(self.left, level, self.right, level, "grid"))
            self.add(label(tick.label, self.left - 6, level + 4, anchor="end"))
        self.add(rule(self.left, self.bottom, self.right, self.bottom, "axis"))
        for tick in x_ticks:
            place = float(self.x(tick.at))
            self.add(rule(place, self.bottom, place, self.bottom + 4, "axis"))
            self.add(label(tick.label, place, self.bottom + 17, anchor="middle"))
        self.add(label(x_label, 0.5 * (self.left + self.right), self.height - 5, anchor="middle", kind="faint"))
        self.add(label(y_label, 2, self.top - 3, kind="faint"))

    def picture(self, words: str) -> Markup:
        """Return the chart as SVG."""
        return svg(self.width, self.height, self.parts, words)
