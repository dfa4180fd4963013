"""CPU time, memory, and processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR")}


def cpu_seconds(work) -> float:
    """CPU time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def memory(field: str) -> int:
    """A field of Linux's /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def forget_peak() -> int:
    """Let VmHWM start anew; the bytes that are resident now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    return memory("VmRSS")


def in_process(task: str, **arguments) -> dict:
    """Run a task of `tasks` in a fresh process with one thread; what it returned."""
    command = [sys.executable, str(Path(__file__).parent), "--task", task, json.dumps(arguments)]
    environment = {**os.environ, **ONE_THREAD, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8", env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{task} {arguments} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])
