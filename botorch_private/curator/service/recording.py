"""Recording: what every change of a curator's questions shares: a step, its event, and who is told."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from botorch_private.curator.service.clock import Clock
from botorch_private.curator.service.parts.behind import Behind
from botorch_private.curator.service.question import Question, get
from botorch_private.curator.service.schema import FolderFacts
from botorch_private.curator.service.trail import note
from botorch_private.curator.service.writer import Writer

T = TypeVar("T")


class Recording:
    """Steps whose changes are noted, and told once they are on the disk.

    What changed is the question that a step returns, the list of them, or the ``changed`` of what it
    returns.

    Args:
        facts: What was settled when the folder was made.
        clock: Tells the time.
        writer: Runs the steps.

    Attributes:
        behind: What is kept of each record, where the release is in parts: the database learns of a
            record when it is asked for. None: it knows all of them.
    """

    def __init__(self, facts: FolderFacts, clock: Clock, writer: Writer) -> None:
        self.facts, self.clock, self._writer = facts, clock, writer
        self._listeners: list[Callable[[Question], None]] = []
        self.behind: Behind | None = None

    def listen(self, listener: Callable[[Question], None]) -> None:
        """Have every change of a query told, once it is on the disk, from the writer's thread."""
        self._listeners.append(listener)

    def submit(self, operation: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Have a step run, and what it changed told; see `step`."""
        future = self._writer.submit(operation)
        future.add_done_callback(self._announce)
        return future

    def _changed(
        self,
        connection: sqlite3.Connection,
        token: int | None,
        kind: str,
        number: int,
        detail: str | None = None,
        data: dict[str, Any] | None = None,
    ) -> Question:
        """Note what happened to a question; returns the question as it is now."""
        note(connection, self.clock(), kind, token=token, query=number, detail=detail, data=data)
        return get(connection, number)

    def _announce(self, done: Future) -> None:
        if done.cancelled() or done.exception() is not None:
            return
        result = done.result()
        changed = getattr(result, "changed", result)
        for each in changed if isinstance(changed, list) else [changed]:
            if isinstance(each, Question):
                for listener in self._listeners:
                    listener(each)
