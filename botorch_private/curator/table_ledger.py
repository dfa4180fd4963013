"""The ledger of a table: beside the table, unless another one is named.

Two releases of one table add up only if they are entered in one ledger. So `initialize` keeps it where
the next release will look: ``stays.csv`` has ``stays.ledger.json``. It holds no record and no
digest of one: that a table was changed is noticed by its number of records alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from botorch_private.curator.ledger import Ledger
from botorch_private.privacy.guarantee import PrivacyGuarantee


@dataclass(frozen=True)
class TableLedger:
    """Which ledger a release of a table is entered in.

    Attributes:
        ledger: The ledger; None: no place for one but the curator's folder.
        caution: What its owner must know of it, as a line; empty where there is nothing to say.
    """

    ledger: Ledger | None
    caution: str = ""


def ledger_path(table: Path) -> Path:
    """Where the ledger of a table is kept: beside the file, also where a link leads to it."""
    return table.resolve().with_suffix(".ledger.json")


def ledger_of(table: Path, n: int, named: Path | None) -> TableLedger:
    """Find the ledger of a table, before anything is spent.

    Args:
        table: File of the table.
        n: Its number of records.
        named: Another file to keep the ledger in; None: the one beside the table.

    Raises:
        PermissionError: If the ledger beside the table cannot be written.
        ValueError: If the file is no ledger, or that of a table with another number of records.
    """
    beside = ledger_path(table)
    if named is not None and named.resolve() != beside:
        return TableLedger(_fitting(named, table, n), _passed_over(beside, named))
    if os.access(beside.parent, os.W_OK) and (not beside.exists() or os.access(beside, os.W_OK)):
        return TableLedger(_fitting(beside, table, n))
    if beside.exists():
        raise PermissionError(
            f"the ledger {beside} must be writable, since this release is entered there: make it and "
            f"its folder writable, or copy it, name the copy by --ledger, and use that one from now on"
        )
    return TableLedger(
        None,
        f"CAUTION: {beside.parent} cannot be written, so that no ledger can be kept beside the table. "
        f"Another release of it will not know of this one: name a ledger by --ledger FILE.",
    )


def ledger_to_grow(table: Path, n: int, *, named: Path | None, own: Path) -> Ledger:
    """Find the ledger that further records of a released table are entered in.

    Args:
        table: File of the table, the further records among it.
        n: How many records were released.
        named: File that the ledger is kept in; None: the one beside the table.
        own: The copy in the curator's folder, whose entries the ledger must have.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is no ledger, or that of another table.
    """
    path = ledger_path(table) if named is None else named.resolve()
    if not path.is_file():
        raise FileNotFoundError(
            f"there must be a ledger of this table, but there is no file {path}: name the one that its "
            f"release was entered in by --ledger FILE (where there never was one, that is {own})"
        )
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        raise PermissionError(
            f"the ledger {path} must be writable, since the new rows are entered there"
        )
    ledger = Ledger(path=path)
    known = Ledger(path=own).entries  # no entry is ever taken back, so the copy is how it began
    if ledger.records < n or ledger.entries[: len(known)] != known:
        raise ValueError(
            f"the ledger {path} must have what is entered in {own}, but it has not: it is of another "
            f"table, or was put back from an older time; name the right one by --ledger FILE"
        )
    return ledger


def under_budget(ledger: Ledger | None, budget: PrivacyGuarantee | None) -> Ledger:
    """The ledger of a table with a declared budget, for a look: no file is made.

    Args:
        ledger: That of the table; None: it has none.
        budget: Declared limit; None: the one that the ledger has, if any.

    Raises:
        ValueError: If the ledger was begun with another budget, or with none.
    """
    if budget is None:
        return Ledger() if ledger is None else ledger
    if ledger is None or ledger.path is None or not ledger.path.exists():
        return Ledger(budget)
    return Ledger(budget, ledger.path)


def _fitting(path: Path, table: Path, n: int) -> Ledger:
    ledger = Ledger(path=path)
    if ledger.records not in (0, n):
        raise ValueError(
            f"the ledger {path} is of a table of {ledger.records} records, but {table} has {n}: what "
            f"was spent on which record cannot be told. Is it another table? Then name another ledger "
            f"by --ledger FILE. Did records join or leave? Then restore the table that was released; "
            f"records join by 'curator add' or, in Python, by Curator.add"
        )
    return ledger


def _passed_over(beside: Path, named: Path) -> str:
    """Say that the ledger beside the table knows of releases that will not be added up."""
    if not beside.exists():
        return ""
    return (
        f"CAUTION: there is a ledger beside the table, {beside}, which is not the one that you named, "
        f"{named}. What was entered there is not added up here."
    )
