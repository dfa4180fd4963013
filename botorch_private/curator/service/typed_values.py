"""Values as people type them: read exactly, or refused with a remedy; never guessed."""

from __future__ import annotations

import contextlib
import math
import re
import unicodedata
from collections.abc import Callable
from datetime import date
from typing import Any

LONGEST_REASON = 500
_LONGEST_VALUE = 60
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?(?P<whole>[0-9]*),(?P<decimals>[0-9]+)([eE][+-]?[0-9]+)?")
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
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
    typed = with_point(typed)
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


def with_point(typed: str) -> str:
    """A number with a point before its decimals, where a comma can mean nothing else.

    A comma is read where no thousands could end in it: keyboards of many phones have no point. ``3,5``,
    ``3,25`` and ``0,125`` are read; ``1,500`` could be 1.5 or 1500, and is not.

    Raises:
        ValueError: If a comma could mean either.
    """
    if "," not in typed:
        return typed
    found = _DECIMAL_COMMA.fullmatch(typed)
    if found is None or (len(found["decimals"]) == 3 and found["whole"].lstrip("0")):
        raise ValueError(
            "Type a point before the decimals, as in 3.5, and nothing between thousands, as in 12000: "
            "this comma could mean either. A 0 more or less at the end, as in 1,2340, makes it clear."
        )
    return typed.replace(",", ".")


def read_reason(text: str) -> str:
    """A reason, on one line.

    Raises:
        ValueError: If there is none, or too much of it.
    """
    reason = read_note(text)
    if not reason:
        raise ValueError("Say why, for whoever looks at this later.")
    return reason


def read_note(text: str) -> str:
    """A note on one line; it may be empty.

    Raises:
        ValueError: If there is too much of it.
    """
    visible = "".join(each if unicodedata.category(each) != "Cc" else " " for each in text)
    note = " ".join(visible.split())
    if len(note) > LONGEST_REASON:
        raise ValueError(
            f"Say it in at most {LONGEST_REASON} characters; these are {len(note)} characters."
        )
    return note


def read_day(text: str) -> str:
    """A day, YYYY-MM-DD.

    Raises:
        ValueError: If it is written in another way, which could be read in two.
    """
    if _DAY.fullmatch(text):
        with contextlib.suppress(ValueError):
            return date.fromisoformat(text).isoformat()
    raise ValueError("Type a day as year, month and day, as in 2027-03-31.")


def problem_of(read: Callable[[str], Any], text: str) -> str:
    """Why a text cannot be read; empty if it can."""
    try:
        read(text)
    except ValueError as error:
        return str(error)
    return ""
