"""Sessions: who is logged in to the console. They survive a restart of the server, not the token's end.

The cookie is 256 random bits, and the database has its hash: who reads a backup finds no way in. What a
form must bring back is made of the cookie, so that it is the same after a restart.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime

from botorch_private.curator.service.agenda import ALL, Wanted
from botorch_private.curator.service.drafts import Draft
from botorch_private.curator.service.question import StorageError
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.tokens import Token

IDLE_SECONDS = 8 * 3600.0
LONGEST_SECONDS = 24 * 3600.0
_BYTES = 32  # 256 bits
_MOST_SESSIONS = 1000
_MOST_DRAFTS = 20
_SEEN_SECONDS = 60.0  # how exactly it is on the disk when a session was used last
_log = logging.getLogger("botorch_private.curator.service")


@dataclass
class Session:
    """One person at one browser.

    Args:
        token: Number of the staff token that opened it.
        name: Whose that is.
        csrf: Must come back with every form.
        seen: When it was used last.
        began: When it began; it ends `LONGEST_SECONDS` later, used or not.
        wanted: Which open questions were looked at last.
    """

    token: int
    name: str
    csrf: str = field(default="", repr=False)
    seen: float = 0.0
    began: float = 0.0
    wanted: Wanted = ALL
    _drafts: dict[tuple[str, int], Draft] = field(default_factory=dict, repr=False)

    def draft(self, kind: str, number: int) -> Draft | None:
        """What was typed for a question and not stored yet."""
        return self._drafts.get((kind, number))

    def keep(self, kind: str, number: int, draft: Draft) -> None:
        """Keep what was typed, for this session alone."""
        self._drafts.pop((kind, number), None)
        self._drafts[kind, number] = draft
        if len(self._drafts) > _MOST_DRAFTS:
            del self._drafts[next(iter(self._drafts))]

    def drop(self, kind: str, number: int) -> None:
        """Forget what was typed: it is stored."""
        self._drafts.pop((kind, number), None)


class Sessions:
    """The sessions of a server. While it runs, what it holds in memory is what counts.

    Args:
        store: Knows which tokens are valid.
        now: Seconds since 1970, which never run backwards; None: by the clock of the store.
    """

    def __init__(self, store: Store, now: Callable[[], float] | None = None) -> None:
        self._store = store
        self._now = now or (lambda: datetime.fromisoformat(store.clock()).timestamp())
        self._sessions: dict[bytes, Session] = {}
        self._stored: dict[bytes, float] = {}  # when it was used last, as the disk has it
        names = {token.id: token.name for token in store.tokens.all()}
        for found in store.submit(_read).result():
            session = Session(found["token"], names[found["token"]], "", found["seen"], found["began"])
            self._sessions[found["hash"]] = session
            self._stored[found["hash"]] = found["seen"]

    def __len__(self) -> int:
        """How many there are, ended ones that nobody came back to included."""
        return len(self._sessions)

    def begin(self, token: Token) -> str:
        """Begin a session; returns what its cookie says."""
        text = secrets.token_urlsafe(_BYTES)
        now, key = self._now(), _hash(text)
        self._sessions[key] = Session(token.id, token.name, _csrf(text), now, now)
        self._stored[key] = now
        self._store.submit(
            lambda connection: _run(
                connection, "INSERT INTO session VALUES (?, ?, ?, ?)", key, token.id, now, now
            )
        ).add_done_callback(_note)
        for each, session in list(self._sessions.items()):
            if self._is_over(session, now):
                self._drop(each)
        if len(self._sessions) > _MOST_SESSIONS:
            self._drop(min(self._sessions, key=lambda each: self._sessions[each].seen))
        return text

    def find(self, text: str | None, *, used: bool = True) -> Session | None:
        """The session of a cookie, if neither it nor its token has ended.

        Args:
            text: What the cookie says; None: there is none.
            used: Whether a person did something; a page that refreshes itself keeps nobody logged in.
        """
        session = self._sessions.get(_hash(text)) if text else None
        if text is None or session is None:
            return None
        now, key = self._now(), _hash(text)
        if self._is_over(session, now) or not self._store.tokens.is_valid(session.token):
            self._drop(key)
            return None
        session.csrf = session.csrf or _csrf(text)
        if used:
            session.seen = now
            if now - self._stored[key] > _SEEN_SECONDS:
                self._stored[key] = now
                self._store.submit(
                    lambda connection: _run(
                        connection, "UPDATE session SET seen = ? WHERE hash = ?", now, key
                    )
                ).add_done_callback(_note)
        return session

    def end(self, text: str | None) -> Future[None] | None:
        """End a session, if there is one; the future is done when no restart brings it back."""
        return self._drop(_hash(text)) if text and _hash(text) in self._sessions else None

    def _drop(self, key: bytes) -> Future[None]:
        del self._sessions[key], self._stored[key]
        done = self._store.submit(
            lambda connection: _run(connection, "DELETE FROM session WHERE hash = ?", key)
        )
        done.add_done_callback(_note)
        return done

    def _is_over(self, session: Session, now: float) -> bool:
        # One from the future was begun by a clock that was ahead; see `mend_clock`.
        idle, age = now - session.seen, now - session.began
        return not (0 <= idle <= IDLE_SECONDS and 0 <= age <= LONGEST_SECONDS)


def _read(connection: sqlite3.Connection) -> list[sqlite3.Row]:
    return connection.execute("SELECT * FROM session").fetchall()


def _run(connection: sqlite3.Connection, statement: str, *values: object) -> None:
    connection.execute(statement, values)


def _note(done: Future[None]) -> None:
    error = None if done.cancelled() else done.exception()
    if error is not None and not isinstance(error, StorageError):  # that was said where it arose
        _log.error("a session could not be stored: %s", type(error).__name__)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _csrf(text: str) -> str:
    return hmac.digest(text.encode("utf-8", "surrogatepass"), b"form", hashlib.sha256).hex()
