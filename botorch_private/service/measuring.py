"""Measuring by a program: one question after another, in a process of its own, within a time limit."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from botorch_private.service.query import ServiceError
from botorch_private.service.store import Store

INTERRUPTED = "the server stopped while it was measured: it may have been measured, or not"
_START_LIMIT = 120.0
_log = logging.getLogger("botorch_private.service")


class MeasuringError(RuntimeError):
    """The program failed; its message is for the curator's eyes only."""


class Program:
    """A function in a process of its own.

    Args:
        name: ``module:function``.
        time_limit: Seconds for one call.
    """

    def __init__(self, name: str, time_limit: float) -> None:
        self._name, self._time_limit = name, time_limit
        self._process: subprocess.Popen[str] | None = None
        self._replies: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def start(self) -> None:
        """Start the process, or refuse a function that is none.

        Raises:
            MeasuringError: If there is no such function.
        """
        command = [sys.executable, "-m", "botorch_private.service.worker", self._name]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self._replies = queue.SimpleQueue()
        threading.Thread(
            target=_pass_on, args=(self._process.stdout, self._replies), daemon=True
        ).start()
        self._reply(_START_LIMIT)

    def __call__(self, record: list[float]) -> float:
        """Measure one record.

        Raises:
            MeasuringError: If the function raises, returns no finite number, takes too long, or ends
                its process; the next call starts another one.
        """
        if self._process is None or self._process.poll() is not None:
            self.start()
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(record) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self.stop()
            raise MeasuringError("the objective's process ended") from None
        return float(self._reply(self._time_limit)["value"])

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                if hasattr(os, "killpg"):  # what it started goes with it
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                assert stream is not None
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
            self._process = None

    def _reply(self, seconds: float) -> dict[str, Any]:
        try:
            line = self._replies.get(timeout=seconds)
        except queue.Empty:
            self.stop()
            raise MeasuringError(f"the objective took more than {seconds:g} s") from None
        if line is None:
            self.stop()
            raise MeasuringError("the objective's process ended")
        reply = json.loads(line)
        if "error" in reply:
            raise MeasuringError(reply["error"])
        return reply


class Measuring:
    """Measures pending questions in the order in which they were asked.

    A question is marked before the program starts on it. If the server is killed meanwhile, nobody knows
    whether it was measured: it has failed then, and staff decide.

    Args:
        store: Where questions wait.
        measure: From raw features to an outcome; raises a `MeasuringError` where that fails.
        records: File with the raw features of all records.
    """

    def __init__(self, store: Store, measure: Callable[[list[float]], float], records: Path) -> None:
        self._store, self._measure, self._records = store, measure, records
        self._news = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="measuring", daemon=True)

    def start(self) -> None:
        """Begin, in a thread."""
        if count := self._store.interrupted(INTERRUPTED).result():
            _log.warning("%d queries were interrupted: 'botorch-private curator retry' them", count)
        self._store.listen(lambda _: self._news.set())
        self._news.set()
        self._thread.start()

    def stop(self) -> None:
        """Begin nothing more."""
        self._stopping = True
        self._news.set()

    def _run(self) -> None:
        table = np.load(self._records, mmap_mode="r", allow_pickle=False)
        while not self._stopping:
            self._news.wait()
            self._news.clear()
            while not self._stopping and self._one(table):
                pass

    def _one(self, table: np.ndarray) -> bool:
        """Measure the oldest pending question; False if there is none."""
        try:
            query = self._store.begin().result()
            if query is None:
                return False
            try:
                outcome = self._measure(table[self._store.record(query.row)].tolist())
            except MeasuringError as error:
                _log.warning("query %d failed; see the console, or 'curator status'", query.id)
                self._store.fail(query.id, str(error)).result()
            else:
                self._store.measure(query.id, outcome, None).result()
        except ServiceError as error:
            # Withdrawn meanwhile, or the disk refuses: what is stored stays as it is.
            _log.error("a measurement could not be stored: %s", error.code)
            return False
        return True


def _pass_on(stream: Any, replies: queue.SimpleQueue[str | None]) -> None:
    try:
        for line in stream:
            replies.put(line)
    except ValueError:  # closed
        pass
    replies.put(None)
