"""Kept: what lies of one record in the files that were kept of a table, without the others."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from botorch_private.curator.service.parts.layout import ENDS, FEATURES, OUTCOMES, TEXTS, file_folder


class Kept:
    """Reads one record of the arrays that `keep_file` wrote.

    Args:
        folder: Where they lie.
        starts: First record of each file of the table.
        opened: Opens an array; None: as it lies there.
    """

    def __init__(
        self,
        folder: Path,
        starts: Sequence[int],
        opened: Callable[[Path], np.ndarray] | None = None,
    ) -> None:
        self._folder, self._starts = folder, list(starts)
        self._opened = opened_array if opened is None else opened

    def place(self, record: int) -> tuple[int, int]:
        """Number of a record's file, and its place in it."""
        number = bisect.bisect_right(self._starts, record) - 1
        return number, record - self._starts[number]

    def text(self, record: int) -> str:
        """What staff call a record."""
        number, place = self.place(record)
        folder = file_folder(self._folder, number)
        first, last = self._opened(folder / ENDS)[place : place + 2].tolist()
        return self._opened(folder / TEXTS)[first:last].tobytes().decode()

    def outcomes(self, record: int) -> list[float]:
        """Outcomes of a record that are known; NaN where one is not."""
        return self._one(record, OUTCOMES).tolist()

    def features(self, record: int) -> np.ndarray:
        """Raw features of a record."""
        return np.array(self._one(record, FEATURES))

    def _one(self, record: int, what: str) -> Any:
        number, place = self.place(record)
        return self._opened(file_folder(self._folder, number) / what)[place]


def opened_array(path: Path) -> np.ndarray:
    """An array in a file, of which nothing is read yet."""
    return np.load(path, mmap_mode="r", allow_pickle=False)
