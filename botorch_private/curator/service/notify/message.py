"""Message: what is told, in counts. Nothing of a record, a value or a person can be in one."""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass
from typing import Any

_ID_BYTES = 18
KINDS = ("questions", "idle", "test")


@dataclass(frozen=True)
class Message:
    """A message about the queue.

    Args:
        id: Its own, the same at each try.
        kind: "questions" (new ones wait), "idle" (nothing was settled for long) or "test".
        time: When it was made, UTC, ISO 8601.
        new: Questions that nobody was told of before and that wait.
        open: Questions that wait.
        idle_hours: Whole hours in which none was settled; 0 where that is not what it is about.
    """

    id: str
    kind: str
    time: str
    new: int = 0
    open: int = 0
    idle_hours: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}")

    @property
    def subject(self) -> str:
        """One line."""
        if self.kind == "test":
            return "A test: messages arrive"
        if self.kind == "idle":
            return f"{_questions(self.open)} for {self.idle_hours} h without a value"
        return f"{self.new} new {'question' if self.new == 1 else 'questions'}, {self.open} open"

    def text(self, name: str, console: str) -> str:
        """The message for people.

        Args:
            name: What the server is called.
            console: Address of its console; may be empty.
        """
        lines = {
            "test": ["This is a test. New questions would be told in this way."],
            "idle": [
                f"No question was settled for {self.idle_hours} hours.",
                f"{_questions(self.open)}.",
            ],
            "questions": [
                f"{self.new} {'question is' if self.new == 1 else 'questions are'} new.",
                f"{_questions(self.open)}.",
            ],
        }[self.kind]
        ends = [f"The console: {console}"] if console else []
        return "\n".join([f"{name}:", *lines, *ends, ""])

    def body(self, name: str, console: str) -> bytes:
        """The message for programs, as Standard Webhooks lays it out."""
        data: dict[str, Any] = {"name": name, "new": self.new, "open": self.open}
        if self.kind == "idle":
            data["idle_hours"] = self.idle_hours
        if console:
            data["console"] = console
        kind = {"questions": "questions.new", "idle": "queue.idle", "test": "test"}[self.kind]
        content = {"type": kind, "timestamp": self.time, "data": data}
        return json.dumps(content, separators=(",", ":")).encode()

    def to_dict(self) -> dict[str, Any]:
        """For a file."""
        return asdict(self)


def new_id() -> str:
    """An id that no other message has."""
    return f"msg_{secrets.token_urlsafe(_ID_BYTES)}"


def _questions(count: int) -> str:
    return f"{count} {'question waits' if count == 1 else 'questions wait'}"
