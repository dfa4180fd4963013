"""Agenda: the open questions by page, and what staff arrange among themselves about each.

Pages and counts read an index of open questions alone (`schema.MIGRATIONS`), so neither grows with the
questions that were settled.
"""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from botorch_private.curator.service.clock import stamp
from botorch_private.curator.service.drafts import ENDED
from botorch_private.curator.service.part import Part
from botorch_private.curator.service.question import (
    OPEN,
    Question,
    ServiceError,
    State,
    get,
    question_from,
)
from botorch_private.curator.service.trail import note
from botorch_private.curator.service.writer import step

HOURS = (1, 8, 24, 168)  # for which a question may be taken
_OPEN = "state IN ('pending', 'measuring', 'failed')"
_LAST = chr(0x10FFFF)


class View(StrEnum):
    """Which open questions to show."""

    OPEN = "open"  # all of them
    MINE = "mine"  # taken by whoever looks
    LATE = "late"  # due before today


class Wanted(NamedTuple):
    """Which open questions are looked for.

    Attributes:
        view: A `View`.
        beginning: Of the identifier, in capitals or not; empty: any.
    """

    view: str = View.OPEN
    beginning: str = ""


ALL = Wanted()


class Arranged(NamedTuple):
    """What staff arranged about a question.

    Attributes:
        due: Day by which it is to be measured, YYYY-MM-DD; None: none.
        note: Of staff, for staff; may be empty.
        taken_by: Number of the token of whoever took it; None: it is free.
        taken_until: Until when, UTC, ISO 8601.
        is_late: Whether that day is over.
    """

    due: str | None
    note: str
    taken_by: int | None
    taken_until: str | None
    is_late: bool


class Item(NamedTuple):
    """An open question for a page.

    Attributes:
        query: The question.
        identifier: Of its record.
        arranged: What staff arranged about it.
    """

    query: Question
    identifier: str
    arranged: Arranged


class Agenda(Part):
    """The open questions of a curator's database."""

    def count(self, wanted: Wanted, token: int) -> int:
        """How many open questions are wanted.

        Args:
            wanted: Which.
            token: Number of the token of whoever looks.
        """
        source, _, values = _chosen(wanted, token, self._clock())
        return self._read(f"SELECT count(*) FROM {source}", *values)[0][0]

    def page(self, wanted: Wanted, token: int, *, start: int = 0, length: int = -1) -> list[Item]:
        """Some of the open questions that are wanted, in their order.

        What failed comes first, then the oldest; what is looked for by the beginning of its identifier
        is in the order of identifiers, and what is late in that of its day.

        Args:
            wanted: Which.
            token: Number of the token of whoever looks.
            start: How many to leave out.
            length: At most so many; -1: all.
        """
        now = self._clock()
        source, order, values = _chosen(wanted, token, now)
        found = self._read(
            f"SELECT * FROM {source} ORDER BY {order} LIMIT ? OFFSET ?",
            *values,
            length,
            start,
        )
        ended = self._ended(now) if any(each["taken_by"] is not None for each in found) else set()
        return [Item(question_from(each), each["label"], _arranged(each, now, ended)) for each in found]

    def place_after(self, query: Question) -> int:
        """How many open questions come before the next one after this one; 0 if there is none.

        A program's failed ones come before all others.
        """
        failed, pending = (
            self._read(
                f"SELECT count(*) FILTER (WHERE id <= ?1), count(*) FROM query INDEXED BY open_in_turn "
                f"WHERE {_OPEN} AND (state <> 'failed') = {others}",
                query.id,
            )[0]
            for others in (0, 1)
        )
        if failed[0] < failed[1]:
            return failed[0]
        return failed[1] + pending[0] if pending[0] < pending[1] else 0

    def arranged(self, number: int) -> Arranged:
        """What staff arranged about a question."""
        now = self._clock()
        found = self._read("SELECT * FROM query WHERE id = ?", number)
        if not found:
            raise ServiceError("no_query", f"there is no query {number}")
        return _arranged(found[0], now, self._ended(now))

    @step
    def take(self, connection: sqlite3.Connection, number: int, token: int, hours: int) -> None:
        """Take a question for so many hours; then it is free again, as it is when the token ends.

        Taking it again by the same person counts from now.

        Raises:
            ServiceError: ``taken`` by somebody else; ``measured`` or ``withdrawn``.
        """
        now = self._clock()
        _refuse_settled(connection, number)
        taken = connection.execute(
            f"UPDATE query SET taken_by = ?1, taken_until = ?2 WHERE id = ?3 AND "
            f"(taken_by IS NULL OR taken_by = ?1 OR taken_until <= ?4 "
            f"OR taken_by IN (SELECT id FROM token WHERE {ENDED.replace('?', '?4')}))",
            (token, until := _later(now, hours), number, now),
        )
        if not taken.rowcount:
            raise ServiceError("taken", f"somebody else has taken query {number}")
        note(connection, now, "taken", token=token, query=number, detail=until)

    @step
    def release(self, connection: sqlite3.Connection, number: int, token: int) -> None:
        """Give back a question that this person took; else nothing changes."""
        given = connection.execute(
            "UPDATE query SET taken_by = NULL, taken_until = NULL WHERE id = ? AND taken_by = ?",
            (number, token),
        )
        if given.rowcount:
            note(connection, self._clock(), "released", token=token, query=number)

    @step
    def arrange(
        self, connection: sqlite3.Connection, number: int, token: int, due: str | None, text: str
    ) -> None:
        """Say by when a question is to be measured, and what staff should know of it.

        Args:
            connection: Inside a transaction.
            number: Of the question.
            token: Whose it is.
            due: Day, YYYY-MM-DD; None: none.
            text: Note for staff; may be empty.

        Raises:
            ServiceError: ``measured`` or ``withdrawn``.
        """
        _refuse_settled(connection, number)
        changed = connection.execute(
            "UPDATE query SET due = ?1, note = ?2 WHERE id = ?3 "
            "AND (due IS NOT ?1 OR coalesce(note, '') <> ?2)",
            (due, text, number),
        )
        if changed.rowcount:
            detail = f"{due or ''}: {text}"
            note(connection, self._clock(), "arranged", token=token, query=number, detail=detail)

    def _ended(self, now: str) -> set[int]:
        return {each["id"] for each in self._read(f"SELECT id FROM token WHERE {ENDED}", now)}


def _chosen(wanted: Wanted, token: int, now: str) -> tuple[str, str, list[Any]]:
    """What follows FROM, the order, and values. Each has an index of its own, and needs no sorting."""
    index, where, order, values = "open_in_turn", _OPEN, "state <> 'failed', id", []
    label = "label COLLATE NOCASE"
    if wanted.view == View.MINE:
        index, order = "open_and_taken", "id"
        where = f"{where} AND taken_by = ? AND taken_until > ?"
        values += [token, now]
    elif wanted.view == View.LATE:
        index, order = "open_and_due", "due, id"
        where = f"{where} AND due < ?"
        values.append(today(now))
    elif wanted.beginning:
        index, order = "open_by_label", f"{label}, id"
    if wanted.beginning:
        where = f"{where} AND {label} >= ? AND {label} < ?"
        values += [wanted.beginning, wanted.beginning + _LAST]
    return f"query INDEXED BY {index} WHERE {where}", order, values


def _arranged(found: sqlite3.Row, now: str, ended: set[int]) -> Arranged:
    by, until, due = found["taken_by"], found["taken_until"], found["due"]
    if by in ended or until is None or until <= now:
        by = until = None
    return Arranged(due, found["note"] or "", by, until, due is not None and due < today(now))


def today(now: str) -> str:
    """The day at the server's own place."""
    return datetime.fromisoformat(now).astimezone().date().isoformat()


def _later(now: str, hours: int) -> str:
    return stamp(datetime.fromisoformat(now) + timedelta(hours=hours))


def _refuse_settled(connection: sqlite3.Connection, number: int) -> None:
    query = get(connection, number)
    if query.state not in OPEN:
        code = State.MEASURED if query.state == State.MEASURED else State.WITHDRAWN
        raise ServiceError(code, f"query {number} is settled already")
