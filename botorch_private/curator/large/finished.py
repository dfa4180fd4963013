"""A folder that appears whole or not at all, however often the task that makes it is begun."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from botorch_private._base.whole_file import sync_folder


def make_once(folder: Path, fill: Callable[[Path], None]) -> None:
    """Fill a new folder and give it its name by one rename; nothing is done where it is there already.

    Two that try at the same time, such as a worker that was given up and the one in its place, both
    fill a folder of their own: one of them keeps its name, and the other one's work is thrown away.

    Args:
        folder: Its name at last. Its parent is there.
        fill: Writes the files into a folder that is given to it, mode 0700.
    """
    if folder.exists():
        return
    temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        fill(temporary)
        for file in temporary.iterdir():
            _sync(file)
        sync_folder(temporary)
        try:
            os.rename(temporary, folder)  # fails where a filled folder has the name
        except OSError:
            if not folder.exists():
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    sync_folder(folder.parent)


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
