"""Several outcomes of one record: their public names, and one number for each."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from botorch_private._base import settings
from botorch_private._base.frames import alike

Value = float | dict[str, float]

_LONGEST = 100
_COLUMNS = ("round", "index", "value", "best")  # of a history's frame


def outcome_names(**given: Any) -> tuple[str, ...]:
    """Check the names of outcomes, which are public: they are told to the modeler.

    Args:
        **given: The argument's name, and the names: each a line of text, of at most 100 characters, that
            differs from the others by more than spaces and capitals, and is no column of a history.

    Raises:
        ValueError: If they are none; a name that cannot be used is known by its position.
    """
    ((argument, names),) = given.items()
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise ValueError(f"{argument} must be a list of names, got {settings.shown(names)}")
    names = tuple(names)
    if not names:
        raise ValueError(f"{argument} must hold at least one name, got none")
    for position, name in enumerate(names):
        if not isinstance(name, str) or not _usable(name):
            raise ValueError(
                f"{argument} must be texts of one line, of 1 to {_LONGEST} characters, with no spaces "
                f"around, but position {position} is none"
            )
        if name in _COLUMNS:
            raise ValueError(
                f"{argument} must not be one of {', '.join(_COLUMNS)}, which are columns of a history, "
                f"but position {position} is"
            )
    if len({alike(name) for name in names}) < len(names):
        raise ValueError(f"{argument} must differ by more than spaces, capitals and accents' storage")
    return names


def named_numbers(names: tuple[str, ...], **given: Any) -> dict[str, float]:
    """Check that a value has one finite number for each name, and no other; in the order of the names.

    Args:
        names: The declared ones.
        **given: The argument's name, and the value.

    Raises:
        ValueError: If not. A name that was not declared is not repeated: it may come from a table.
    """
    ((argument, value),) = given.items()
    require_names(names, **given)
    return {name: settings.number(**{f"{argument}[{name}]": value[name]}) for name in names}


def require_names(names: tuple[str, ...], **given: Any) -> None:
    """Refuse what does not have the declared names exactly."""
    ((argument, value),) = given.items()
    wanted = f"{argument} must be a dict with one number for each of {', '.join(names)}"
    if not isinstance(value, Mapping):
        raise ValueError(wanted)
    missing = [name for name in names if name not in value]
    if missing:
        raise ValueError(f"{wanted}, but {', '.join(missing)} is missing")
    if len(value) > len(names):
        raise ValueError(f"{wanted}, but it has {len(value) - len(names)} more that were not declared")


def _usable(name: str) -> bool:
    return (
        1 <= len(name) <= _LONGEST
        and name == name.strip()
        and not any(unicodedata.category(letter)[0] in "CZ" and letter != " " for letter in name)
    )
