"""Reading: what stands in a curator's database."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from botorch_private._base.foreign import or_refuse
from botorch_private.curator.service.circumstances import Circumstances
from botorch_private.curator.service.past import Past
from botorch_private.curator.service.question import (
    Question,
    State,
    count_used,
    get,
    question_from,
    recalled,
    replayed,
)
from botorch_private.curator.service.schema import FOREIGN, FolderFacts, read_facts
from botorch_private.curator.service.writer import open_plainly
from botorch_private.exchange.goals import goal_from_dict

_SETTLED = {  # each from an index of its own, and not sorted
    State.MEASURED: (
        "query INDEXED BY measured_last WHERE state = 'measured'",
        "settled DESC, id DESC",
    ),
    State.WITHDRAWN: ("query INDEXED BY withdrawn WHERE state = 'withdrawn'", "id DESC"),
}
_WAITING = (
    "SELECT count(*) FROM record WHERE outcome IS NOT NULL AND NOT EXISTS "
    "(SELECT 1 FROM query WHERE query.row = record.row AND query.state <> 'withdrawn')"
)
_ANSWERED = "SELECT count(*) FROM event WHERE kind = 'known' AND query IS NOT NULL"
_ASKED = _WAITING.replace("NOT EXISTS", "EXISTS")


class Reading(Past):
    """Questions and answers as they are stored; nothing here changes any.

    Args:
        connection: To the database.

    Attributes:
        facts: What was settled when the folder was made.

    Raises:
        ValueError: If it is not such a database, or of another version.
    """

    facts: FolderFacts

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self.facts = read_facts(connection)

    def close(self) -> None:
        """Read no more."""
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

    def count(self, state: str) -> int:
        """How many questions are in a state that is settled."""
        return self._one(f"SELECT count(*) FROM {_SETTLED[State(state)][0]}")[0]

    def latest(self, state: str, *, start: int = 0, length: int) -> list[Question]:
        """Questions that are settled, the latest first; see `count`."""
        source, order = _SETTLED[State(state)]
        found = self._all(f"SELECT * FROM {source} ORDER BY {order} LIMIT ? OFFSET ?", length, start)
        return [question_from(each) for each in found]

    def last_asked(self, state: str, length: int) -> list[Question]:
        """The last of the questions in a state, in the order in which they were asked."""
        found = self._all(
            "SELECT * FROM query WHERE state = ? ORDER BY id DESC LIMIT ?", State(state), length
        )
        return [question_from(each) for each in reversed(found)]

    def best(self, *, before: int | None = None) -> Question | None:
        """The first question with the best outcome, of all or of those with a smaller number."""
        if self.facts.outcomes:
            return self._best_of_several(before)
        goal = self.facts.goal
        found = self._all(
            "SELECT * FROM query WHERE state = 'measured' AND (?1 IS NULL OR id < ?1) "
            "ORDER BY CASE ?2 WHEN 'minimize' THEN outcome WHEN 'target' THEN abs(outcome - ?3) "
            "ELSE -outcome END, id LIMIT 1",
            before,
            goal["kind"],
            goal.get("value"),
        )
        return question_from(found[0]) if found else None

    def _best_of_several(self, before: int | None) -> Question | None:
        found = self._all(
            "SELECT id, outcome FROM query WHERE state = 'measured' AND (?1 IS NULL OR id < ?1) "
            "ORDER BY id",
            before,
        )
        goal: Any = goal_from_dict(self.facts.goal)
        best, number = -math.inf, None
        for each in found:
            value: Any = recalled(each["outcome"])
            if goal.allows(value) and (gain := goal.gain(value)) > best:
                best, number = gain, each["id"]
        return None if number is None else self.query(number)

    def outcomes(self) -> list[Any]:
        """All that was measured, in the order in which it was asked for."""
        found = self._all("SELECT outcome FROM query WHERE state = 'measured' ORDER BY id")
        return [recalled(row["outcome"]) for row in found]

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

    def known_waiting(self) -> int:
        """How many known outcomes no question asked for yet; 0 where a column has all of them.

        For the curator's eyes only.
        """
        if self.facts.objective == "column":
            return 0
        if self.facts.parts is not None:  # the table has the records that were asked for alone
            return max(0, self.facts.parts.known - self._one(_ASKED)[0])
        return self._one(_WAITING)[0]

    def known_answered(self) -> int:
        """How many questions were answered by an outcome that was known; 0 where a column has all.

        For the curator's eyes only.
        """
        return 0 if self.facts.objective == "column" else self._one(_ANSWERED)[0]

    def known(self) -> dict[int, dict[str, Any]]:
        """Released row -> its outcome ("value") and what is said of it, where one is known.

        For the curator's eyes only.
        """
        found = self._all("SELECT row, outcome FROM record WHERE outcome IS NOT NULL")
        known: dict[int, dict[str, Any]] = {
            each["row"]: {"value": recalled(each["outcome"])} for each in found
        }
        # A folder that was made before sheets could say this, and is only read, has no such table.
        if self._all("SELECT 1 FROM sqlite_master WHERE name = 'known_said'"):
            for row, *said in self._all("SELECT row, measured_on, instrument, comment FROM known_said"):
                known[row] |= Circumstances(*said).named()
        return known

    def identifier(self, row: int) -> str:
        """What staff call the record of a released row. For the curator's eyes only."""
        return self._one("SELECT identifier FROM record WHERE row = ?", row)[0]

    def record(self, row: int) -> int:
        """Place of a released row's record in the table. For the curator's eyes only."""
        return self._one("SELECT record FROM record WHERE row = ?", row)[0]

    @contextmanager
    def one_moment(self) -> Iterator[None]:
        """Have all that is read inside be of one moment, whatever is written; for one thread alone."""
        self._reader.execute("BEGIN")
        try:
            yield
        finally:
            self._reader.execute("ROLLBACK")

    def order(self) -> list[int]:
        """Place in the table of each released row's record. For the curator's eyes only."""
        return [row["record"] for row in self._all("SELECT record FROM record ORDER BY row")]

    def names_of_records(self) -> list[str]:
        """What staff call the records, in the order of the table. For the curator's eyes only."""
        found = self._all("SELECT identifier FROM record ORDER BY record")
        return [row["identifier"] for row in found]

    def copy_to(self, target: sqlite3.Connection) -> None:
        """Copy all of the database, of one moment, whatever is written meanwhile."""
        with self._reading:
            self._reader.backup(target)

    def require_sound(self) -> None:
        """Read all of the database, once.

        Raises:
            ValueError: If it is damaged.
        """
        found = or_refuse(lambda: self._one("PRAGMA quick_check(1)")[0], _damaged)
        if found != "ok":
            raise _damaged()


def _damaged() -> ValueError:
    return ValueError("it is damaged: put the folder back from a backup")


def read_only(path: Path) -> Reading:
    """Open a database to read it, also where nothing can be written.

    Raises:
        ValueError: If it is not a curator's database, or cannot be read there.
    """
    try:
        return _reading(path, "rw")  # where it may be written, SQLite tidies up behind itself
    except sqlite3.OperationalError:
        pass
    log = path.with_name(f"{path.name}-wal")
    if log.is_file() and log.stat().st_size:
        raise ValueError(
            "it lies where nothing can be written, and a part of it is in a log beside it that SQLite "
            "reads only where it may write: copy the whole folder to a place of your own, and name that"
        )
    try:
        return _reading(path, "ro", immutable="1")
    except sqlite3.OperationalError:
        pass
    raise ValueError("it cannot be read")


def _reading(path: Path, mode: str, **more: str) -> Reading:
    connection = open_plainly(path, mode, **more)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return Reading(connection)
    except sqlite3.OperationalError:
        connection.close()
        raise
    except ValueError:
        connection.close()
        raise
    except sqlite3.DatabaseError:
        connection.close()
    raise ValueError(FOREIGN)  # outside of the handler: SQLite quotes what it cannot read
