"""What is one unit of distance?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from botorch_private.report.document import Block, Paragraph, Table
from botorch_private.report.facts import PublicFacts
from botorch_private.report.shown import down, given, ratio, up

if TYPE_CHECKING:
    from botorch_private.report.table_facts import TableFacts


def unit(facts: PublicFacts, table: Sequence[TableFacts]) -> Iterator[Block]:
    """One unit in the user's features."""
    if facts.total.unit is None:
        yield Paragraph(
            "The release has no raw units: it was made without declared ranges, or with ranges learned "
            "from the table. A unit is a distance between scaled records, and what that is in a feature "
            "cannot be told from the release."
        )
        return
    yield Paragraph(
        "The guarantee is per unit of distance. Each line is one unit, if this feature alone changes; "
        "when several change, distances add as the sides of a right angle do. What is small here is "
        "well hidden, what is many units wide is not."
    )
    stepped = {column for change in facts.changes for column in change.step.columns}
    numbers = [feature for feature in facts.features if feature.name not in stepped]
    if numbers:
        columns = {
            "Feature": [each.name for each in numbers],
            "One unit": [
                (ratio if each.log else down)(each.unit) for each in numbers if each.unit is not None
            ],
            "Declared range": [" ... ".join(map(given, each.ends)) for each in numbers if each.ends],
            "Whole range, in units": [up(each.width) for each in numbers if each.width is not None],
            "Epsilon end to end": [up(each.whole.epsilon) for each in numbers if each.whole],
        }
        yield Table.of_columns("One unit, in each feature's own unit", columns)
    if any(feature.width is None for feature in numbers):
        yield Paragraph(
            "The release does not hold the declared ranges: with the file of ranges, the report also "
            "says how many units wide each feature is.",
            "note",
        )
    if facts.changes:
        columns = {
            "Change": [each.step.words for each in facts.changes],
            "One unit, as a share of it": [down(each.share) for each in facts.changes],
            "Distance, in units": [up(each.step.width) for each in facts.changes],
            "Epsilon of the change": [up(each.cost.epsilon) for each in facts.changes if each.cost],
        }
        yield Table.of_columns("From any value to any other", columns)
    two_valued = [
        (feature.name, up(feature.step.distance), up(feature.step.epsilon))
        for each in table[-1:]
        for feature in each.features
        if feature.step is not None
    ]
    if two_valued:
        header = ("Feature", "Step, in units", "Epsilon of the step")
        caption = "Features with two values only: from one to the other"
        yield Table(caption, header, tuple(two_valued))
    if facts.changes or two_valued:
        yield Paragraph(
            "The more units such a step is wide, the less is promised about it. Protect it by a long "
            "lengthscale, or by leaving the feature out."
        )
