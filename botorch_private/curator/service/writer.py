"""Writer: one thread that writes to SQLite, and lets requests that come together share a commit."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from botorch_private._base.foreign import or_refuse
from botorch_private.curator.service.in_place import InPlace
from botorch_private.curator.service.question import LostError, StorageError

T = TypeVar("T")
P = ParamSpec("P")
Submitted = tuple[Callable[[sqlite3.Connection], Any], Future]
_TOGETHER = 256
_CHECKPOINT_AFTER = 200  # operations: about a thousand pages, as SQLite itself would
_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "busy_timeout=10000",
    "foreign_keys=ON",
    "wal_autocheckpoint=0",  # see `InPlace`
)
_log = logging.getLogger(__name__)


def open_plainly(path: Path, mode: str, **more: str) -> sqlite3.Connection:
    """Open a database as SQLite finds it.

    Args:
        path: The file.
        mode: "rwc", "rw" or "ro", as in URIs of SQLite.
        **more: What else such a URI may say.
    """
    settings = "&".join(f"{name}={value}" for name, value in {"mode": mode, **more}.items())
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{settings}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=10,
    )
    connection.row_factory = sqlite3.Row
    return connection


def connect(path: Path, *, create: bool = False) -> sqlite3.Connection:
    """Open the database: WAL, every commit on the disk before it is told.

    Raises:
        ValueError: If it is not a database, or cannot be written.
    """
    connection = or_refuse(
        lambda: open_plainly(path, "rwc" if create else "rw"),
        lambda: ValueError("it cannot be opened"),
    )
    try:
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}").fetchall()
        connection.execute("BEGIN IMMEDIATE")  # a folder that cannot be written is found out now
        connection.execute("ROLLBACK")
    except sqlite3.Error as error:
        connection.close()
        kind = getattr(error, "sqlite_errorname", type(error).__name__)  # its text may quote the file
    else:
        return connection
    raise ValueError(f"it is not a curator's database, or cannot be written ({kind})")


def step(
    method: Callable[Concatenate[Any, sqlite3.Connection, P], T],
) -> Callable[Concatenate[Any, P], Future[T]]:
    """Have a method run inside a transaction, by its object's ``submit``.

    It is called without the connection, and returns a future of what it returns.
    """

    @functools.wraps(method)
    def submitted(self: Any, *arguments: P.args, **options: P.kwargs) -> Future[T]:
        return self.submit(lambda connection: method(self, connection, *arguments, **options))

    return submitted


class Writer:
    """Runs operations one after another, each whole or not at all, and commits groups of them.

    A future has its result when the operation is on the disk, not before. The cost of waiting for the
    disk is shared by all operations that came in while the last group was written.

    Args:
        path: The database.

    Attributes:
        in_place: Looks at the files, before every commit is told.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = connect(path)
        try:
            self.in_place = InPlace(path)
        except OSError as error:
            self._connection.close()
            raise ValueError(f"its files vanish: {type(error).__name__}") from error
        self._since_checkpoint = 0
        self._queue: queue.SimpleQueue[Submitted | None] = queue.SimpleQueue()
        self._closed = False
        self._closing = threading.Lock()  # what is submitted comes before the end, or is refused
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def submit(self, operation: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Have an operation run inside a transaction."""
        future: Future[T] = Future()
        with self._closing:
            if not self._closed:
                self._queue.put((operation, future))
                return future
        future.set_exception(StorageError("nothing was stored, since the server stops"))
        return future

    def close(self) -> None:
        """Finish what was submitted, and stop."""
        with self._closing:
            self._closed = True
            self._queue.put(None)
        self._thread.join()
        self.in_place.put_log_aside()
        self.in_place.close()
        self.end(self._connection)

    def end(self, connection: sqlite3.Connection) -> None:
        """Close a connection to the database.

        The last one that is closed has SQLite write the log into whatever lies at the database's place
        by then. Where that is another database, the connection is left to the end of the process.
        """
        if self.in_place.is_another_database():
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
        else:
            connection.close()

    def _run(self) -> None:
        while True:
            first = self._queue.get()
            if first is None:
                return
            group, last = [first], False
            while len(group) < _TOGETHER:
                try:
                    following = self._queue.get_nowait()
                except queue.Empty:
                    break
                if following is None:
                    last = True
                    break
                group.append(following)
            # From here on nobody can cancel: what is on the disk is told.
            group = [each for each in group if each[1].set_running_or_notify_cancel()]
            self._commit(group)
            if last:
                return

    def _commit(self, group: list[Submitted]) -> None:
        """Run a group in one transaction; an operation that fails is undone alone."""
        settled: list[tuple[Future, Any, BaseException | None]] = []
        try:
            self.in_place.check()
            self._connection.execute("BEGIN IMMEDIATE")
            for operation, future in group:
                self._connection.execute("SAVEPOINT operation")
                try:
                    settled.append((future, operation(self._connection), None))
                except sqlite3.IntegrityError as error:
                    self._undo(settled, future, error)
                except sqlite3.DatabaseError:
                    raise  # the storage itself: no operation of the group can be trusted
                except Exception as error:
                    self._undo(settled, future, error)
                self._connection.execute("RELEASE operation")
            self._connection.execute("COMMIT")
            self.in_place.check()  # what went into files that nobody will find again is not told
        except LostError as error:
            if self.in_place.is_log_lost:
                self._save_log()
            settled = [(future, None, error) for _, future in group]
        except Exception as error:
            _log.error("nothing was stored: %s", type(error).__name__)
            self._start_again()
            failure = StorageError("nothing was stored, since the curator's disk refused it")
            settled = [(future, None, failure) for _, future in group]
        for future, result, error in settled:
            try:
                if error is None:
                    future.set_result(result)
                else:
                    future.set_exception(error)
            except Exception as problem:  # whoever waits for another one must still be told
                _log.error("a result could not be told: %s", type(problem).__name__)
        self._since_checkpoint += len(group)
        if self.in_place.is_serving and self._since_checkpoint >= _CHECKPOINT_AFTER:
            self._since_checkpoint = 0
            self._save_log("PASSIVE")

    def _save_log(self, kind: str = "FULL") -> None:
        """Write what is in the log into the database; a log that lost its name would end with us."""
        try:
            with self.in_place.checkpoint():
                self._connection.execute(f"PRAGMA wal_checkpoint({kind})").fetchall()
        except LostError:
            pass  # the next group is told
        except (sqlite3.Error, OSError) as error:
            _log.error("the log could not be written into the database: %s", type(error).__name__)

    def _undo(
        self, settled: list[tuple[Future, Any, BaseException | None]], future: Future, error: Exception
    ) -> None:
        self._connection.execute("ROLLBACK TO operation")
        settled.append((future, None, error))

    def _start_again(self) -> None:
        """Leave the transaction, by another connection where this one cannot."""
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error:
            with contextlib.suppress(sqlite3.Error, ValueError):
                self.end(self._connection)
                self._connection = connect(self._path)
