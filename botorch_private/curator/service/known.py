"""Values that nobody asked for: outcomes that the curator knows, kept until a modeler asks.

What is known crosses to a modeler only as the answer to a question, with the noise and within the limit
of any answer. That it comes at once tells that it was known.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from botorch_private.curator.features.identifiers import look
from botorch_private.curator.service.changes import Changes
from botorch_private.curator.service.outcomes import stored
from botorch_private.curator.service.question import (
    Outcome,
    Question,
    ServiceError,
    State,
    question_from,
    recalled,
)
from botorch_private.curator.service.reading import Reading
from botorch_private.curator.service.trail import note
from botorch_private.curator.service.writer import step


class KnownOutcome(NamedTuple):
    """An outcome of a record that is known already.

    Attributes:
        place: Where it stands in a file or a list, for messages, which never hold an identifier.
        identifier: What staff call the record.
        outcome: Its outcome.
    """

    place: int
    identifier: str
    outcome: Outcome


class Known(NamedTuple):
    """What became of known outcomes.

    Attributes:
        kept: How many wait for their question.
        answered: Open questions that have their answers now.
    """

    kept: int
    answered: list[Question]

    @property
    def changed(self) -> list[Question]:
        """Questions that have changed."""
        return self.answered


class KnownOutcomes(Reading, Changes):
    """Storing outcomes that are known: all of them or none."""

    def know(
        self,
        outcomes: Iterable[KnownOutcome],
        token: int | None,
        *,
        confirmed: bool = False,
        replace: bool = False,
        place: str = "line",
    ) -> Future[Known]:
        """Store outcomes by the identifiers of their records, asked for or not.

        An open question is answered at once. Otherwise an outcome is kept, and the question that asks
        for it is answered when it comes; nobody is asked then. What is known already changes nothing.

        Args:
            outcomes: Any records of the table, in any order.
            token: Whose they are; None: the curator's own.
            confirmed: Whether values outside the plausible range were looked at.
            replace: Whether to replace known outcomes that no question was answered with. Others are
                corrected one by one, with a reason.
            place: What places are called.

        Returns:
            A future, done once all is on the disk.

        Raises:
            ServiceError: With the place of the first that is wrong: ``no_record``, ``no_number``,
                ``implausible``, ``twice`` for a record with two values, ``known`` or ``measured`` for
                one that has another, or ``measuring`` while a program works on it. Nothing is stored
                then.
        """
        wanted = list(outcomes)
        rows = self._rows_of(wanted, place)
        self._refuse_values(wanted, rows, place, confirmed=confirmed)
        return self._know(wanted, rows, token, replace, place)

    @step
    def _know(
        self,
        connection: sqlite3.Connection,
        outcomes: Sequence[KnownOutcome],
        rows: Sequence[int],
        token: int | None,
        replace: bool,
        place: str,
    ) -> Known:
        kept, answered = 0, []
        for each, row in zip(outcomes, rows, strict=True):
            query = _question_about(connection, row)
            if query is None:
                kept += self._keep(connection, each, row, token, replace=replace, place=place)
            elif query.state == State.MEASURING:
                raise _refusal("measuring", place, each, "a program works on that record: wait for it")
            elif query.state != State.MEASURED:
                answered.append(self.settle(connection, query, each.outcome, token))
            elif query.outcome != each.outcome:
                raise _refusal("measured", place, each, "it has another value: correct it")
        return Known(kept, answered)

    def _keep(
        self,
        connection: sqlite3.Connection,
        known: KnownOutcome,
        row: int,
        token: int | None,
        *,
        replace: bool,
        place: str,
    ) -> bool:
        """Keep an outcome for later; False if it was kept already."""
        found = connection.execute("SELECT outcome FROM record WHERE row = ?", (row,)).fetchone()
        earlier = recalled(found["outcome"])
        if earlier == known.outcome:
            return False
        if earlier is not None and not replace:
            raise _refusal("known", place, known, "another value is known, and must be replaced")
        connection.execute("UPDATE record SET outcome = ? WHERE row = ?", (stored(known.outcome), row))
        detail = f"row {row}" if earlier is None else f"row {row}: it was {earlier!r}"
        data = {"row": row, "value": known.outcome}
        note(connection, self.clock(), "known", token=token, detail=detail, data=data)
        return True

    def _rows_of(self, outcomes: Sequence[KnownOutcome], place: str) -> list[int]:
        """The released rows of the records that are meant."""
        records = self._all("SELECT row, identifier FROM record")
        exact = {str(each["identifier"]): int(each["row"]) for each in records}
        seen: Mapping[str, int] = {}
        rows = []
        for each in outcomes:
            row = exact.get(each.identifier)
            if row is None:  # no two identifiers look the same, so one that looks like it is meant
                seen = seen or {look(text): number for text, number in exact.items()}
                row = seen.get(look(each.identifier))
            if row is None:
                raise _refusal("no_record", place, each, "no record is called that")
            rows.append(row)
        return rows

    def _refuse_values(
        self, outcomes: Sequence[KnownOutcome], rows: Sequence[int], place: str, *, confirmed: bool
    ) -> None:
        first: dict[int, KnownOutcome] = {}
        for each, row in zip(outcomes, rows, strict=True):
            if isinstance(each.outcome, float) and not math.isfinite(each.outcome):
                raise _refusal("no_number", place, each, "a finite number is needed")
            try:
                doubts = self.facts.measured.doubts(each.outcome)
            except ServiceError as error:
                raise _refusal(error.code, place, each, error.message) from None
            if doubts and not confirmed:
                raise _refusal("implausible", place, each, doubts)
            earlier = first.setdefault(row, each)
            if earlier.outcome != each.outcome:
                why = f"the record has another value in {place} {earlier.place}"
                raise _refusal("twice", place, each, why)


def _question_about(connection: sqlite3.Connection, row: int) -> Question | None:
    """The question about a row that was not withdrawn."""
    found = connection.execute(
        "SELECT * FROM query WHERE row = ? AND state <> 'withdrawn'", (row,)
    ).fetchone()
    return None if found is None else question_from(found)


def _refusal(code: str, place: str, known: KnownOutcome, why: str) -> ServiceError:
    number = known.place
    return ServiceError(code, f"{place} {number}: {why}; nothing was stored")
