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
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np

from botorch_private.curator.service.parts.behind import Behind
from botorch_private.curator.service.question import (
    LostError,
    Outcome,
    Question,
    ServiceError,
    StorageError,
)
from botorch_private.curator.service.store import Store

INTERRUPTED = "the server stopped while it was measured: it may have been measured, or not"
_START_LIMIT = 120.0
_STOP_LIMIT = 5.0
_LOOK_AGAIN = 2.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 30.0
_log = logging.getLogger("botorch_private.curator.service")


class MeasuringError(RuntimeError):
    """The program failed; its message is for the curator's eyes only."""


class Program:
    """A function in a process of its own.

    Args:
        name: ``module:function``.
        time_limit: Seconds for one call.
        output: File that gets what the function prints: it may name values of records, so it lies in the
            curator's folder, and nothing of it is in the server's own log.
        outcomes: Names of several outcomes, as they were declared; empty: a record has one.
    """

    def __init__(self, name: str, time_limit: float, output: Path, outcomes: Sequence[str] = ()) -> None:
        self._outcomes = tuple(outcomes)
        self._name, self._time_limit, self._output = name, time_limit, output
        self._process: subprocess.Popen[str] | None = None
        self._replies: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def start(self) -> None:
        """Start the process, or refuse what is not a function.

        Raises:
            MeasuringError: If there is no such function.
        """
        command = [sys.executable, "-m", "botorch_private.curator.service.worker", self._name]
        command += self._outcomes
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        try:
            with open(os.open(self._output, flags, 0o600), "ab") as output:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=output,
                    encoding="utf-8",
                    start_new_session=True,
                )
        except OSError as error:
            raise MeasuringError(f"the objective's process cannot be started: {error}") from error
        self._replies = queue.SimpleQueue()
        threading.Thread(
            target=_pass_on, args=(self._process.stdout, self._replies), daemon=True
        ).start()
        self._reply(_START_LIMIT)

    def __call__(self, record: list[float]) -> Outcome:
        """Measure one record: a number, or a dict of names to those of several outcomes.

        Raises:
            MeasuringError: If the function raises, returns no finite number, takes too long, or ends
                its process; the next call starts another one.
        """
        if self._process is None or self._process.poll() is not None:
            self.start()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(record) + "\n")
            process.stdin.flush()
        except (BrokenPipeError, ValueError):  # a ValueError: it was closed
            self.stop()
            raise MeasuringError("the objective's process ended") from None
        reply = self._reply(self._time_limit)
        try:
            value = reply["value"]
            if isinstance(value, dict):
                return {name: float(each) for name, each in value.items()}
            return float(value)
        except (KeyError, TypeError, ValueError):
            raise MeasuringError("the objective's process answered without a value") from None

    def stop(self) -> None:
        """End the process; also from another thread than the one that waits for its reply."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                if hasattr(os, "killpg"):  # what it started goes with it
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                assert stream is not None
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def _reply(self, seconds: float) -> dict[str, Any]:
        try:
            line = self._replies.get(timeout=seconds)
        except queue.Empty:
            self.stop()
            raise MeasuringError(f"the objective took more than {seconds:g} s") from None
        if line is None:
            self.stop()
            raise MeasuringError("the objective's process ended")
        try:
            reply = json.loads(line)
        except ValueError:
            self.stop()
            raise MeasuringError("the objective's process answered something else") from None
        if "error" in reply:
            raise MeasuringError(reply["error"])
        return reply


class Measuring:
    """Measures pending questions in the order in which they were asked.

    A question is marked before the program starts on it. If the server is killed meanwhile, nobody knows
    whether it was measured: it has failed then, and staff decide.

    Args:
        store: Where questions wait.
        program: From raw features to an outcome; raises a `MeasuringError` where that fails.
        records: File with the raw features of all records, or what gives those of one.
    """

    def __init__(self, store: Store, program: Program, records: Path | Behind) -> None:
        self._store, self._program = store, program
        self._table: Any = records
        if isinstance(records, Path):
            self._table = np.load(records, mmap_mode="r", allow_pickle=False)
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
        """Begin nothing more; what is being measured has failed, and is stored as that."""
        self._stopping = True
        self._news.set()
        self._program.stop()
        if self._thread.is_alive():
            self._thread.join(timeout=_STOP_LIMIT)

    def _run(self) -> None:
        while not self._stopping:
            self._news.wait(_LOOK_AGAIN)  # another process may have let failed ones try again
            self._news.clear()
            try:
                while not self._stopping and self._one(self._table):
                    pass
            except Exception as error:  # a database that cannot be read just now, for example
                _log.error("measuring paused: %s", type(error).__name__)

    def _one(self, table: Any) -> bool:
        """Measure the oldest pending question; False if there is none, or nothing can be stored now."""
        try:
            query = self._store.begin().result()
        except LostError:
            return False  # it was said, once
        except ServiceError as error:
            _log.error("no measurement could be begun: %s", error.code)
            return False
        if query is None:
            return False
        try:
            outcome = self._program(table[self._store.record(query.row)].tolist())
            self._store.facts.measured.named(outcome)
        except Exception as error:  # whatever it is, the next question must not wait for it
            _log.warning("query %d failed; see the console, or 'curator export'", query.id)
            ours = isinstance(error, MeasuringError | ServiceError)
            reason = str(error) if ours else type(error).__name__
            self._keep(lambda: self._store.fail(query.id, reason))
        else:
            self._keep(lambda: self._store.measure(query.id, outcome, None))
        return True

    def _keep(self, store: Callable[[], Future[Question]]) -> None:
        """Store what came of a measurement, however long the disk refuses: it may have taken weeks."""
        pause = _FIRST_PAUSE
        while True:
            try:
                store().result()
                return
            except StorageError:
                if self._stopping:
                    _log.error("a measurement could not be stored before the server stopped")
                    return
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            except ServiceError as error:  # staff entered a value meanwhile: theirs stays
                _log.warning("a measurement came late: %s", error.code)
                return


def _pass_on(stream: Any, replies: queue.SimpleQueue[str | None]) -> None:
    try:
        for line in stream:
            replies.put(line)
    except ValueError:  # closed
        pass
    replies.put(None)
