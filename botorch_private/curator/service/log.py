"""The server's own log: one line each, with its time, and never a flood or a text of a request.

What is logged here is read by whoever runs the machine, who need not be allowed to see records. So of an
error only its kind and its place are written, never its text, which may hold what was sent.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, TextIO

from botorch_private.curator.service.clock import stamp, system_time

LINES = 5  # of one kind, in each window
WINDOW_SECONDS = 10.0
_LONGEST_LINE = 300


class PlainFormatter(logging.Formatter):
    """Time (ISO 8601, UTC), level, and one line; of an error its kind and where it happened."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        # Libraries put what they held into further lines.
        line = record.getMessage().partition("\n")[0][:_LONGEST_LINE]
        if record.exc_info and record.exc_info[0] is not None:
            line += f" ({place_of(record.exc_info[0], record.exc_info[2])})"
        shown = "".join(each if each.isprintable() else "?" for each in line)
        return f"{stamp(system_time())[:19]}Z {record.levelname.lower()}: {shown}"


class FloodHandler(logging.StreamHandler):
    """Writes so many lines of a kind in a window of time; of the others one line with their number.

    A kind is a place in the code: whoever sends requests cannot make new ones.

    Args:
        stream: Where to.
        now: Seconds that never run backwards.
    """

    def __init__(self, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream)
        self._now = now
        self._windows: dict[tuple[str, int], tuple[float, int]] = {}
        self._timer: threading.Timer | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or count it."""
        self._finish()
        kind = (record.pathname, record.lineno)
        began, count = self._windows.get(kind, (self._now(), 0))
        self._windows[kind] = (began, count + 1)
        if count < LINES:
            super().emit(record)
        elif self._timer is None:
            self._timer = threading.Timer(WINDOW_SECONDS, self._at_end)
            self._timer.daemon = True
            self._timer.start()

    def close(self) -> None:
        """Say what was left out, and stop."""
        self.acquire()
        try:
            if self._timer is not None:
                self._timer.cancel()
            self._finish(everything=True)
        finally:
            self.release()
        super().close()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Say nothing: logging would write what a record holds."""

    def _at_end(self) -> None:
        self.acquire()
        try:
            self._timer = None
            self._finish(everything=True)
        finally:
            self.release()

    def _finish(self, *, everything: bool = False) -> None:
        """Close windows that are over, each with one line if anything was left out of it."""
        for kind, (began, count) in list(self._windows.items()):
            if everything or self._now() - began >= WINDOW_SECONDS:
                del self._windows[kind]
                if count > LINES:
                    words = "%d more lines of this kind, which were left out: %s, line %d"
                    place = (kind[0].rpartition("/")[2], kind[1])
                    arguments = (count - LINES, *place)
                    super().emit(
                        logging.LogRecord(
                            __name__, logging.WARNING, kind[0], kind[1], words, arguments, None
                        )
                    )


def place_of(kind: type[BaseException], trace: Any) -> str:
    """What kind an error is and where it happened."""
    frames = traceback.extract_tb(trace)
    return f"{kind.__name__} in {frames[-1].name}, line {frames[-1].lineno}" if frames else kind.__name__


def log_to(stream: TextIO | None = None) -> FloodHandler:
    """Have everything of this process logged to a stream, in this form; returns what does it.

    Args:
        stream: None: the error stream.
    """
    handler = FloodHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(PlainFormatter())
    handler.setLevel(logging.WARNING)
    logging.getLogger().addHandler(handler)
    return handler
