"""Figures in print, rounded against ourselves."""

from __future__ import annotations

import math
from collections.abc import Callable


def round_up(number: float, digits: int = 4) -> str:
    """Round up to significant digits: what is spent is never shown too small."""
    return _rounded(number, digits, math.ceil)


def round_down(number: float, digits: int = 3) -> str:
    """Round down to significant digits: what is protected is never shown too large."""
    return _rounded(number, digits, math.floor)


def _rounded(number: float, digits: int, toward: Callable[[float], int]) -> str:
    if number == 0 or not math.isfinite(number):
        return f"{number:g}"
    step = 10.0 ** (math.floor(math.log10(abs(number))) - digits + 1)
    # A last digit that is only float noise must not turn 1 into 1.001.
    steps = number / step
    whole = round(steps) if abs(steps - round(steps)) < 1e-9 else toward(steps)
    return f"{whole * step:.{digits}g}"
