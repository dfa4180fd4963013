"""Behind: which record is behind a released row, and what is kept of it. Nothing is read but that."""

from __future__ import annotations

import bisect
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from botorch_private.curator.service.outcomes import stored
from botorch_private.curator.service.parts.kept import Kept, opened_array
from botorch_private.curator.service.parts.layout import RECORDS, map_file, noise_file
from botorch_private.curator.service.question import LostError
from botorch_private.curator.service.schema import FolderFacts


class Behind:
    """What a folder whose release is in parts has of each record.

    Args:
        folder: The curator's folder.
        facts: What was settled when it was made, parts among it.

    Attributes:
        is_right: Whether a file of the folder still holds what it held; a server says how that is found.
    """

    def __init__(self, folder: Path, facts: FolderFacts) -> None:
        assert facts.parts is not None
        self._folder, self._parts = folder, facts.parts
        self._names = [each.name for each in facts.outcomes]
        self._kept = Kept(folder / RECORDS, [start for _, start in facts.parts.sources], self._array)
        self.is_right: Callable[[str], bool] = lambda _: True

    def entry(self, row: int) -> tuple[int, int, str, Any, Any]:
        """A released row as the table ``record`` of the database has it; O(log parts).

        Raises:
            LostError: If a file that says so is not what it was.
        """
        part = bisect.bisect_right(self._parts.starts, row) - 1
        place = row - self._parts.starts[part]
        record = int(self._array(map_file(self._folder, part))[place])
        noise = None
        if self._parts.noised:
            each = self._array(noise_file(self._folder, part))[place].tolist()
            noise = json.dumps(each) if self._names else each[0]
        return row, record, self.identifier(record), self._outcome(record), noise

    def identifier(self, record: int) -> str:
        """What staff call a record."""
        if self._parts.named:
            return self._kept.text(record)
        number, place = self._kept.place(record)
        return f"{self._parts.sources[number][0]} record {place + 1}"

    def __getitem__(self, record: int) -> np.ndarray:
        """The raw features of a record, where a function measures."""
        return self._kept.features(record)

    def _outcome(self, record: int) -> Any:
        if not self._parts.known:
            return None
        found = self._kept.outcomes(record)
        if self._names:
            return stored(dict(zip(self._names, found, strict=True)))
        return None if math.isnan(found[0]) else found[0]

    def _array(self, path: Path) -> np.ndarray:
        if not self.is_right(path.relative_to(self._folder).as_posix()):
            raise LostError
        return opened_array(path)
