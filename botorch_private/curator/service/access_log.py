"""The access log: one line for each request, for the curator alone.

A line has the time (UTC), the address that the request came from, the method, the pattern of its path
(``/v1/queries/{number}``, not the number), and the status. It has no query string, no token, no user
agent, and no length of time, which would tell how long a measurement took. What staff did is in it: that
a value was refused, or corrected, may depend on a record.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from pathlib import Path

from botorch_private.curator.service.clock import stamp, system_time

_MODE = 0o600
_LONGEST_ADDRESS = 64
_log = logging.getLogger("botorch_private.curator.service")


class AccessLog:
    """Writes lines to a file, for its owner alone, or to the output.

    Args:
        path: The file, which grows; ``-``: the output.

    Raises:
        OSError: If it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._problem = ""
        self._file = self._opened()

    def write(self, address: str, method: str, route: str, status: int) -> None:
        """Write a line. A disk that is full stops no request; it is said once."""
        shown = "".join(each if each.isalnum() or each in ".:%" else "?" for each in address)
        line = f"{stamp(system_time())[:19]}Z {shown[:_LONGEST_ADDRESS]} {method} {route} {status}\n"
        with self._lock:
            try:
                os.write(self._file, line.encode("ascii", "replace"))
                self._problem = ""
            except OSError as error:
                self._say(type(error).__name__)

    def observe(self, address: str, method: str, route: str, status: int, seconds: float) -> None:
        """Write a line, but for how long it took; see `Observed`."""
        self.write(address, method, route, status)

    def reopen(self) -> None:
        """Go on in a new file of the same name, if the old one was moved; else in the old one."""
        with self._lock:
            try:
                opened = self._opened()
            except OSError as error:
                self._say(type(error).__name__)
                return
            self._close()
            self._file = opened

    def close(self) -> None:
        """Write no more."""
        with self._lock:
            self._close()

    def _opened(self) -> int:
        if str(self._path) == "-":
            return os.dup(sys.stdout.fileno())
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _MODE)

    def _close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._file)

    def _say(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            _log.error("the access log cannot be written: %s", problem)
