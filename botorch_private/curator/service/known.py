"""Values that nobody asked for: outcomes that the curator knows, kept until a modeler asks.

What is known crosses to a modeler only as the answer to a question, with the noise and within the limit
of any answer. That it comes at once tells that it was known.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from botorch_private.curator.service.changes import Changes
from botorch_private.curator.service.circumstances import UNSAID, Circumstances
from botorch_private.curator.service.look_up import rows_of
from botorch_private.curator.service.outcomes import stored
from botorch_private.curator.service.question import (
    Outcome,
    Question,
    ServiceError,
    State,
    known_about,
    question_about,
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
        rows = self._called(wanted, place)
        self._refuse_values(wanted, rows, place, confirmed=confirmed)
        return self._know(wanted, rows, token, replace, place)

    def rows_of(self, identifiers: Iterable[str]) -> list[int | None]:
        """The released rows of records; see `look_up`."""
        return rows_of(self._all, identifiers)

    def keep_known(
        self,
        connection: sqlite3.Connection,
        row: int,
        outcome: Outcome,
        token: int | None,
        circumstances: Circumstances = UNSAID,
        *,
        reason: str = "",
        source: str = "",
    ) -> None:
        """Keep an outcome until somebody asks for its row, inside of a step. Nobody asks for it now.

        Args:
            connection: Inside a transaction.
            row: Released row.
            outcome: What is known of it from now on.
            token: Whose it is; None: the curator's own.
            circumstances: Of its measurement.
            reason: Why it takes the place of another one.
            source: Where it is from, for the event.
        """
        before, said = known_about(connection, row)
        connection.execute("UPDATE record SET outcome = ? WHERE row = ?", (stored(outcome), row))
        connection.execute("DELETE FROM known_said WHERE row = ?", (row,))
        if any(circumstances):
            connection.execute(
                "INSERT INTO known_said VALUES (?, ?, ?, ?)",
                (row, *(each or None for each in circumstances)),
            )
        data: dict[str, Any] = {"row": row, "value": outcome, **circumstances.named()}
        if before is not None:
            data["before"] = {"value": before, **said.named()}
        if source:
            data["from"] = source
        note(connection, self.clock(), "known", token=token, detail=reason or f"row {row}", data=data)

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
            query = question_about(connection, row)
            if query is None:
                earlier, _ = known_about(connection, row)
                if earlier == each.outcome:
                    continue
                if earlier is not None and not replace:
                    raise _refusal("known", place, each, "another value is known, and must be replaced")
                self.keep_known(connection, row, each.outcome, token)
                kept += 1
            elif query.state == State.MEASURING:
                raise _refusal("measuring", place, each, "a program works on that record: wait for it")
            elif query.state != State.MEASURED:
                answered.append(self.settle(connection, query, each.outcome, token))
            elif query.outcome != each.outcome:
                raise _refusal("measured", place, each, "it has another value: correct it")
        return Known(kept, answered)

    def _called(self, outcomes: Sequence[KnownOutcome], place: str) -> list[int]:
        """The released rows of the records that are meant."""
        rows = []
        for each, row in zip(outcomes, self.rows_of(each.identifier for each in outcomes), strict=True):
            if row is None:
                raise _refusal("no_record", place, each, self._unknown())
            rows.append(row)
        return rows

    def _unknown(self) -> str:
        if self.facts.parts is None:
            return "no record is called that"
        return (
            "no record that was asked for is called that; of a release in parts other outcomes are "
            "given at 'curator init --known'"
        )

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


def _refusal(code: str, place: str, known: KnownOutcome, why: str) -> ServiceError:
    number = known.place
    return ServiceError(code, f"{place} {number}: {why}; nothing was stored")
