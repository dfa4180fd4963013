"""What a ledger says, as facts of the report. The curator's side: ledgers are kept there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from botorch_private.curator.ledger import Ledger
from botorch_private.exchange.release import Release
from botorch_private.privacy.spending import total
from botorch_private.report.facts import Spent


def spent_by(
    ledger: Ledger | str | os.PathLike[str], releases: Sequence[Release], names: Sequence[str]
) -> Spent:
    """Say what was spent in all.

    Args:
        ledger: Of the records, or its file.
        releases: Of the report.
        names: What they are called.

    Raises:
        ValueError: If the ledger is none, or its entries are about another unit.
        FileNotFoundError: If there is no such file.
    """
    found = ledger if isinstance(ledger, Ledger) else opened(ledger)
    entries, spent = found.entries, found.total
    entered = [entry.guarantee for entry in entries]
    last = releases[-1].guarantee
    if spent is not None and all(part.unit != last.unit for part in spent.parts or (spent,)):
        raise ValueError("ledger must be that of the released table, got one with another unit")
    return Spent(
        entries=len(entries),
        total=spent,
        budget=found.budget,
        one_more=None if spent is None else total([spent, last]),
        unknown=tuple(
            name
            for release, name in zip(releases, names, strict=True)
            if release.guarantee not in entered
        ),
    )


def opened(path: str | os.PathLike[str]) -> Ledger:
    """Open the file of a ledger that exists.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is no ledger.
    """
    if not Path(path).is_file():  # a Ledger would begin a new one
        raise FileNotFoundError(f"ledger must be the file of a Ledger, but there is no file {path}")
    return Ledger(path=path)
