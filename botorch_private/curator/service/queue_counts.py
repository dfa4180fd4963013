"""Counts of the questions that wait, which is all that a message is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any

from botorch_private.curator.service.question import OPEN, State

_MARKS = ", ".join(f"'{each}'" for each in OPEN)


class QueueCounts:
    """Reads how many questions wait for people, and since when.

    Where people measure, a question waits for them from when it is asked. Where a program measures, it
    waits for them once the program has failed.

    Args:
        one: Runs a query for one row.
        all_rows: Runs a query for all rows.
        by_program: Whether a program measures.
    """

    def __init__(
        self, one: Callable[..., Any], all_rows: Callable[..., list[Any]], *, by_program: bool
    ) -> None:
        self._one, self._all = one, all_rows
        self._kind = "failed" if by_program else "asked"
        self._wait = f"state = '{State.FAILED}'" if by_program else f"state IN ({_MARKS})"

    def latest(self) -> int:
        """Number of the latest event; 0: none."""
        return self._one("SELECT max(id) FROM event")[0] or 0

    def any_new(self, after: int) -> bool:
        """Whether a question began to wait after an event, and still does."""
        found = self._one(
            "SELECT 1 FROM event JOIN query ON query.id = event.query "
            f"WHERE event.id > ? AND kind = ? AND {self._wait} LIMIT 1",
            after,
            self._kind,
        )
        return found is not None

    def new(self, after: int) -> int:
        """How many questions began to wait after an event, and still do."""
        return self._one(
            "SELECT count(DISTINCT query.id) FROM event JOIN query ON query.id = event.query "
            f"WHERE event.id > ? AND kind = ? AND {self._wait}",
            after,
            self._kind,
        )[0]

    def open(self) -> int:
        """How many wait."""
        return self._one(f"SELECT count(*) FROM query WHERE {self._wait}")[0]

    def latest_question(self) -> int:
        """Number of the latest question; 0: there is none."""
        return self._one("SELECT max(id) FROM query")[0] or 0

    def waiting_after(self, number: int) -> int:
        """How many questions with a larger number wait."""
        return self._one(f"SELECT count(*) FROM query WHERE id > ? AND {self._wait}", number)[0]

    def by_state(self) -> Counter[str]:
        """How many questions there are of each state."""
        found = self._all("SELECT state, count(*) AS count FROM query GROUP BY state")
        return Counter({each["state"]: each["count"] for each in found})

    def hours_idle(self, now: str) -> float:
        """Hours since a question was settled, or, if that is later, since the oldest one waits; 0: none.

        Args:
            now: UTC, ISO 8601.
        """
        oldest = self._one(f"SELECT min(asked) FROM query WHERE state IN ({_MARKS})")[0]
        if oldest is None:
            return 0.0
        settled = self._one("SELECT max(settled) FROM query")[0]
        since = max(oldest, settled or oldest)
        return max(0.0, (_time(now) - _time(since)).total_seconds() / 3600)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
