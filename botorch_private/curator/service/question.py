"""Question: one question about a released row, as it is stored, and what can be wrong with a request.

Clients and the database call it a query.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from botorch_private.curator.service.circumstances import UNSAID, Circumstances

Outcome = float | dict[str, float]  # of one name, or of several


class State(StrEnum):
    """How far a question is."""

    PENDING = "pending"  # waits for its measurement: a normal state for weeks
    MEASURING = "measuring"  # a program works on it
    FAILED = "failed"  # the program failed or was interrupted: staff may try again
    MEASURED = "measured"
    WITHDRAWN = "withdrawn"  # staff will not measure it; the row may be asked for again


OPEN = (State.PENDING, State.MEASURING, State.FAILED)


@dataclass(frozen=True)
class Question:
    """One question.

    Args:
        id: Its number, from 1.
        row: Released row.
        state: A `State`, as text.
        answer: What the modeler is told, once measured.
        outcome: What was measured, before noise; for the curator's eyes only.
        revision: How often the value was corrected.
        reason: Why it was withdrawn or failed; for the curator's eyes only.
        asked: When, UTC, ISO 8601.
        settled: When it was measured or withdrawn.
        told: Whether a modeler has read the answer.
        circumstances: Of the measurement; for the curator's eyes only.
    """

    id: int
    row: int
    state: str
    answer: Outcome | None
    outcome: Outcome | None
    revision: int
    reason: str | None
    asked: str
    settled: str | None
    told: bool
    circumstances: Circumstances = UNSAID

    @property
    def public_state(self) -> str:
        """State as the modeler sees it: how a measurement goes on is the curator's business."""
        return State.PENDING if self.state in OPEN else self.state


class ServiceError(Exception):
    """A request that cannot be met.

    Args:
        code: A word for programs.
        message: A sentence for people, without any value of a record or of the request.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class StorageError(ServiceError):
    """Nothing was stored: the disk is full, or the folder cannot be written."""

    def __init__(self, message: str) -> None:
        super().__init__("storage", message)


class LostError(StorageError):
    """The files of the folder were removed, replaced or changed under the server: it must restart."""

    def __init__(self) -> None:
        super().__init__(
            "the curator's files were removed, replaced or changed while the server ran, so it stores "
            "and answers nothing until the curator starts it again"
        )
        self.code = "lost"


def get(connection: sqlite3.Connection, number: int) -> Question:
    """One question; a `ServiceError` if no query has that number."""
    found = connection.execute("SELECT * FROM query WHERE id = ?", (number,)).fetchone()
    if found is None:
        raise ServiceError("no_query", f"there is no query {number}")
    return question_from(found)


def question_about(connection: sqlite3.Connection, row: int) -> Question | None:
    """The question about a row that was not withdrawn."""
    found = connection.execute(
        "SELECT * FROM query WHERE row = ? AND state <> 'withdrawn'", (row,)
    ).fetchone()
    return None if found is None else question_from(found)


def known_about(connection: sqlite3.Connection, row: int) -> tuple[Outcome | None, Circumstances]:
    """The outcome of a row that is known whoever asks, and what is said of it; None: it is not known."""
    found = connection.execute(
        "SELECT outcome, measured_on, instrument, comment FROM record "
        "LEFT JOIN known_said USING (row) WHERE row = ?",
        (row,),
    ).fetchone()
    return recalled(found["outcome"]), Circumstances(*tuple(found)[1:])


def count_used(connection: sqlite3.Connection) -> int:
    """How many measurements are spent or promised.

    No question is ever deleted and numbers have no gaps, so the last one says how many there are. If
    there were a gap, this would be too many, and a budget would end early.
    """
    return connection.execute(
        "SELECT coalesce((SELECT max(id) FROM query), 0) "
        "- (SELECT count(*) FROM query WHERE state = 'withdrawn')"
    ).fetchone()[0]


def replayed(connection: sqlite3.Connection, key: str, row: int, token: int) -> Question | None:
    """What a key was answered before; a `ServiceError` where that was about another row."""
    found = connection.execute(
        "SELECT query.*, idempotency.row AS asked_row FROM idempotency "
        "JOIN query ON query.id = idempotency.query "
        "WHERE idempotency.token = ? AND idempotency.key = ?",
        (token, key),
    ).fetchone()
    if found is None:
        return None
    if found["asked_row"] != row:
        raise ServiceError("key_reused", "the idempotency key was used for another row")
    return question_from(found)


def question_from(found: sqlite3.Row) -> Question:
    """Make a `Question` of a row of the database."""
    try:
        said = Circumstances(found["measured_on"], found["instrument"], found["comment"])
    except IndexError:  # a folder of an earlier version, which is only read
        names = found.keys()
        columns = ("measured_on", "instrument", "comment")
        said = Circumstances(*(found[each] if each in names else None for each in columns))
    return Question(
        id=found["id"],
        row=found["row"],
        state=found["state"],
        answer=recalled(found["answer"]),
        outcome=recalled(found["outcome"]),
        revision=found["revision"],
        reason=found["reason"],
        asked=found["asked"],
        settled=found["settled"],
        told=bool(found["told"]),
        circumstances=said,
    )


def recalled(found: Any) -> Outcome | None:
    """A value of the database: a number, or those of several outcomes, which lie there as JSON."""
    return json.loads(found) if isinstance(found, str) else found
