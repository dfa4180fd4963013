"""What was spent in all, and what would a second release cost?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.units import in_own_units
from botorch_private.report.document import Block, Paragraph, Table
from botorch_private.report.facts import PublicFacts
from botorch_private.report.shown import factor, percent, small, up, whole

if TYPE_CHECKING:
    from botorch_private.report.spent import Spent


def total(facts: PublicFacts, spent: Spent | None) -> Iterator[Block]:
    """The total over all releases, and the cost of one more."""
    several = len(facts.releases) > 1
    if not facts.total.holds:
        yield Paragraph("These figures are what the settings would promise, not what is kept.", "bad")
    own = f"All {whole(len(facts.releases))} releases of this report" if several else "This release"
    lines = {own: facts.total, "With the answers about outcomes": facts.with_outcomes}
    if spent is not None:
        lines["All entries of the ledger"] = spent.total
        lines["Budget of the ledger"] = spent.budget
        lines["The ledger after one more such release"] = spent.one_more
    rows = tuple(_row(name, each) for name, each in lines.items() if each is not None)
    header = ("What", "Epsilon", "Factor at most", "Delta")
    caption = "Spent on any change of a record" if facts.whole else "Spent on a record, at one unit"
    yield Table(caption, header, rows)
    if spent is not None and spent.total is None:
        yield Paragraph("The ledger has no entries: it does not know of this release.")
    elif spent is not None:
        yield Paragraph(
            f"The ledger has {whole(spent.entries)} entries. Its total is that of the record that was "
            f"released most, and is complete if and only if every release of the table was entered."
        )
        if in_own_units(spent.total):
            yield Paragraph(
                "Its releases are of different columns, or by different ranges. The total is about a "
                "change that moves a record by no more than that distance in each of them, measured in "
                "the units of that release."
            )
    elif several:
        yield Paragraph(
            "This is the total if, and only if, these files are all that was ever released of these "
            "records. Add further files, or the curator's ledger."
        )
    else:
        yield Paragraph(
            "This is the total if, and only if, nothing else of these records was ever released. Give "
            "the command the files of all releases to have them added up, or the curator's ledger."
        )
    if len([each for each in facts.releases if each.outcome_guarantee is not None]) > 1:
        yield Paragraph(
            "Noise on answers is counted once for each file, since files do not say who made them. If "
            "one curator released again, it kept that noise, and less is spent than the row about "
            "answers says; its ledger has the exact total."
        )
    for name in () if spent is None else spent.unknown:
        why = "it is that of another table, or was not kept."
        yield Paragraph(f"The ledger has no entry like {name}: {why}", "bad")
    if facts.total.holds:
        yield Paragraph(_second(facts))
    yield Paragraph(
        "Copying the file, computing with it, or sending it to more people costs nothing more: all of "
        "them learn the same. What costs is fresh noise on the same records."
    )


def _row(name: str, guarantee: PrivacyGuarantee) -> tuple[str, ...]:
    kept = "" if guarantee.holds else " (NOT KEPT)"
    epsilon = guarantee.epsilon
    return f"{name}{kept}", up(epsilon), factor(epsilon), small(guarantee.delta)


def _second(facts: PublicFacts) -> str:
    if isinstance(facts.second, str):
        return f"What a further release would cost was not computed: {facts.second}."
    fresh = "labels" if facts.whole else "noise"
    return (
        f"A further release of the same records, with fresh {fresh} and the settings of the last one, "
        f"would take epsilon {facts.where} from {up(facts.unit_cost.epsilon)} to "
        f"{up(facts.second.epsilon)} at delta {small(facts.second.delta)} (the factor to "
        f"{factor(facts.second.epsilon)}), and a spy would be right in at most "
        f"{percent(facts.second.guess)} of cases instead of {percent(facts.unit_cost.guess)}."
    )
