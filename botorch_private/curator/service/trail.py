"""Trail: what happened, each event with a hash over the one before it, so that a change shows.

The hash of an event is the SHA-256 of the hash before it, 64 hexadecimal digits, followed by the event
as canonical JSON (`canonical`). Before the first event stands the SHA-256 of the release. So a trail is
of one folder, and its last hash vouches for all of it.

It cannot show that somebody made all hashes anew from some event on, or cut off the end, unless the last
hash was kept where that person could not write.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from json.encoder import encode_basestring_ascii
from typing import Any

FIELDS = ("id", "time", "token", "kind", "query", "detail", "data")  # what a hash covers
_ENCODE = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), allow_nan=False, default=lambda _: "not JSON"
).encode
_LAST = (
    "SELECT seq, (SELECT hash FROM event ORDER BY id DESC LIMIT 1) AS hash "
    "FROM sqlite_sequence WHERE name = 'event'"
)


def canonical(event: Any) -> str:
    """A value as JSON in ASCII: names sorted, no blanks, numbers as Python writes them."""
    return _ENCODE(event)


def next_hash(previous: str, event: Mapping[str, Any]) -> str:
    """The hash of an event.

    Args:
        previous: Hash of the one before it; of the first one, the SHA-256 of the release.
        event: Its `FIELDS`.
    """
    return hashlib.sha256(f"{previous}{canonical(event)}".encode()).hexdigest()


def note(
    connection: sqlite3.Connection,
    time: str,
    kind: str,
    *,
    token: int | None = None,
    query: int | None = None,
    detail: str | None = None,
    data: Mapping[str, Any] | None = None,
) -> None:
    """Write an event, inside of the transaction that changes what it tells of.

    Args:
        connection: Inside a transaction that may write.
        time: When, UTC, ISO 8601.
        kind: What happened, in a word.
        token: Number of the token of whoever did it; None: the curator, a program, or a stranger.
        query: Number of the question that it is about.
        detail: In words, as they were given.
        data: In numbers and texts with names.
    """
    last = connection.execute(_LAST).fetchone()
    # A number is never given twice: where events were cut off, the next one leaves a gap.
    number = 1 if last is None else last["seq"] + 1
    previous = None if last is None else last["hash"]
    text = None if data is None else canonical(data)
    event = _written(number, time, token, kind, query, detail, text)
    hashed = hashlib.sha256(f"{previous or _identity(connection)}{event}".encode()).hexdigest()
    connection.execute(
        "INSERT INTO event (id, time, token, kind, query, detail, data, hash) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (number, time, token, kind, query, detail, text, hashed),
    )


def _written(
    number: int,
    time: str,
    token: int | None,
    kind: str,
    query: int | None,
    detail: str | None,
    data: str | None,
) -> str:
    """What `canonical` makes of an event, in a tenth of its time: every question waits for this."""
    whose = "null" if token is None else token
    about = "null" if query is None else query
    words = "null" if detail is None else encode_basestring_ascii(detail)
    return (
        f'{{"data":{"null" if data is None else data},"detail":{words},"id":{number},'
        f'"kind":"{kind}","query":{about},"time":"{time}","token":{whose}}}'
    )


def event_of(found: sqlite3.Row) -> dict[str, Any]:
    """What the hash of a stored event covers."""
    event = {name: found[name] for name in FIELDS}
    event["data"] = data_of(found)
    return event


def data_of(found: sqlite3.Row) -> Any:
    """The data of a stored event; as the text that it is where nobody here wrote it so."""
    text = found["data"]
    if not isinstance(text, str):
        return text
    try:
        data = json.loads(text)
        return data if canonical(data) == text else text
    except ValueError:
        return text


def begin_chain(connection: sqlite3.Connection) -> None:
    """Give hashes to the events of a folder that had none, and note that they are older than these."""
    previous, count, time = _identity(connection), 0, ""
    for found in connection.execute("SELECT * FROM event ORDER BY id").fetchall():
        previous = next_hash(previous, event_of(found))
        connection.execute("UPDATE event SET hash = ? WHERE id = ?", (previous, found["id"]))
        count, time = count + 1, max(time, found["time"])
    if count:
        note(connection, time, "chained")


def _identity(connection: sqlite3.Connection) -> str:
    return json.loads(
        connection.execute("SELECT value FROM fact WHERE name = 'identity'").fetchone()["value"]
    )
