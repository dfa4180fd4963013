"""Copies of this process: a generator that lives in memory gives all of them the same numbers."""

from __future__ import annotations

import os
import select
import signal
import warnings
from collections.abc import Callable

_PATIENCE = 60.0  # seconds


def in_two_copies(work: Callable[[], bytes]) -> tuple[bytes, bytes] | None:
    """What `work` returns in each of two forked copies of this process.

    Args:
        work: Returns bytes; it must start no threads.

    Returns:
        None where this system cannot fork, or a copy did not answer.
    """
    if not hasattr(os, "fork"):
        return None
    found = [_in_a_copy(work) for _ in range(2)]
    return None if None in found else (found[0] or b"", found[1] or b"")


def _in_a_copy(work: Callable[[], bytes]) -> bytes | None:
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of threads
        child = os.fork()
    if child == 0:  # pragma: no cover: a copy leaves no trace in the parent's coverage
        try:
            os.close(reader)
            with os.fdopen(writer, "wb") as stream:
                stream.write(work())
        finally:
            os._exit(0)  # nothing of the parent's is flushed or cleaned up twice
    os.close(writer)
    parts = []
    try:
        while select.select([reader], [], [], _PATIENCE)[0]:
            part = os.read(reader, 2**16)
            if not part:
                return b"".join(parts) or None
            parts.append(part)
        os.kill(child, signal.SIGKILL)
        return None
    finally:
        os.close(reader)
        os.waitpid(child, 0)
