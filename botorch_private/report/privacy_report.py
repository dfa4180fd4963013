"""report: everything that can be said of a release, for a reader who does not read proofs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botorch_private._base import validate
from botorch_private._base.progress import tqdm
from botorch_private._base.whole_file import require_folder, write_whole
from botorch_private.exchange.release import Release
from botorch_private.report.audit_facts import FEWEST_TRIALS, AuditFacts, audit
from botorch_private.report.chapters import written
from botorch_private.report.document import Document
from botorch_private.report.facts import Cost, PublicFacts, public_facts
from botorch_private.report.text import as_text

if TYPE_CHECKING:
    from botorch_private.curator.features.scaling import PublicScaling
    from botorch_private.curator.ledger import Ledger
    from botorch_private.report.spent import Spent
    from botorch_private.report.table_facts import TableFacts

_SILENT_SECONDS = 2


@dataclass(frozen=True)
class Report:
    """A report, with the facts that it was written from.

    Attributes:
        facts: What is public.
        audits: What the attack on each release's mechanism found.
        table: What was computed from the records, for each release; empty without records. These
            facts are not private.
        spent: What the ledger says; None without one.
        document: The words.
        most_records: Records of the person who has the most, and what is promised to that person at one
            unit; None where that was not asked for. Not private either.
    """

    facts: PublicFacts
    audits: tuple[AuditFacts, ...]
    table: tuple[TableFacts, ...]
    spent: Spent | None
    document: Document
    most_records: tuple[int, Cost] | None = None

    @property
    def secret(self) -> bool:
        """Whether it must stay with the curator, because some of it depends on the records."""
        return self.document.secret

    def text(self) -> str:
        """Return the report as plain text."""
        return as_text(self.document)

    def html(self) -> str:
        """Return the report as one page without external resources.

        Raises:
            ImportError: If jinja2 or matplotlib is not installed.
        """
        from botorch_private.report.html import as_html

        return as_html(self.document, self.facts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page; it appears whole or not at all.

        Raises:
            FileNotFoundError: If there is no such folder.
            ImportError: If jinja2 or matplotlib is not installed.
        """
        require_folder(Path(path))
        write_whole(Path(path), self.html().encode("utf-8"))

    def __str__(self) -> str:
        return self.text()


def report(
    releases: Release | Sequence[Release],
    *,
    names: Sequence[str] | None = None,
    scaling: PublicScaling | None = None,
    records: Any = None,
    most_records: int | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    trials: int | None = None,
    progress: bool = True,
) -> Report:
    """Say of one or several releases what leaks, how sure that is, and what a further one would cost.

    Without `records` it is made from public facts, so that a modeler can make the same report.

    Args:
        releases: A release as the curator made it, or several of the same records.
        names: What to call each of them, such as its file.
        scaling: The declared ranges by which the records were released; public.
        records: ``n x d`` raw records of the releases. The report is then for the curator alone.
        most_records: Largest number of records that one person has; needs `records`.
        ledger: Of all that was spent on the records, or its file; on the curator's side.
        trials: Releases of each of two tables in the attack, >= 100; None: 100,000, or 1,000 with a
            projection.
        progress: Whether to show a bar where it takes more than two seconds.

    Raises:
        ValueError: If the releases do not share a unit, or the scaling or the records are not theirs.
        TypeError: If a release is something else.
        ImportError: If different kinds of noise are to be added and dp-accounting is not installed.

    Example:
        >>> page = report(release, scaling=scaling)
        >>> page.save("report.html")  # or print(page)
    """
    found = [releases] if isinstance(releases, Release) else list(releases)
    if not found:
        raise ValueError("releases must hold at least one Release, got none")
    if names is None:
        names = [f"release {i + 1}" for i in range(len(found))] if len(found) > 1 else ["the release"]
    if len(names) != len(found):
        raise ValueError(f"names must have {len(found)} entries, one a release, got {len(names)}")
    named = [(release, str(name)) for release, name in zip(found, names, strict=True)]
    if trials is not None:
        validate.count(minimum=FEWEST_TRIALS, trials=trials)
    if not (scaling is None and records is None and most_records is None):
        for release, _ in named:
            release.refuse_labels("there is no unit, so that its report takes no scaling and no records")
    if scaling is not None:
        from botorch_private.curator.features.scaling import PublicScaling

        if not isinstance(scaling, PublicScaling):
            raise TypeError(f"scaling must be a PublicScaling, got a {type(scaling).__name__}")
        for release, name in named:
            scaling.check_belongs(release.guarantee, name)
    table = _checked(records, scaling, named)
    if most_records is not None:
        validate.count(most_records=most_records)
        if table is None:
            raise ValueError("records must be given with most_records, which depends on them, got None")
    spent = None
    if ledger is not None:
        from botorch_private.report.spent import spent_by

        spent = spent_by(ledger, named)
    ranges, steps = None, ()
    if scaling is not None:
        ranges = list(zip(scaling.lower.tolist(), scaling.upper.tolist(), strict=True))
        steps = scaling.steps
    facts = public_facts(named, ranges, steps)
    most = None if most_records is None else (most_records, Cost.at(facts.total, 1.0, most_records))
    bar = partial(tqdm, named, desc="report", disable=not progress, delay=_SILENT_SECONDS, leave=False)
    audits = tuple(audit(release, name, trials) for release, name in bar())
    tables: tuple[TableFacts, ...] = ()
    if table is not None and scaling is not None:
        from botorch_private.report.table_facts import table_facts

        tables = tuple(
            table_facts(release, name, table, scaling, progress=progress) for release, name in bar()
        )
    sections = written(facts, audits, tables, spent, most)
    subtitle = ", ".join(name for _, name in named)
    document = Document("Privacy report", subtitle, bool(tables), sections)
    return Report(facts, audits, tables, spent, document, most)


def _checked(records: Any, scaling: PublicScaling | None, named: list[tuple[Release, str]]) -> Any:
    if records is None:
        return None
    if scaling is None:
        raise ValueError("scaling must be given with records, got None")
    table = scaling.check(records, minimum_rows=2)
    for release, name in named:
        if len(table) != len(release.candidates):
            raise ValueError(
                f"records must be those of the release, but there are {len(table)} of them and {name} "
                f"has {len(release.candidates)} rows"
            )
    return table
