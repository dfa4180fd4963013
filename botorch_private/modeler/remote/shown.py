"""What a curator's server says of a question, checked before anything is believed of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

PENDING, MEASURED, WITHDRAWN = "pending", "measured", "withdrawn"


class Shown(NamedTuple):
    """A question as the server shows it.

    Attributes:
        id: Its number, >= 1. After a restore of the server's folder a number may be another question's.
        row: Released row that it is about: this, and not the number, says whose answer it is.
        state: "pending", "measured" or "withdrawn".
        value: The answer, finite; a dict where there are several outcomes; None unless it is measured.
    """

    id: int
    row: int
    state: str
    value: Any


def read_shown(found: Any, names: Sequence[str] = ()) -> Shown | None:
    """Read a question; None: it is none.

    Args:
        found: What the server answered.
        names: Of several outcomes, of each of which a value must have a number; empty: it is one number.
    """
    if not isinstance(found, dict):
        return None
    number, row, state, value = (found.get(name) for name in ("id", "row", "state", "value"))
    if type(number) is not int or type(row) is not int or number < 1:  # (True is an int)
        return None
    if state not in (PENDING, MEASURED, WITHDRAWN):
        return None
    if state != MEASURED:
        return Shown(number, row, state, None)
    if isinstance(value, dict) and names:
        numbers = {name: _number(value.get(name)) for name in names}
        whole = len(value) == len(names) and None not in numbers.values()
        return Shown(number, row, state, numbers) if whole else None
    answer = None if names else _number(value)
    return None if answer is None else Shown(number, row, state, answer)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
