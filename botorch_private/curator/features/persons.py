"""What the person with the most records pays: it depends on the table, and stays with the curator."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

from botorch_private.curator.features.csv_shape import FIRST_ROW
from botorch_private.curator.features.dialect import PLAIN, Dialect
from botorch_private.curator.features.identifiers import look
from botorch_private.curator.features.tables import read_texts
from botorch_private.privacy.adjacency import of_whole_records
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.rounding import round_up

_OWN_EYES = "This depends on the table: it is for you alone, and nothing that is released says it."


def most_records(table: Path, column: str, *, dialect: Dialect = PLAIN) -> int:
    """Largest number of records that one person has.

    Labels that look the same, or differ by capitals only, are one person's: rather too many records are
    counted than too few.

    Args:
        table: File of the table.
        column: Column with what tells people apart.
        dialect: How the table is written.

    Raises:
        ValueError: If a label is missing or shows nothing, by its row.
    """
    people = [look(label).casefold() for label in read_texts(table, column, dialect=dialect)]
    if "" in people:
        raise ValueError(
            f"person must be a column that names a person in every row, but row "
            f"{people.index('') + FIRST_ROW} shows nothing: give each record a person there"
        )
    return max(Counter(people).values())


def price_of_a_person(guarantee: PrivacyGuarantee, records: int) -> str:
    """Say what a person with so many records pays, in sentences."""
    if records == 1:
        return f"No person has more than one record. {_OWN_EYES}"
    delta = max(guarantee.delta, records * guarantee.delta_fp)
    whole = of_whole_records(guarantee)
    changed = "are replaced by any others" if whole else "move by 1 unit each"
    text = (
        f"The person with the most records has {records}. If all of them {changed}, epsilon "
        f"is {round_up(guarantee.at(1.0, records))} for that person, at delta {round_up(delta, 2)}."
    )
    if guarantee.radius is not None and not whole:
        far = 2 * guarantee.radius
        all_of_them = guarantee.at(far, records)
        cost = "is not bounded"
        if not math.isinf(all_of_them):
            cost = f"costs epsilon {round_up(all_of_them)}"
        text += f" Replacing them all by any others ({far:g} units each) {cost}."
    return f"{text} {_OWN_EYES}"
