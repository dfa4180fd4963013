"""The release file of a folder: that what is sent is what was promised."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from botorch_private.exchange.release_digest import digest_of_file

_LONGEST_TRUST = 600.0  # seconds; a disk can lose what nobody wrote to


class ReleaseFile:
    """A release file, hashed when it is opened, whenever it was touched, and every ten minutes.

    Args:
        path: Where it lies.
        identity: SHA-256 of the release, as it was stored when the folder was made.

    Raises:
        ValueError: If it is not the release of that identity, whole.
        OSError: If it cannot be read.
    """

    def __init__(self, path: Path, identity: str) -> None:
        self.path, self._identity = path, identity
        self._lock = threading.Lock()
        self._seen: tuple[int, ...] | None = None
        self._until = 0.0
        if not self.is_right():
            raise ValueError(
                f"{path} is not the release that this folder was made with: it is cut short or changed. "
                "Put it back from a backup of this folder"
            )

    def is_right(self) -> bool:
        """Whether the file is there and holds what it held; one system call while it rests.

        Raises:
            OSError: If that cannot be found out now.
        """
        with self._lock:
            try:
                found = os.stat(self.path)
                seen = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
                if seen == self._seen and time.monotonic() < self._until:
                    return True
                self._seen = None
                if digest_of_file(self.path) != self._identity:
                    return False
            except (FileNotFoundError, NotADirectoryError, ValueError):
                return False
            self._seen, self._until = seen, time.monotonic() + _LONGEST_TRUST
            return True

    is_whole = is_right  # it is hashed again in its time
