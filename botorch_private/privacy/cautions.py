"""What a guarantee may keep to the letter without protecting anybody: too large a delta or epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from botorch_private.privacy.adjacency import of_whole_records
from botorch_private.privacy.rounding import round_down, round_up

HIDES_NOTHING = 10.0  # from here on a spy who knows both values is right up to 9,999 times in 10,000
_FEWEST = 2  # records of a table


def cautions(guarantee: Any) -> Iterator[str]:
    """Say what the numbers of a `PrivacyGuarantee` mean where they protect next to nobody."""
    if math.isinf(guarantee.epsilon):
        return
    if caution := delta_caution(guarantee.delta, guarantee.records):
        yield caution
    if guarantee.epsilon >= HIDES_NOTHING:
        what = "two records 1 unit apart" if guarantee.covers_features else "two outcomes far apart"
        if of_whole_records(guarantee):
            what = "two records in different cells"
        right = _percent(guess(guarantee.epsilon, guarantee.delta))
        yield (
            f"CAUTION: an epsilon of {round_up(guarantee.epsilon)} HIDES NOTHING here: a spy who holds "
            f"{what} equally likely may be right in {right} of cases which of them it is."
        )


def delta_caution(delta: float, records: int | None) -> str | None:
    """Say what a delta means that is not far below 1 / n; None where it is.

    Whoever publishes each record whole with a chance of ``delta`` keeps the promise of any epsilon at
    this delta: ``n delta`` records come out on average, and at least one with a chance of at most ``n
    delta``. So a delta of the order of ``1 / n`` is "very dangerous" (Dwork & Roth 2014, section 2.3).
    The line is drawn at ``1 / (10 n)``, where that chance is a tenth.

    Args:
        delta: In [0, 1).
        records: ``n``; None: not known, and 2 at least.
    """
    n = _FEWEST if records is None else max(records, 1)
    if 10 * n * delta <= 1:
        return None
    table = "any table" if records is None else f"a table of {n:,} record{'s' if n > 1 else ''}"
    advice = "" if records is None else f" = {round_down(1 / (10 * n), 2)}"
    remedy = f"choose delta 0, or one of at most 1 / (10 n){advice}, where n is the number of records"
    if n * delta < 1:
        return (
            f"CAUTION: delta {round_up(delta, 2)} is large for {table}: who published each record whole "
            f"with a chance of delta would keep this promise, and would publish at least one with a "
            f"chance of up to {_percent(n * delta)}: {remedy}."
        )
    return (
        f"CAUTION: delta {round_up(delta, 2)} is 1 / n or more, TOO LARGE for {table}: who published "
        f"each record whole with a chance of delta would keep this promise, and would publish "
        f"{round_up(n * delta, 3)} whole records on average: {remedy}."
    )


def guess(epsilon: float, delta: float) -> float:
    """Largest chance to tell two equally likely tables apart under ``(epsilon, delta)`` privacy.

    ``(e^epsilon + delta) / (1 + e^epsilon)``: half of one plus the largest total variation distance
    (Kairouz, Oh & Viswanath 2015: the corner of the privacy region).
    """
    odds = math.exp(-epsilon)
    return min(1.0, (1 + delta * odds) / (1 + odds))


def _percent(share: float) -> str:
    return f"{round_up(min(100 * share, 100.0))} %"
