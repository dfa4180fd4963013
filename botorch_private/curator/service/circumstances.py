"""Circumstances: when and by what something was measured, and what staff say of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from botorch_private.curator.service.typed_values import read_day, read_note


class Circumstances(NamedTuple):
    """Of one measurement. Each is None where it is not said, and empty where there is none.

    Attributes:
        day: On which it was measured, YYYY-MM-DD.
        instrument: That measured it.
        comment: Of staff.
    """

    day: str | None = None
    instrument: str | None = None
    comment: str | None = None

    def over(self, other: Circumstances) -> Circumstances:
        """These, and those of the other one where these say nothing."""
        return Circumstances(
            *(theirs if ours is None else ours for ours, theirs in zip(self, other, strict=True))
        )

    def change(self, stored: Circumstances) -> bool:
        """Whether these say anything else than what is stored."""
        return any(
            (ours or "") != (old or "") for ours, old in zip(self.over(stored), stored, strict=True)
        )

    def named(self) -> dict[str, Any]:
        """What is said, by name, for an event."""
        return {name: value for name, value in self._asdict().items() if value}


UNSAID = Circumstances()


def read_circumstances(
    day: str | None, instrument: str | None, comment: str | None, today: str
) -> Circumstances:
    """Circumstances as they are typed.

    Args:
        day: YYYY-MM-DD; empty: none; None: not said.
        instrument: One line; empty: none; None: not said.
        comment: One line; empty: none; None: not said.
        today: The latest day on which anything can have been measured; empty: any.

    Raises:
        ValueError: If one cannot be read; the message tells what to type instead.
    """
    return Circumstances(
        None if day is None else read_past_day(day, today),
        None if instrument is None else read_note(instrument),
        None if comment is None else read_note(comment),
    )


def read_past_day(text: str, today: str) -> str:
    """A day that is not in the future; it may be empty.

    Raises:
        ValueError: If it is in the future, or no day.
    """
    if not text.strip():
        return ""
    day = read_day(text.strip())
    if today and day > today:
        raise ValueError("Type a day that has been: this date is in the future.")
    return day
