"""Identifiers of records: no two may look the same to the staff who read them.

Whoever measures finds a record by what it is called. Two that look alike lead to the wrong one, and its
outcome is stored without a word. What is compared is what an eye can tell apart (`look`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from numbers import Integral
from typing import Any

from botorch_private._base.frames import EXACT_IN_FLOAT64

# Shown as nothing, or as a blank, though Unicode counts them as letters, marks or symbols.
_UNSEEN = {
    0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0,
    *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0000, 0xE1000),
}  # fmt: skip
_BLANK = {0x2800}
# Word processors and keyboards put one for the other, and some Greek and Cyrillic letters are printed as
# Latin ones.
_PRINTED_ALIKE = str.maketrans(
    "\u2212\u2018\u2019\u02bc\u2032`\u201c\u201d"
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"  # noqa: RUF001
    "АВЕЅІЈКМНОРСТХасеоѕіјрух",  # noqa: RUF001
    "-'''''\"\"ABEZHIKMNOPTYXABESIJKMHOPCTXaceosijpyx",
)


def as_text(cell: Any) -> str | None:
    """A text as it is, and a whole number without a point or an exponent; None for anything else."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < EXACT_IN_FLOAT64:
        return str(int(cell))
    if isinstance(cell, Integral) and not isinstance(cell, bool):
        return str(int(cell))
    return str(cell) if isinstance(cell, str) else None


def look(identifier: str) -> str:
    """What can be seen of an identifier: equal where two look the same.

    NFKC, without invisible characters, runs of white space as one blank and none at the ends, every
    dash as "-", and letters that are printed alike as the Latin ones. Capitals stay capitals.
    """
    if identifier.isascii() and identifier.isprintable():  # most are: of these, this is the same
        return " ".join(identifier.replace("`", "'").split())
    return _look_at_each(identifier)


def _look_at_each(identifier: str) -> str:
    seen = "".join(map(_seen, unicodedata.normalize("NFKC", identifier)))
    seen = unicodedata.normalize("NFKC", seen)  # an accent may have met its letter
    return " ".join(seen.translate(_PRINTED_ALIKE).split())


def checked_identifiers(identifiers: Any, *, source: str, place: str, first: int = 0) -> list[str]:
    """Return identifiers as texts, or refuse them; messages never hold one.

    Args:
        identifiers: Texts or whole numbers, one for each record.
        source: What to call them in messages.
        place: What their positions are called, such as "row".
        first: Position of the first one.

    Raises:
        ValueError: If one is something else or shows nothing, or two look the same: both are named by
            their positions.
    """
    if isinstance(identifiers, (str, bytes)) or not isinstance(identifiers, Sequence):
        to_list = getattr(identifiers, "tolist", None) or getattr(identifiers, "to_list", None)
        if to_list is None or hasattr(identifiers, "columns"):
            raise ValueError(f"{source} must be a sequence of texts, got {type(identifiers).__name__}")
        identifiers = to_list()
    texts: list[str] = []
    places: dict[str, int] = {}
    for position, cell in enumerate(identifiers, start=first):
        text = as_text(cell)
        if text is None:
            raise ValueError(
                f"{source} must be texts or whole numbers, got something else in {place} {position}"
            )
        seen = look(text)
        if not seen:
            raise ValueError(
                f"{source} must not be empty, but the one in {place} {position} shows nothing: give "
                f"that record one"
            )
        if seen in places:
            other = places[seen]
            alike = "are the same" if texts[other - first] == text else "look the same"
            raise ValueError(
                f"{source} must look different, but those in {place} {other} and {place} {position} "
                f"{alike}: whoever measures could take one record for the other"
            )
        places[seen] = position
        texts.append(text)
    return texts


def _seen(character: str) -> str:
    code = ord(character)
    if code in _BLANK or character.isspace():
        return " "
    kind = unicodedata.category(character)
    if kind in ("Cf", "Cc") or code in _UNSEEN:
        return ""
    return "-" if kind == "Pd" else character
