"""Asking: how a question comes, once, and how its answer goes."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from botorch_private.curator.service.question import (
    Question,
    ServiceError,
    State,
    count_used,
    known_about,
    question_about,
    replayed,
)
from botorch_private.curator.service.settling import Settling
from botorch_private.curator.service.writer import step

_MOST_KEYS = 100  # of one question and token: else they would fill the disk


class Asked(NamedTuple):
    """What became of a question."""

    query: Question
    new: bool

    @property
    def changed(self) -> list[Question]:
        """The question, if it is a new one."""
        return [self.query] if self.new else []


class Asking(Settling):
    """Steps in which nothing is asked twice, or answered differently."""

    @step
    def ask(self, connection: sqlite3.Connection, key: str, row: int, token: int) -> Asked:
        """Ask for a row, once however often the request comes.

        A row that was asked before, under any key, is the same question. The budget is checked in the
        transaction that stores the question.

        Raises:
            ServiceError: ``no_row``, ``key_reused``, ``budget_spent`` or ``too_many_keys``.
        """
        if not 0 <= row < self.facts.n:
            raise ServiceError("no_row", f"row must be in 0..{self.facts.n - 1}")
        known = replayed(connection, key, row, token)
        if known is not None:
            return Asked(known, False)
        found = question_about(connection, row)
        query = self.open_question(connection, row, token) if found is None else found
        keys = connection.execute(
            "SELECT count(*) AS count FROM idempotency WHERE query = ? AND token = ?", (query.id, token)
        ).fetchone()
        if keys["count"] >= _MOST_KEYS:
            raise ServiceError(
                "too_many_keys", f"row was asked for under {_MOST_KEYS} keys: use one of them"
            )
        connection.execute("INSERT INTO idempotency VALUES (?, ?, ?, ?)", (key, token, row, query.id))
        return Asked(query, found is None)

    @step
    def tell(self, connection: sqlite3.Connection, number: int, revision: int) -> None:
        """Remember that a modeler is about to read a noised answer; to be awaited before it is sent.

        Raises:
            ServiceError: ``revised`` if the value was corrected meanwhile: read it again.
        """
        cursor = connection.execute(
            "UPDATE query SET told = 1 WHERE id = ? AND revision = ?", (number, revision)
        )
        if not cursor.rowcount:
            raise ServiceError("revised", f"query {number} was corrected meanwhile")

    def open_question(self, connection: sqlite3.Connection, row: int, token: int | None) -> Question:
        """Store a question about a row that has none, inside of a step; it may be answered at once.

        Args:
            connection: Inside a transaction.
            row: Released row.
            token: Whose it is; None: the curator's, who tells what is known.

        Raises:
            ServiceError: ``budget_spent``.
        """
        limit = self.facts.max_queries
        if limit is not None and count_used(connection) >= limit:
            raise ServiceError(
                "budget_spent",
                f"all {limit} measurements are spent; rows that were asked before are still answered",
            )
        if self.behind is not None:
            connection.execute(
                "INSERT OR IGNORE INTO record VALUES (?, ?, ?, ?, ?)", self.behind.entry(row)
            )
        cursor = connection.execute(
            "INSERT INTO query (row, state, asked, label) "
            "VALUES (?1, ?2, ?3, (SELECT identifier FROM record WHERE row = ?1))",
            (row, State.PENDING, self.clock()),
        )
        number = cursor.lastrowid
        assert number is not None
        query = self._changed(connection, token, "asked", number, data={"row": row})
        outcome, said = known_about(connection, row)
        if outcome is None:
            return query
        data = self._settle(connection, query, outcome, said)
        return self._changed(connection, None, "known", query.id, data=data)
