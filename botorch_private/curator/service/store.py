"""Store: every question and answer, on the disk before anybody is told of it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from botorch_private.curator.service.changes import Changes
from botorch_private.curator.service.clock import Clock
from botorch_private.curator.service.question import Question, count_used, get, question_from, replayed
from botorch_private.curator.service.schema import read_facts
from botorch_private.curator.service.tokens import Tokens
from botorch_private.curator.service.writer import Writer, connect


class Store(Changes):
    """Questions and answers of one release, in SQLite: how they are read, beside how they change.

    Changes go through one writer. Reading goes beside it.

    Args:
        path: The database that `make_folder` made.
        clock: Replaces the clock, for tests.

    Attributes:
        facts: What was settled when the folder was made.
        tokens: Who may do what.

    Raises:
        ValueError: If it is not such a database, or of another version.
    """

    def __init__(self, path: Path, clock: Callable[[str | None], Clock] = Clock) -> None:
        self._reader = connect(path)
        self._reading = threading.Lock()
        try:
            facts = read_facts(self._reader)
        except ValueError:
            self._reader.close()
            raise
        latest = self._one("SELECT max(time) FROM event")
        super().__init__(facts, clock(latest[0]), Writer(path))
        self.tokens = Tokens(self._all, self._writer, self.clock)

    def close(self) -> None:
        """Finish what was begun."""
        self._writer.close()
        self._reader.close()

    def query(self, number: int) -> Question:
        """One question.

        Raises:
            ServiceError: ``no_query`` if none has this number.
        """
        with self._reading:
            return get(self._reader, number)

    def queries(
        self, *, states: tuple[str, ...] = (), after: int = 0, limit: int | None = None
    ) -> list[Question]:
        """Questions in the order in which they were asked.

        Args:
            states: Only these; empty: all.
            after: Only those with a larger number.
            limit: At most so many; None: all.
        """
        marks = ", ".join("?" * len(states))
        where = f"AND state IN ({marks})" if states else ""
        found = self._all(
            f"SELECT * FROM query WHERE id > ? {where} ORDER BY id LIMIT ?",
            after,
            *states,
            -1 if limit is None else limit,
        )
        return [question_from(each) for each in found]

    def replayed(self, key: str, row: int, token: int) -> Question | None:
        """What was answered to the same key before; None: nothing.

        Raises:
            ServiceError: ``key_reused`` if that was about another row.
        """
        with self._reading:
            return replayed(self._reader, key, row, token)

    def queries_used(self) -> int:
        """How many measurements are spent or promised."""
        with self._reading:
            return count_used(self._reader)

    def queries_left(self) -> int | None:
        """How many more records may be measured; None: no limit."""
        limit = self.facts.max_queries
        return None if limit is None else limit - self.queries_used()

    def identifier(self, row: int) -> str:
        """What staff call the record of a released row. For the curator's eyes only."""
        return self._one("SELECT identifier FROM record WHERE row = ?", row)[0]

    def record(self, row: int) -> int:
        """Place of a released row's record in the table. For the curator's eyes only."""
        return self._one("SELECT record FROM record WHERE row = ?", row)[0]

    def events(self, query: int | None = None) -> list[sqlite3.Row]:
        """What happened, in order; to one query, or to all. For the curator's eyes only."""
        return self._all("SELECT * FROM event WHERE ?1 IS NULL OR query = ?1 ORDER BY id", query)

    def _one(self, statement: str, *values: Any) -> sqlite3.Row:
        with self._reading:
            return self._reader.execute(statement, values).fetchone()

    def _all(self, statement: str, *values: Any) -> list[sqlite3.Row]:
        with self._reading:
            return self._reader.execute(statement, values).fetchall()
