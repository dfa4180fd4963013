"""What happened to a question, in words."""

from __future__ import annotations

from typing import NamedTuple

from botorch_private.curator.service.console.shown import number, when
from botorch_private.curator.service.question import Question
from botorch_private.curator.service.store import Store

_WORDS = {
    "asked": "asked",
    "begun": "the program began",
    "failed": "the program failed",
    "retried": "another try was asked for",
    "measured": "value stored",
    "corrected": "value corrected",
    "known": "the value was known",
    "withdrawn": "will not be measured",
    "discarded": "a typed value was thrown away",
    "taken": "taken, until",
    "released": "given back",
    "arranged": "day and note were set",
}


class Happened(NamedTuple):
    """One thing that happened.

    Args:
        time: When, UTC, ISO 8601.
        who: Name of whoever did it.
        what: In words.
        before: The value that a correction replaced; None: none.
        reason: As it was given; may be empty.
    """

    time: str
    who: str
    what: str
    before: str | None
    reason: str


def history(store: Store, query: Question) -> list[Happened]:
    """All that happened to a question, in order."""
    names = {token.id: token.name for token in store.tokens.all()}
    happened = []
    for event in store.events(query.id):
        before, reason, kind = None, event["detail"] or "", str(event["kind"])
        if kind == "corrected":
            old, _, reason = reason.partition(": ")
            before = number(float(old))
        nobody = "the curator" if kind == "known" or (kind == "measured" and reason) else "the program"
        who = names.get(event["token"], nobody)
        if kind == "taken":
            reason = when(reason)
        what = _WORDS.get(kind, kind)
        happened.append(Happened(event["time"], who, what, before, reason))
    return happened
