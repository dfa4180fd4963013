"""Store: every question and answer, on the disk before anybody is told of it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from botorch_private.curator.service.changes import (
    BY_KEY,
    COUNT_USED,
    Asked,
    Changes,
    query_from,
    replayed,
)
from botorch_private.curator.service.clock import Clock
from botorch_private.curator.service.question import FAILED, MEASURING, PENDING, Question, ServiceError
from botorch_private.curator.service.schema import FolderFacts, read_facts
from botorch_private.curator.service.tokens import Tokens
from botorch_private.curator.service.writer import Writer, connect


class Store:
    """Questions and answers of one release, in SQLite.

    Changes go through one writer; each is whole or not at all, and its future is done once it is on the
    disk. Reading goes beside it.

    Args:
        path: The database that `make_folder` made.
        clock: Replaces the clock, for tests.

    Attributes:
        facts: What was settled when the folder was made.
        tokens: Who may do what.

    Raises:
        ValueError: If it is no such database, or of another version.
    """

    def __init__(self, path: Path, clock: Callable[[str | None], Clock] = Clock) -> None:
        self._reader = connect(path)
        self._reading = threading.Lock()
        try:
            self.facts: FolderFacts = read_facts(self._reader)
        except ValueError:
            self._reader.close()
            raise
        self._listeners: list[Callable[[Question], None]] = []
        latest = self._one("SELECT max(time) AS time FROM event")
        self.clock = clock(latest["time"] if latest else None)
        self._changes = Changes(self.facts, self.clock)
        self._writer = Writer(path)
        self.tokens = Tokens(self._all, self._writer, self.clock)

    def close(self) -> None:
        """Finish what was begun."""
        self._writer.close()
        self._reader.close()

    def listen(self, listener: Callable[[Question], None]) -> None:
        """Have every change of a query told, once it is on the disk, from the writer's thread."""
        self._listeners.append(listener)

    # --- reading ---

    def query(self, number: int) -> Question:
        """One question.

        Raises:
            ServiceError: If there is none of this number.
        """
        found = self._one("SELECT * FROM query WHERE id = ?", number)
        if found is None:
            raise ServiceError("no_query", f"there is no query {number}")
        return query_from(found)

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
        return [query_from(each) for each in found]

    def replayed(self, key: str, row: int, token: int) -> Question | None:
        """What was answered to the same key before; None: nothing.

        Raises:
            ServiceError: ``key_reused`` if that was about another row.
        """
        return replayed(self._one(BY_KEY, token, key), row)

    def queries_used(self) -> int:
        """How many measurements are spent or promised."""
        found = self._one(COUNT_USED)
        assert found is not None
        return found["used"]

    def queries_left(self) -> int | None:
        """How many more records may be measured; None: no limit."""
        limit = self.facts.max_queries
        return None if limit is None else limit - self.queries_used()

    def identifier(self, row: int) -> str:
        """What staff call the record of a released row. For the curator's eyes only."""
        found = self._one("SELECT identifier FROM record WHERE row = ?", row)
        assert found is not None
        return found["identifier"]

    def record(self, row: int) -> int:
        """Place of a released row's record in the table. For the curator's eyes only."""
        found = self._one("SELECT record FROM record WHERE row = ?", row)
        assert found is not None
        return found["record"]

    def events(self, query: int | None = None) -> list[sqlite3.Row]:
        """What happened, in order; to one query, or to all. For the curator's eyes only."""
        if query is None:
            return self._all("SELECT * FROM event ORDER BY id")
        return self._all("SELECT * FROM event WHERE query = ? ORDER BY id", query)

    # --- changes ---

    def ask(self, key: str, row: int, token: int) -> Future[Asked]:
        """Ask for a row, once however often the request comes.

        A row that was asked before, under any key, is the same question. The budget is checked in the
        transaction that stores the question.

        Raises:
            ServiceError: ``no_row``; through the future ``key_reused``, ``budget_spent`` or
                ``too_many_keys``.
        """
        if not 0 <= row < self.facts.n:
            raise ServiceError("no_row", f"row must be in 0..{self.facts.n - 1}")
        return self._submit(
            lambda connection: self._changes.ask(connection, key, row, token),
            lambda asked: asked.query if asked.new else None,
        )

    def measure(self, number: int, outcome: float, token: int | None) -> Future[Question]:
        """Store a measured outcome. The same one again changes nothing.

        Raises (through the future):
            ServiceError: ``no_query``; ``measured`` if it has another value; ``withdrawn``; from a
                person ``measuring``, while a program works on it.
        """
        return self._submit(lambda connection: self._changes.measure(connection, number, outcome, token))

    def correct(
        self, number: int, outcome: float, reason: str, token: int, *, revision: int | None = None
    ) -> Future[Question]:
        """Replace a value that was entered wrongly.

        Args:
            number: Of the query.
            outcome: The right value; the same one again changes nothing.
            reason: Why.
            token: Whose it is.
            revision: Which value was seen and is to be replaced; None: whichever is there.

        Raises (through the future):
            ServiceError: ``no_query``; ``not_measured``; ``revised`` if somebody else corrected it
                meanwhile; ``told`` if its answer is noised and was read: a second answer with the same
                noise would give the first one away.
        """
        return self._submit(
            lambda connection: self._changes.correct(
                connection, number, outcome, reason, token, revision=revision
            )
        )

    def withdraw(self, number: int, reason: str, token: int) -> Future[Question]:
        """Say that a record will not be measured; that gives its measurement back to the budget.

        Raises (through the future):
            ServiceError: ``no_query``; ``measured``; ``measuring`` while a program works on it.
        """
        return self._submit(lambda connection: self._changes.withdraw(connection, number, reason, token))

    def tell(self, number: int, revision: int) -> Future[None]:
        """Remember that a modeler is about to read a noised answer; to be awaited before it is sent.

        Raises (through the future):
            ServiceError: ``revised`` if the value was corrected meanwhile: read it again.
        """
        return self._writer.submit(lambda connection: self._changes.tell(connection, number, revision))

    def begin(self) -> Future[Question | None]:
        """Take the oldest pending question for a program to measure; None: there is none."""
        return self._submit(self._changes.begin)

    def fail(self, number: int, reason: str) -> Future[Question]:
        """Store that the program failed: staff decide whether it tries again."""
        return self._submit(
            lambda connection: self._changes.move(
                connection, number, MEASURING, FAILED, reason, None, "failed"
            )
        )

    def retry(self, number: int, token: int | None) -> Future[Question]:
        """Let the program measure a failed question again.

        Raises (through the future):
            ServiceError: ``no_query``; ``not_failed``.
        """
        return self._submit(
            lambda connection: self._changes.move(
                connection, number, FAILED, PENDING, None, token, "retried"
            )
        )

    def interrupted(self, reason: str) -> Future[int]:
        """After a crash: what a program was measuring may have been measured, so it has failed."""
        return self._writer.submit(lambda connection: self._changes.interrupted(connection, reason))

    def _submit(
        self,
        operation: Callable[[sqlite3.Connection], Any],
        changed: Callable[[Any], Question | None] = lambda query: query,
    ) -> Future[Any]:
        future = self._writer.submit(operation)
        future.add_done_callback(lambda done: self._announce(done, changed))
        return future

    def _announce(self, done: Future, changed: Callable[[Any], Question | None]) -> None:
        if done.cancelled() or done.exception() is not None:
            return
        query = changed(done.result())
        if query is not None:
            for listener in self._listeners:
                listener(query)

    def _one(self, statement: str, *values: Any) -> sqlite3.Row | None:
        with self._reading:
            return self._reader.execute(statement, values).fetchone()

    def _all(self, statement: str, *values: Any) -> list[sqlite3.Row]:
        with self._reading:
            return self._reader.execute(statement, values).fetchall()
