"""How does the promise weaken with distance?"""

from __future__ import annotations

import math
from collections.abc import Iterator

from botorch_private.report.chapters.several import several_table
from botorch_private.report.chapters.whole_record import several_records
from botorch_private.report.document import Block, Paragraph, Plot, Table
from botorch_private.report.facts import Cost, PublicFacts
from botorch_private.report.shown import factor, given, percent, up, whole


def distance(facts: PublicFacts, most: tuple[int, Cost] | None) -> Iterator[Block]:
    """Epsilon against distance, and what several records and a whole record cost.

    Args:
        facts: Public ones.
        most: The largest number of records that one person has, and what is promised to that person at
            one unit; for the curator's eyes only.
    """
    if facts.whole:
        yield from several_records(facts)
        return
    yield Paragraph(
        "Close records are hard to tell apart, distant ones are not. The columns say, for two records "
        "at a distance: epsilon; the factor by which chances may differ; and how often, at most, a spy "
        "is right who holds both equally likely. A coin is right in half of all cases."
    )
    if facts.curve:
        yield Plot("Epsilon against distance", _described(facts))
    yield Table(
        "What is promised at some distances",
        (
            *("Distance, in units", "Epsilon", "Factor at most", "Spy right in at most"),
            *(("Epsilon of the second promise",) if facts.pure else ()),
        ),
        tuple(
            (
                *(given(c.distance), up(c.epsilon), factor(c.epsilon), percent(c.guess)),
                *map(up, facts.pure[i : i + 1]),
            )
            for i, c in enumerate(facts.costs)
        ),
    )
    if facts.pure:
        at_one_unit = facts.pure[facts.costs.index(facts.unit_cost)]
        yield Paragraph(
            f"There are two promises, and both hold. The first one is at a delta of "
            f"{up(facts.total.delta)}. The second one is at a delta of {up(facts.total.delta_fp)}, "
            f"which is the computer's arithmetic alone. Its epsilon is "
            f"{up(at_one_unit)} at one unit, and grows in proportion to distance: it "
            "bounds the largest privacy loss that there is."
        )
    yield several_table(facts, "A person with several records, all of which move by one unit")
    if most is not None:
        count, cost = most
        yield Paragraph(
            f"In your table the person with the most records has {whole(count)}. For that person "
            f"epsilon at one unit is {up(cost.epsilon)}: a spy is right in at most "
            f"{percent(cost.guess)} of cases."
        )
    last = facts.costs[-1]
    replacing = f"Replacing a whole record by any other, up to {given(last.distance)} units away,"
    if facts.diameter is None:
        yield Paragraph("How far apart two records can be is not known from the release.")
    elif math.isinf(last.epsilon):
        yield Paragraph(f"{replacing} is not covered: nothing is promised about records so far apart.")
    else:
        yield Paragraph(
            f"{replacing} costs epsilon {up(last.epsilon)}: a spy who holds two such records equally "
            f"likely may be right in {percent(last.guess)} of cases. The guarantee hides where a record "
            f"is among its neighbours, not in which corner of the table it lies."
        )


def _described(facts: PublicFacts) -> str:
    text = f"Epsilon is {up(facts.unit_cost.epsilon)} at one unit, and rises with distance"
    if len(facts.releases) > 1:
        text = f"Of all releases together (solid line; dashed: each by itself): {text}"
    if facts.pure:
        text = f"The second promise is dotted. {text}"
    if facts.diameter is None:
        return f"{text}."
    last = facts.costs[-1]
    far = given(last.distance)
    return f"{text} to {up(last.epsilon)} at {far} units, where a whole record is replaced."
