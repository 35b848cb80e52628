"""Sphinx extension: the build fails if a page would load a script, style, font or picture from a network."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

LOADING_ATTRIBUTES = {
    "script": ("src",),
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "iframe": ("src",),
    "embed": ("src",),
    "object": ("data",),
}
"""Attributes whose address a browser loads without a click, by element. Those of ``link`` hang on its ``rel``."""

LOADING_LINKS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "modulepreload", "manifest"}
"""Values of ``rel`` for which a browser asks the address of a ``link``."""

_NETWORK = re.compile(r"(?:^|[\s,])(?:https?:)?//", re.IGNORECASE)
_STYLE_LOADS = re.compile(r"""(?:url\(\s*|@import\s+)["']?((?:https?:)?//[^"')\s;]+)""", re.IGNORECASE)


class _Loads(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        names = LOADING_ATTRIBUTES.get(tag, ())
        if tag == "link" and LOADING_LINKS & set(values.get("rel", "").lower().split()):
            names = ("href",)
        self.found += [values[name] for name in names if _NETWORK.search(values.get(name, ""))]
        self.found += _STYLE_LOADS.findall(values.get("style", ""))
        self.in_style = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self.in_style = False

    def handle_data(self, data: str) -> None:
        if self.in_style:
            self.found += _STYLE_LOADS.findall(data)


def loads_of_page(html: str) -> list[str]:
    """Return the network addresses that a browser would load to show this page; links that one clicks are none."""
    parser = _Loads()
    parser.feed(html)
    return parser.found


def loads_of_style(css: str) -> list[str]:
    """Return the network addresses that a style sheet loads."""
    return _STYLE_LOADS.findall(css)


def loads_of_site(folder: Path) -> list[str]:
    """Return what pages and style sheets below the folder load from a network, each with its file."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".html", ".css"):
            text = path.read_text(encoding="utf-8")
            addresses = loads_of_page(text) if path.suffix == ".html" else loads_of_style(text)
            found += [f"{path.relative_to(folder)} loads {address}" for address in addresses]
    return found


def refuse_network(app: Any, exception: Exception | None) -> None:
    """Raise if a page that was built loads anything from a network."""
    if exception is None and app.builder.format == "html":
        found = loads_of_site(Path(app.outdir))
        if found:
            from sphinx.errors import SphinxError  # the rest of this file can be tested without Sphinx

            raise SphinxError("pages must load nothing from a network: " + "; ".join(found))


def setup(app: Any) -> dict[str, Any]:
    """Look at the pages when they are built."""
    app.connect("build-finished", refuse_network)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
