"""What is one unit of distance?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from botorch_private.report.document import Block, Paragraph, Section, Table
from botorch_private.report.facts import Facts
from botorch_private.report.shown import down, given, up
from botorch_private.report.unit_facts import Change, Feature

if TYPE_CHECKING:
    from botorch_private.report.table_facts import TableFacts


def unit(facts: Facts, table: tuple[TableFacts, ...]) -> Section:
    """One unit in the user's features."""
    title = "What one unit is"
    if facts.total.unit is None:
        text = (
            "The release has no raw units: it was made without declared ranges, or with ranges learned "
            "from the table. A unit is a distance between scaled records, and what that is in a feature "
            "cannot be told from the release."
        )
        return Section("unit", title, (Paragraph(text),))
    blocks: list[Block] = [
        Paragraph(
            "The guarantee is per unit of distance. Each line is one unit, if this feature alone "
            "changes; when several change, distances add as the sides of a right angle do. What is "
            "small here is well hidden, what is many units wide is not."
        )
    ]
    stepped = {column for change in facts.changes for column in change.step.columns}
    numbers = [feature for feature in facts.features if feature.name not in stepped]
    if numbers:
        blocks += _numbers(numbers)
    if facts.changes:
        header = ("Change", "One unit, as a share of it", "Distance, in units", "Epsilon of the change")
        rows = tuple(map(_changed, facts.changes))
        blocks.append(Table("From any value to any other", header[: len(rows[0])], rows))
    steps = [(feature.name, feature.step) for each in table[-1:] for feature in each.features]
    two_valued = [(name, step) for name, step in steps if step is not None]
    if two_valued:
        blocks.append(
            Table(
                "Features with two values only: from one to the other",
                ("Feature", "Step, in units", "Epsilon of the step"),
                tuple((name, up(step.distance), up(step.epsilon)) for name, step in two_valued),
            )
        )
    if facts.changes or two_valued:
        blocks.append(
            Paragraph(
                "The more units such a step is wide, the less is promised about it. Protect it by a "
                "long lengthscale, or by leaving the feature out."
            )
        )
    return Section("unit", title, tuple(blocks))


def _numbers(features: list[Feature]) -> list[Block]:
    rows = tuple(map(_row, features))
    header = ("Feature", "One unit", "Declared range", "Whole range, in units", "Epsilon end to end")
    blocks: list[Block] = [Table("One unit, in each feature's own unit", header[: len(rows[0])], rows)]
    if any(feature.width is None for feature in features):
        blocks.append(
            Paragraph(
                "The release does not hold the declared ranges: with the file of ranges, the report "
                "also says how many units wide each feature is.",
                "note",
            )
        )
    return blocks


def _changed(change: Change) -> tuple[str, ...]:
    cells = (change.step.words, down(change.share), up(change.step.width))
    return cells if change.cost is None else (*cells, up(change.cost.epsilon))


def _row(feature: Feature) -> tuple[str, ...]:
    assert feature.unit is not None
    cells = (feature.name, down(feature.unit))
    if feature.lower is None or feature.upper is None or feature.width is None:
        return cells
    cells = (*cells, f"{given(feature.lower)} ... {given(feature.upper)}", up(feature.width))
    return cells if feature.whole is None else (*cells, up(feature.whole.epsilon))
