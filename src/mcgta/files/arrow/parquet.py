"""Parquet, and GeoParquet, by pyarrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO

from mcgta.files.arrow.tables import explaining_arrow, make_arrow, read_arrow, refuse_large
from mcgta.files.format import Format
from mcgta.files.problems import need
from mcgta.files.sources import Source
from mcgta.files.table import Column, FileTable

_NAME = "Parquet"
_CELL_BYTES = 8


def read_parquet(source: Source) -> FileTable:
    """Read a Parquet file; its geometries, where it has them, are the positions."""
    parquet = need("pyarrow.parquet", _NAME, "files")
    with source.seekable() as file, explaining_arrow(source.name, "Parquet"):
        opened = parquet.ParquetFile(file, page_checksum_verification=True)
        metadata = opened.metadata
        stored = sum(metadata.row_group(k).total_byte_size for k in range(metadata.num_row_groups))
        refuse_large(max(stored, _CELL_BYTES * metadata.num_rows * metadata.num_columns), source.name)
        arrow = opened.read()
    return read_arrow(arrow, source, _NAME)


def write_parquet(table: FileTable, file: IO[bytes], added: Mapping[str, Column], path: str) -> None:
    """Write the columns of a table with the types and metadata that they were read with, and the added ones."""
    need("pyarrow.parquet", _NAME, "files").write_table(make_arrow(table, added), file)


FORMAT = Format(
    name=_NAME,
    suffixes=(".parquet", ".pq"),
    read=read_parquet,
    write=write_parquet,
    extra="files",
    packages=("pyarrow",),
)
