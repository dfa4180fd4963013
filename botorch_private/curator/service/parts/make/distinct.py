"""Texts of a table that does not fit into memory, compared: which two are the same, how often one is.

Each file leaves the sorted hashes of its texts. They are compared in ranges of hashes, so that the
memory is that of one range. What a hash finds is looked at again where it matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from botorch_private.curator.large.source import SourceFile
from botorch_private.curator.service.parts.layout import file_folder

NAMES, PEOPLE = "names", "people"
_RANGE = 2**22  # hashes that are compared at a time


def write_hashes(folder: Path, what: str, texts: list[str]) -> None:
    """Write the hashes of the texts of a file, sorted, and where each text stands."""
    import pandas

    hashes = pandas.util.hash_array(  # pyright: ignore[reportAttributeAccessIssue]
        np.array(texts, dtype=object), categorize=False
    )
    order = np.argsort(hashes, kind="stable")
    np.save(folder / f"{what}.npy", hashes[order])
    np.save(folder / f"{what}-order.npy", order)


def same_hashes(
    folder: Path, what: str, files: Sequence[SourceFile]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Hashes in rising order and the record of each, range by range."""
    total = sum(file.rows for file in files)
    ranges = max(1, -(-total // _RANGE))
    tops = [np.uint64(-(-(i << 64) // ranges) - 1) for i in range(1, ranges + 1)]
    places = [file_folder(folder, number) for number in range(len(files))]
    ends = [
        [0, *np.searchsorted(np.load(place / f"{what}.npy", mmap_mode="r"), tops, "right").tolist()]
        for place in places
    ]
    for i in range(ranges):
        hashes, records = [], []
        for file, place, end in zip(files, places, ends, strict=True):
            here = slice(end[i], end[i + 1])
            hashes.append(np.load(place / f"{what}.npy", mmap_mode="r")[here])
            records.append(file.start + np.load(place / f"{what}-order.npy", mmap_mode="r")[here])
        found, behind = np.concatenate(hashes), np.concatenate(records)
        order = np.argsort(found, kind="stable")
        yield found[order], behind[order]


def first_repeat(
    folder: Path, files: Sequence[SourceFile], text_of: Callable[[int], str]
) -> tuple[int, int] | None:
    """Two records whose texts are the same, or None; ``text_of`` gives the text of a record."""
    for hashes, records in same_hashes(folder, NAMES, files):
        for i in np.flatnonzero(hashes[1:] == hashes[:-1]).tolist():
            j = i + 1  # of more than two with one hash, any two may be the same
            while j < len(hashes) and hashes[j] == hashes[i]:
                one, other = sorted((int(records[i]), int(records[j])))
                if text_of(one) == text_of(other):
                    return one, other
                j += 1
    return None


def most_of_one(folder: Path, files: Sequence[SourceFile]) -> int:
    """How many records the person has who has most; two with one hash are counted as one."""
    most = 0
    for hashes, _ in same_hashes(folder, PEOPLE, files):
        if len(hashes):
            most = max(most, int(np.unique(hashes, return_counts=True)[1].max()))
    return most
