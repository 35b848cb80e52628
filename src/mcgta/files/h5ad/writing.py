"""Writing h5ad: the file that was read with columns added to obs, or a new one."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from mcgta.drawing.palette import cluster_color
from mcgta.files.delimited.times import in_longest_unit
from mcgta.files.h5ad.elements import (
    INDEX,
    ORDER,
    load_h5py,
    make_frame,
    make_group,
    mark_root,
    set_order,
    write_array,
    write_categories,
)
from mcgta.files.sources import Source, scratch
from mcgta.files.table import Column, FileTable, as_objects

NOISE = -1
NOISE_CATEGORY = "noise"
"""What noise is called among the categories, as :func:`mcgta.cluster_anndata` calls it."""
_PARTS = ("layers", "obsm", "obsp", "uns", "varm", "varp")


@dataclass(frozen=True, eq=False)
class H5adOrigin:
    """The file that was read."""

    source: Source


def write_h5ad(table: FileTable, file: IO[bytes], added: Mapping[str, Column], path: str) -> None:
    """Write the file that was read with the added columns in obs, or one with all columns there.

    Added columns of whole numbers are clusters. They are written as categories of text, with colours in ``uns`` as scanpy has
    them.
    """
    h5py = load_h5py()
    if isinstance(table.origin, H5adOrigin):
        with table.origin.source.copied(".h5ad") as copy:
            with h5py.File(copy, "r+") as target:
                _add_columns(target, added)
            with open(copy, "rb") as written:
                shutil.copyfileobj(written, file)
        return
    with scratch(file, ".h5ad") as new, h5py.File(new, "w") as target:
        _make_file(target, table)
        _add_columns(target, added)


def _make_file(target: Any, table: FileTable) -> None:
    """Write the columns of a table into obs, and its points into obsm."""
    mark_root(target)
    obs = make_frame(target, "obs", as_objects([str(row) for row in range(table.n_rows)]))
    make_frame(target, "var", as_objects([]))
    for part in _PARTS:
        make_group(target, part)
    keys: list[str] = []
    for name, column in table.columns.items():
        keys.append(_free_key(name, [INDEX, *keys]))
        _write_column(obs, keys[-1], column)
    set_order(obs, keys)
    if table.geometry is not None:
        axes = (table.geometry.x, table.geometry.y, table.geometry.z)
        write_array(target["obsm"], "spatial", np.column_stack([axis for axis in axes if axis is not None]))


def _free_key(name: str, taken: list[str]) -> str:
    """Return a column's name as HDF5 can have it: a slash would make a folder, and a dot is the folder itself."""
    key = name.replace("/", "_")
    while key in ("", ".", "..") or key in taken:
        key += "_"
    return key


def _write_column(obs: Any, name: str, column: Column) -> None:
    """Write a column; texts are categories, since others cannot be missing, and times are written as text."""
    if column.dtype.kind == "M":
        texts = np.datetime_as_string(in_longest_unit(column))
        column = as_objects([None if text == "NaT" else text for text in texts.tolist()])
    if column.dtype.kind in "OU":
        items = [None if item is None else str(item) for item in column.tolist()]
        known = sorted({item for item in items if item is not None})
        place = {text: k for k, text in enumerate(known)}
        write_categories(obs, name, np.array([-1 if item is None else place[item] for item in items]), known)
    else:
        write_array(obs, name, column)


def _add_columns(target: Any, added: Mapping[str, Column]) -> None:
    obs = target["obs"]
    for name, column in added.items():
        values = np.asarray(column)
        if values.dtype.kind in "iu":
            _write_clusters(target, name, values)
        else:
            _write_column(obs, name, values)
    set_order(obs, [*(str(name) for name in obs.attrs.get(ORDER, [])), *added])


def _write_clusters(target: Any, name: str, labels: Column) -> None:
    """Write clusters as categories in the order of their numbers, noise last, and their colours."""
    numbers = sorted({*labels.tolist()}, key=lambda label: (label == NOISE, label))
    place = {label: code for code, label in enumerate(numbers)}
    codes = np.array([place[label] for label in labels.tolist()])
    write_categories(
        target["obs"], name, codes, [NOISE_CATEGORY if label == NOISE else str(label) for label in numbers]
    )
    uns = make_group(target, "uns")
    key = f"{name}_colors"
    if key in uns:
        del uns[key]
    write_array(uns, key, as_objects([cluster_color(label) for label in numbers]))
