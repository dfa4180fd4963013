"""What was spent in all, and what would a second release cost?"""

from __future__ import annotations

from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.report.document import Block, Paragraph, Section, Table
from botorch_private.report.facts import Facts, Spent
from botorch_private.report.shown import factor, percent, small, up, whole


def total(facts: Facts, spent: Spent | None) -> Section:
    """The total over all releases, and the cost of one more."""
    rows = [_row(_named(facts), facts.total)]
    if facts.with_outcomes is not None:
        rows.append(_row("With the answers about outcomes", facts.with_outcomes))
    if spent is not None and spent.total is not None:
        rows.append(_row("All entries of the ledger", spent.total))
    if spent is not None and spent.budget is not None:
        rows.append(_row("Budget of the ledger", spent.budget))
    if spent is not None and spent.one_more is not None:
        rows.append(_row("The ledger after one more such release", spent.one_more))
    blocks: list[Block] = []
    if not facts.total.holds:
        blocks.append(
            Paragraph("These figures are what the settings would promise, not what is kept.", "bad")
        )
    blocks.append(
        Table(
            "Spent on a record, at one unit", ("What", "Epsilon", "Factor at most", "Delta"), tuple(rows)
        )
    )
    blocks.append(Paragraph(_complete(facts, spent)))
    if len([each for each in facts.releases if each.outcome_guarantee is not None]) > 1:
        blocks.append(
            Paragraph(
                "Noise on answers is counted once for each file, since files do not say who made them. "
                "If one curator released again, it kept that noise, and less is spent than the row "
                "about answers says; its ledger has the exact total."
            )
        )
    if spent is not None:
        blocks += [Paragraph(_unknown(name), "bad") for name in spent.unknown]
    if facts.total.holds:
        blocks.append(Paragraph(_second(facts)))
    blocks.append(
        Paragraph(
            "Copying the file, computing with it, or sending it to more people costs nothing more: all "
            "of them learn the same. What costs is fresh noise on the same records."
        )
    )
    return Section("total", "What is spent in all, and what a second release costs", tuple(blocks))


def _row(name: str, guarantee: PrivacyGuarantee) -> tuple[str, ...]:
    if not guarantee.holds:
        name = f"{name} (NOT KEPT)"
    return name, up(guarantee.epsilon), factor(guarantee.epsilon), small(guarantee.delta)


def _named(facts: Facts) -> str:
    if len(facts.releases) == 1:
        return "This release"
    return f"All {whole(len(facts.releases))} releases of this report"


def _complete(facts: Facts, spent: Spent | None) -> str:
    if spent is not None:
        if spent.total is None:
            return "The ledger has no entries: it does not know of this release."
        return (
            f"The ledger has {whole(spent.entries)} entries. Its total is that of the record that was "
            f"released most, and is complete if and only if every release of the table was entered."
        )
    if len(facts.releases) == 1:
        return (
            "This is the total if, and only if, nothing else of these records was ever released. Give "
            "the command the files of all releases to have them added up, or the curator's ledger."
        )
    return (
        "This is the total if, and only if, these files are all that was ever released of these "
        "records. Add further files, or the curator's ledger."
    )


def _unknown(name: str) -> str:
    return f"The ledger has no entry like {name}: it is that of another table, or was not kept."


def _second(facts: Facts) -> str:
    if facts.second is None:
        return f"What a further release would cost was not computed: {facts.second_epsilon_unknown}."
    return (
        "A further release of the same records, with fresh noise and the settings of the last one, "
        f"would take epsilon at one unit from {up(facts.unit_cost.epsilon)} to "
        f"{up(facts.second.epsilon)} at delta {small(facts.second_delta)} (the factor to "
        f"{factor(facts.second.epsilon)}), "
        f"and a spy would be right in at most {percent(facts.second.guess)} of cases instead of "
        f"{percent(facts.unit_cost.guess)}."
    )
