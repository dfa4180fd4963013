"""Tokens: who may do what. A token is shown once; what is kept is its hash."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

from botorch_private.curator.service.clock import Clock
from botorch_private.curator.service.part import Part
from botorch_private.curator.service.question import ServiceError
from botorch_private.curator.service.trail import note
from botorch_private.curator.service.writer import Writer, step

ROLES = ("modeler", "staff")
_LARGEST_NUMBER = 2**63 - 1
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
        revoked: Since when it is worth nothing, because somebody said so or its end was seen; None:
            neither.
    """

    id: int
    role: str
    name: str
    made: str
    expires: str | None
    revoked: str | None

    @property
    def has_expired(self) -> bool:
        """Whether it was its end that made it worthless."""
        return self.revoked is not None and self.expires is not None and self.expires <= self.revoked


class Tokens(Part):
    """The tokens of a curator's database.

    Args:
        read: As of a `Part`.
        writer: As of a `Part`.
        clock: As of a `Part`.
    """

    def __init__(self, read: Callable[..., list[sqlite3.Row]], writer: Writer, clock: Clock) -> None:
        super().__init__(read, writer, clock)
        self._ended: set[int] = set()  # seen here, and being stored

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
            ValueError: If ``role`` is another one, or the token would be worthless at once.
        """
        if role not in ROLES:
            raise ValueError(f"role must be one of {', '.join(ROLES)}, got {role!r}")
        text = _PREFIX + secrets.token_urlsafe(_BYTES)
        now = self._clock()
        if expires is not None and expires <= now:
            raise ValueError(
                f"expires must be after the latest time in the folder, {now[:10]} {now[11:19]} UTC"
            )
        cursor = connection.execute(
            "INSERT INTO token (hash, role, name, made, expires) VALUES (?, ?, ?, ?, ?)",
            (_hash(text), role, name, now, expires),
        )
        note(connection, now, "token", token=cursor.lastrowid, detail=f"{role}: {name}")
        return text

    @step
    def revoke(self, connection: sqlite3.Connection, number: int) -> None:
        """Make a token worthless.

        Raises:
            ServiceError: ``no_token``.
        """
        now = self._clock()
        known = 0 < number <= _LARGEST_NUMBER and connection.execute(
            "UPDATE token SET revoked = coalesce(revoked, ?) WHERE id = ?", (now, number)
        )
        if not known or not known.rowcount:
            raise ServiceError("no_token", f"there is no token {number}")
        note(connection, now, "revoked", token=number)

    def all(self) -> list[Token]:
        """All tokens that were ever made, without what they open."""
        return [_token(found) for found in self._read("SELECT * FROM token ORDER BY id")]

    @step
    def end(self, connection: sqlite3.Connection, number: int) -> None:
        """Store that a token was seen to have ended: a clock that is set back must not revive it."""
        now = self._clock()
        cursor = connection.execute(
            "UPDATE token SET revoked = ? WHERE id = ? AND revoked IS NULL AND expires <= ?",
            (now, number, now),
        )
        if cursor.rowcount:
            note(connection, now, "expired", token=number)

    def find(self, text: str) -> Token | None:
        """The token of a text, if it is one that is valid now."""
        wanted = _hash(text)
        for found in self._read("SELECT * FROM token WHERE hash = ?", wanted):
            # The index compares byte by byte; that tells of the hash, from which no token is made.
            if hmac.compare_digest(found["hash"], wanted):
                return self._valid(_token(found))
        return None

    def is_valid(self, number: int) -> bool:
        """Whether the token of a number is valid now."""
        found = self._read("SELECT * FROM token WHERE id = ?", number)
        return bool(found) and self._valid(_token(found[0])) is not None

    def _valid(self, token: Token) -> Token | None:
        expired = token.expires is not None and token.expires <= self._clock()
        if expired and token.revoked is None and token.id not in self._ended:
            self._ended.add(token.id)
            self.end(token.id).add_done_callback(lambda done: self._settle(token.id, done))
        return None if expired or token.revoked is not None else token

    def _settle(self, number: int, done: Future[None]) -> None:
        if done.cancelled() or done.exception() is not None:
            self._ended.discard(number)  # the next one who comes with it tries again


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _token(found: Any) -> Token:
    return Token(*(found[name] for name in Token._fields))
