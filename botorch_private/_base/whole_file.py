"""Write a file that appears whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, content: bytes, *, replace: bool = True) -> None:
    """Write a file under another name beside ``path``, wait for the disk, and rename it.

    Only its owner can read it.

    Args:
        path: The file; where it is a link, what that leads to.
        content: What it will hold.
        replace: Whether a file that is there is replaced.

    Raises:
        FileNotFoundError: If there is no such folder.
        FileExistsError: If there is a file that must not be replaced.
    """
    require_folder(path)
    path = path.resolve()  # a link stays a link
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            os.replace(temporary, path)
        else:
            _rename_new(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    sync_folder(path.parent)


def _rename_new(temporary: str, path: Path) -> None:
    """Give a file its name, unless another one has it."""
    try:
        os.link(temporary, path)  # fails where there is one, however late it came
    except FileExistsError:
        raise FileExistsError(f"path must be new, but there is something at {path}") from None
    except OSError:  # a file system without links
        if path.exists():
            raise FileExistsError(f"path must be new, but there is something at {path}") from None
        os.replace(temporary, path)
    else:
        os.unlink(temporary)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk; Windows has no such thing."""
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def require_folder(path: Path) -> None:
    """Refuse a path in a folder that is not there."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"path must be in a folder that exists, but there is no {path.parent}")
