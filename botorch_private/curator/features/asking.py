"""Ask somebody for the kind and range of each column; the table is not looked at."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from botorch_private.curator.features.template import Declared

_KINDS = "[n]umber, [y]es/no, [c]ategory, [o]mit from the release, Enter: decide later"


def ask(
    columns: Sequence[str], answer: Callable[[str], str], say: Callable[[str], None]
) -> dict[str, Declared | None]:
    """Ask for each column, and again where an answer is unusable.

    Args:
        columns: Their names.
        answer: Puts a question and returns what was typed.
        say: Shows a line.

    Returns:
        What was declared, None for a column to be left out; nothing of columns to be decided later.
    """
    say("Answer from what a column means, never from the table.")
    declared: dict[str, Declared | None] = {}
    for name in columns:
        while True:
            kind = answer(f"{name}: {_KINDS}? ").strip().lower()[:1]
            if kind in ("", "n", "y", "c", "o"):
                break
            say("Type n, y, c, o, or nothing.")
        if kind == "n":
            declared[name] = _number(name, answer, say)
        elif kind == "y":
            declared[name] = Declared("boolean")
        elif kind == "c":
            declared[name] = _category(name, answer, say)
        elif kind == "o":
            declared[name] = None
    return declared


def _number(name: str, answer: Callable[[str], str], say: Callable[[str], None]) -> Declared:
    while True:
        low = _typed(answer(f"  smallest value that {name} can have: "))
        high = _typed(answer(f"  largest value that {name} can have: "))
        if low is not None and high is not None and low < high:
            return Declared("number", low, high)
        say("  Two numbers with a decimal point are needed, the smaller one first.")


def _category(name: str, answer: Callable[[str], str], say: Callable[[str], None]) -> Declared:
    while True:
        typed = answer(f"  all categories that {name} can have, by its code book, with commas between: ")
        found = [each.strip() for each in typed.split(",")]
        if len(found) >= 2 and all(found) and len(set(found)) == len(found):
            return Declared("category", categories=tuple(found))
        say("  Two or more different categories are needed.")


def _typed(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
