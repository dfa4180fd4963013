"""Making: what a folder of a release in parts is until it has its name: a killed call goes on there."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from botorch_private._base.versioned import FileFormat
from botorch_private._base.whole_file import sync_folder, write_whole
from botorch_private.curator.large.source import SourceFile
from botorch_private.curator.service.folder import FOLDER_MODE
from botorch_private.curator.service.parts.layout import MANIFEST, MAP, RECORDS, RELEASE
from botorch_private.curator.service.parts.make.beside import Beside
from botorch_private.privacy.guarantee import PrivacyGuarantee

_NOTE = "begun.json"
FORMAT = FileFormat("botorch-private folder begun", 1, "what an unfinished folder was begun with")


@dataclass(frozen=True)
class Begun:
    """What a folder was begun with, which must be the same in a call that goes on.

    Attributes:
        digest: SHA-256 of all of it.
    """

    digest: str

    @classmethod
    def of(
        cls,
        files: Sequence[SourceFile],
        ranges: Path,
        cells: Path | None,
        first: PrivacyGuarantee,
        answers: PrivacyGuarantee | None,
        beside: Beside,
        measured_by: str,
    ) -> Begun:
        """That of a call."""
        columns = (beside.identifiers, beside.outcomes, beside.known, beside.person, beside.plausible)
        values = {
            "files": [asdict(file) for file in files],
            "ranges": hashlib.sha256(ranges.read_bytes()).hexdigest(),
            "cells": None if cells is None else hashlib.sha256(cells.read_bytes()).hexdigest(),
            "promises": [None if each is None else each.to_json() for each in (first, answers)],
            "columns": columns,
            "measured_by": measured_by,
        }
        return cls(hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest())


class Making:
    """A folder beside the one that it will be, for the curator alone.

    Args:
        folder: The one that it will be.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.abspath(folder))
        self.path = self.folder.with_name(f"{self.folder.name}.making")

    @property
    def records(self) -> Path:
        """What is kept of the records."""
        return self.path / RECORDS

    @property
    def hashes(self) -> Path:
        """What is compared over all files, and then thrown away."""
        return self.path / "hashes"

    @property
    def own_ledger(self) -> Path:
        """A ledger of this folder alone, where there is no place for one beside the table."""
        return self.path / "ledger.json"

    @property
    def is_charged(self) -> bool:
        """Whether an earlier call agreed to the release."""
        work = self.path / f"{RELEASE}.work" / "plan.json"
        return work.exists() or (self.path / RELEASE / MANIFEST).exists()

    @contextmanager
    def begin(self, begun: Begun) -> Iterator[None]:
        """Begin, or go on with what was begun so; what was not agreed to is removed at the end.

        Raises:
            ValueError: If a release was begun with other arguments.
        """
        note = self.path / _NOTE
        if self.path.exists():
            if not note.is_file() and any(self.path.glob("[!.]*")):
                raise FileExistsError(
                    f"{self.path} must be free, since the folder is made there, but something else is"
                )
            found = FORMAT.loads(note.read_bytes(), note)["digest"] if note.is_file() else None
            if found != begun.digest:
                if self.is_charged:
                    raise ValueError(
                        f"{self.path} holds a release that was begun with other files, columns or "
                        f"settings: make the same call again, or remove it to begin anew, which is "
                        f"charged anew"
                    )
                shutil.rmtree(self.path)
        self.path.mkdir(mode=FOLDER_MODE, exist_ok=True)
        os.chmod(self.path, FOLDER_MODE)
        write_whole(note, FORMAT.dumps({"digest": begun.digest}))
        try:
            yield
        finally:
            if self.path.exists() and not self.is_charged:
                shutil.rmtree(self.path, ignore_errors=True)

    def give_name(self) -> None:
        """Throw away what only served the making, and give the folder its name."""
        for name in (f"{RELEASE}.work", "hashes"):
            shutil.rmtree(self.path / name, ignore_errors=True)
        for name in (f"{RELEASE}.work.lock", "ledger.json.lock"):
            (self.path / name).unlink(missing_ok=True)
        sync_folder(self.path)
        os.rename(self.path, self.folder)
        (self.folder / _NOTE).unlink(missing_ok=True)  # not before: a killed call must find it
        sync_folder(self.folder.parent)

    def settle_map(self) -> None:
        """Put the map of the release where a folder has it."""
        beside = self.path / f"{RELEASE}.{MAP}"
        if beside.exists():
            os.rename(beside, self.path / MAP)
