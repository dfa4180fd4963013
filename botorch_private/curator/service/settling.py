"""Settling: how a question gets its value, another one, or none."""

from __future__ import annotations

import sqlite3
from typing import Any

from botorch_private.curator.service.circumstances import UNSAID, Circumstances
from botorch_private.curator.service.outcomes import stored
from botorch_private.curator.service.question import Outcome, Question, ServiceError, State, get
from botorch_private.curator.service.recording import Recording
from botorch_private.curator.service.writer import step


class Settling(Recording):
    """Steps in which no value is lost or measured twice."""

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


def _refuse_while_measuring(query: Question) -> None:
    if query.state == State.MEASURING:
        raise ServiceError(
            "measuring", f"a program works on query {query.id}: wait until it has measured it or failed"
        )
