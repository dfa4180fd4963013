"""What a person with several records pays, as a table."""

from __future__ import annotations

from botorch_private.report.document import Table
from botorch_private.report.facts import PublicFacts
from botorch_private.report.shown import factor, percent, up, whole


def several_table(facts: PublicFacts, title: str) -> Table:
    """Epsilon, and what it means, for some numbers of records of one person.

    Args:
        facts: Public ones.
        title: What all of these records do.
    """
    return Table(
        title,
        ("Records of the person", "Epsilon", "Factor at most", "Spy right in at most"),
        tuple(
            (whole(count), up(c.epsilon), factor(c.epsilon), percent(c.guess))
            for count, c in facts.several
        ),
    )
