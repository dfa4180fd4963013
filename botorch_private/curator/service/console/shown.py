"""Numbers and times as people read them."""

from __future__ import annotations

from datetime import datetime

_STEPS = ((86400, "day"), (3600, "hour"), (60, "minute"))


def number(value: float) -> str:
    """The shortest text that says exactly this number."""
    return repr(value).removesuffix(".0")


def with_unit(value: float, unit: str) -> str:
    """A number and its unit, if there is one."""
    return f"{number(value)} {unit}" if unit else number(value)


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
