"""What the command line prints: a success stays one, whatever becomes of its output.

Three kinds of output:

- `tell` says what was done. Nobody needs to hear it: where it cannot be printed, nothing happens.
- ``print`` shows what was asked for. Where it cannot be printed, `main` ends the command as usual tools
  end: 141 where nobody reads any more, else 1 with a line that says why.
- `put` hands out the text of a file: in UTF-8, as all files are, whatever the console's encoding is.

In `steady_streams` no character fails: what an encoding does not have, and bytes of a file name that are
no UTF-8, are printed as escapes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper

_SILENT = os.devnull


@contextmanager
def steady_streams() -> Iterator[None]:
    """Have streams that exist, and that print any text."""
    _fill_closed()
    changed = []
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors not in ("replace", "backslashreplace"):
            changed.append((stream, stream.errors))
            stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        for stream, errors in changed:
            with suppress(ValueError, OSError):  # a stream that was closed meanwhile
                stream.reconfigure(errors=errors)


def tell(text: str) -> None:
    """Print what was done; where it cannot be printed, it was done all the same."""
    try:
        print(text, flush=True)
    except OSError:
        drop_output()


def warn(text: str) -> None:
    """Print to the standard error, if it can be."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def put(text: str) -> None:
    """Print the text of a file: to a terminal as it shows texts, elsewhere in UTF-8 and as it is."""
    if sys.stdout.isatty() or not hasattr(sys.stdout, "buffer"):
        print(text, end="", flush=True)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", errors="surrogateescape"))
    sys.stdout.flush()


def drop_output() -> None:
    """Let what was not printed yet, and what comes, go nowhere: else it fails again when Python ends."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(_SILENT, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _fill_closed() -> None:
    """Put something in the place of standard streams that were closed.

    Else the next file that is opened, such as a database, would take their number, and be printed into.
    What is put there can only be read: printing fails as it does where a stream is closed.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(_SILENT, os.O_WRONLY if number == 2 else os.O_RDONLY)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
