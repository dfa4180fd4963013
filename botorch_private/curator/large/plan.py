"""Plan: what a release in parts was begun with, so that a killed one goes on and is charged once."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from botorch_private._base.versioned import FileFormat
from botorch_private._base.whole_file import write_whole
from botorch_private.curator.large.source import SourceFile
from botorch_private.curator.mechanisms.base import Maps

FORMAT = FileFormat("botorch-private release begun", 1, "what an unfinished release was begun with")
CHECKED, CHARGED, WHOLE = "checked", "charged", "whole"
_NAME, _BEFORE, _AFTER = "plan.json", "before.npy", "after.npy"


@dataclass(frozen=True)
class Plan:
    """What is released, from which files, in how many buckets.

    Attributes:
        files: Of the table.
        columns: Names of the features.
        buckets: Number of parts that rows are thrown into.
        width: Columns of a released row.
        dtype: Of the released rows.
        settings: Public settings of the release, as text.
        ranges: Ends of the declared ranges, which the settings have no word of: rows of one release
            must be scaled alike. Empty where there are none.
        stage: `CHECKED`: all records were looked at. `CHARGED`: the ledger has it. `WHOLE`: nothing is
            missing but its name, and nothing is drawn any more.
        begun: When, to the microsecond: what the ledger's entry of this release is known by.
        charges: Whether there was a ledger.
        looks: A digest of the records of each file, as they were when they were looked at.
        maps: A digest of the public maps, once they are drawn.
        identity: Of the release, once it is whole.
    """

    files: tuple[SourceFile, ...]
    columns: tuple[str, ...]
    buckets: int
    width: int
    dtype: str
    settings: str
    ranges: tuple[tuple[float, float], ...] = ()
    stage: str = CHECKED
    begun: str = ""
    charges: bool = False
    looks: tuple[str, ...] = ()
    maps: str = ""
    identity: str = ""

    @property
    def n(self) -> int:
        """Records in all."""
        return sum(file.rows for file in self.files)

    @property
    def digest(self) -> str:
        """Of what must be the same in a later call."""
        since = {
            "stage": CHECKED,
            "begun": "",
            "charges": False,
            "looks": (),
            "maps": "",
            "identity": "",
        }
        same = asdict(replace(self, **since))
        return hashlib.sha256(json.dumps(same, sort_keys=True).encode()).hexdigest()

    def save(self, folder: Path) -> None:
        """Write it into the folder of the work."""
        write_whole(folder / _NAME, FORMAT.dumps(asdict(self), indent=1))

    def tasks(self, folder: Path) -> Path:
        """Where its tasks leave what they did: those of another release cannot meet them there."""
        return folder / f"drawn-{hashlib.sha256(self.begun.encode()).hexdigest()[:16]}"

    @classmethod
    def load(cls, folder: Path) -> Plan | None:
        """Read it; None where there is none yet.

        Raises:
            ValueError: If it is damaged, or of a newer version.
        """
        path = folder / _NAME
        if not path.is_file():
            return None
        values = FORMAT.loads(path.read_bytes(), path)
        try:
            files = tuple(SourceFile(**each) for each in values.pop("files"))
            ranges = tuple(tuple(each) for each in values.pop("ranges"))
            columns, looks = tuple(values.pop("columns")), tuple(values.pop("looks"))
            return cls(files=files, columns=columns, ranges=ranges, looks=looks, **values)
        except (AttributeError, KeyError, TypeError):
            raise FORMAT.refusal(path, "is damaged") from None


def save_maps(folder: Path, maps: Maps) -> str:
    """Keep the public maps of a release, for the rows of a later call; a digest of them."""
    for path, matrix in zip(_map_files(folder), maps, strict=True):
        path.unlink(missing_ok=True)
        if matrix is not None:
            content = io.BytesIO()
            np.save(content, matrix, allow_pickle=False)
            write_whole(path, content.getvalue())
    return _digest_of_maps(folder)


def load_maps(folder: Path, digest: str) -> Maps:
    """The maps that `save_maps` kept.

    Raises:
        ValueError: If they are others.
    """
    if _digest_of_maps(folder) != digest:
        raise FORMAT.refusal(folder / _NAME, "is of other maps than those that are there")
    before, after = (
        np.load(path, allow_pickle=False) if path.exists() else None for path in _map_files(folder)
    )
    return before, after


def _map_files(folder: Path) -> tuple[Path, Path]:
    return folder / _BEFORE, folder / _AFTER


def _digest_of_maps(folder: Path) -> str:
    found = hashlib.sha256()
    for path in _map_files(folder):
        found.update(path.read_bytes() if path.exists() else b"none")
        found.update(b"end")
    return found.hexdigest()
