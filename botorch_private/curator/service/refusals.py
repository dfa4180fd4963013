"""Refusals: what was refused, as events: when, whom by the number of a token, and why in a word.

Nothing that was sent is in them: no token that is not one, no value, no identifier and no address.
Whoever is refused again and again cannot fill the disk: above a rate refusals are counted, and an event
says how many there were.
"""

from __future__ import annotations

import logging
from collections import Counter
from concurrent.futures import Future
from typing import Any

from botorch_private.curator.service.limits import RateLimit
from botorch_private.curator.service.question import StorageError
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.trail import note

_AT_ONCE, _A_SECOND = 60.0, 0.1
_EVERY = 60.0  # seconds after which those that were counted are written
_log = logging.getLogger("botorch_private.curator.service")


class Refusals:
    """Writes them. What cannot be stored is lost, and nobody waits for it.

    Args:
        store: Where.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._limit = RateLimit(_A_SECOND, _AT_ONCE)  # of each token, and of all strangers together
        self._turns = RateLimit(1 / _EVERY, 1)
        self._counted: Counter[tuple[str, str, int | None]] = Counter()

    def note(self, why: str, place: str, *, token: int | None = None, query: int | None = None) -> None:
        """Note a refusal.

        Args:
            why: A word of ours.
            place: "console", "api" or "sheet".
            token: Number of a valid token; None: whoever it was had none.
            query: Number of the question, as the address of the request says it; None: none.
        """
        if self._limit.wait(token):
            self._counted[why, place, token] += 1
        else:
            self._write({"why": why, "place": place}, token, query)

    def flush(self, *, now: bool = False) -> None:
        """Write how many were counted, at most once a minute, or now."""
        if not self._counted or (not now and self._turns.wait(None)):
            return
        counted, self._counted = self._counted, Counter()
        for (why, place, token), times in counted.items():
            self._write({"why": why, "place": place, "times": times}, token, None)

    def _write(self, data: dict[str, Any], token: int | None, query: int | None) -> None:
        store = self._store

        def write(connection: Any) -> None:
            known = (
                query is not None
                and connection.execute("SELECT 1 FROM query WHERE id = ?", (query,)).fetchone()
            )
            about = query if known else None
            note(connection, store.clock(), "refused", token=token, query=about, data=data)

        store.submit(write).add_done_callback(_log_failure)


def _log_failure(done: Future[None]) -> None:
    error = None if done.cancelled() else done.exception()
    if error is not None and not isinstance(error, StorageError):  # that was said where it arose
        _log.error("a refusal could not be stored: %s", type(error).__name__)
