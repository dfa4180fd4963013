"""Values of single records of a table in .parquet files, with the memory of a row group."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from botorch_private._base.file_name import utf8_name
from botorch_private._base.foreign import or_refuse
from botorch_private.curator.features.csv_shape import require_names
from botorch_private.curator.large.source import SourceFile


def require_columns(file: SourceFile, columns: Sequence[str]) -> None:
    """Refuse a file that was changed, or in which a column is missing or stands twice."""
    from pyarrow import parquet

    file.require_unchanged()
    path = Path(file.path)
    with utf8_name(path) as name:
        names = or_refuse(lambda: parquet.read_schema(name).names, lambda: _damaged(file))
    require_names(names, list(columns), path)


def values_at(file: SourceFile, row: int, columns: Sequence[str]) -> dict[str, Any]:
    """Values of one record, by column.

    Raises:
        ValueError: If the file was changed since the release was made, or cannot be read.
    """
    file.require_unchanged()
    found = or_refuse(lambda: _read(file.path, row, columns), lambda: _damaged(file))
    file.require_unchanged()  # nor while it was read
    return found


def _read(path: str, row: int, columns: Sequence[str]) -> dict[str, Any]:
    from pyarrow import parquet

    with utf8_name(Path(path)) as name, parquet.ParquetFile(name) as file:
        for group in range(file.metadata.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if row < rows:
                table = file.read_row_group(group, columns=list(columns))
                return {each: table.column(each)[row].as_py() for each in columns}
            row -= rows
    raise IndexError(row)


def _damaged(file: SourceFile) -> ValueError:
    return ValueError(f"{file.path} must be a whole .parquet file, but it is damaged or something else")
