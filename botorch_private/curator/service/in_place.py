"""In place: whether what is open is still what lies in the folder.

A process goes on reading and writing a file that was removed, moved, or had another put into its place,
and nobody sees that until it is started again. So before anything is acknowledged the folder is looked
at: a few calls of ``stat``.

Rules of the database, which SQLite keeps as long as nobody else interferes:

* its three files stay the ones that were opened;
* ``curator.db`` is written at a checkpoint and at no other time, and the one process that serves makes
  all of them (`Writer`), so any other time of change is somebody else's;
* the log, ``curator.db-wal``, never becomes shorter and begins with its mark once something is in it.

What breaks a rule breaks it for good: only a new start reads what is there now.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from botorch_private.curator.service.question import LostError, StorageError

_WAL_MARKS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_GONE = (FileNotFoundError, NotADirectoryError)
_log = logging.getLogger("botorch_private.curator.service")


class InPlace:
    """Looks at the files of a folder, and remembers for good when one is not what it was.

    Args:
        database: The database, open already in WAL mode.
    """

    def __init__(self, database: Path) -> None:
        self._database = database
        self._wal = database.with_name(f"{database.name}-wal")
        self._shared = database.with_name(f"{database.name}-shm")
        self._files = {path: _identity(path) for path in (database, self._wal, self._shared)}
        self._more: dict[str, Callable[[], bool]] = {}
        self._looking = threading.Lock()
        self._closed = False
        # Of this one SQLite keeps no lock, which would end with any descriptor that is closed.
        self._log_file = self._wal.open("rb", buffering=0)
        self._log_size = 0
        self._written: tuple[int, int] | None = None
        self.is_lost = False
        self.is_log_lost = False  # the database itself is there

    def close(self) -> None:
        """Look no more: whoever opens the database next may write it."""
        with self._looking:
            self._closed = True
            self._log_file.close()

    def serve(self) -> None:
        """From now on this process alone makes checkpoints: see the second rule."""
        self._written = _written(self._database)

    @property
    def is_serving(self) -> bool:
        """Whether this process makes the checkpoints."""
        return self._written is not None

    def watch(self, path: Path) -> None:
        """Look at another file as well: it must stay the one that it is now."""
        known = _identity(path)
        self.require(path.name, lambda: _identity(path) == known)

    def require(self, name: str, is_right: Callable[[], bool]) -> None:
        """Look at something else as well.

        Args:
            name: What it is, for the log.
            is_right: False: it is not what it was, for good; an `OSError`: that cannot be found out now.
        """
        self._more[name] = is_right

    def check(self, *, wait: bool = True) -> None:
        """Refuse to go on where a file is not what it was.

        Args:
            wait: False: pass where somebody else looks just now, or a checkpoint is made.

        Raises:
            LostError: If it is not; from then on always.
            StorageError: If that cannot be found out now.
        """
        if self.is_lost:
            raise LostError
        if not self._looking.acquire(blocking=wait):
            return
        try:
            if not self._closed:
                self._look()
        except OSError as error:
            _log.error("the folder cannot be looked at: %s", type(error).__name__)
            raise StorageError("the folder cannot be looked at") from None
        finally:
            self._looking.release()
        if self.is_lost:
            raise LostError

    @contextlib.contextmanager
    def checkpoint(self) -> Iterator[None]:
        """Let the database be written by what is done inside.

        Raises:
            LostError: If something else than the database of this process would be written.
        """
        with self._looking:
            if self.is_another_database():
                raise LostError
            try:
                yield
            finally:
                with contextlib.suppress(*_GONE):
                    self._written = _written(self._database)

    def is_another_database(self) -> bool:
        """Whether something lies at the database's place that this process did not write."""
        try:
            if _identity(self._database) != self._files[self._database]:
                return True
            return self._written is not None and _written(self._database) != self._written
        except _GONE:
            return False

    def put_log_aside(self) -> None:
        """Keep the log of this database away from another one that was put into its place.

        SQLite would write the pages of the one into the other when that is opened next.
        """
        if self._closed or not self.is_another_database():
            return
        for path in (self._wal, self._shared):
            with contextlib.suppress(*_GONE):
                if _identity(path) == self._files[path]:
                    os.replace(path, path.with_name(f"{path.name}.old"))
                    _log.critical("%s was put aside: it belongs to another database", path.name)

    def _look(self) -> None:
        for path, known in self._files.items():
            try:
                if _identity(path) == known:
                    continue
                self._lose(path.name, "was replaced")
            except _GONE:
                self._lose(path.name, "is gone")
            self.is_log_lost = path != self._database
            return
        if self.is_another_database():
            self._lose(self._database.name, "was changed by something else")
            return
        size = os.fstat(self._log_file.fileno()).st_size
        if size < self._log_size or (self._log_size and self._mark() not in _WAL_MARKS):
            self._lose(self._wal.name, "was cut short")
            return
        self._log_size = size
        for name, is_right in self._more.items():
            try:
                right = is_right()
            except _GONE:
                right = False
            if not right:
                self._lose(name, "is gone or was changed")
                return

    def _mark(self) -> bytes:
        self._log_file.seek(0)
        return self._log_file.read(4)

    def _lose(self, name: str, what: str) -> None:
        self.is_lost = True
        _log.critical(
            "%s %s under the running server: nothing is stored or answered until it is started again",
            name,
            what,
        )


def _identity(path: Path) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _written(path: Path) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size
