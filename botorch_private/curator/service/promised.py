"""What is promised, in words, to whoever is asked whether that privacy may be spent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from botorch_private.curator.features.persons import price_of_a_person
from botorch_private.curator.table_ledger import TableLedger, under_budget
from botorch_private.privacy.adjacency import of_whole_records
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.rounding import round_up
from botorch_private.privacy.spending import total


class Promised(NamedTuple):
    """What is told before a release.

    Attributes:
        words: All of it; for the curator's eyes only where a person's price is in it.
        price: What the person with the most records pays; None: it was not asked.
    """

    words: str
    price: str | None


def what_is_promised(
    promises: Sequence[PrivacyGuarantee],
    own: TableLedger,
    budget: PrivacyGuarantee | None,
    *,
    n: int,
    most: int | None,
    source: str,
) -> Promised:
    """Say what will be promised with all that was released before.

    Args:
        promises: Of what is about to be released.
        own: Ledger of the table.
        budget: Declared limit; None: that of the ledger.
        n: Number of records.
        most: Records of the person who has most; None: it was not asked.
        source: What is released, and from where.

    Raises:
        BudgetError: If the budget does not allow for it.
        ValueError: If the ledger is of another table or was begun with another budget.
    """
    past = own.ledger
    limited = under_budget(past, budget)
    limited.require(*promises, start=0, stop=n)
    alone, before = total(promises), None if past is None else past.total
    spent = alone if before is None else total([before, *promises])
    words = [f"{n} records of {source}.", str(spent)]
    if past is not None and before is not None:
        where = "" if of_whole_records(spent) else " at one unit"
        words.append(
            f"By {past.path} these records were released before: all together, epsilon{where} is "
            f"{round_up(spent.epsilon)} then, at delta {round_up(spent.delta, 2)}. That is the "
            f"guarantee above; this release alone would have epsilon {round_up(alone.epsilon)}."
        )
    elif past is not None:
        words.append(f"It will be entered in {past.path}: keep that file with the table.")
    if limited.budget is not None:
        words.append(str(limited.budget))
    if own.caution:
        words.append(own.caution)
    price = None if most is None else price_of_a_person(spent, most)
    if price is not None:
        words.append(price)
    return Promised("\n\n".join(words), price)
