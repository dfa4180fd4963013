"""The files of a release in parts, and of what is kept behind it: that they are what was promised."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from botorch_private._base.progress import tqdm
from botorch_private.curator.service.parts.facts import PartsFacts
from botorch_private.exchange.release_digest import sha256_of_file

_LONGEST_TRUST = 600.0  # seconds; a disk can lose what nobody wrote to
_GLANCE = 1.0  # seconds in which nobody looks again
_Signature = tuple[int, ...]


class PartsFiles:
    """Files that never change, hashed when a server starts, and one after another while it runs.

    Args:
        folder: The curator's folder.
        parts: What its database says of them.

    Attributes:
        path: What they are called in messages.

    Raises:
        ValueError: If one is gone, cut short or changed.
        OSError: If one cannot be read.
    """

    def __init__(self, folder: Path, parts: PartsFacts) -> None:
        self.path, self._folder, self._files = folder / "release", folder, parts.files
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[_Signature, float]] = {}
        self._glanced = -_GLANCE
        self._is_right = True
        total = sum(size for size, _ in self._files.values())
        with tqdm(
            total=total, desc="check", unit="B", unit_scale=True, leave=False, delay=2, disable=None
        ) as bar:
            for name, (size, _) in self._files.items():
                if not self._hashes(name):
                    raise ValueError(
                        f"{folder / name} is not the file that this folder was made with: it is gone, "
                        "cut short or changed. Put it back from a backup of this folder"
                    )
                bar.update(size)

    def is_right(self) -> bool:
        """Whether all are there, untouched since they were hashed; a system call a file, once a second.

        Raises:
            OSError: If that cannot be found out now.
        """
        with self._lock:
            now = time.monotonic()
            if self._is_right and now >= self._glanced + _GLANCE:
                self._is_right = all(map(self._rests, self._files))
                self._glanced = now
            return self._is_right

    def is_whole(self) -> bool:
        """The same, and one that was not read for ten minutes is hashed again, the one longest ago.

        Raises:
            OSError: If that cannot be found out now.
        """
        if not self.is_right():
            return False
        oldest = min(self._files, key=lambda name: self._seen[name][1])
        if time.monotonic() >= self._seen[oldest][1] + _LONGEST_TRUST:
            right = self._hashes(oldest)  # nobody waits for it
            with self._lock:
                self._is_right &= right
        return self._is_right

    def holds(self, name: str) -> bool:
        """Whether one of them is what it was, looked at now."""
        with self._lock:
            return name in self._files and self._rests(name)

    def _rests(self, name: str) -> bool:
        signature = self._signature(name)
        if signature is None:
            return False
        # Touched: what it holds may be the same.
        return signature == self._seen[name][0] or self._hashes(name)

    def _hashes(self, name: str) -> bool:
        before = self._signature(name)
        size, digest = self._files[name]
        if before is None or before[2] != size:
            return False
        try:
            right = sha256_of_file(self._folder / name) == digest
        except (FileNotFoundError, NotADirectoryError):
            return False
        self._seen[name] = before, time.monotonic()
        return right

    def _signature(self, name: str) -> _Signature | None:
        try:
            found = os.stat(self._folder / name)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
