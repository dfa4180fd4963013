"""look_up: the released rows of records, by what staff call them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable

from botorch_private.curator.features.identifiers import look


def rows_of(read: Callable[..., list[sqlite3.Row]], identifiers: Iterable[str]) -> list[int | None]:
    """The released row of each record that is meant; None where no record is called that.

    An identifier that is written in another way and looks the same is the same: no two records look
    the same (`checked_identifiers`). What is written as it is stored is found by an index. Only where
    one is not, all records are read, once.

    Args:
        read: Runs a query for reading. No transaction is needed: identifiers are never changed.
        identifiers: What staff call the records.
    """
    looks: dict[str, int] | None = None
    found: list[int | None] = []
    for identifier in identifiers:
        exact = read("SELECT row FROM record WHERE identifier = ?", identifier)
        if exact:
            found.append(exact[0]["row"])
            continue
        if looks is None:
            looks = {look(each["identifier"]): each["row"] for each in read(_ALL)}
        found.append(looks.get(look(identifier)))
    return found


_ALL = "SELECT row, identifier FROM record"
