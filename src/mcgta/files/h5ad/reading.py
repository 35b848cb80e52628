"""Reading h5ad by the conventions of scanpy and squidpy: ``obsm["spatial"]`` is the position, X or its components features."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mcgta.files.format import Format
from mcgta.files.h5ad.elements import (
    INDEX,
    ORDER,
    frame_index,
    load_h5py,
    matrix_shape,
    read_element,
    read_matrix,
    size_of,
)
from mcgta.files.h5ad.writing import H5adOrigin, write_h5ad
from mcgta.files.problems import FileProblem, explaining
from mcgta.files.sources import Source
from mcgta.files.table import Column, FileTable, ReadColumn, Roles
from mcgta.runtime.memory import budget
from mcgta.runtime.sizes import say_size

MAX_GENES = 1000
"""Genes of X that are columns; of more, the components in obsm are."""
MANY_GENES = 50
"""From more genes than these on their components in obsm are the features, where they are there."""
SPATIAL = "spatial"
COMPONENTS = "X_pca"

_NAME = "h5ad"
_DAMAGED = (OSError, KeyError, ValueError, RuntimeError, TypeError, AttributeError, IndexError)


@dataclass
class _Cells:
    """The columns of a file of AnnData, as they are gathered.

    Attributes
    ----------
    file : name of the file
    n_rows : cells
    columns : by their names
    notes : sentences on what was left out or renamed
    others : names of elements of obs that are no columns
    """

    file: str
    n_rows: int
    columns: dict[str, ReadColumn] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def add(self, name: str, column: ReadColumn) -> str:
        """Add a column, under another name where it is taken, and return its name."""
        if len(column.values) != self.n_rows:
            raise FileProblem(f"{self.file}: column {name} has {len(column.values)} rows, and obs has {self.n_rows}")
        free = name
        number = 0
        while free in self.columns:
            number += 1
            free = f"{name}-{number}"
        self.columns[free] = column
        return free

    def add_matrix(self, names: Iterable[str], matrix: Column) -> tuple[str, ...]:
        """Add the columns of a matrix, and return their names."""
        return tuple(self.add(name, ReadColumn(matrix[:, k], "number")) for k, name in enumerate(names))


def read_h5ad(source: Source) -> FileTable:
    """Read the cells of a file of AnnData: their columns in obs, their positions, and their genes or components."""
    h5py = load_h5py()
    with (
        source.seekable() as raw,
        explaining(source.name, "h5ad", _DAMAGED),
        h5py.File(raw, "r") as file,
    ):
        if "obs" not in file or INDEX not in file["obs"].attrs:
            raise FileProblem(
                f"{source.name}: it has no frame 'obs' as AnnData writes it; read and write it by anndata"
            )
        _check_memory(file, source.name)
        cells = _read_obs(file["obs"], source.name)
        position = _read_obsm(file, SPATIAL, cells)
        features = _read_features(file, cells)
        group = _library(file, cells)
    return FileTable(
        name=source.name,
        format=_NAME,
        n_rows=cells.n_rows,
        columns={name: column.values for name, column in cells.columns.items()},
        kinds={name: column.kind for name, column in cells.columns.items()},
        sha256=source.sha256,
        origin=H5adOrigin(source),
        notes=tuple(cells.notes),
        declared=Roles(position=position, features=features, group=group),
        others=tuple(cells.others),
    )


def _check_memory(file: Any, name: str) -> None:
    """Refuse columns that do not fit into memory, before they are read."""
    size = size_of(file["obs"])
    size += sum(size_of(file["obsm"][key]) for key in (SPATIAL, COMPONENTS) if key in file.get("obsm", ()))
    if "X" in file and matrix_shape(file["X"])[-1] <= MAX_GENES:
        n_cells, n_genes = matrix_shape(file["X"])
        size += size_of(file["X"]) + 8 * n_cells * n_genes
    room = budget()
    if room is not None and size > room:
        raise FileProblem(f"{name}: its columns take {say_size(size)}, of which {say_size(room)} may be used")


def _read_obs(frame: Any, name: str) -> _Cells:
    index = frame_index(frame)
    if not index.size:
        raise FileProblem(f"{name}: obs has no row")
    cells = _Cells(name, len(index))
    called = str(frame.attrs[INDEX])
    texts = index if index.dtype.kind == "O" else index.astype(str).astype(object)
    cells.add("obs_names" if called == INDEX else called, ReadColumn(texts, "text"))
    for column in [str(column) for column in frame.attrs.get(ORDER, [])]:
        found = read_element(frame[column])
        if found is None:
            cells.others.append(column)
        else:
            cells.add(column, found)
    if cells.others:
        cells.notes.append(f"columns of obs that are neither numbers, flags nor text: {', '.join(cells.others)}")
    return cells


def _read_obsm(file: Any, key: str, cells: _Cells) -> tuple[str, ...]:
    """Add a matrix of obsm as columns, and return their names; () where it is not there."""
    if key not in file.get("obsm", ()):
        return ()
    item = file["obsm"][key]
    where = f"{cells.file}: obsm['{key}']"
    if not hasattr(item, "dtype") or item.ndim != 2:
        raise FileProblem(f"{where} must be a dense matrix of one row for each cell")
    matrix = read_matrix(item, where)
    return cells.add_matrix((f"{key}_{k}" for k in range(matrix.shape[1])), matrix)


def _read_features(file: Any, cells: _Cells) -> tuple[str, ...]:
    """Add genes or their components as columns, and return the names of those that are the features."""
    components = _read_obsm(file, COMPONENTS, cells)
    if "X" not in file:
        return components
    shape = matrix_shape(file["X"])
    if len(shape) != 2 or shape[0] != cells.n_rows:
        raise FileProblem(f"{cells.file}: X is of shape {shape}, and obs has {cells.n_rows} rows")
    n_genes = shape[1]
    if n_genes > MAX_GENES:
        if not components:
            raise FileProblem(
                f"{cells.file}: {n_genes:,} genes are too many features, at most {MAX_GENES:,}; compute components, which "
                f"scanpy.pp.pca(adata) writes into obsm['{COMPONENTS}'], or keep some genes"
            )
        cells.notes.append(
            f"of {n_genes:,} genes the {len(components)} components in obsm['{COMPONENTS}'] are the features"
        )
        return components
    names = [str(name) for name in frame_index(file["var"]).tolist()]
    genes = cells.add_matrix(names, read_matrix(file["X"], f"{cells.file}: X"))
    renamed = [f"{old} is called {new}" for old, new in zip(names, genes, strict=True) if old != new]
    cells.notes += [f"a second column called {said}" for said in renamed]
    if n_genes > MANY_GENES and components:
        cells.notes.append(
            f"the {len(components)} components in obsm['{COMPONENTS}'] are the features, not {n_genes} genes"
        )
        return components
    return genes or components


def _library(file: Any, cells: _Cells) -> str | None:
    """Return the column of the slide of each cell: the one that holds the names that ``uns["spatial"]`` has."""
    slides = file.get(f"uns/{SPATIAL}", ())
    if len(slides) < 2:
        return None
    fitting = [
        name
        for name, column in cells.columns.items()
        if column.kind == "text"
        and {*np.unique(column.values[[text is not None for text in column.values]])} == {*slides}
    ]
    return fitting[0] if len(fitting) == 1 else None


FORMAT = Format(name=_NAME, suffixes=(".h5ad",), read=read_h5ad, write=write_h5ad, extra="omics", packages=("h5py",))
