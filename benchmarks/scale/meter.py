"""CPU time and memory of this process and of all that it started, in all and by stages."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

_SERVICES = ("raylet", "gcs_server", "monitor", "dashboard", "agent", "ray_client", "log_monitor")


class Meter:
    """Looks at all processes, now and then.

    Memory is what a process has written itself and nobody can take back (RssAnon): pages of files count
    as the system's, which drops them on need.
    """

    def __init__(self) -> None:
        self.peak, self.peak_of_all = 0, 0
        self._me = psutil.Process()
        self._cpu: dict[int, float] = {}
        self._workers: set[int] = set()
        self._own = 0.0  # of looking, which is no part of what is measured
        self._lock = threading.Lock()
        self.stages: dict[str, dict[str, float]] = {}

    def look(self) -> dict[int, float]:
        """CPU seconds of each process until now; of one that has ended, as it was seen last."""
        with self._lock:
            start, total = time.thread_time(), 0
            for process in (self._me, *self._me.children(recursive=True)):
                try:
                    times = process.cpu_times()
                    self._cpu[process.pid] = times.user + times.system
                    size = _written(process.pid)
                    if process.pid != self._me.pid and not _service(process):
                        self._workers.add(process.pid)
                    total += size
                    self.peak = max(self.peak, size)
                except (psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
                    continue
            self.peak_of_all = max(self.peak_of_all, total)
            self._own += time.thread_time() - start
            return {**self._cpu, self._me.pid: self._cpu[self._me.pid] - self._own}

    def since(self, before: dict[int, float]) -> dict[str, float]:
        """CPU seconds since a look: of all, of this process, of the busiest of the others."""
        now = self.look()
        gone = {pid: cpu - before.get(pid, 0.0) for pid, cpu in now.items()}
        driver = gone[self._me.pid]
        workers = [cpu for pid, cpu in gone.items() if pid in self._workers]
        return {"cpu": sum(gone.values()), "driver": driver, "busiest": max(workers, default=0.0)}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what happens inside under a name."""
        before = self.look()
        yield
        self.stages[name] = self.since(before)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look every second."""
        stop = threading.Event()

        def watch() -> None:
            while not stop.wait(1.0):
                self.look()

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def _written(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon")), 0)


def _service(process: psutil.Process) -> bool:
    line = " ".join(process.cmdline()[:4])
    return not line.startswith("ray::") and any(name in line for name in _SERVICES)
