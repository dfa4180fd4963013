"""What the report says of a whole record: of noise as well, and of labels of cells all that is said."""

from __future__ import annotations

from collections.abc import Iterator

from botorch_private.privacy.response_law import ResponseLaw
from botorch_private.report.chapters.several import several_table
from botorch_private.report.document import Block, Paragraph, Points, Table
from botorch_private.report.facts import Cost, PublicFacts, ReleaseFacts
from botorch_private.report.shown import factor, percent, percent_down, small, up, whole

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


def one_axis(facts: PublicFacts) -> Iterator[Block]:
    """Epsilon of a whole record, of every mechanism and at every time: one number beside the other."""
    several = len(facts.releases) > 1
    if not facts.total.holds:
        yield Paragraph("These figures are what the settings would promise, not what is kept.", "bad")
    yield Paragraph(
        "Epsilon of a whole record is about replacing one record by any other, yes/no and categories "
        "included. It is the one number by which releases of every kind can be compared."
    )
    always, answered = facts.whole_record
    rows = [_row(f"{each.name}, always", each.whole_record) for each in facts.releases]
    if several:
        rows.append(_row("All of them together, always", always))
    if answered is not None:
        rows.append(_row("With the answers about outcomes", answered))
    if facts.central_cost is not None:
        rows.append(_row("Before the first question", facts.central_cost))
    header = ("What", "Epsilon", "Factor at most", "Delta", "Spy right in at most")
    yield Table("Epsilon of a whole record", header, tuple(rows))
    for release in facts.releases:
        law = release.labels
        if law is not None:
            yield Paragraph(
                f"{release.name}: a label is one of {whole(law.cells)} cells, and a lie with a chance "
                f"of at least {percent_down((law.cells - 1) * law.q)}."
            )
    if facts.total.holds:
        yield from _times(facts)
    yield Paragraph(
        "What a search still finds at an epsilon of a whole record was measured on other tables: see "
        "the page on whole records of the guide. How it goes on this table cannot be told from there."
    )


def _row(name: str, cost: Cost) -> tuple[str, ...]:
    return name, up(cost.epsilon), factor(cost.epsilon), small(cost.delta), percent(cost.guess)


def _times(facts: PublicFacts) -> Iterator[Block]:
    """What questions do to the promise: only what is proved."""
    if not facts.whole:
        yield Paragraph(
            "Noise was drawn once: questions and answers do not change these numbers, outcomes apart. "
            "No smaller number is stated for the time before the first question."
        )
        return
    epsilon = up(facts.unit_cost.epsilon)
    if facts.central is None:
        yield Paragraph(
            "The rows are in a random order. For so few records, or records that joined later, no "
            "better number than this one is stated for the time before the first question."
        )
        return
    yield Points(
        (
            f"Always, whatever is asked and answered, outcomes apart: epsilon {epsilon}.",
            f"{before_questions(facts)} One record is hidden among the lies told of all others.",
            f"A question shows the outcome of the record behind a row, and who knows a person's outcome "
            f"may recognise the row. So from the first question on the larger epsilon, {epsilon}, is "
            f"what holds.",
            f"For a person whose record was never measured, a number between the two may hold. None is "
            f"proved, and none is claimed: {epsilon} is what holds.",
        )
    )


def before_questions(facts: PublicFacts) -> str:
    """The second number in a sentence; empty where there is none."""
    central = facts.central
    if central is None:
        return ""
    return (
        f"Before the first question epsilon is {up(central.epsilon)}, the factor "
        f"{factor(central.epsilon)}, up to an extra chance of {small(central.delta)}, since rows are in "
        f"a random order."
    )


def several_records(facts: PublicFacts) -> Iterator[Block]:
    """What a person with several records pays."""
    yield Paragraph(
        "The promise is the same for any two records, however far apart: there is no unit. What weakens "
        "it is that a person has several records, each with a label of its own."
    )
    yield several_table(facts, "A person with several records, any of which may be any other")


def left_to_attackers(release: ReleaseFacts, law: ResponseLaw) -> Iterator[Block]:
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
        f"at most {factor(release.whole_record.epsilon)}. Records in the same cell are not told apart "
        f"at all."
    )
    if release.guarantee.seeded:
        yield Paragraph(
            f"{release.name}: whoever knows the seed knows which labels are true; this is about others.",
            "bad",
        )
