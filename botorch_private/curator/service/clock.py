"""Times that never run backwards, whatever the machine's clock does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

NOTICED = timedelta(minutes=1)  # what a clock may be corrected by without anybody being told


def system_time() -> datetime:
    """The machine's clock, UTC."""
    return datetime.now(UTC)


def stamp(time: datetime) -> str:
    """A time as it is stored: ISO 8601, UTC, of one length, so that texts compare as times do."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


class Clock:
    """UTC times in ISO 8601, each at least the one before.

    A clock that was set back must not bring an expired token back to life, nor put a measurement
    before its question. One that was ahead once makes times stand still; `mend_clock` ends that.

    Args:
        latest: The latest time that is known; None: none.
        now: What the time is; None: the machine's clock.
    """

    def __init__(self, latest: str | None = None, now: Callable[[], datetime] | None = None) -> None:
        self._latest = latest or ""
        self._now = now
        self._lock = threading.Lock()

    def __call__(self) -> str:
        """Return the time now, or the latest one that was told."""
        with self._lock:
            self._latest = max(self._latest, stamp(self.machine()))
            return self._latest

    def machine(self) -> datetime:
        """What the machine's clock says, which may run backwards."""
        return (self._now or system_time)()

    def ahead(self) -> timedelta:
        """How far the latest time that was told is ahead of the machine's clock; 0 if it is not."""
        machine = self.machine()
        told = datetime.fromisoformat(max(self._latest, stamp(machine)))
        return max(told - machine, timedelta(0))

    def mend(self, latest: str) -> None:
        """Go on from another latest time; see `mend_clock`."""
        with self._lock:
            self._latest = latest


def in_words(length: timedelta) -> str:
    """How long that is, for people: days above two of them, else hours, minutes and seconds."""
    if length >= timedelta(days=2):
        return f"{length.days:,} days"
    minutes, seconds = divmod(int(length.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02} hours"
