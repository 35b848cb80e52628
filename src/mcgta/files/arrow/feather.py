"""Feather, which is Arrow's own format of files, and Arrow's streams, by pyarrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from mcgta.files.arrow.columns import load_pyarrow
from mcgta.files.arrow.tables import explaining_arrow, make_arrow, read_arrow, refuse_large
from mcgta.files.format import Format
from mcgta.files.problems import FileProblem, need
from mcgta.files.sources import Source
from mcgta.files.table import Column, FileTable

_NAME = "Feather"
_FILE_MAGIC = b"ARROW1"
_FIRST_VERSION_MAGIC = b"FEA1"
_COMPRESSION = "lz4"


def read_feather(source: Source) -> FileTable:
    """Read an Arrow file or stream."""
    pa = load_pyarrow()
    ipc = need("pyarrow.ipc", _NAME, "files")
    with source.seekable() as file, explaining_arrow(source.name, "Feather"):
        magic = file.read(len(_FILE_MAGIC))
        file.seek(0)
        if magic.startswith(_FIRST_VERSION_MAGIC):
            raise FileProblem(
                f"{source.name}: the first version of Feather, which is read no more; write it as Parquet"
            )
        if magic == _FILE_MAGIC:
            reader = ipc.open_file(file)
            batches = _gather((reader.get_batch(k) for k in range(reader.num_record_batches)), source.name)
        else:
            reader = ipc.open_stream(file)
            batches = _gather(reader, source.name)
        arrow = pa.Table.from_batches(batches, schema=reader.schema)
    return read_arrow(arrow, source, _NAME)


def _gather(batches: Any, name: str) -> list[Any]:
    """Return batches, each of which is found to be sound before its size is asked, and that to fit into memory."""
    gathered = []
    size = 0
    for batch in batches:
        batch.validate(full=True)
        size += batch.nbytes
        refuse_large(size, name)
        gathered.append(batch)
    return gathered


def write_feather(table: FileTable, file: IO[bytes], added: Mapping[str, Column], path: str) -> None:
    """Write the columns of a table with the types and metadata that they were read with, and the added ones."""
    pa = load_pyarrow()
    ipc = need("pyarrow.ipc", _NAME, "files")
    arrow = make_arrow(table, added).unify_dictionaries()
    packed = _COMPRESSION if pa.Codec.is_available(_COMPRESSION) else None
    with ipc.new_file(file, arrow.schema, options=ipc.IpcWriteOptions(compression=packed)) as writer:
        writer.write_table(arrow)


FORMAT = Format(
    name=_NAME,
    suffixes=(".feather", ".arrow"),
    read=read_feather,
    write=write_feather,
    extra="files",
    packages=("pyarrow",),
)
