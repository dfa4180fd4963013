"""Numbers as the report shows them: what leaks rounded up, what protects rounded down.

No other module of the report turns a number into text, and no sentence of it holds a digit.
"""

from __future__ import annotations

import math

from botorch_private.privacy.rounding import round_down, round_up
from botorch_private.privacy.units import factor_words

_PROMISE_DIGITS, _SMALL_DIGITS = 4, 2


def up(number: float) -> str:
    """What is spent or leaks, rounded up."""
    return _plain(round_up(number, _PROMISE_DIGITS))


def down(number: float) -> str:
    """What protects, rounded down."""
    return _plain(round_down(number))


def ratio(logarithm: float) -> str:
    """A factor that protects, by its logarithm, rounded down."""
    return factor_words(logarithm)


def small(number: float) -> str:
    """A delta, rounded up."""
    return round_up(number, _SMALL_DIGITS)


def uncertainty(number: float) -> str:
    """A standard error, rounded up."""
    return _plain(round_up(number, _SMALL_DIGITS))


def given(number: float) -> str:
    """A number that was declared by hand, as it is."""
    return _plain(f"{number:.12g}")


def whole(count: int) -> str:
    """A count."""
    return f"{count:,}"


def percent(share: float) -> str:
    """A share of what leaks, rounded up."""
    return f"{round_up(min(100 * share, 100.0), _PROMISE_DIGITS)} %"


def percent_down(share: float) -> str:
    """A share of what protects, rounded down."""
    return f"{round_down(100 * share)} %"


def factor(epsilon: float) -> str:
    """What epsilon multiplies chances by, rounded up; in words where that is beyond imagination."""
    if math.isinf(epsilon):
        return "unlimited"
    if epsilon < 20:
        return up(math.exp(epsilon))
    return f"e to the power of {up(epsilon)}"


def _plain(text: str) -> str:
    """Spell large numbers out: 1.2e+05 is no number to most people."""
    if text == "inf":
        return "unlimited"
    if 1000 <= abs(float(text)) < 1e15 and ("e+" in text or "." not in text):
        return f"{float(text):,.0f}"
    return text
