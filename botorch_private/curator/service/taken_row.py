"""What becomes of one row of a sheet: it settles a question, corrects it, or is kept until one comes."""

from __future__ import annotations

import sqlite3
from enum import StrEnum
from typing import NamedTuple

from botorch_private.curator.service.circumstances import Circumstances
from botorch_private.curator.service.question import (
    Outcome,
    Question,
    ServiceError,
    State,
    known_about,
)
from botorch_private.curator.service.sheet import Refusal, SheetRow
from botorch_private.curator.service.store import Store


class Fate(StrEnum):
    """What became of a row; a name of a count in `TakenIn`."""

    STORED = "stored"
    CORRECTED = "corrected"
    SAME = "same"
    KEPT = "kept"
    TOLD = "told"


class TakenRow(NamedTuple):
    """A row that was taken.

    Attributes:
        fate: What became of it.
        changed: The question that changed, if one did.
    """

    fate: Fate
    changed: Question | None = None


def settle_row(
    store: Store, connection: sqlite3.Connection, query: Question, row: SheetRow, token: int | None
) -> TakenRow | Refusal:
    """Settle or correct the question about a row's record, inside of a step."""
    if query.state == State.MEASURING:
        return Refusal(row.row, "a program works on this record now")
    source, said = _source(row), row.circumstances
    if query.state != State.MEASURED:
        if row.reason:
            return Refusal(row.row, _NOTHING_TO_CORRECT)
        settled = store.settle(connection, query, row.value, token, source, said)
        return TakenRow(Fate.STORED, settled)
    if not _differs(row, query.outcome, query.circumstances):
        return TakenRow(Fate.SAME)
    if why := _no_reason(row, query.outcome):
        return Refusal(row.row, why)
    if query.outcome != row.value and store.facts.is_noised and query.told:
        return Refusal(row.row, _TOLD)
    corrected = store.replace(
        connection, query, row.value, row.reason, token, detail=source, circumstances=said
    )
    return TakenRow(Fate.CORRECTED, corrected)


def keep_row(
    store: Store,
    connection: sqlite3.Connection,
    place: int,
    row: SheetRow,
    token: int | None,
    *,
    tell: bool,
) -> TakenRow | Refusal:
    """Keep the value of a record that nobody asks for, inside of a step.

    It answers the question when that comes, as any value that is known. What was never asked for is told
    to nobody and spends nothing.

    Args:
        store: Where.
        connection: Inside a transaction.
        place: Released row of the record.
        row: Of the sheet.
        token: Whose it is; None: the curator.
        tell: Whether the curator asks for it now, so that the answer lies there for every modeler. That
            counts as any question, and has the noise of any answer.
    """
    known, said = known_about(connection, place)
    fate = Fate.KEPT if known is None else Fate.CORRECTED
    if known is None and row.reason:
        return Refusal(row.row, _NOTHING_TO_CORRECT)
    if known is not None and not _differs(row, known, said):
        fate = Fate.SAME
    elif known is not None and (why := _no_reason(row, known)):
        return Refusal(row.row, why)
    else:
        now = row.circumstances.over(said)
        store.keep_known(
            connection, place, row.value, token, now, reason=row.reason, source=_source(row)
        )
    if not tell:
        return TakenRow(fate)
    try:
        return TakenRow(Fate.TOLD, store.open_question(connection, place, None))
    except ServiceError as error:
        return Refusal(row.row, error.message)


_OTHER_CIRCUMSTANCES = (
    "this value is stored with another date, instrument or comment: say why that is corrected in a "
    "column 'reason'"
)
_NOTHING_TO_CORRECT = "it has a reason for a correction, but no value is stored for this record"
_TOLD = (
    "the modeler has read this answer, with its noise: a corrected one would tell more than was promised"
)


def _source(row: SheetRow) -> str:
    return f"from a sheet, row {row.row}"


def _differs(row: SheetRow, stored: Outcome | None, said: Circumstances) -> bool:
    return stored != row.value or row.circumstances.change(said)


def _no_reason(row: SheetRow, stored: Outcome | None) -> str:
    """Why a row that has no reason cannot take the place of what is stored; empty if it has one."""
    if row.reason:
        return ""
    if stored == row.value:
        return _OTHER_CIRCUMSTANCES
    of = ""
    if isinstance(row.value, dict) and isinstance(stored, dict):
        of = f" of {', '.join(name for name in row.value if row.value[name] != stored[name])}"
    return f"another value{of} is stored for this record: say why it is corrected in a column 'reason'"
