"""Values as people type them: read exactly, or refused with a remedy; never guessed."""

from __future__ import annotations

import math
import re
import unicodedata

LONGEST_REASON = 500
_LONGEST_VALUE = 60
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NOT_FINITE = {"nan", "inf", "infinity"}
_MINUS = "\N{MINUS SIGN}"


def read_value(text: str) -> float:
    """The finite number that a text says.

    Raises:
        ValueError: If it does not say one; the message tells what to type instead.
    """
    typed = text.strip().replace(_MINUS, "-")
    if not typed:
        raise ValueError("Type a number.")
    if typed.lstrip("+-").lower() in _NOT_FINITE:
        raise ValueError(
            "A value must be a finite number. If there is none, say that it will not be measured."
        )
    if "," in typed:
        raise ValueError(
            "Type a point before the decimals, as in 3.5, and nothing between thousands, as in 12000: "
            "a comma could mean either."
        )
    if len(typed) > _LONGEST_VALUE or not _NUMBER.fullmatch(typed):
        raise ValueError(
            "Type the number alone, without a unit or spaces inside, as in 3.5, -12 or 1.5e-3."
        )
    value = float(typed) + 0.0  # minus zero is zero
    if math.isinf(value):
        raise ValueError("This number is too large to be stored: is its exponent right?")
    if value == 0 and re.search(r"[1-9]", re.split("[eE]", typed)[0]):
        raise ValueError("This number is too small to be told from 0: type 0, or check its exponent.")
    return value


def read_reason(text: str) -> str:
    """A reason, on one line.

    Raises:
        ValueError: If there is none, or too much of it.
    """
    visible = "".join(each if unicodedata.category(each) != "Cc" else " " for each in text)
    reason = " ".join(visible.split())
    if not reason:
        raise ValueError("Say why, for whoever looks at this later.")
    if len(reason) > LONGEST_REASON:
        raise ValueError(
            f"Say it in at most {LONGEST_REASON} characters; these are {len(reason)} characters."
        )
    return reason
