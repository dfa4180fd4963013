"""Times that never run backwards, whatever the machine's clock does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime


class Clock:
    """UTC times in ISO 8601, each at least the one before.

    A clock that was set back must not bring an expired token back to life, nor put a measurement
    before its question.

    Args:
        latest: The latest time that is known; None: none.
        now: What the time is.
    """

    def __init__(
        self, latest: str | None = None, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._latest = latest or ""
        self._now = now
        self._lock = threading.Lock()

    def __call__(self) -> str:
        """Return the time now, or the latest one that was told."""
        with self._lock:
            self._latest = max(self._latest, self._now().isoformat(timespec="microseconds"))
            return self._latest
