"""What a curator's folder keeps of each record beside its released row: file by file, in their order.

Nothing here reads the table again once the folder is made, so a file of it that was changed or removed
since misleads nobody. Each kind lies in arrays that give one record without the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from botorch_private._base.frames import OUTCOME_REMEDY
from botorch_private.curator.features.csv_shape import FIRST_ROW
from botorch_private.curator.features.encoding import Encoding
from botorch_private.curator.features.identifiers import look
from botorch_private.curator.features.tables import (
    read_encoded,
    read_identifiers,
    read_known,
    read_table,
    read_texts,
)
from botorch_private.curator.large.finished import make_once
from botorch_private.curator.large.source import SourceFile
from botorch_private.curator.service.parts.layout import ENDS, FEATURES, OUTCOMES, TEXTS, file_folder
from botorch_private.curator.service.parts.make.distinct import NAMES, PEOPLE, write_hashes


@dataclass(frozen=True)
class Beside:
    """What is read of a table beside the released features.

    Args:
        identifiers: Column with what staff call a record; None: its place in its file.
        outcomes: Columns with the outcomes of all records; empty: they are measured.
        known: Column with outcomes that are known of some; None: of none.
        person: Column that tells people apart; None: it is not asked.
        plausible: Range that known outcomes must lie in; None: any.
        features: Declared features, where a function measures; None elsewhere.
    """

    identifiers: str | None = None
    outcomes: tuple[str, ...] = ()
    known: str | None = None
    person: str | None = None
    plausible: tuple[float, float] | None = None
    features: Encoding | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no file needs to be read for it."""
        return self == Beside(plausible=self.plausible)


def keep_file(number: int, file: SourceFile, beside: Beside, kept: Path, hashes: Path) -> int:
    """Read what is kept of the records of one file, once; memory of one file.

    Args:
        number: Of the file.
        file: The file.
        beside: What is kept.
        kept: Folder of what stays.
        hashes: Folder of what is compared over all files, and then thrown away.

    Returns:
        How many outcomes are known.

    Raises:
        ValueError: If the file was changed, or a cell is unusable: by its place, not its text.
    """
    make_once(file_folder(kept, number), partial(_keep, file, beside))
    make_once(file_folder(hashes, number), partial(_hash_texts, file, beside, file_folder(kept, number)))
    outcomes = file_folder(kept, number) / OUTCOMES
    if beside.known is None or not outcomes.exists():
        return 0
    return int(np.isfinite(np.load(outcomes, mmap_mode="r")).sum())


def _hash_texts(file: SourceFile, beside: Beside, kept: Path, folder: Path) -> None:
    if beside.identifiers is not None:
        write_hashes(folder, NAMES, [look(text) for text in _kept_texts(kept)])
    if beside.person is not None:
        people = [look(text).casefold() for text in read_texts(file.path, beside.person)]
        file.require_unchanged(len(people))  # nor while it was read
        if "" in people:
            raise ValueError(
                f"person must be a column that names a person in every row, but row "
                f"{people.index('') + FIRST_ROW} of {file.path} shows nothing: give each record a "
                f"person there"
            )
        write_hashes(folder, PEOPLE, people)


def _kept_texts(kept: Path) -> list[str]:
    ends, texts = np.load(kept / ENDS).tolist(), np.load(kept / TEXTS).tobytes()
    return [texts[first:last].decode() for first, last in pairwise(ends)]


def _keep(file: SourceFile, beside: Beside, folder: Path) -> None:
    file.require_unchanged()
    if beside.identifiers is not None:
        _keep_texts(folder, read_identifiers(file.path, beside.identifiers))
    if beside.outcomes:
        table = read_table(file.path, beside.outcomes, remedy=OUTCOME_REMEDY)
        np.save(folder / OUTCOMES, table.numpy())
    if beside.known is not None:
        np.save(folder / OUTCOMES, _known(file, beside)[:, None])
    if beside.features is not None:
        np.save(folder / FEATURES, read_encoded(file.path, beside.features).numpy())
    file.require_unchanged()  # nor while it was read


def _keep_texts(folder: Path, texts: list[str]) -> None:
    encoded = [text.encode() for text in texts]
    np.save(folder / ENDS, np.cumsum([0, *map(len, encoded)]))
    np.save(folder / TEXTS, np.frombuffer(b"".join(encoded), dtype=np.uint8))


def _known(file: SourceFile, beside: Beside) -> Any:
    assert beside.known is not None
    known = read_known(file.path, beside.known).numpy()
    if beside.plausible is not None:
        low, high = beside.plausible
        wrong = (known < low) | (known > high)  # NaN is neither
        if wrong.any():
            raise ValueError(
                f"known must lie in the plausible range {low:g} ... {high:g}, but that in row "
                f"{int(wrong.argmax()) + FIRST_ROW} of {file.path} does not"
            )
    return known
