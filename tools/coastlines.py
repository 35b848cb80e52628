"""Makes the coastlines of the package: ``python tools/coastlines.py FOLDER`` writes ``src/mcgta/drawing/coastlines_*.gz``.

FOLDER holds ``land-110m.json`` and ``land-50m.json`` of the npm package world-atlas 2.0.2 (``npm pack world-atlas@2.0.2``): the
land of Natural Earth 4.1 (https://www.naturalearthdata.com), which is in the public domain, as TopoJSON.
The same files give the same bytes. :mod:`mcgta.drawing.coastlines` reads the result and describes its form.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mcgta.drawing.coastlines import FILES, STEPS_PER_DEGREE

PACKAGE = Path(__file__).parents[1] / "src" / "mcgta" / "drawing"
SOURCES = {"110m": "land-110m.json", "50m": "land-50m.json"}
EDGE_DEGREES = 0.002
"""Points nearer than this to the antimeridian or the south pole lie on the edge of the flat map."""

Points = NDArray[np.float64]
Steps = NDArray[np.int64]


def read_arcs(path: Path) -> list[Points]:
    """Return the arcs of a TopoJSON file, each (M, 2), longitude and latitude in degrees."""
    topology = json.loads(path.read_text())
    scale = np.array(topology["transform"]["scale"])
    translate = np.array(topology["transform"]["translate"])
    return [np.cumsum(arc, axis=0) * scale + translate for arc in topology["arcs"]]


def coasts_of(arc: Points) -> list[Steps]:
    """Cut out what lies along the edge of the flat map and is no coast; return the rest in whole steps."""
    on_meridian = np.abs(arc[:, 0]) > 180 - EDGE_DEGREES
    on_pole = arc[:, 1] < -90 + EDGE_DEGREES
    along_edge = (on_meridian[1:] & on_meridian[:-1]) | on_pole[1:] | on_pole[:-1]
    across_map = np.abs(np.diff(arc[:, 0])) > 180
    steps = np.round(arc * STEPS_PER_DEGREE).astype(np.int64)
    pieces = []
    begin = 0
    for cut in [*np.flatnonzero(along_edge | across_map).tolist(), len(arc) - 1]:
        piece = steps[begin : cut + 1]
        moved = np.r_[True, (np.diff(piece, axis=0) != 0).any(axis=1)]
        if np.count_nonzero(moved) > 1:
            pieces.append(piece[moved])
        begin = cut + 1
    return pieces


def varints(values: Iterable[int]) -> bytes:
    """Write integers, seven bits a byte, the low ones first, 128 added where more follow; signs alternate 0, -1, 1, -2 ..."""
    written = bytearray()
    for value in values:
        rest = 2 * value if value >= 0 else -2 * value - 1
        while rest > 127:
            written.append(128 | rest & 127)
            rest >>= 7
        written.append(rest)
    return bytes(written)


def encode(pieces: list[Steps]) -> bytes:
    """Return the file of pieces of coast, in the form that :mod:`mcgta.drawing.coastlines` describes."""
    sizes = [len(piece) for piece in pieces]
    moves: Steps = np.asarray(np.diff(np.concatenate(pieces), axis=0, prepend=0), dtype=np.int64)
    values = moves.T.ravel().tolist()
    return gzip.compress(varints([len(sizes), *sizes, *values]), 9, mtime=0)


def main(folder: str) -> None:
    """Write the files of both scales."""
    for scale, source in SOURCES.items():
        pieces = [piece for arc in read_arcs(Path(folder) / source) for piece in coasts_of(arc)]
        target = PACKAGE / FILES[scale]
        target.write_bytes(encode(pieces))
        print(f"{target.name}: {len(pieces)} arcs, {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
