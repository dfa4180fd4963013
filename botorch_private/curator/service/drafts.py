"""Drafts: values that staff typed and have not confirmed, until they are stored or thrown away."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from botorch_private.curator.service.part import Part
from botorch_private.curator.service.trail import note
from botorch_private.curator.service.writer import step


class Draft(NamedTuple):
    """What somebody typed and has not confirmed.

    Attributes:
        value: As it was typed.
        reason: Why, of a correction; else empty.
        day: On which it was measured.
        instrument: That measured it.
        comment: On the measurement.
    """

    value: str = ""
    reason: str = ""
    day: str = ""
    instrument: str = ""
    comment: str = ""


class KeptDraft(NamedTuple):
    """A draft in the database.

    Attributes:
        kind: "value" or "correction".
        query: Number of the question.
        token: Number of the token of whoever typed it.
        draft: What was typed.
        time: When, UTC, ISO 8601.
    """

    kind: str
    query: int
    token: int
    draft: Draft
    time: str


class Drafts(Part):
    """The drafts of a curator's database. They are the curator's data, as values are.

    A draft belongs to the token of whoever typed it. Where that token has ended, nobody would ever see
    it again, so it belongs to all staff then.
    """

    @step
    def keep(
        self, connection: sqlite3.Connection, kind: str, query: int, token: int, draft: Draft
    ) -> None:
        """Keep what was typed, in the place of what the same person typed before."""
        connection.execute(
            "INSERT OR REPLACE INTO draft (token, kind, query, time, value, reason, day, instrument, "
            "comment) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (token, kind, query, self._clock(), *draft),
        )

    @step
    def drop(
        self, connection: sqlite3.Connection, kind: str, query: int, token: int, *, stored: bool
    ) -> None:
        """Forget what this person typed, and what nobody else can see any more.

        Args:
            connection: Inside a transaction.
            kind: "value" or "correction".
            query: Number of the question.
            token: Whose it is.
            stored: Whether it became a value; else a person threw it away, and that is noted.
        """
        now = self._clock()
        where = f"kind = ? AND query = ? AND (token = ? OR {_ENDED})"
        values = (kind, query, token, now)
        found = connection.execute(f"SELECT value FROM draft WHERE {where}", values).fetchall()
        connection.execute(f"DELETE FROM draft WHERE {where}", values)
        if not stored:
            for each in found:
                note(connection, now, "discarded", token=token, query=query, detail=each["value"])

    def all(self, token: int) -> list[KeptDraft]:
        """What this person typed, and what was typed by those whose token has ended; oldest first."""
        found = self._read(
            f"SELECT * FROM draft WHERE token = ? OR {_ENDED} ORDER BY time, query, token",
            token,
            self._clock(),
        )
        return [_kept(each) for each in found]

    def find(self, kind: str, query: int, token: int) -> KeptDraft | None:
        """What this person typed for a question; else what somebody typed whose token has ended."""
        found = self._read(
            f"SELECT * FROM draft WHERE kind = ? AND query = ? AND (token = ? OR {_ENDED}) "
            "ORDER BY token = ? DESC, time DESC LIMIT 1",
            kind,
            query,
            token,
            self._clock(),
            token,
        )
        return _kept(found[0]) if found else None

    def count(self) -> int:
        """How many there are, of all staff."""
        return self._read("SELECT count(*) FROM draft")[0][0]


ENDED = "(revoked IS NOT NULL OR expires <= ?)"  # of a token, now
_ENDED = f"token IN (SELECT id FROM token WHERE {ENDED})"


def _kept(found: sqlite3.Row) -> KeptDraft:
    draft = Draft(*(found[name] for name in Draft._fields))
    return KeptDraft(found["kind"], found["query"], found["token"], draft, found["time"])
