"""What may change in a curator's database: each function is one step inside a transaction."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

import numpy as np

from botorch_private.curator.service.clock import Clock
from botorch_private.curator.service.question import (
    FAILED,
    MEASURED,
    MEASURING,
    PENDING,
    WITHDRAWN,
    Question,
    ServiceError,
)
from botorch_private.curator.service.schema import FolderFacts
from botorch_private.privacy.outcome_grid import noised_answer

COUNT_USED = "SELECT count(*) AS used FROM query WHERE state <> 'withdrawn'"
BY_KEY = """
SELECT query.*, idempotency.row AS asked_row FROM idempotency JOIN query ON query.id = idempotency.query
WHERE idempotency.token = ? AND idempotency.key = ?
"""


_MOST_KEYS = 100  # of one question and token: else they would fill the disk


class Asked(NamedTuple):
    """What became of a question."""

    query: Question
    new: bool


class Changes:
    """Steps in which no value is lost, measured twice, or answered differently.

    Args:
        facts: What was settled when the folder was made.
        clock: Tells the time.
    """

    def __init__(self, facts: FolderFacts, clock: Clock) -> None:
        self.facts = facts
        self.clock = clock

    def ask(self, connection: sqlite3.Connection, key: str, row: int, token: int) -> Asked:
        """Ask for a row, once however often the request comes; see `Store.ask`."""
        known = replayed(connection.execute(BY_KEY, (token, key)).fetchone(), row)
        if known is not None:
            return Asked(known, False)
        found = connection.execute(
            "SELECT * FROM query WHERE row = ? AND state <> 'withdrawn'", (row,)
        ).fetchone()
        number = self._insert(connection, row, token) if found is None else found["id"]
        keys = connection.execute(
            "SELECT count(*) AS count FROM idempotency WHERE query = ? AND token = ?", (number, token)
        ).fetchone()
        if keys["count"] >= _MOST_KEYS:
            raise ServiceError(
                "too_many_keys", f"row was asked for under {_MOST_KEYS} keys: use one of them"
            )
        connection.execute("INSERT INTO idempotency VALUES (?, ?, ?, ?)", (key, token, row, number))
        return Asked(get(connection, number), found is None)

    def measure(
        self, connection: sqlite3.Connection, number: int, outcome: float, token: int | None
    ) -> Question:
        """Store a measured outcome; see `Store.measure`."""
        query = get(connection, number)
        if query.state == MEASURED:
            if query.outcome == outcome:
                return query
            raise ServiceError(
                "measured", f"query {number} has another value: correct it, with a reason"
            )
        if query.state == WITHDRAWN:
            raise ServiceError("withdrawn", f"query {number} was withdrawn")
        if token is not None:
            _refuse_while_measuring(query)
        self._settle(connection, query, outcome)
        self._event(connection, token, "measured", number)
        return get(connection, number)

    def correct(
        self,
        connection: sqlite3.Connection,
        number: int,
        outcome: float,
        reason: str,
        token: int,
        *,
        revision: int | None = None,
    ) -> Question:
        """Replace a value that was entered wrongly; see `Store.correct`."""
        query = get(connection, number)
        if query.state != MEASURED:
            raise ServiceError("not_measured", f"query {number} has no value yet")
        if query.outcome == outcome:
            return query
        if revision is not None and query.revision != revision:
            raise ServiceError("revised", f"query {number} was corrected meanwhile: look at it again")
        if self.facts.outcome_range is not None and query.told:
            raise ServiceError(
                "told",
                f"the noised answer of query {number} was read: a corrected one would tell more than "
                f"was promised",
            )
        self._settle(connection, query, outcome)
        connection.execute("UPDATE query SET revision = revision + 1, told = 0 WHERE id = ?", (number,))
        self._event(connection, token, "corrected", number, f"{query.outcome!r}: {reason}")
        return get(connection, number)

    def withdraw(self, connection: sqlite3.Connection, number: int, reason: str, token: int) -> Question:
        """Say that a record will not be measured; see `Store.withdraw`."""
        query = get(connection, number)
        if query.state == MEASURED:
            raise ServiceError("measured", f"query {number} is measured already")
        _refuse_while_measuring(query)
        if query.state != WITHDRAWN:
            connection.execute(
                "UPDATE query SET state = ?, reason = ?, settled = ? WHERE id = ?",
                (WITHDRAWN, reason, self.clock(), number),
            )
            self._event(connection, token, "withdrawn", number, reason)
        return get(connection, number)

    def tell(self, connection: sqlite3.Connection, number: int, revision: int) -> None:
        """Remember that an answer is about to be read; see `Store.tell`."""
        cursor = connection.execute(
            "UPDATE query SET told = 1 WHERE id = ? AND revision = ?", (number, revision)
        )
        if not cursor.rowcount:
            raise ServiceError("revised", f"query {number} was corrected meanwhile")

    def begin(self, connection: sqlite3.Connection) -> Question | None:
        """Take the oldest pending question for a program; see `Store.begin`."""
        found = connection.execute(
            "SELECT id FROM query WHERE state = 'pending' ORDER BY id LIMIT 1"
        ).fetchone()
        if found is None:
            return None
        return self.move(connection, found["id"], PENDING, MEASURING, None, None, "begun")

    def move(
        self,
        connection: sqlite3.Connection,
        number: int,
        old: str,
        new: str,
        reason: str | None,
        token: int | None,
        kind: str,
    ) -> Question:
        """Move a question from one open state to another.

        Raises:
            ServiceError: ``no_query``, or ``not_`` and the old state.
        """
        if get(connection, number).state != old:
            raise ServiceError(f"not_{old}", f"query {number} is not {old}")
        connection.execute("UPDATE query SET state = ?, reason = ? WHERE id = ?", (new, reason, number))
        self._event(connection, token, kind, number, reason)
        return get(connection, number)

    def interrupted(self, connection: sqlite3.Connection, reason: str) -> int:
        """Let everything that a program was measuring have failed; returns how many there were."""
        found = connection.execute("SELECT id FROM query WHERE state = 'measuring'").fetchall()
        for each in found:
            self.move(connection, each["id"], MEASURING, FAILED, reason, None, "failed")
        return len(found)

    def _insert(self, connection: sqlite3.Connection, row: int, token: int) -> int:
        limit = self.facts.max_queries
        if limit is not None and connection.execute(COUNT_USED).fetchone()["used"] >= limit:
            raise ServiceError(
                "budget_spent",
                f"all {limit} measurements are spent; rows that were asked before are still answered",
            )
        cursor = connection.execute(
            "INSERT INTO query (row, state, asked) VALUES (?, ?, ?)", (row, PENDING, self.clock())
        )
        number = cursor.lastrowid
        assert number is not None
        self._event(connection, token, "asked", number)
        known = connection.execute("SELECT outcome FROM record WHERE row = ?", (row,)).fetchone()
        if known["outcome"] is not None:
            self._settle(connection, get(connection, number), known["outcome"])
        return number

    def _settle(self, connection: sqlite3.Connection, query: Question, outcome: float) -> None:
        answer = outcome
        if self.facts.outcome_range is not None:
            found = connection.execute("SELECT noise FROM record WHERE row = ?", (query.row,)).fetchone()
            low, high = self.facts.outcome_range
            assert self.facts.outcome_grid is not None
            value, steps = np.array(outcome), np.array(found["noise"])
            answer = float(noised_answer(value, steps, low=low, high=high, grid=self.facts.outcome_grid))
        connection.execute(
            "UPDATE query SET state = ?, outcome = ?, answer = ?, settled = ?, reason = NULL "
            "WHERE id = ?",
            (MEASURED, outcome, answer, self.clock(), query.id),
        )

    def _event(
        self,
        connection: sqlite3.Connection,
        token: int | None,
        kind: str,
        query: int,
        detail: str | None = None,
    ) -> None:
        connection.execute(
            "INSERT INTO event (time, token, kind, query, detail) VALUES (?, ?, ?, ?, ?)",
            (self.clock(), token, kind, query, detail),
        )


def _refuse_while_measuring(query: Question) -> None:
    if query.state == MEASURING:
        raise ServiceError(
            "measuring", f"a program works on query {query.id}: wait until it has measured it or failed"
        )


def get(connection: sqlite3.Connection, number: int) -> Question:
    """One question; a `ServiceError` where there is none of that number."""
    found = connection.execute("SELECT * FROM query WHERE id = ?", (number,)).fetchone()
    if found is None:
        raise ServiceError("no_query", f"there is no query {number}")
    return query_from(found)


def replayed(found: sqlite3.Row | None, row: int) -> Question | None:
    """What a key was answered before; a `ServiceError` where that was about another row."""
    if found is None:
        return None
    if found["asked_row"] != row:
        raise ServiceError("key_reused", "the idempotency key was used for another row")
    return query_from(found)


def query_from(found: sqlite3.Row) -> Question:
    """Make a `Question` of a row of the database."""
    return Question(
        id=found["id"],
        row=found["row"],
        state=found["state"],
        answer=found["answer"],
        outcome=found["outcome"],
        revision=found["revision"],
        reason=found["reason"],
        asked=found["asked"],
        settled=found["settled"],
        told=bool(found["told"]),
    )
