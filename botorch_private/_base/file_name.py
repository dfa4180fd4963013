"""Names of files for libraries that take UTF-8 alone: a name of POSIX is bytes, which may be none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def utf8_name(path: Path) -> Iterator[str]:
    """A name in UTF-8 under which a file can be read here: its own, or that of a descriptor."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:  # bytes that are no UTF-8 stand as surrogates in Python
        with path.open("rb") as file:
            yield f"/dev/fd/{file.fileno()}"
    else:
        yield str(path)
