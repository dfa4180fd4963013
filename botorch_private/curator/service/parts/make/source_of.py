"""Which files a table consists of, as it is named at the command line, and where its ledger is kept."""

from __future__ import annotations

import glob
from pathlib import Path

from botorch_private.curator.large.source import SourceFile, source_files


def files_of(table: Path) -> tuple[SourceFile, ...]:
    """The .parquet files of a folder, of a pattern, or one.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If one is not .parquet, or damaged.
    """
    if not _is_pattern(table):
        return source_files(table)
    found = sorted(glob.glob(str(table)))
    if not found:
        raise FileNotFoundError(f"table must be .parquet files, but none is like {table}")
    return source_files(found)


def ledger_place(table: Path) -> Path:
    """What the ledger of a table is kept beside: the folder of its files, or its one file."""
    if not _is_pattern(table):
        return table
    folder = table
    while _is_pattern(folder):
        folder = folder.parent
    return folder


def _is_pattern(table: Path) -> bool:
    return glob.has_magic(str(table)) and not table.exists()
