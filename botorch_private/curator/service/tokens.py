"""Tokens: who may do what. A token is shown once; what is kept is its hash."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from botorch_private.curator.service.clock import Clock
from botorch_private.curator.service.question import ServiceError
from botorch_private.curator.service.writer import Writer, step

T = TypeVar("T")
ROLES = ("modeler", "staff")
_BYTES = 32  # 256 bits
_PREFIX = "bop_"  # so that scanners for leaked secrets can know it


class Token(NamedTuple):
    """What is known of a token.

    Attributes:
        id: Its number.
        role: "modeler" or "staff".
        name: Whose it is.
        made: When, UTC, ISO 8601.
        expires: From when on it is worth nothing; None: never.
        revoked: Since when it is worth nothing; None: it was not revoked.
    """

    id: int
    role: str
    name: str
    made: str
    expires: str | None
    revoked: str | None


class Tokens:
    """The tokens of a curator's database.

    Args:
        read: Runs a query for reading.
        writer: Runs changes.
        clock: Tells the time, which never runs backwards.
    """

    def __init__(self, read: Callable[..., list[sqlite3.Row]], writer: Writer, clock: Clock) -> None:
        self._read, self._writer, self._clock = read, writer, clock

    def submit(self, operation: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Have a step run; see `step`."""
        return self._writer.submit(operation)

    @step
    def make(
        self, connection: sqlite3.Connection, role: str, name: str, expires: str | None = None
    ) -> str:
        """Make a token of 256 random bits; its text is known from this future alone.

        Args:
            connection: Inside a transaction.
            role: "modeler" or "staff".
            name: Whose it is.
            expires: UTC, ISO 8601; None: never.

        Raises:
            ValueError: If ``role`` is another one.
        """
        if role not in ROLES:
            raise ValueError(f"role must be one of {', '.join(ROLES)}, got {role!r}")
        text = _PREFIX + secrets.token_urlsafe(_BYTES)
        now = self._clock()
        cursor = connection.execute(
            "INSERT INTO token (hash, role, name, made, expires) VALUES (?, ?, ?, ?, ?)",
            (_hash(text), role, name, now, expires),
        )
        connection.execute(
            "INSERT INTO event (time, token, kind, detail) VALUES (?, ?, 'token', ?)",
            (now, cursor.lastrowid, f"{role}: {name}"),
        )
        return text

    @step
    def revoke(self, connection: sqlite3.Connection, number: int) -> None:
        """Make a token worthless.

        Raises:
            ServiceError: ``no_token``.
        """
        now = self._clock()
        cursor = connection.execute(
            "UPDATE token SET revoked = coalesce(revoked, ?) WHERE id = ?", (now, number)
        )
        if not cursor.rowcount:
            raise ServiceError("no_token", f"there is no token {number}")
        connection.execute(
            "INSERT INTO event (time, token, kind) VALUES (?, ?, 'revoked')", (now, number)
        )

    def all(self) -> list[Token]:
        """All tokens that were ever made, without what they open."""
        return [_token(found) for found in self._read("SELECT * FROM token ORDER BY id")]

    def find(self, text: str) -> Token | None:
        """The token of a text, if it is one that is valid now."""
        wanted = _hash(text)
        for found in self._read("SELECT * FROM token WHERE hash = ?", wanted):
            # The index compares byte by byte; that tells of the hash, from which no token is made.
            if hmac.compare_digest(found["hash"], wanted):
                token = _token(found)
                expired = token.expires is not None and token.expires <= self._clock()
                return None if expired or token.revoked is not None else token
        return None


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _token(found: Any) -> Token:
    return Token(*(found[name] for name in Token._fields))
