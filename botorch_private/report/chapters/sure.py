"""How sure is that?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from botorch_private.audit import AuditResult, Findings
from botorch_private.report.audit_facts import AuditFacts
from botorch_private.report.document import Block, Paragraph, Points, Table
from botorch_private.report.facts import PublicFacts
from botorch_private.report.shown import down, given, percent, small, up, whole

if TYPE_CHECKING:
    from botorch_private.report.table_facts import TableFacts

_HOW_ATTACKED = (
    "When this report was made, the mechanism was attacked on this machine, at the settings of the "
    "release: two tables that differ in one record were released again and again, and an attacker "
    "who knows both had to guess which of the two it was. Success bounds epsilon from below, with "
    "the confidence given. A lower bound below the promise is no proof that the promise holds; one "
    "above it refutes the promise."
)


def sure(
    facts: PublicFacts, audits: Sequence[AuditFacts], table: Sequence[TableFacts]
) -> Iterator[Block]:
    """The audit's lower bound beside the claim."""
    proved = "draw of the labels" if facts.whole else "noise and the declared ranges"
    if facts.total.holds:
        yield Paragraph(
            f"The guarantee rests on a proof, not on a test: it follows from the {proved} alone. What a "
            f"test can do is to catch software that does not do what was proved."
        )
    else:
        yield Paragraph("The guarantee does not hold. A test can show how much more leaks at least.")
    tested = [(audit.name, audit.result) for audit in audits if audit.result is not None]
    if tested or not facts.whole:
        yield Paragraph(_HOW_ATTACKED)
    if tested:
        yield _table("The attack on invented records", tested)
    for audit in audits:
        if audit.labels is not None:
            yield Paragraph(
                f"{audit.name}: labels of made-up records were told again and again on this machine, "
                f"at the settings of the release, and compared with what is claimed: how often the "
                f"truth is told, whether each lie is as likely, and whether a label depends on other "
                f"records, or on random numbers that were used before. {_verdict(audit.labels)}"
            )
            yield from _seen(audit.labels)
        elif audit.result is None:
            yield Paragraph(f"{audit.name} was not tested: {audit.untested}.", "note")
    one_run = [(each.name, each.one_run) for each in table if each.one_run is not None]
    if one_run:
        yield _table("The attack on your records, each moved by one unit or not, at a toss", one_run)
        yield Paragraph(
            "This second attack releases your records once more, inside this machine, and forgets that "
            "release. It is weaker, since each record is released once only."
        )
    results = [result for _, result in (*tested, *one_run)]
    if any(result.honest is not None for result in results):
        yield Paragraph(
            "Beside each bound stands what the same attack finds where the noise is exactly what is "
            "claimed, drawn by other software: a bound near that is what honest software gives. The "
            "attack sees less in more dimensions. The column after it says how narrow noise must be, as "
            "a share of what is claimed, for the attack to refute it."
        )
    for audit in audits:
        yield from _noise(audit)
    for each in table:
        yield from _curator(each)
    if any("mu" in result.method for result in results):
        yield Paragraph(
            "The noise is Gaussian, and the bound takes that for granted: it tests how wide it is.",
            "note",
        )
    if any(each.refuted for each in (*audits, *table)):
        yield Paragraph("The attack REFUTES the promise. Do not use this release.", "bad")
    elif (results or any(each.labels for each in audits)) and facts.total.holds:
        yield Paragraph("The attack does not refute the promise.", "good")
    elif results:
        yield Paragraph(
            "This attack on the noise alone found no more than the settings would promise. The "
            "guarantee does not hold for other reasons, which are given above.",
            "bad",
        )


def _noise(audit: AuditFacts) -> Iterator[Block]:
    """The tests that see a wrong width, which an attack sees badly."""
    if audit.noise is not None:
        yield Paragraph(
            f"{audit.name}: the noise itself was drawn again and again and compared with the law that "
            f"is claimed, with how wide it is, its directions, and whether rows, releases and copies of "
            f"the program have noise of their own. {_verdict(audit.noise)}"
        )
        yield from _seen(audit.noise)
    elif audit.result is not None and audit.result.honest is not None:
        yield Paragraph(
            f"{audit.name}: the noise itself was not tested, which would take minutes with so many "
            f"features; a wrong width would not have been seen.",
            "note",
        )
    if audit.claim is not None:
        again = "at each distance was computed again from the stated noise"
        if audit.labels is not None:
            again = "was computed again from the stated chances of labels"
        yield Paragraph(
            f"{audit.name}: what is promised {again}, in another way. {_verdict(audit.claim)}"
        )
        yield from _seen(audit.claim)


def _curator(table: TableFacts) -> Iterator[Block]:
    """The tests of what a curator does before and beside the noise."""
    if table.order is not None:
        order = (
            "the rows were LEFT in such an order" if table.order_left else "no sign of them was found"
        )
        yield Paragraph(
            f"{table.name}: the order of the released rows was compared with that of your table and "
            f"with that of each feature: {order}. "
            f"The test would have seen rows in such an order, or in blocks of it.",
            "bad" if table.order_left else "plain",
        )
    for what, findings in (
        ("made-up records outside your ranges were released", table.clipping),
        ("a curator of made-up records was asked for noised answers", table.answers),
    ):
        if findings is not None:
            yield Paragraph(f"{table.name}: {what}. {_verdict(findings)}")
            yield from _seen(findings)


def _verdict(findings: Findings) -> str:
    if not findings.refuted:
        return "Nothing was found that an honest mechanism does not do."
    return "The test REFUTES the promise: " + "; ".join(findings.problems) + "."


def _seen(findings: Findings) -> Iterator[Block]:
    seen = [f"It would have seen {each}." for each in findings.sees]
    yield Points((*seen, *(f"It could not see {each}." for each in findings.unseen)))


def _share(result: AuditResult) -> str:
    if result.honest is None:
        return ""
    return "less than all tried" if result.sees is None else percent(result.sees)


def _table(caption: str, found: list[tuple[str, AuditResult]]) -> Table:
    columns = {
        "Release": [name for name, _ in found],
        "Distance, in units": [given(result.distance) for _, result in found],
        "Found: epsilon at least": [down(result.lower_bound) for _, result in found],
        "Honest noise: epsilon at least": [
            "" if result.honest is None else down(result.honest)
            for _, result in found
            if any(each.honest is not None for _, each in found)
        ],
        "Promised: epsilon": [up(result.claimed) for _, result in found],
        "Delta": [small(result.delta) for _, result in found],
        "Refutes noise of": [
            _share(result) for _, result in found if any(each.honest is not None for _, each in found)
        ],
        "Trials": [whole(result.trials) for _, result in found],
        "Confidence": [percent(result.confidence) for _, result in found],
    }
    return Table.of_columns(caption, columns)
