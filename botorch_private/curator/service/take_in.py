"""take_in: store the measurements of a sheet, all or none."""

from __future__ import annotations

import contextlib
import math
import sqlite3
from dataclasses import replace
from typing import NamedTuple

from botorch_private.curator.features.identifiers import look
from botorch_private.curator.service.agenda import today
from botorch_private.curator.service.outcomes import Outcomes
from botorch_private.curator.service.question import Question, State, question_from
from botorch_private.curator.service.sheet import Refusal, SheetForm, SheetRow, read_sheet
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.trail import note


class TakenIn(NamedTuple):
    """What became of a sheet.

    Attributes:
        stored: How many values were stored; of a dry run, how many would be.
        corrected: How many corrections were, of values or of what is said about them.
        same: How many were stored before, with the same value.
        empty: How many rows have no value.
        refused: Rows that cannot be stored, in order; if there is any, nothing was stored.
        implausible: Rows that are refused only because their values are not plausible.
    """

    stored: int
    corrected: int
    same: int
    empty: int
    refused: list[Refusal]
    implausible: int


class _UndoneError(Exception):
    """Nothing is to be stored."""


def take_in(store: Store, text: str, form: SheetForm, *, token: int | None, dry: bool) -> TakenIn:
    """Store the measurements of a sheet, in one transaction.

    A dry run does the same, and undoes it: it finds what the real run would.

    Args:
        store: Where.
        text: Of the sheet.
        form: How it is written.
        token: Number of the token of whoever sent it; None: the curator, at the command line.
        dry: Whether to store nothing.

    Raises:
        ValueError: If the sheet cannot be read as a whole.
        StorageError: If the disk refuses; nothing was stored then.
    """
    facts = store.facts
    sheet = read_sheet(
        text, form, unit=facts.outcome_unit, outcomes=facts.outcomes, today=today(store.clock())
    )
    measured = _with_range(facts.measured, form)
    refused, doubtful, counts = list(sheet.refused), [], {"stored": 0, "corrected": 0, "same": 0}

    def store_all(connection: sqlite3.Connection) -> list[Question]:
        finder, seen, changed = _Finder(connection), {}, []
        for row in sheet.rows:
            query = finder.find(row)
            if isinstance(query, Refusal):
                refused.append(query)
            elif query.id in seen:
                refused.append(Refusal(row.row, f"it is about the same record as row {seen[query.id]}"))
            elif query.state == State.MEASURING:
                refused.append(Refusal(row.row, "a program works on this record now"))
            elif query.state == State.MEASURED and not _differs(query, row):
                counts["same"] += 1
            elif why := _why_not(store, query, row):
                refused.append(Refusal(row.row, why))
            else:
                if not form.accepted and (doubts := _doubts(measured, row)):
                    doubtful.append(Refusal(row.row, doubts))
                source, said = f"from a sheet, row {row.row}", row.circumstances
                if query.state == State.MEASURED:
                    done = store.replace(
                        connection,
                        query,
                        row.value,
                        row.reason,
                        token,
                        detail=source,
                        circumstances=said,
                    )
                    counts["corrected"] += 1
                else:
                    done = store.settle(connection, query, row.value, token, source, said)
                    counts["stored"] += 1
                changed.append(done)
            if not isinstance(query, Refusal):
                seen.setdefault(query.id, row.row)
        if dry or refused or doubtful:
            raise _UndoneError
        return changed

    with contextlib.suppress(_UndoneError):
        store.submit(store_all).result()
    everything = sorted(refused + doubtful)
    if everything and not dry:
        data = {"why": "sheet", "place": "sheet", "rows": len(everything)}
        store.submit(
            lambda connection: note(connection, store.clock(), "refused", token=token, data=data)
        ).result()
    return TakenIn(**counts, empty=sheet.empty, refused=everything, implausible=len(doubtful))


_OTHER_CIRCUMSTANCES = (
    "this value is stored with another date, instrument or comment: say why that is corrected in a "
    "column 'reason'"
)
_NOTHING_TO_CORRECT = "it has a reason for a correction, but no value is stored for this record"
_TOLD = (
    "the modeler has read this answer, with its noise: a corrected one would tell more than was promised"
)


def _differs(query: Question, row: SheetRow) -> bool:
    return query.outcome != row.value or row.circumstances.change(query.circumstances)


def _why_not(store: Store, query: Question, row: SheetRow) -> str:
    """Why a row cannot settle or correct a question; empty if it can."""
    if query.state != State.MEASURED:
        return _NOTHING_TO_CORRECT if row.reason else ""
    if not row.reason:
        return _other_value(query, row) if query.outcome != row.value else _OTHER_CIRCUMSTANCES
    is_noised = store.facts.is_noised
    return _TOLD if query.outcome != row.value and is_noised and query.told else ""


def _other_value(query: Question, row: SheetRow) -> str:
    of = ""
    if isinstance(row.value, dict) and isinstance(query.outcome, dict):
        of = f" of {', '.join(name for name in row.value if row.value[name] != query.outcome[name])}"
    return f"another value{of} is stored for this record: say why it is corrected in a column 'reason'"


def _with_range(measured: Outcomes, form: SheetForm) -> Outcomes:
    """What is measured, with the plausible range that is declared for one sheet."""
    if form.low is None and form.high is None:
        return measured
    (one,) = measured.each  # a sheet of several outcomes declares none
    low, high = one.plausible or (-math.inf, math.inf)
    ends = (low if form.low is None else form.low, high if form.high is None else form.high)
    return replace(measured, each=(replace(one, plausible=ends),))


def _doubts(measured: Outcomes, row: SheetRow) -> str:
    """What is said of a value outside of a plausible range; empty where it is plausible."""
    names = measured.implausible(row.value)
    if not names:
        return ""
    which = f"value of {', '.join(names)}" if measured.several else "value"
    return f"its {which} is outside the plausible range: look again, and say so if it is right"


class _Finder:
    """Finds the question about a record by its identifier.

    An identifier that is written in another way and looks the same is the same: no two records look
    the same (`checked_identifiers`).
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._looks: dict[str, int] | None = None

    def find(self, row: SheetRow) -> Question | Refusal:
        """The question that a row settles, or why there is none."""
        found = self._connection.execute(
            "SELECT row FROM record WHERE identifier = ?", (row.identifier,)
        ).fetchone()
        place = self._by_look(row.identifier) if found is None else found["row"]
        if place is None:
            return Refusal(row.row, "no record that was asked for has this identifier")
        query = self._connection.execute(
            "SELECT * FROM query WHERE row = ? AND state <> 'withdrawn'", (place,)
        ).fetchone()
        if query is None:
            return Refusal(row.row, "nobody asks for this record")
        return question_from(query)

    def _by_look(self, identifier: str) -> int | None:
        if self._looks is None:
            found = self._connection.execute("SELECT row, label FROM query")
            self._looks = {look(each["label"]): each["row"] for each in found}
        return self._looks.get(look(identifier))
