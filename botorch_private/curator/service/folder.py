"""The curator's folder: where things lie, and that one server at a time uses it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

from botorch_private._base.whole_file import sync_folder
from botorch_private.curator.service.parts.behind import Behind
from botorch_private.curator.service.parts.layout import MANIFEST, RELEASE
from botorch_private.curator.service.reading import Reading, read_only
from botorch_private.curator.service.store import Store
from botorch_private.exchange.release_digest import digest_of_file

T = TypeVar("T")
FOLDER_MODE = 0o700


class _BusyError(ValueError):
    """A server uses the folder."""


@dataclass(frozen=True)
class Folder:
    """Paths of a curator's folder.

    Args:
        path: The folder, which nobody but its owner can enter.
    """

    path: Path

    @property
    def database(self) -> Path:
        """Questions, answers, tokens, and which record is behind which row."""
        return self.path / "curator.db"

    @property
    def release(self) -> Path:
        """What the modeler gets."""
        return self.path / "release.safetensors"

    @property
    def manifest(self) -> Path:
        """What the modeler gets first, where the release is in parts."""
        return self.path / RELEASE / MANIFEST

    @property
    def coming_release(self) -> Path:
        """A longer release, until the database knows it: see `finish_growth`."""
        return self.path / "release.coming"

    @property
    def ledger(self) -> Path:
        """What was spent."""
        return self.path / "ledger.json"

    @property
    def person(self) -> Path:
        """What the person with the most records pays; for the curator's eyes only."""
        return self.path / "person.txt"

    @property
    def records(self) -> Path:
        """Raw features of the records, ``n x d``, where a function measures; no file otherwise."""
        return self.path / "records.npy"

    @property
    def objective_output(self) -> Path:
        """What the objective prints; for the curator's eyes only."""
        return self.path / "objective.log"

    @property
    def notifications(self) -> Path:
        """What people were told of, and what is still to be sent."""
        return self.path / "notify.json"

    @property
    def lock_file(self) -> Path:
        """Locked by the one server that uses the folder."""
        return self.path / "server.lock"

    def open(self, *, locked: bool = False) -> Store:
        """Open the database.

        Args:
            locked: Whether the caller holds `lock`, or nobody else knows the folder.

        Raises:
            ValueError: If this is not a curator's folder, it is damaged, or a server of an earlier
                version uses it.
        """
        alone = nullcontext if locked else self._without_server
        store = self._opened(lambda database: Store(database, alone=alone))
        if store.facts.parts is not None:
            store.behind = Behind(self.path, store.facts)
        return store

    @contextmanager
    def _without_server(self) -> Iterator[None]:
        """A server of an earlier version would go on writing as before: events without hashes, say."""
        try:
            lock = self.lock()
        except _BusyError:
            raise ValueError(
                "an earlier version made it, and a server still uses it: stop that first, so that it "
                "can become one of this version"
            ) from None
        with lock:
            yield

    def open_to_read(self) -> Reading:
        """Open the database for reading alone: also where nothing can be written.

        Raises:
            ValueError: If this is not a curator's folder, or it is damaged.
        """
        return self._opened(read_only)

    def _opened(self, open_database: Callable[[Path], T]) -> T:
        self._require_there()
        released = self.release.is_file() or self.manifest.is_file()
        if not self.database.is_file() or not released:
            raise ValueError(
                f"folder must be one that 'botorch-private curator init' made, but {self.path} is not"
            )
        try:
            return open_database(self.database)
        except ValueError as error:  # of our own
            problem = f"{error}"
        except sqlite3.Error as error:
            problem = f"it cannot be read ({type(error).__name__})"  # its text may quote the file
        raise ValueError(f"{self.database} cannot be used: {problem}")

    def lock(self) -> FileLock:
        """Keep other servers out, until the lock is released or the process ends.

        What a growth of the folder left behind when it was interrupted is finished, or removed.

        Raises:
            ValueError: If another one is in, or the folder cannot be written.
        """
        self._require_there()  # else the lock would make one
        lock = FileLock(self.lock_file)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            raise _BusyError(
                f"folder must be used by one server at a time, but another one serves {self.path}"
            ) from None
        except OSError as error:
            raise ValueError(
                f"folder must be one that can be written, but {self.path} cannot: {error.strerror}"
            ) from error
        try:
            self._finish_growth()
        except BaseException:
            lock.release()
            raise
        return lock

    def _require_there(self) -> None:
        if not self.path.is_dir():
            raise ValueError(f"folder must be a curator's, but there is no folder {self.path}")

    def _finish_growth(self) -> None:
        """After a crash in `grow`: the database says which of two releases is the folder's.

        Raises:
            ValueError: If the database cannot be read.
        """
        for path in (self.coming_release, self.records, self.ledger):
            for draft in self.path.glob(f".{path.name}.*"):
                draft.unlink()
        if not self.coming_release.exists():
            return
        with closing(self.open_to_read()) as reading:
            identity = reading.facts.identity
        if digest_of_file(self.coming_release) == identity:
            os.replace(self.coming_release, self.release)
        else:
            self.coming_release.unlink()
        sync_folder(self.path)

    def refuse_strangers(self) -> None:
        """Refuse a folder that others than its owner can enter.

        Raises:
            ValueError: If they can.
        """
        if os.name == "posix" and self.path.stat().st_mode & 0o077:
            raise ValueError(
                f"folder must be closed to others, since records lie in it: chmod 700 {self.path}"
            )
