"""How sure is that?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from botorch_private.audit import AuditResult
from botorch_private.report.audit_facts import AuditFacts
from botorch_private.report.document import Block, Paragraph, Section, Table
from botorch_private.report.facts import Facts
from botorch_private.report.shown import down, given, percent, small, up, whole

if TYPE_CHECKING:
    from botorch_private.report.table_facts import TableFacts

_HEADER = (
    "Release",
    "Distance, in units",
    "Found: epsilon at least",
    "Promised: epsilon",
    "Delta",
    "Trials",
    "Confidence",
)


def sure(facts: Facts, audits: tuple[AuditFacts, ...], table: tuple[TableFacts, ...]) -> Section:
    """The audit's lower bound beside the claim."""
    if facts.total.holds:
        first = (
            "The guarantee rests on a proof, not on a test: it follows from the noise and the declared "
            "ranges alone. What a test can do is to catch software that does not do what was proved."
        )
    else:
        first = "The guarantee does not hold. A test can show how much more leaks at least."
    blocks: list[Block] = [
        Paragraph(first),
        Paragraph(
            "When this report was made, the mechanism was attacked on this machine, at the settings of "
            "the release: two tables that differ in one record were released again and again, and an "
            "attacker who knows both had to guess which of the two it was. Success bounds epsilon from "
            "below, with the confidence given. A lower bound below the promise is no proof that the "
            "promise holds; one above it refutes the promise."
        ),
    ]
    tested = [(audit.name, audit.result) for audit in audits if audit.result is not None]
    if tested:
        rows = tuple(_row(name, result) for name, result in tested)
        blocks.append(Table("The attack on invented records", _HEADER, rows))
    blocks += [
        Paragraph(f"{audit.name} was not tested: {audit.untested}.", "note")
        for audit in audits
        if audit.result is None
    ]
    one_run = [(each.name, each.one_run) for each in table if each.one_run is not None]
    if one_run:
        rows = tuple(_row(name, result) for name, result in one_run)
        blocks.append(
            Table("The attack on your records, each moved by one unit or not, at a toss", _HEADER, rows)
        )
        blocks.append(
            Paragraph(
                "This second attack releases your records once more, inside this machine, and forgets "
                "that release. It is weaker, since each record is released once only."
            )
        )
    results = [result for _, result in (*tested, *one_run)]
    if any("mu" in result.method for result in results):
        blocks.append(
            Paragraph(
                "The noise is Gaussian, and the bound takes that for granted: it tests how wide it is.",
                "note",
            )
        )
    if any(result.refuted for result in results):
        blocks.append(Paragraph("The attack REFUTES the promise. Do not use this release.", "bad"))
    elif results and facts.total.holds:
        blocks.append(Paragraph("The attack does not refute the promise.", "good"))
    elif results:
        blocks.append(
            Paragraph(
                "This attack on the noise alone found no more than the settings would promise. The "
                "guarantee does not hold for other reasons, which are given above.",
                "bad",
            )
        )
    return Section("sure", "How sure that is", tuple(blocks))


def _row(name: str, result: AuditResult) -> tuple[str, ...]:
    return (
        name,
        given(result.distance),
        down(result.lower_bound),
        up(result.claimed),
        small(result.delta),
        whole(result.trials),
        percent(result.confidence),
    )
