"""What the report says of labels of cells, where the promise is about a whole record."""

from __future__ import annotations

from collections.abc import Iterator

from botorch_private.privacy.response_law import ResponseLaw
from botorch_private.report.chapters.several import several_table
from botorch_private.report.document import Block, Paragraph
from botorch_private.report.facts import Cost, PublicFacts, ReleaseFacts
from botorch_private.report.shown import factor, percent, small, up, whole

_PROMISE = (
    "Whatever one person's record is, the label that leaves looks the same up to a factor of e^epsilon."
)


def in_words(facts: PublicFacts) -> str:
    """The promise, for who reads no formula; outcomes are another matter."""
    cost = facts.unit_cost
    return (
        f"{_PROMISE} Epsilon is {up(cost.epsilon)}, and the factor {factor(cost.epsilon)}. A spy who "
        f"holds any two records equally likely tells them apart in at most {percent(cost.guess)} of "
        f"cases; a coin does in half of them. This holds of the labels, whatever is asked and "
        f"answered later."
    )


def before_questions(facts: PublicFacts) -> Iterator[Paragraph]:
    """The second number: what holds as long as nothing was asked."""
    central = facts.central
    if central is None:
        yield Paragraph(
            "The rows are in a random order. For so few records, or records that joined later, no "
            "better number than this one is stated for the time before the first question."
        )
        return
    yield Paragraph(
        f"Before the first question epsilon is {up(central.epsilon)}, the factor "
        f"{factor(central.epsilon)}, up to an extra chance of {small(central.delta)}: rows are in a "
        f"random order, and one record is hidden among the lies told of all others. An answer is the "
        f"outcome of the record behind a row, and who knows a person's outcome may recognise the row. "
        f"So from the first question on the larger epsilon, {up(facts.unit_cost.epsilon)}, is what "
        f"holds."
    )


def several_records(facts: PublicFacts) -> Iterator[Block]:
    """What a person with several records pays."""
    yield Paragraph(
        "The promise is the same for any two records, however far apart: there is no unit. What weakens "
        "it is that a person has several records, each with a label of its own."
    )
    yield several_table(facts, "A person with several records, any of which may be any other")


def left_to_attackers(release: ReleaseFacts, law: ResponseLaw, cost: Cost) -> Iterator[Block]:
    """What a perfect attacker is left with, who holds a label."""
    yield Paragraph(
        f"{release.name}: of each record the release has one of {whole(law.cells)} labels, and no "
        f"number. Even who knows which row is whose does not know whether its label is true: it is with "
        f"probability {percent(law.p)}, and each other cell is told with {percent(law.q)}, by a draw "
        f"that was made once."
    )
    yield Paragraph(
        f"{release.name}: whatever a perfect attacker held possible of a person before, and however "
        f"much else is known to them, the label multiplies the odds of one record against another by "
        f"at most {factor(cost.epsilon)}. Records in the same cell are not told apart at all."
    )
    if release.guarantee.seeded:
        yield Paragraph(
            f"{release.name}: whoever knows the seed knows which labels are true; this is about others.",
            "bad",
        )
