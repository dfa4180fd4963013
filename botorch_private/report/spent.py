"""What a ledger says, as facts of the report. The curator's side: ledgers are kept there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from botorch_private.curator.ledger import Ledger
from botorch_private.exchange.release import Release
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.spending import total


@dataclass(frozen=True)
class Spent:
    """What a ledger says, in all."""

    entries: int
    total: PrivacyGuarantee | None  # the most that was spent on a record; None where nothing was
    budget: PrivacyGuarantee | None  # the most that may be; None where there is no limit
    one_more: PrivacyGuarantee | None  # the total after one more release like the last of the report
    unknown: tuple[str, ...]  # releases of the report that no entry is like


def spent_by(ledger: Ledger | str | os.PathLike[str], named: Sequence[tuple[Release, str]]) -> Spent:
    """Say what was spent in all, by a ledger or its file, beside the releases of a report.

    Raises:
        ValueError: If the file is not a ledger's, or its entries are about another unit.
        FileNotFoundError: If there is no such file.
    """
    found = ledger if isinstance(ledger, Ledger) else opened(ledger)
    spent, last = found.total, named[-1][0].guarantee
    if spent is not None and all(
        (part.unit, part.log_columns) != (last.unit, last.log_columns)
        for part in spent.parts or (spent,)
    ):
        raise ValueError("ledger must be that of the released table, got one with another unit")
    entered = [entry.guarantee for entry in found.entries]
    return Spent(
        entries=len(entered),
        total=spent,
        budget=found.budget,
        one_more=None if spent is None else total([spent, last]),
        unknown=tuple(name for release, name in named if release.guarantee not in entered),
    )


def opened(path: str | os.PathLike[str]) -> Ledger:
    """Open the file of a ledger that exists.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is another file.
    """
    if not Path(path).is_file():  # a Ledger would begin a new one
        raise FileNotFoundError(f"ledger must be the file of a Ledger, but there is no file {path}")
    return Ledger(path=path)
