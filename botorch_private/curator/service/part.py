"""Part: a part of a curator's database, read beside the writer and changed through it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from botorch_private.curator.service.clock import Clock
from botorch_private.curator.service.writer import Writer

T = TypeVar("T")


class Part:
    """What the parts of a `Store` share.

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
