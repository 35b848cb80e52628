"""CSV, TSV and other delimited text."""

from __future__ import annotations

from mcgta.files.delimited.reading import read_delimited
from mcgta.files.delimited.writing import write_delimited
from mcgta.files.format import Format

FORMAT = Format(
    name="CSV",
    suffixes=(".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"),
    read=read_delimited,
    write=write_delimited,
)
