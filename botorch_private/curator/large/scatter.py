"""Scatter: noise the records of one file, and throw each row into a bucket at random."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from botorch_private.curator.cells.cells import Cells
from botorch_private.curator.features.column_look import ColumnLook, look_at
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.curator.large.finished import make_once
from botorch_private.curator.large.source import Reader, SourceFile
from botorch_private.curator.mechanisms.base import Maps, RowByRow
from botorch_private.curator.mechanisms.entropy import OSEntropy, SeededEntropy, below, permutation
from botorch_private.curator.publish import ranges_of

ROWS, RECORDS, OFFSETS = "rows.npy", "records.npy", "offsets.npy"
_BLOCK = 1024  # rows that are noised at a time
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
        looks: Digests of the records of each file, as `check_file` found them.
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
    looks: tuple[str, ...] = ()

    @property
    def ranges(self) -> PublicScaling | None:
        """Declared ranges of the features."""
        if self.reader.encoding is not None:
            return self.reader.encoding.scaling
        return ranges_of(self.domain)

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


class Look(NamedTuple):
    """What was seen of a file, for the curator's eyes only.

    Attributes:
        columns: How its records lie in the declared ranges; None where there are none.
        digest: Of all that a release can depend on.
    """

    columns: ColumnLook | None
    digest: str


def check_file(file: SourceFile, work: Work) -> Look:
    """Look at all records of a file before anything is spent.

    Raises:
        ValueError: If a record is unusable.
    """
    table, digest = _looked_at(file, work)
    return Look(None if work.ranges is None else look_at(table, work.ranges), digest)


def _looked_at(file: SourceFile, work: Work) -> tuple[Tensor, str]:
    """The checked records of a file, and a digest of them, and of their cells where they have some.

    It is of raw numbers, which are the same on every machine. A function that makes cells cannot be
    compared with another one but by what it says of the records.
    """
    table = work.domain.check(work.reader.read(file))
    found = hashlib.sha256(table.contiguous().numpy().tobytes())
    if isinstance(work.domain, Cells):
        found.update(work.domain.number_rows(table).contiguous().numpy().tobytes())
    return table, found.hexdigest()


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

    Raises:
        ValueError: If its records, or their cells, are not those that were looked at.
    """

    def fill(folder: Path) -> None:
        entropy = work.entropy(number)
        table, digest = _looked_at(file, work)
        if work.looks and digest != work.looks[number]:
            raise ValueError(
                f"source must stay as it was when the release began, and so must the cells of "
                f"mechanism, but the records of {file.path} are others"
            )
        rows, order = _noised(table, work, entropy)
        thrown = below(entropy, work.buckets, len(table))
        sorted_by = np.argsort(thrown, kind="stable")
        np.save(folder / ROWS, rows[sorted_by].astype(NUMPY_DTYPES[work.dtype], copy=False))
        np.save(folder / RECORDS, file.start + order[sorted_by])
        counts = np.bincount(thrown.astype(np.int64), minlength=work.buckets)
        np.save(folder / OFFSETS, np.concatenate([[0], np.cumsum(counts)]))

    make_once(work.piece(number), fill)
    return number


def _noised(
    table: Tensor, work: Work, entropy: OSEntropy | SeededEntropy
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the records of a file in a uniform order, and which record each one is of.

    A matrix product rounds a row in ways that depend on its place, and on how many rows there are: the
    last digits would tell a small file from a large one. So records are noised in blocks of one size,
    at uniform places among rows of zeros, which are thrown away.
    """
    m = len(table)
    order = permutation(entropy, -(-m // _BLOCK) * _BLOCK)
    rows = np.empty((m, work.width))
    done = 0
    for start in range(0, len(order), _BLOCK):
        some = order[start : start + _BLOCK]
        real = torch.from_numpy(some < m)
        scaled = work.scaled(table[torch.from_numpy(some)[real]])
        block = scaled.new_zeros((_BLOCK, scaled.shape[1]))
        block[real] = scaled
        drawn = work.mechanism.draw_rows(block, work.maps, entropy)[real]
        rows[done : done + len(drawn)] = drawn.numpy()
        done += len(drawn)
    return rows, order[order < m]
