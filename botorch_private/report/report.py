"""report: everything that can be said of a release, for a reader who does not read proofs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from botorch_private._base import validate
from botorch_private._base.whole_file import require_folder, write_whole
from botorch_private.exchange.release import Release
from botorch_private.report import chapters
from botorch_private.report.audit_facts import AuditFacts, audit
from botorch_private.report.belongs import check_scaling
from botorch_private.report.document import Document
from botorch_private.report.facts import Facts, Spent, public_facts
from botorch_private.report.text import as_text
from botorch_private.report.unit_facts import Ranges

if TYPE_CHECKING:
    from botorch_private.curator.features.scaling import PublicScaling
    from botorch_private.curator.ledger import Ledger
    from botorch_private.report.table_facts import TableFacts

_TITLE = "Privacy report"
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
    """

    facts: Facts
    audits: tuple[AuditFacts, ...]
    table: tuple[TableFacts, ...]
    spent: Spent | None
    document: Document

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
        ledger: Of all that was spent on the records, or its file; on the curator's side.
        trials: Releases of each of two tables in the attack, >= 100; None: 100,000, or 1,000 with a
            projection.
        progress: Whether to show a bar where it takes more than two seconds.

    Raises:
        ValueError: If the releases do not share a unit, or the scaling or the records are not theirs.
        TypeError: If a release is none.
        ImportError: If different kinds of noise are to be added and dp-accounting is not installed.

    Example:
        >>> page = report(release, scaling=scaling)
        >>> page.save("report.html")  # or print(page)
    """
    found = [releases] if isinstance(releases, Release) else list(releases)
    if not found:
        raise ValueError("releases must hold at least one Release, got none")
    called = _names(found, names)
    if trials is not None:
        validate.count(minimum=100, trials=trials)
    if scaling is not None:
        for release, name in zip(found, called, strict=True):
            check_scaling(release.guarantee, scaling, name)
    table = None
    if records is not None:
        if scaling is None:
            raise ValueError("scaling must be given with records, got None")
        table = scaling.check(records, minimum_rows=2)
        for release, name in zip(found, called, strict=True):
            if len(table) != len(release.candidates):
                raise ValueError(
                    f"records must be those of the release, but there are {len(table)} of them and "
                    f"{name} has {len(release.candidates)} rows"
                )
    spent = None
    if ledger is not None:
        from botorch_private.report.spent import spent_by

        spent = spent_by(ledger, found, called)
    ranges = None
    if scaling is not None:
        ranges = Ranges(tuple(scaling.lower.tolist()), tuple(scaling.upper.tolist()), scaling.steps)
    steps = 1 + len(found) * (1 if table is None else 2)
    with tqdm(
        total=steps, desc="report", disable=not progress, delay=_SILENT_SECONDS, leave=False
    ) as bar:
        facts = public_facts(found, called, ranges)
        bar.update()
        audits = []
        for release, name in zip(found, called, strict=True):
            audits.append(audit(release, name, trials))
            bar.update()
        tables = []
        if table is not None and scaling is not None:
            from botorch_private.report.table_facts import table_facts

            for release, name in zip(found, called, strict=True):
                tables.append(table_facts(release, name, table, scaling, progress=progress))
                bar.update()
    return _written(facts, tuple(audits), tuple(tables), spent)


def _names(found: list[Release], names: Sequence[str] | None) -> list[str]:
    if names is None:
        return ["the release"] if len(found) == 1 else [f"release {i + 1}" for i in range(len(found))]
    if len(names) != len(found):
        raise ValueError(f"names must have {len(found)} entries, one a release, got {len(names)}")
    return [str(name) for name in names]


def _written(
    facts: Facts,
    audits: tuple[AuditFacts, ...],
    table: tuple[TableFacts, ...],
    spent: Spent | None,
) -> Report:
    document = Document(
        title=_TITLE,
        subtitle=", ".join(release.name for release in facts.releases),
        secret=bool(table),
        sections=(
            chapters.summary(facts, audits),
            chapters.promise(facts),
            chapters.unit(facts, table),
            chapters.distance(facts),
            chapters.attack(facts, table),
            chapters.sure(facts, audits, table),
            chapters.total(facts, spent),
            chapters.limits(facts),
        ),
    )
    return Report(facts, audits, table, spent, document)
