"""Gather: the rows of one bucket, in a uniform order, as a file of the release."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import numpy as np

from botorch_private.curator.large.finished import make_once
from botorch_private.curator.large.scatter import NUMPY_DTYPES, OFFSETS, RECORDS, ROWS, Work
from botorch_private.curator.mechanisms.entropy import permutation
from botorch_private.exchange.released_parts import Part, column_names

PART, MAP, FACTS = "part.parquet", "map.npy", "facts.json"


def bucket_folder(folder: Path, bucket: int) -> Path:
    """Where what came of a bucket is kept until all are there."""
    return folder / f"bucket-{bucket:06d}"


def gather(bucket: int, pieces: int, work: Work) -> Part | None:
    """Put the rows of a bucket into a uniform order, and write them; memory of one bucket.

    Args:
        bucket: Its number.
        pieces: How many files were scattered.
        work: As in `scatter`.

    Returns:
        The part, by its name in the release; None where nothing fell into the bucket.
    """
    place = bucket_folder(work.folder, bucket)

    def fill(folder: Path) -> None:
        found = [_slice(work.piece(number), bucket) for number in range(pieces)]
        count = sum(len(records) for _, records in found)
        rows = np.empty((count, work.width), dtype=NUMPY_DTYPES[work.dtype])
        records = np.empty(count, dtype=np.int64)
        start = 0
        for some_rows, some_records in found:
            here = slice(start, start + len(some_records))
            rows[here], records[here] = some_rows, some_records
            start += len(some_records)
        order = permutation(work.entropy(pieces + bucket), count)
        if count:
            _write(folder / PART, rows[order], labels=work.dtype == "int16")
        np.save(folder / MAP, records[order])
        os.chmod(folder / MAP, 0o600)
        digest = _sha256(folder / PART) if count else ""
        (folder / FACTS).write_text(json.dumps({"rows": count, "sha256": digest}), encoding="utf-8")

    make_once(place, fill)
    facts = json.loads((place / FACTS).read_text(encoding="utf-8"))
    return Part(f"part-{bucket:06d}.parquet", **facts) if facts["rows"] else None


def _slice(piece: Path, bucket: int) -> tuple[np.ndarray, np.ndarray]:
    """What a file threw into a bucket; nothing else is read."""
    first, last = np.load(piece / OFFSETS)[bucket : bucket + 2].tolist()
    return tuple(np.load(piece / name, mmap_mode="r")[first:last] for name in (ROWS, RECORDS))  # type: ignore[return-value]


def _write(path: Path, rows: np.ndarray, *, labels: bool) -> None:
    import pyarrow
    from pyarrow import parquet

    names = column_names(rows.shape[1], labels=labels)
    columns = [pyarrow.array(np.ascontiguousarray(rows[:, i])) for i in range(rows.shape[1])]
    table = pyarrow.table(columns, names=names)
    # Noise does not compress, and the smallest and largest of it are nobody's business to store twice.
    parquet.write_table(table, path, compression="none", use_dictionary=False, write_statistics=False)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
