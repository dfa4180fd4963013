"""RowMap: which record is behind a released row, for a release in parts. The curator's side only."""

from __future__ import annotations

import bisect
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.versioned import FileFormat
from botorch_private._base.whole_file import write_whole
from botorch_private.curator.large.source import SourceFile
from botorch_private.curator.large.source_values import require_columns, values_at

FORMAT = FileFormat("botorch-private row map", 1, "the map of a release in parts")
FACTS = "map.json"


class Place(NamedTuple):
    """Where a record stands in the table.

    Attributes:
        path: Of the file.
        row: Position in it, from 0.
        record: Number over all files, from 0.
    """

    path: str
    row: int
    record: int


@dataclass(frozen=True, eq=False)
class RowMap:
    """Released row -> record, in a folder that only the curator can read.

    Args:
        folder: Where it is.
        files: Of the table.
        starts: First released row of each part, and ``n``.
        release: Identity of the release that it is of.

    Example:
        >>> import pandas
        >>> named = PublicScaling([0.0, 0.0], [1.0, 1.0], names=["age", "weight"])
        >>> pandas.DataFrame(records.numpy(), columns=named.names).to_parquet("stays.parquet")
        >>> parts = release_parquet("stays.parquet", "released", named, mechanism, progress=False)
        >>> places = RowMap.load("released.map")
        >>> path, row, record = places.place(0)
        >>> row == record == int(places.permutation[0])
        True
    """

    folder: Path
    files: tuple[SourceFile, ...]
    starts: tuple[int, ...]
    release: str

    def place(self, index: int) -> Place:
        """Where the record behind a released row stands; O(log parts), one number is read."""
        row = validate.index(self.starts[-1], index=index)
        part = bisect.bisect_right(self.starts, row) - 1
        records = np.load(self.folder / self.file_name(part), mmap_mode="r")
        record = int(records[row - self.starts[part]])
        file = self.files[bisect.bisect_right([each.start for each in self.files], record) - 1]
        return Place(file.path, record - file.start, record)

    def read(self, place: Place, columns: Sequence[str]) -> dict[str, Any]:
        """Values of a record, from its file; the memory of a row group of that file.

        Args:
            place: Where it stands, as `place` says.
            columns: Names of the columns, released or not.

        Returns:
            The values by column, None where a cell is empty.

        Raises:
            ValueError: If the file was changed since the release was made, has no such column, or cannot
                be read.
        """
        number = bisect.bisect_right([each.start for each in self.files], place.record) - 1
        require_columns(self.files[number], columns)
        return values_at(self.files[number], place.row, columns)

    @property
    def permutation(self) -> Tensor:
        """Released row -> record, ``n`` integers, in memory."""
        parts = [np.load(self.folder / self.file_name(i)) for i in range(len(self.starts) - 1)]
        return torch.from_numpy(np.concatenate(parts))

    @staticmethod
    def file_name(part: int) -> str:
        """Of the map of one part."""
        return f"map-{part:06d}.npy"

    def save(self) -> None:
        """Write what there is beside the maps of the parts."""
        values = {
            "files": [asdict(file) for file in self.files],
            "starts": list(self.starts),
            "release": self.release,
        }
        write_whole(self.folder / FACTS, FORMAT.dumps(values, indent=1))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> RowMap:
        """Read the map in a folder.

        Raises:
            FileNotFoundError: If there is none.
            ValueError: If it is damaged, or of a newer version.
        """
        file = Path(path) / FACTS
        if not file.is_file():
            raise FileNotFoundError(
                f"path must be the map of a release in parts, but there is no {file}"
            )
        values = FORMAT.loads(file.read_bytes(), file)
        try:
            files = tuple(SourceFile(**each) for each in values["files"])
            return cls(Path(path), files, tuple(values["starts"]), str(values["release"]))
        except (KeyError, TypeError):
            raise FORMAT.refusal(file, "is damaged") from None

    def __repr__(self) -> str:
        return f"RowMap(n={self.starts[-1]}, files={len(self.files)})"
