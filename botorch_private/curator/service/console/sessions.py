"""Sessions: who is logged in to the console; in memory, so they end with the server."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from botorch_private.curator.service.agenda import ALL, Wanted
from botorch_private.curator.service.drafts import Draft
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.tokens import Token

IDLE_SECONDS = 8 * 3600.0
LONGEST_SECONDS = 24 * 3600.0
_BYTES = 32  # 256 bits
_MOST_SESSIONS = 1000
_MOST_DRAFTS = 20


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
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(_BYTES), repr=False)
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
    """The sessions of a server. What they are found by is kept as a hash.

    Args:
        store: Knows which tokens are valid.
        now: Seconds that never run backwards.
    """

    def __init__(self, store: Store, now: Callable[[], float] = time.monotonic) -> None:
        self._store, self._now = store, now
        self._sessions: dict[bytes, Session] = {}

    def begin(self, token: Token) -> str:
        """Begin a session; returns what its cookie says."""
        text = secrets.token_urlsafe(_BYTES)
        now = self._now()
        self._sessions[_hash(text)] = Session(token.id, token.name, seen=now, began=now)
        if len(self._sessions) > _MOST_SESSIONS:
            del self._sessions[min(self._sessions, key=lambda key: self._sessions[key].seen)]
        return text

    def find(self, text: str | None) -> Session | None:
        """The session of a cookie, if neither it nor its token has ended."""
        session = self._sessions.get(_hash(text)) if text else None
        if text is None or session is None:
            return None
        now = self._now()
        is_over = now - session.seen > IDLE_SECONDS or now - session.began > LONGEST_SECONDS
        if is_over or not self._store.tokens.is_valid(session.token):
            self.end(text)
            return None
        session.seen = now
        return session

    def end(self, text: str | None) -> None:
        """End a session, if there is one."""
        if text:
            self._sessions.pop(_hash(text), None)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
