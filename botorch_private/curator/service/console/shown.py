"""Numbers and times as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from botorch_private.curator.service.outcomes import Outcomes

_STEPS = ((86400, "day"), (3600, "hour"), (60, "minute"))


def number(value: float) -> str:
    """The shortest text that says exactly this number."""
    return repr(value).removesuffix(".0")


def with_unit(value: float, unit: str) -> str:
    """A number and its unit, if there is one."""
    return f"{number(value)} {unit}" if unit else number(value)


def in_words(measured: Outcomes, value: float | Mapping[str, float]) -> str:
    """A value with its unit; of several outcomes those that it has, each with its name and unit."""
    named = value if isinstance(value, Mapping) else {measured.each[0].name: value}
    return ", ".join(
        f"{each.name} " * measured.several + with_unit(named[each.name], each.unit)
        for each in measured.each
        if each.name in named
    )


def range_of(ends: tuple[float, float], unit: str) -> str:
    """A range with its unit."""
    return f"{number(ends[0])} to {with_unit(ends[1], unit)}"


def when(time: str) -> str:
    """A time of the database on the clock of the server's own place."""
    local = datetime.fromisoformat(time).astimezone()
    return f"{local.day} {local:%b %Y, %H:%M %Z}"


def ago(time: str, now: str) -> str:
    """How long ago that was, in words."""
    seconds = (datetime.fromisoformat(now) - datetime.fromisoformat(time)).total_seconds()
    for length, name in _STEPS:
        count = int(seconds // length)
        if count:
            return f"{count} {name}{'' if count == 1 else 's'} ago"
    return "just now"
