"""What a database says of a folder whose release is in parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PartsFacts:
    """What was settled when the folder was made.

    Args:
        starts: First released row of each part, and ``n``.
        sources: Name and first record of each file of the table, as staff are told.
        files: Files of the folder that never change, by their names in it: size and SHA-256.
        named: Whether records have identifiers of their own.
        known: How many outcomes are known.
        noised: Whether answers have noise.
    """

    starts: tuple[int, ...]
    sources: tuple[tuple[str, int], ...]
    files: dict[str, tuple[int, str]]
    named: bool = False
    known: int = 0
    noised: bool = False


def parts_facts_from(values: Mapping[str, Any] | None) -> PartsFacts | None:
    """Read what ``asdict`` made of one, and JSON of that.

    Raises:
        ValueError: If it is something else; also KeyError, TypeError.
    """
    if values is None:
        return None
    found = PartsFacts(**values)
    return PartsFacts(
        starts=tuple(map(int, found.starts)),
        sources=tuple((str(name), int(start)) for name, start in found.sources),
        files={str(name): (int(size), str(digest)) for name, (size, digest) in found.files.items()},
        named=bool(found.named),
        known=int(found.known),
        noised=bool(found.noised),
    )
