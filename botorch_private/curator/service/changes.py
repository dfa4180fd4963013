"""What may change in a curator's database: each method is one step inside a transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from botorch_private.curator.service.circumstances import UNSAID, Circumstances
from botorch_private.curator.service.clock import Clock
from botorch_private.curator.service.outcomes import stored
from botorch_private.curator.service.parts.behind import Behind
from botorch_private.curator.service.question import (
    Outcome,
    Question,
    ServiceError,
    State,
    count_used,
    get,
    recalled,
    replayed,
)
from botorch_private.curator.service.schema import FolderFacts, write_changed
from botorch_private.curator.service.trail import note
from botorch_private.curator.service.writer import Writer, step

T = TypeVar("T")
_MOST_KEYS = 100  # of one question and token: else they would fill the disk


class Asked(NamedTuple):
    """What became of a question."""

    query: Question
    new: bool


class Changes:
    """Steps in which no value is lost, measured twice, or answered differently.

    Each returns a future, which is done once the change is on the disk; what a step raises comes through
    it. A step about a number that no query has raises ``no_query``.

    Args:
        facts: What was settled when the folder was made.
        clock: Tells the time.
        writer: Runs the steps.

    Attributes:
        behind: What is kept of each record, where the release is in parts: the database learns of a
            record when it is asked for. None: it knows all of them.
    """

    def __init__(self, facts: FolderFacts, clock: Clock, writer: Writer) -> None:
        self.facts, self.clock, self._writer = facts, clock, writer
        self._listeners: list[Callable[[Question], None]] = []
        self.behind: Behind | None = None

    def listen(self, listener: Callable[[Question], None]) -> None:
        """Have every change of a query told, once it is on the disk, from the writer's thread."""
        self._listeners.append(listener)

    def submit(self, operation: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Have a step run, and what it changed told; see `step`."""
        future = self._writer.submit(operation)
        future.add_done_callback(self._announce)
        return future

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

    @step
    def measure(
        self,
        connection: sqlite3.Connection,
        number: int,
        outcome: Outcome,
        token: int | None,
        circumstances: Circumstances = UNSAID,
    ) -> Question:
        """Store a measured outcome. The same one again changes nothing.

        Raises:
            ServiceError: ``measured`` if it has another value, or was measured in other circumstances;
                ``withdrawn``; from a person ``measuring``, while a program works on it.
        """
        query = get(connection, number)
        if query.state == State.MEASURED:
            if query.outcome != outcome:
                raise ServiceError(
                    "measured", f"query {number} has another value: correct it, with a reason"
                )
            if circumstances.change(query.circumstances):
                raise ServiceError(
                    "measured",
                    f"query {number} has another date, instrument or comment: correct it, with a reason",
                )
            return query
        if query.state == State.WITHDRAWN:
            raise ServiceError("withdrawn", f"query {number} was withdrawn")
        if token is not None:
            _refuse_while_measuring(query)
        return self.settle(connection, query, outcome, token, circumstances=circumstances)

    def settle(
        self,
        connection: sqlite3.Connection,
        query: Question,
        outcome: Outcome,
        token: int | None,
        detail: str | None = None,
        circumstances: Circumstances = UNSAID,
    ) -> Question:
        """Store the outcome of an open question, inside of a step; ``detail`` says where it is from."""
        data = self._settle(connection, query, outcome, circumstances)
        return self._changed(connection, token, "measured", query.id, detail, data)

    @step
    def correct(
        self,
        connection: sqlite3.Connection,
        number: int,
        outcome: Outcome,
        reason: str,
        token: int | None,
        *,
        revision: int | None = None,
        circumstances: Circumstances = UNSAID,
    ) -> Question:
        """Replace a value, or its circumstances, that were entered wrongly; see `replace`."""
        query = get(connection, number)
        if revision is not None and query.revision != revision and query.outcome != outcome:
            raise ServiceError("revised", f"query {number} was corrected meanwhile: look at it again")
        return self.replace(connection, query, outcome, reason, token, circumstances=circumstances)

    def replace(
        self,
        connection: sqlite3.Connection,
        query: Question,
        outcome: Outcome,
        reason: str,
        token: int | None,
        *,
        detail: str = "",
        circumstances: Circumstances = UNSAID,
    ) -> Question:
        """Replace a value, or its circumstances, that were entered wrongly, inside of a step.

        The event keeps what was there, the reason and the person. Modelers are told of another value,
        and of nothing where only the circumstances change.

        Args:
            connection: Inside a transaction.
            query: As it is now.
            outcome: The right value; the same one again, in the same circumstances, changes nothing.
            reason: Why.
            token: Whose it is; None: the curator's, at the command line.
            detail: Where it is from, for the event.
            circumstances: The right ones; what they do not say stays.

        Raises:
            ServiceError: ``no_reason``; ``not_measured``; ``told`` if its answer is noised and was
                read: a second answer with the same noise would give the first one away.
        """
        if not reason.strip():
            raise ServiceError("no_reason", "a correction needs a reason")
        if query.state != State.MEASURED:
            raise ServiceError("not_measured", f"query {query.id} has no value yet")
        is_other = query.outcome != outcome
        if not is_other and not circumstances.change(query.circumstances):
            return query
        if is_other and self.facts.is_noised and query.told:
            raise ServiceError(
                "told",
                f"the noised answer of query {query.id} was read: a corrected one would tell more than "
                f"was promised",
            )
        before = {"value": query.outcome, **query.circumstances.named()}
        new = circumstances.over(query.circumstances)
        data = self._settle(connection, query, outcome, new, keep_time=not is_other)
        if is_other:
            connection.execute(
                "UPDATE query SET revision = revision + 1, told = 0 WHERE id = ?", (query.id,)
            )
        data = {**data, "before": before, **({"from": detail} if detail else {})}
        return self._changed(connection, token, "corrected", query.id, reason, data)

    @step
    def withdraw(self, connection: sqlite3.Connection, number: int, reason: str, token: int) -> Question:
        """Say that a record will not be measured; that gives its measurement back to the budget.

        Raises:
            ServiceError: ``measured``; ``measuring`` while a program works on it.
        """
        query = get(connection, number)
        if query.state == State.MEASURED:
            raise ServiceError("measured", f"query {number} is measured already")
        _refuse_while_measuring(query)
        if query.state == State.WITHDRAWN:
            return query
        connection.execute(
            "UPDATE query SET state = ?, reason = ?, settled = ? WHERE id = ?",
            (State.WITHDRAWN, reason, self.clock(), number),
        )
        return self._changed(connection, token, "withdrawn", number, reason)

    @step
    def grow(
        self, connection: sqlite3.Connection, facts: FolderFacts, records: Sequence[tuple[Any, ...]]
    ) -> None:
        """Let records join: their rows of the database, and what the folder's release is from now on.

        Args:
            connection: Inside a transaction.
            facts: Of the longer release.
            records: Rows of the table ``record``, all beyond those that are there.
        """
        connection.executemany("INSERT INTO record VALUES (?, ?, ?, ?, ?)", records)
        write_changed(connection, self.facts, facts)
        before = f"{self.facts.identity} {self.facts.n} rows before, {facts.n} now"
        note(connection, self.clock(), "grown", detail=before)

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

    def _insert(self, connection: sqlite3.Connection, row: int, token: int) -> int:
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
        known = connection.execute("SELECT outcome FROM record WHERE row = ?", (row,)).fetchone()
        outcome = recalled(known["outcome"])
        if outcome is not None:
            data = self._settle(connection, query, outcome)
            self._changed(connection, None, "known", number, data=data)
        return number

    def _settle(
        self,
        connection: sqlite3.Connection,
        query: Question,
        outcome: Outcome,
        circumstances: Circumstances = UNSAID,
        *,
        keep_time: bool = False,
    ) -> dict[str, Any]:
        """Store an outcome; returns what an event says of it."""
        found = connection.execute("SELECT noise FROM record WHERE row = ?", (query.row,)).fetchone()
        answer = self.facts.measured.answer(outcome, found["noise"])
        connection.execute(
            "UPDATE query SET state = ?, outcome = ?, answer = ?, settled = ?, reason = NULL, "
            "measured_on = ?, instrument = ?, comment = ? WHERE id = ?",
            (
                State.MEASURED,
                stored(outcome),
                stored(answer),
                query.settled if keep_time else self.clock(),
                *(each or None for each in circumstances),
                query.id,
            ),
        )
        return {"value": outcome, "answer": answer, **circumstances.named()}

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

    def _changed(
        self,
        connection: sqlite3.Connection,
        token: int | None,
        kind: str,
        number: int,
        detail: str | None = None,
        data: dict[str, Any] | None = None,
    ) -> Question:
        """Note what happened to a question; returns the question as it is now."""
        note(connection, self.clock(), kind, token=token, query=number, detail=detail, data=data)
        return get(connection, number)

    def _announce(self, done: Future) -> None:
        if done.cancelled() or done.exception() is not None:
            return
        changed = done.result()
        if isinstance(changed, Asked):
            changed = changed.query if changed.new else None
        changed = getattr(changed, "answered", changed)  # by outcomes that were known (`KnownOutcomes`)
        for each in changed if isinstance(changed, list) else [changed]:
            if isinstance(each, Question):
                for listener in self._listeners:
                    listener(each)


def _refuse_while_measuring(query: Question) -> None:
    if query.state == State.MEASURING:
        raise ServiceError(
            "measuring", f"a program works on query {query.id}: wait until it has measured it or failed"
        )
