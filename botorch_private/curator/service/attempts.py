"""Attempts: how a program takes questions to measure, fails on them, and tries again."""

from __future__ import annotations

import sqlite3

from botorch_private.curator.service.question import Question, ServiceError, State, get
from botorch_private.curator.service.recording import Recording
from botorch_private.curator.service.writer import step


class Attempts(Recording):
    """Steps of a program that measures."""

    @step
    def begin(self, connection: sqlite3.Connection) -> Question | None:
        """Take the oldest pending question for a program to measure; None: there is none."""
        found = connection.execute(
            "SELECT id FROM query WHERE state = 'pending' ORDER BY id LIMIT 1"
        ).fetchone()
        if found is None:
            return None
        return self._move(connection, found["id"], State.PENDING, State.MEASURING, "begun")

    @step
    def fail(self, connection: sqlite3.Connection, number: int, reason: str) -> Question:
        """Store that the program failed: staff decide whether it tries again.

        Raises:
            ServiceError: ``not_measuring``.
        """
        return self._move(connection, number, State.MEASURING, State.FAILED, "failed", reason)

    @step
    def retry(self, connection: sqlite3.Connection, number: int, token: int | None) -> Question:
        """Let the program measure a failed question again.

        Raises:
            ServiceError: ``not_failed``.
        """
        return self._move(connection, number, State.FAILED, State.PENDING, "retried", token=token)

    @step
    def interrupted(self, connection: sqlite3.Connection, reason: str) -> int:
        """After a crash: what a program was measuring may have been measured, so it has failed.

        Returns how many there were.
        """
        found = connection.execute("SELECT id FROM query WHERE state = 'measuring'").fetchall()
        for each in found:
            self._move(connection, each["id"], State.MEASURING, State.FAILED, "failed", reason)
        return len(found)

    def _move(
        self,
        connection: sqlite3.Connection,
        number: int,
        old: str,
        new: str,
        kind: str,
        reason: str | None = None,
        token: int | None = None,
    ) -> Question:
        """Move a question from one open state to another."""
        if get(connection, number).state != old:
            raise ServiceError(f"not_{old}", f"query {number} is not {old}")
        connection.execute("UPDATE query SET state = ?, reason = ? WHERE id = ?", (new, reason, number))
        return self._changed(connection, token, kind, number, reason)
