"""What a curator's server says of a question, checked before anything is believed of it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

PENDING, MEASURED, WITHDRAWN = "pending", "measured", "withdrawn"


class Shown(NamedTuple):
    """A question as the server shows it.

    Attributes:
        id: Its number, >= 1. After a restore of the server's folder a number may be another question's.
        row: Released row that it is about: this, and not the number, says whose answer it is.
        state: "pending", "measured" or "withdrawn".
        value: The answer, finite; None unless it is measured.
    """

    id: int
    row: int
    state: str
    value: float | None


def read_shown(found: Any) -> Shown | None:
    """Read a question; None: it is none."""
    if not isinstance(found, dict):
        return None
    number, row, state, value = (found.get(name) for name in ("id", "row", "state", "value"))
    if type(number) is not int or type(row) is not int or number < 1:  # (True is an int)
        return None
    if state not in (PENDING, MEASURED, WITHDRAWN):
        return None
    if state != MEASURED:
        return Shown(number, row, state, None)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return Shown(number, row, state, float(value))
