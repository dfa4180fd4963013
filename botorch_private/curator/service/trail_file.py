"""A trail as a file: what `curator export --events` hands over, and how it is checked again.

Its first line says whose trail it is. Then each line is one event with its hash. Whoever has the file
can check it without this package: see the guide.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from botorch_private._base.file_kind import HEAD
from botorch_private._base.versioned import FileFormat
from botorch_private.curator.service.reading import Reading
from botorch_private.curator.service.trail import canonical, event_of
from botorch_private.curator.service.trail_check import Checked, check_trail

FORMAT = FileFormat(
    "botorch-private events",
    1,
    "a file of events",
    advice="export them again by 'botorch-private curator export --events'",
    digest=False,
)
_LONGEST_LINE = 2**20


def write_trail(reading: Reading) -> str:
    """All events of a folder, with their hashes, as lines of JSON.

    They hold values, reasons and comments: for the curator and whoever audits.
    """
    head = {**FORMAT.header, "identity": reading.first_identity()}
    lines = [canonical(head)]
    for found in reading.events():
        lines.append(_line(event_of(found), found["hash"]))
    return "\n".join(lines) + "\n"


def check_file(path: Path, kept: str | None = None) -> Checked:
    """Check a trail that was exported; see `check_trail`.

    Raises:
        ValueError: If it is no such file.
        OSError: If it cannot be read.
    """
    with path.open("rb") as file:
        head = _read(file.readline(_LONGEST_LINE))
        if head is None:
            file.seek(0)
            raise FORMAT.unreadable(file.read(HEAD), path)
        FORMAT.require(head, path)
        identity = head.get("identity")
        if not isinstance(identity, str):
            raise FORMAT.refusal(path, "is damaged")
        return check_trail(identity, _entries(file), kept)


def _entries(file: Any) -> Iterator[tuple[dict[str, Any], Any]]:
    while line := file.readline(_LONGEST_LINE):
        found = _read(line)
        event, hashed = (
            (found.get(name) for name in ("event", "hash")) if isinstance(found, dict) else (None, None)
        )
        if not isinstance(event, dict):
            event, hashed = {}, None
        elif line.rstrip(b"\r\n") != _line(event, hashed).encode():  # two ways to read it
            hashed = None
        yield event, hashed


def _line(event: dict[str, Any], hashed: Any) -> str:
    return f'{{"event":{canonical(event)},"hash":{canonical(hashed)}}}'


def _read(line: bytes) -> Any:
    try:
        return json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(_: str) -> None:
    raise ValueError  # NaN and Infinity are not JSON
