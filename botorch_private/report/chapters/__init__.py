"""The words of the report, one question of a reader a file.

No sentence here holds a digit, and no code a number beyond an index: numbers come from facts, through
`shown`. A test reads the source and checks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from botorch_private.report.audit_facts import AuditFacts
from botorch_private.report.chapters.attack import attack
from botorch_private.report.chapters.distance import distance
from botorch_private.report.chapters.promise import limits, promise
from botorch_private.report.chapters.summary import summary
from botorch_private.report.chapters.sure import sure
from botorch_private.report.chapters.total import total
from botorch_private.report.chapters.unit import unit
from botorch_private.report.chapters.whole_record import one_axis
from botorch_private.report.document import Section
from botorch_private.report.facts import Cost, PublicFacts

if TYPE_CHECKING:
    from botorch_private.report.spent import Spent
    from botorch_private.report.table_facts import TableFacts


def written(
    facts: PublicFacts,
    audits: Sequence[AuditFacts],
    table: Sequence[TableFacts],
    spent: Spent | None,
    most: tuple[int, Cost] | None = None,
) -> tuple[Section, ...]:
    """All that the report says."""
    weakens = "How the promise weakens with distance"
    if facts.whole:
        weakens = "How the promise weakens with several records"
    units = () if facts.whole else (Section("unit", "What one unit is", tuple(unit(facts, table))),)
    return (
        Section("in-short", "In short", tuple(summary(facts, audits))),
        Section("whole-record", "What a whole record costs", tuple(one_axis(facts))),
        Section("promise", "What is promised", tuple(promise(facts))),
        *units,
        Section("distance", weakens, tuple(distance(facts, most))),
        Section("attack", "What a perfect attacker finds out", tuple(attack(facts, table))),
        Section("sure", "How sure that is", tuple(sure(facts, audits, table))),
        Section(
            "total", "What is spent in all, and what a second release costs", tuple(total(facts, spent))
        ),
        Section("limits", "What it rests on, and what it leaves out", tuple(limits(facts))),
    )
