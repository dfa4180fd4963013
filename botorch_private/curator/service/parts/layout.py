"""Where things lie in a curator's folder whose release is in parts. Nothing here needs PyTorch."""

from __future__ import annotations

import os
import re
from pathlib import Path

RELEASE, MAP, RECORDS, NOISE = "release", "map", "records", "noise"
MANIFEST = "manifest.json"
# What lies in such a folder beside the files of any folder.
PART_OF_FOLDER = re.compile(
    r"(release|map|noise|records/file-[0-9]{6})/[A-Za-z0-9][A-Za-z0-9_-]*\.(parquet|json|npy)"
)
TEXTS, ENDS = "identifiers.npy", "identifiers-ends.npy"
OUTCOMES, FEATURES = "outcomes.npy", "features.npy"


def file_folder(folder: Path, number: int) -> Path:
    """What is kept of the records of one file of the table."""
    return folder / f"file-{number:06d}"


def map_file(folder: Path, part: int) -> Path:
    """Which record is behind each row of a part, as `RowMap` writes it."""
    return folder / MAP / f"map-{part:06d}.npy"


def noise_file(folder: Path, part: int) -> Path:
    """Noise of the answer about each row of a part."""
    return folder / NOISE / f"noise-{part:06d}.npy"


def names_of_files(paths: list[str]) -> list[str]:
    """What staff call the files of a table: their paths from the folder that all are in."""
    common = os.path.commonpath([os.path.dirname(path) for path in paths]) if paths else ""
    return [Path(os.path.relpath(path, common)).as_posix() for path in paths]
