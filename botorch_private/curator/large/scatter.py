"""Scatter: noise the records of one file, and throw each row into a bucket at random."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from botorch_private.curator.cells.cells import Cells
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.curator.large.finished import make_once
from botorch_private.curator.large.source import Reader, SourceFile
from botorch_private.curator.mechanisms.base import Maps, RowByRow
from botorch_private.curator.mechanisms.entropy import OSEntropy, SeededEntropy, below, permutation

ROWS, RECORDS, OFFSETS = "rows.npy", "records.npy", "offsets.npy"
NUMPY_DTYPES = {"float64": np.float64, "float32": np.float32, "int16": np.int16}


@dataclass(frozen=True)
class Work:
    """What every task of a release needs to know; nothing of the table.

    Attributes:
        folder: Of the work, for the curator alone: what is in it is in an order that tells of records.
        reader: How records are read.
        domain: What is declared of records.
        mechanism: How rows are released, one by one.
        maps: What all rows of the release share.
        buckets: Number of buckets.
        width: Columns of a released row.
        dtype: Of the released rows.
        seeds: One for each task, for tests and benchmarks, which voids the guarantee; None:
            operating-system entropy, which has no state that a fork or a second try could repeat.
    """

    folder: Path
    reader: Reader
    domain: PublicScaling | Cells
    mechanism: RowByRow
    maps: Maps
    buckets: int
    width: int
    dtype: str
    seeds: tuple[int, ...] | None = None

    def entropy(self, task: int) -> OSEntropy | SeededEntropy:
        """Randomness of one task."""
        if self.seeds is None:
            return OSEntropy()
        return SeededEntropy(torch.Generator().manual_seed(self.seeds[task]))

    def piece(self, number: int) -> Path:
        """Folder of what came of a file."""
        return self.folder / f"piece-{number:06d}"

    def scaled(self, table: Tensor) -> Tensor:
        """Checked records as the mechanism takes them."""
        return self.domain.scale_rows(table)


def check_file(file: SourceFile, work: Work) -> tuple[list[int], list[int]]:
    """Look at all records of a file before anything is spent.

    Returns:
        How many records lie below and above the range of each feature: for the curator's eyes only.

    Raises:
        ValueError: If a record is unusable.
    """
    table = work.domain.check(work.reader.read(file))
    if isinstance(work.domain, Cells):
        work.domain.number_rows(table)
    ranges = work.domain.ranges if isinstance(work.domain, Cells) else work.domain
    if ranges is None:
        return [], []
    below_range = (table < ranges.lower).sum(dim=0).tolist()
    return below_range, (table > ranges.upper).sum(dim=0).tolist()


def scatter(number: int, file: SourceFile, work: Work) -> int:
    """Release the records of one file into buckets; O(m (d + r)) time, memory of one file.

    Each row is thrown independently and uniformly. The rows of a bucket are put into a uniform order by
    `gather`: together that is exactly a uniform order of all rows, given how many each bucket holds.

    Args:
        number: Of the file.
        file: The file.
        work: As above.

    Returns:
        ``number``.
    """

    def fill(folder: Path) -> None:
        entropy = work.entropy(number)
        table = work.domain.check(work.reader.read(file))
        # Shuffled before anything else: matrix products round a row in ways that depend on its place.
        order = permutation(entropy, len(table))
        rows = work.mechanism.draw_rows(work.scaled(table[torch.from_numpy(order)]), work.maps, entropy)
        thrown = below(entropy, work.buckets, len(table))
        sorted_by = np.argsort(thrown, kind="stable")
        np.save(folder / ROWS, rows.numpy()[sorted_by].astype(NUMPY_DTYPES[work.dtype], copy=False))
        np.save(folder / RECORDS, file.start + order[sorted_by])
        counts = np.bincount(thrown.astype(np.int64), minlength=work.buckets)
        np.save(folder / OFFSETS, np.concatenate([[0], np.cumsum(counts)]))

    make_once(work.piece(number), fill)
    return number
