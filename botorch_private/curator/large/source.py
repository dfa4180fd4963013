"""The files of a table that is released in parts: which there are, and how they are read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from botorch_private._base.file_name import utf8_name
from botorch_private._base.foreign import or_refuse
from botorch_private.curator.features.encoding import Encoding
from botorch_private.curator.features.tables import read_encoded, read_table


@dataclass(frozen=True)
class SourceFile:
    """One .parquet file of a table.

    Attributes:
        path: Absolute.
        rows: Records that it holds.
        start: Number of its first record, over all files.
        size: Bytes.
        modified: When it was changed last, in nanoseconds.
    """

    path: str
    rows: int
    start: int
    size: int
    modified: int

    def require_unchanged(self, rows: int | None = None) -> None:
        """Refuse a file that is not what it was when the release began."""
        facts = Path(self.path).stat()
        same = (facts.st_size, facts.st_mtime_ns) == (self.size, self.modified)
        if not same or rows not in (None, self.rows):
            raise ValueError(
                f"source must stay as it was when the release began, but {self.path} was changed"
            )


@dataclass(frozen=True)
class Reader:
    """How records are read from a file.

    Attributes:
        columns: Names of the declared features, in their order.
        encoding: What turns texts and yes/no into numbers; None: all are numbers.
    """

    columns: tuple[str, ...]
    encoding: Encoding | None = None

    def read(self, file: SourceFile) -> Tensor:
        """All records of a file, ``m x d`` raw numbers in float64.

        Raises:
            ValueError: If the file was changed, or a cell is unusable: by its place, not its text.
        """
        file.require_unchanged()
        if self.encoding is not None:
            table = read_encoded(file.path, self.encoding)
        else:
            table = read_table(file.path, self.columns)
        file.require_unchanged(len(table))  # nor while it was read
        return table


def source_files(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
) -> tuple[SourceFile, ...]:
    """Look up the files of a table, without reading a record.

    Args:
        source: A folder, whose .parquet files are taken by name; one file; or several, in this order.

    Raises:
        FileNotFoundError: If there is no such file, or the folder holds none.
        ImportError: If pyarrow is not installed.
        ValueError: If a file is not .parquet, is damaged, or stands twice.
    """
    if isinstance(source, str | os.PathLike):
        folder = Path(source)
        given = sorted(folder.glob("*.parquet")) if folder.is_dir() else [folder]
        if not given:
            raise FileNotFoundError(f"source must hold .parquet files, but {folder} holds none")
    else:
        given = [Path(each) for each in source]
        if not given:
            raise FileNotFoundError("source must name .parquet files, got none")
    paths = [each.resolve() for each in given]
    if len(set(paths)) < len(paths):
        raise ValueError("source must name each file once: a record that stands twice is released twice")
    files, start = [], 0
    for path in paths:
        if path.suffix.lower() != ".parquet":
            raise ValueError(f"source must be .parquet files, got {path}: save the table as .parquet")
        if not path.is_file():
            raise FileNotFoundError(f"source must be a file that exists, but there is no {path}")
        facts, rows = path.stat(), _rows(path)
        if rows:
            files.append(SourceFile(str(path), rows, start, facts.st_size, facts.st_mtime_ns))
        start += rows
    return tuple(files)


def _rows(path: Path) -> int:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            ".parquet tables need pandas and pyarrow: pip install 'botorch-private[parquet]'"
        ) from error
    with utf8_name(path) as name:
        return or_refuse(
            lambda: parquet.read_metadata(name).num_rows,
            lambda: ValueError(f"{path} must be a whole .parquet file, but it is damaged"),
        )
