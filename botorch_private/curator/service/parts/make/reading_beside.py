"""Read what is kept of records beside the release, before anybody is asked, and compare identifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from botorch_private._base.engine import Engine
from botorch_private._base.progress import tqdm
from botorch_private.curator.features.csv_shape import FIRST_ROW
from botorch_private.curator.features.identifiers import look
from botorch_private.curator.large.source import SourceFile
from botorch_private.curator.service.parts.kept import Kept
from botorch_private.curator.service.parts.make.beside import Beside, keep_file
from botorch_private.curator.service.parts.make.distinct import first_repeat, most_of_one
from botorch_private.curator.service.parts.make.making import Making


class Seen(NamedTuple):
    """What was seen of all records.

    Attributes:
        known: How many outcomes are known.
        most: Records of the person who has most; None: it was not asked.
    """

    known: int
    most: int | None


def read_beside(
    tasks: Engine, files: Sequence[SourceFile], beside: Beside, making: Making, *, progress: bool
) -> Seen:
    """Keep what is to be kept of each file; what an earlier call kept stays.

    Raises:
        ValueError: If a file was changed, a cell is unusable, no outcome is known though some should be,
            or two records are called the same: by their places.
    """
    if beside.is_empty:
        return Seen(0, None)
    for folder in (making.records, making.hashes):
        folder.mkdir(mode=0o700, exist_ok=True)
    arguments = list(enumerate(files))
    found = tasks.run(keep_file, arguments, beside, making.records, making.hashes)
    bar = tqdm(
        found, total=len(files), desc="read", disable=not progress, unit="file", leave=False, delay=1
    )
    known = sum(count for _, count in bar)
    if beside.known is not None and not known:
        raise ValueError("known must have at least one outcome, but all are missing")
    if beside.outcomes:
        known = sum(file.rows for file in files)
    if beside.identifiers is not None:
        _refuse_repeat(files, making)
    return Seen(known, None if beside.person is None else most_of_one(making.hashes, files))


def _refuse_repeat(files: Sequence[SourceFile], making: Making) -> None:
    kept = Kept(making.records, [file.start for file in files])
    found = first_repeat(making.hashes, files, lambda record: look(kept.text(record)))
    if found is None:
        return
    one, other = (
        f"row {place + FIRST_ROW} of {files[number].path}" for number, place in map(kept.place, found)
    )
    raise ValueError(
        f"identifiers must look different, but those in {one} and {other} are the same or look alike: "
        f"whoever measures could take one record for the other"
    )
