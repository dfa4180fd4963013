"""What one unit of distance is, where releases share one, and where each has its own.

Releases of different columns, or by different ranges, measure distance differently. Their epsilons add
up all the same: where a change of a record moves it by at most ``D`` units in each of them, measured in
the units of that release, each hides at most ``D``, and their draws of noise are independent. So a total
is a statement about such changes. A column that is in several releases moves in all of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from botorch_private.privacy.rounding import round_down

_UNITS_SHOWN = 4
_LARGEST_LOG = 709.0


def in_own_units(guarantee: Any) -> bool:
    """Whether a `PrivacyGuarantee` adds up releases that measure distance in different units."""
    return len(different_units(guarantee.parts)) > 1


def different_units(parts: Sequence[Any]) -> list[Any]:
    """One part for each way to measure distance; answers have none.

    What has no names is taken to be about the features of others with the same unit.
    """
    found: list[Any] = []
    for part in parts:
        alike = (i for i, each in enumerate(found) if _alike(part, each))
        if part.outcome_range is not None:
            continue
        if (place := next(alike, None)) is None:
            found.append(part)
        elif found[place].names is None:  # the one with names stands for both
            found[place] = part
    return found


def _alike(one: Any, other: Any) -> bool:
    named = one.names is not None and other.names is not None
    measured = one.unit == other.unit and one.log_columns == other.log_columns
    return measured and (one.names == other.names or not named)


def unit_words(guarantee: Any) -> str:
    """Say what one unit is, in the features of a guarantee with one unit."""
    if guarantee.unit is None:
        return "distance 1 in scaled space (no scaling was given, so it has no raw units)"
    names = guarantee.names or tuple(f"feature {i}" for i in range(len(guarantee.unit)))
    stepped = {column for step in guarantee.steps for column in step.columns}
    shown = [
        f"{factor_words(size)} in {name}"
        if i in guarantee.log_columns
        else f"{round_down(size)} of {name}"
        for i, (name, size) in enumerate(zip(names, guarantee.unit, strict=True))
        if name not in stepped
    ]
    shown += [f"{round_down(1 / step.width)} of a change of {step.name}" for step in guarantee.steps]
    if len(shown) > _UNITS_SHOWN:
        shown[_UNITS_SHOWN:] = [f"so much of {len(shown) - _UNITS_SHOWN} more features (see .unit)"]
    return ", or ".join(shown)


def as_factor(logarithm: float) -> float:
    """The factor of a natural logarithm; infinite where float64 has none."""
    return math.exp(logarithm) if logarithm < _LARGEST_LOG else math.inf


def factor_words(logarithm: float) -> str:
    """A factor in print, rounded down: what is protected is never shown too large."""
    if logarithm < math.log(2):  # else digits behind 1.000 would be lost
        return f"a factor of {1 + float(round_down(math.expm1(logarithm))):.12g}"
    return f"a factor of {round_down(as_factor(logarithm))}"
