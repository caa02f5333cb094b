"""Tables as CSV, written part by part, so that any number of rows takes bounded memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    import pyarrow as pa


def write_csv(path: str | PathLike[str], schema: pa.Schema, parts: Iterable[pa.Table]) -> None:
    """Write tables one after the other, under one line of names; "no value" is empty.

    Parameters
    ----------
    path : path
        File to write.
    schema : pyarrow.Schema
        Columns of all parts.
    parts : iterable of pyarrow.Table

    Raises
    ------
    OSError
        If it cannot be written.
    """
    import pyarrow as pa
    from pyarrow import csv

    def plain(field: pa.Field) -> pa.Field:
        dtype = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        return pa.field(field.name, dtype)

    written = pa.schema([plain(field) for field in schema])
    options = csv.WriteOptions(quoting_style="needed", quoting_header="needed")
    with Path(path).open("wb") as file, csv.CSVWriter(file, written, write_options=options) as writer:
        for part in parts:
            writer.write_table(part.cast(written))
