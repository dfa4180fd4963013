"""Pages of a list, by numbers alone: the database is asked for what one of them shows."""

from __future__ import annotations

from dataclasses import dataclass

PAGE_LENGTH = 50


@dataclass(frozen=True)
class Pages:
    """One page of a list.

    Args:
        number: Its number, from 1.
        count: How many pages there are.
        total: How many entries there are.
        first: Number of the first entry on it, from 1.
        last: Number of the last one.
    """

    number: int
    count: int
    total: int
    first: int
    last: int


def pages_of(total: int, wanted: str, length: int = PAGE_LENGTH) -> Pages:
    """The page that an address asks for, or the nearest that there is."""
    count = max(1, -(-total // length))
    number = min(int(wanted), count) if is_number(wanted) else 1
    start = (max(1, number) - 1) * length
    return Pages(max(1, number), count, total, start + 1, min(start + length, total))


def is_number(text: str) -> bool:
    """Whether a text of an address is a number that is not too long for one."""
    return text.isascii() and text.isdigit() and len(text) < 10
