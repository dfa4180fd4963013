"""What a change of a yes/no or a category costs, where the file of ranges declares such features.

A category is released as one column for each of its values, and a change moves two of them at once, so
that what the report says of each column alone is not the price of the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from botorch_private.report.document import Block, Paragraph, Section, Table
from botorch_private.report.facts import Facts, cost_at
from botorch_private.report.report import Report
from botorch_private.report.shown import up

if TYPE_CHECKING:
    from botorch_private.encoding import Step


def with_steps(made: Report, steps: Sequence[Step]) -> Report:
    """Add the steps to the section about units."""
    if not steps or made.facts.total.unit is None:
        return made
    sections = tuple(
        _added(section, made.facts, steps) if section.anchor == "unit" else section
        for section in made.document.sections
    )
    return replace(made, document=replace(made.document, sections=sections))


def _added(section: Section, facts: Facts, steps: Sequence[Step]) -> Section:
    rows = []
    for step in steps:
        cost = cost_at(facts.total, step.width)
        rows.append((step.words, up(step.width), up(cost.epsilon)))
    more: tuple[Block, ...] = (
        Paragraph(
            "A category is released as a column for each of its values, named feature=value, and a "
            "change of category moves two of them at once. So the price of a change is not that of "
            "one column, but this:"
        ),
        Table(
            "From one value to another",
            ("Change", "Distance, in units", "Epsilon of the change"),
            tuple(rows),
        ),
    )
    return replace(section, blocks=(*section.blocks, *more))
