"""mend_clock: go on by the machine's clock where the one of a folder was ahead.

The latest time of a folder is the floor of its clock, so that a clock that is set back revives nothing.
A clock that was ahead once left a floor in the future: every token with an end has ended by it. A person
who has looked at the machine's clock may let the folder go on by it.

What holds then:

* a token that had ended by the old floor, or was revoked, is dead for good, whatever its date says;
* a token that was made by the wrong clock lasts as long as it was to last, counted from now;
* no stamp lies in the future: those that did are set to now;
* events stay as they were written, with the times of that clock: the one that says so comes after them.
"""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import NamedTuple

from botorch_private.curator.service.clock import stamp
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.trail import note

_STAMPS = (
    ("query", "asked"),
    ("query", "settled"),
    ("token", "made"),
    ("token", "revoked"),
    ("draft", "time"),
    ("sheet", "time"),
)


class Mended(NamedTuple):
    """What `mend_clock` changed.

    Attributes:
        was: The latest time before, UTC, ISO 8601.
        now: The latest time since.
        stamps: How many stamps were in the future.
        dead: Numbers of the tokens that had ended by the wrong clock and stay dead.
        shortened: Numbers of the tokens that were made by the wrong clock and end earlier now.
    """

    was: str
    now: str
    stamps: int
    dead: tuple[int, ...]
    shortened: tuple[int, ...]


def mend_clock(store: Store) -> Mended:
    """Let a folder go on by the machine's clock, in one transaction; no server may use it.

    Raises:
        ServiceError: If it cannot be stored.
    """
    was, machine = store.clock(), store.clock.machine()
    now = stamp(machine)

    def mend(connection: sqlite3.Connection) -> Mended:
        ended = "revoked IS NULL AND expires <= ?"
        dead = _numbers(connection, f"SELECT id FROM token WHERE {ended}", was)
        connection.execute(f"UPDATE token SET revoked = ? WHERE {ended}", (now, was))
        shortened = connection.execute(
            "SELECT id, made, expires FROM token "
            "WHERE revoked IS NULL AND expires IS NOT NULL AND made > ?",
            (now,),
        ).fetchall()
        for token in shortened:
            length = datetime.fromisoformat(token["expires"]) - datetime.fromisoformat(token["made"])
            connection.execute(
                "UPDATE token SET expires = ? WHERE id = ?", (stamp(machine + length), token["id"])
            )
        # Nobody knows how long a question was to be taken: whoever works on it takes it again.
        connection.execute("UPDATE query SET taken_by = NULL, taken_until = NULL")
        stamps = 0
        for table, column in _STAMPS:
            stamps += connection.execute(
                f"UPDATE {table} SET {column} = ?1 WHERE {column} > ?1", (now,)
            ).rowcount
        text = f"{stamps} stamps after now, the latest {was}, were set to now"
        note(connection, now, "clock", detail=text)
        for number in dead:
            note(
                connection, now, "revoked", token=number, detail="it had ended by a clock that was ahead"
            )
        return Mended(was, now, stamps, dead, tuple(token["id"] for token in shortened))

    mended = store.submit(mend).result()
    store.clock.mend(now)
    return mended


def _numbers(connection: sqlite3.Connection, statement: str, *values: str) -> tuple[int, ...]:
    return tuple(found["id"] for found in connection.execute(statement, values))
