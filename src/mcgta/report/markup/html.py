"""HTML as values: every text is escaped where it enters, so that names of columns can do no harm."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from mcgta.plot.canvas import shorten

_VOID = frozenset({"br", "hr", "img", "input", "meta", "path", "rect", "circle", "line", "image", "col"})
"""Elements without content; those of SVG close themselves."""

_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that HTML does not allow, or that cannot be written as UTF-8."""

DASH = "\u2013"
"""Stands in a table where there is nothing."""

LONGEST_NAME = 60
"""Characters of a name that are written; of longer ones the middle is left out."""


class Markup(str):
    """HTML that is ready, and is not escaped again."""

    __slots__ = ()


def text(value: Any) -> Markup:
    """Return a text as HTML; markup stays as it is."""
    if isinstance(value, Markup):
        return value
    return Markup(escape(_UNSAFE.sub("\ufffd", str(value)), quote=True))


def element(tag: str, *children: Any, **attributes: Any) -> Markup:
    """Return an element with its children, of which None is left out.

    An attribute that ends in an underscore is written without it, and others with hyphens for underscores. True is an attribute
    without a value, None and False are none.
    """
    written = "".join(_write_attribute(name, value) for name, value in attributes.items())
    inner = join(children)
    if tag in _VOID and not inner:
        return Markup(f"<{tag}{written}/>")
    return Markup(f"<{tag}{written}>{inner}</{tag}>")


def join(parts: Iterable[Any], between: str = "") -> Markup:
    """Return texts and markup one after another."""
    return Markup(text(between).join(text(part) for part in parts if part is not None))


def named(name: Any) -> Markup:
    """Return a name that the user gave, shortened, and set apart so that its direction of writing stays its own."""
    return element("bdi", shorten(str(name), LONGEST_NAME))


def table(
    head: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    *,
    caption: Any = None,
    numbers: Sequence[int] = (),
    wide: Sequence[int] = (),
) -> Markup:
    """Return a table in a frame that scrolls where it is wide; the first cell of a row is its heading.

    ``numbers`` are the columns that are aligned on the right, ``wide`` those of longer texts.
    """
    right = frozenset(numbers)
    kinds = ["n" if k in right else "w" if k in wide else None for k in range(len(head))]
    top = element(
        "tr", *(element("th", cell, scope="col", class_=kind) for cell, kind in zip(head, kinds, strict=True))
    )
    body = [_row(cells, kinds) for cells in rows]
    return scrolling(
        element(
            "table",
            None if caption is None else element("caption", caption),
            element("thead", top),
            element("tbody", *body),
        ),
        "table" if caption is None else caption,
    )


def scrolling(inner: Markup, label: Any) -> Markup:
    """Return something wide in a frame that scrolls, by keyboard too."""
    return element("div", inner, class_="scroll", tabindex="0", role="group", aria_label=plain(label))


def plain(markup: Any) -> str:
    """Return the text of markup without its elements, for attributes; escaped again where it is used."""
    if not isinstance(markup, Markup):
        return str(markup)
    from html import unescape

    return unescape(re.sub("<[^>]*>", "", markup))


class Row(tuple[Any, ...]):
    """Cells of a row of a table that belongs to a cluster, by whose switch it is shown."""

    cluster: int

    def __new__(cls, cluster: int, cells: Iterable[Any]) -> Row:
        """Return the cells with their cluster, -1 for noise."""
        row = super().__new__(cls, cells)
        row.cluster = cluster
        return row


def _row(cells: Sequence[Any], kinds: Sequence[str | None]) -> Markup:
    first = element("th", cells[0], scope="row", class_=kinds[0])
    rest = (element("td", cell, class_=kind) for cell, kind in zip(cells[1:], kinds[1:], strict=True))
    cluster = cells.cluster if isinstance(cells, Row) else None
    return element("tr", first, *rest, data_cluster=cluster)


def _write_attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{text(value)}"'
