"""What happened to a question, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from botorch_private.curator.service.console.shown import in_words, when
from botorch_private.curator.service.console.typed_outcomes import words_of_text
from botorch_private.curator.service.outcomes import Outcomes
from botorch_private.curator.service.question import Question
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.trail import data_of

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
    "refused": "nothing was stored",
}
_REFUSED = {
    "unreadable": "what was typed could not be read",
    "implausible": "the value was outside the plausible range, and nobody had confirmed it",
    "measured": "another value was stored already",
    "withdrawn": "it would not be measured",
    "measuring": "a program worked on it",
    "told": "the modeler had read the answer",
    "revised": "somebody else had corrected it meanwhile",
    "no_reason": "there was no reason",
    "foreign_form": "the form was not sent by the console",
}
_NAMES = {"day": "date", "instrument": "instrument", "comment": "comment"}


class Happened(NamedTuple):
    """One thing that happened.

    Args:
        time: When, UTC, ISO 8601.
        who: Name of whoever did it.
        what: In words.
        value: What was stored, with its unit; None: nothing, or an earlier version did not say it.
        before: What a correction replaced; None: nothing.
        reason: As it was given; may be empty.
        said: Names and texts of date, instrument and comment that were stored.
        said_before: Those that a correction replaced.
        is_refusal: Whether something was refused.
    """

    time: str
    who: str
    what: str
    value: str | None
    before: str | None
    reason: str
    said: list[tuple[str, str]]
    said_before: list[tuple[str, str]]
    is_refusal: bool


def history(store: Store, query: Question) -> list[Happened]:
    """All that happened to a question, in order."""
    names = {token.id: token.name for token in store.tokens.all()}
    happened, measured = [], store.facts.measured
    for event in store.events(query.id):
        data, reason, kind = data_of(event), event["detail"] or "", str(event["kind"])
        data = data if isinstance(data, dict) else {}
        before = data.get("before", {})
        if kind == "corrected" and not data:  # of an earlier version
            old, _, reason = reason.partition(": ")
            before = {"value": float(old)}
        by_curator = kind in ("asked", "known", "corrected") or (kind == "measured" and reason)
        nobody = "the curator" if by_curator else "somebody" if kind == "refused" else "the program"
        who = names.get(event["token"], nobody)
        if kind == "taken":
            reason = when(reason)
        if kind == "discarded":
            reason = words_of_text(measured, reason)
        if kind == "refused":
            reason = _REFUSED.get(data.get("why", ""), "")
        what = _WORDS.get(kind, kind)
        happened.append(
            Happened(
                event["time"],
                who,
                what,
                _shown(measured, data),
                _shown(measured, before),
                reason,
                _said(data),
                _said(before),
                kind == "refused",
            )
        )
    return happened


def _shown(measured: Outcomes, data: Mapping[str, Any]) -> str | None:
    return in_words(measured, data["value"]) if "value" in data else None


def _said(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(words, str(data[name])) for name, words in _NAMES.items() if data.get(name)]
