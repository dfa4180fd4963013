"""How sure is that?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from botorch_private.audit import AuditResult
from botorch_private.report.audit_facts import AuditFacts
from botorch_private.report.document import Block, Paragraph, Table
from botorch_private.report.facts import PublicFacts
from botorch_private.report.shown import down, given, percent, small, up, whole

if TYPE_CHECKING:
    from botorch_private.report.table_facts import TableFacts


def sure(
    facts: PublicFacts, audits: Sequence[AuditFacts], table: Sequence[TableFacts]
) -> Iterator[Block]:
    """The audit's lower bound beside the claim."""
    if facts.total.holds:
        yield Paragraph(
            "The guarantee rests on a proof, not on a test: it follows from the noise and the declared "
            "ranges alone. What a test can do is to catch software that does not do what was proved."
        )
    else:
        yield Paragraph("The guarantee does not hold. A test can show how much more leaks at least.")
    yield Paragraph(
        "When this report was made, the mechanism was attacked on this machine, at the settings of the "
        "release: two tables that differ in one record were released again and again, and an attacker "
        "who knows both had to guess which of the two it was. Success bounds epsilon from below, with "
        "the confidence given. A lower bound below the promise is no proof that the promise holds; one "
        "above it refutes the promise."
    )
    tested = [(audit.name, audit.result) for audit in audits if audit.result is not None]
    if tested:
        yield _table("The attack on invented records", tested)
    for audit in audits:
        if audit.result is None:
            yield Paragraph(f"{audit.name} was not tested: {audit.untested}.", "note")
    one_run = [(each.name, each.one_run) for each in table if each.one_run is not None]
    if one_run:
        yield _table("The attack on your records, each moved by one unit or not, at a toss", one_run)
        yield Paragraph(
            "This second attack releases your records once more, inside this machine, and forgets that "
            "release. It is weaker, since each record is released once only."
        )
    results = [result for _, result in (*tested, *one_run)]
    if any("mu" in result.method for result in results):
        yield Paragraph(
            "The noise is Gaussian, and the bound takes that for granted: it tests how wide it is.",
            "note",
        )
    if any(result.refuted for result in results):
        yield Paragraph("The attack REFUTES the promise. Do not use this release.", "bad")
    elif results and facts.total.holds:
        yield Paragraph("The attack does not refute the promise.", "good")
    elif results:
        yield Paragraph(
            "This attack on the noise alone found no more than the settings would promise. The "
            "guarantee does not hold for other reasons, which are given above.",
            "bad",
        )


def _table(caption: str, found: list[tuple[str, AuditResult]]) -> Table:
    columns = {
        "Release": [name for name, _ in found],
        "Distance, in units": [given(result.distance) for _, result in found],
        "Found: epsilon at least": [down(result.lower_bound) for _, result in found],
        "Promised: epsilon": [up(result.claimed) for _, result in found],
        "Delta": [small(result.delta) for _, result in found],
        "Trials": [whole(result.trials) for _, result in found],
        "Confidence": [percent(result.confidence) for _, result in found],
    }
    return Table.of_columns(caption, columns)
