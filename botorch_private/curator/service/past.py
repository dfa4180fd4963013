"""Past: the events of a curator's database, and what they tell of its release."""

from __future__ import annotations

import sqlite3
import threading
from typing import Any

from botorch_private.curator.service.schema import FolderFacts


class Past:
    """What happened, as it is stored; nothing here changes any.

    Args:
        connection: To the database.
    """

    facts: FolderFacts

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._reader = connection
        self._reading = threading.Lock()

    def events(self, query: int | None = None) -> list[sqlite3.Row]:
        """What happened, in order; to one query, or to all. For the curator's eyes only."""
        return self._all("SELECT * FROM event WHERE ?1 IS NULL OR query = ?1 ORDER BY id", query)

    def has_chain(self) -> bool:
        """Whether events have hashes: in a folder of an earlier version that is only read, none has."""
        return bool(self._all("SELECT 1 FROM pragma_table_info('event') WHERE name = 'hash'"))

    def events_written(self) -> int:
        """How many events were ever written."""
        found = self._all("SELECT seq FROM sqlite_sequence WHERE name = 'event'")
        return found[0]["seq"] if found else 0

    def last_hash(self) -> str | None:
        """The hash of the last event; None: events have none yet; see `trail`."""
        if not self.has_chain():
            return None
        return self._one("SELECT hash FROM event ORDER BY id DESC LIMIT 1")[0]

    def latest_time(self) -> str | None:
        """The latest time at which anything happened, UTC, ISO 8601."""
        # What was written by a clock that was ahead stays; `mend_clock` notes that it is not to count.
        return self._one(
            "SELECT max(time) FROM event "
            "WHERE id >= (SELECT coalesce(max(id), 0) FROM event WHERE kind = 'clock')"
        )[0]

    def restored(self) -> str | None:
        """Of when the backup is that the folder was put back from last; None: it never was."""
        found = self._one("SELECT detail FROM event WHERE kind = 'restored' ORDER BY id DESC LIMIT 1")
        return None if found is None else found["detail"]

    def earlier_releases(self) -> list[dict[str, Any]]:
        """Releases that were served before records joined: ``identity`` and ``rows``, oldest first."""
        found = self._all("SELECT detail FROM event WHERE kind = 'grown' ORDER BY id")
        pairs = [each["detail"].split() for each in found]
        return [{"identity": identity, "rows": int(rows)} for identity, rows, *_ in pairs]

    def first_identity(self) -> str:
        """SHA-256 of the release that the folder was made with, with which the trail begins."""
        return str(next((each["identity"] for each in self.earlier_releases()), self.facts.identity))

    def _one(self, statement: str, *values: Any) -> sqlite3.Row:
        with self._reading:
            return self._reader.execute(statement, values).fetchone()

    def _all(self, statement: str, *values: Any) -> list[sqlite3.Row]:
        with self._reading:
            return self._reader.execute(statement, values).fetchall()
