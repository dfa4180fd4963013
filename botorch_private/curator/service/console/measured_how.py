"""A measurement as the console's forms have it: its value, date, instrument and comment."""

from __future__ import annotations

from collections.abc import Mapping

from botorch_private.curator.service.agenda import today
from botorch_private.curator.service.circumstances import (
    Circumstances,
    read_circumstances,
    read_past_day,
)
from botorch_private.curator.service.console.typed_outcomes import differ, text_of_form, typed_numbers
from botorch_private.curator.service.drafts import Draft
from botorch_private.curator.service.question import Question
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.typed_values import problem_of, read_note


def draft_of(store: Store, form: Mapping[str, str], earlier: Draft | None = None) -> Draft:
    """What a form holds; what it lacks beside the value is that which was typed before."""
    before = earlier or Draft()
    return Draft(
        text_of_form(store.facts.measured, form),
        form.get("reason", ""),
        form.get("day", before.day),
        form.get("instrument", before.instrument),
        form.get("comment", before.comment),
    )


def draft_from(stored: Circumstances) -> Draft:
    """A form as it is shown first, for a correction of what is stored."""
    return Draft("", "", *(each or "" for each in stored))


def problems_of(draft: Draft, latest: str) -> dict[str, str]:
    """What is wrong with each; empty texts: nothing."""
    return {
        "day": problem_of(lambda text: read_past_day(text, latest), draft.day),
        "instrument": problem_of(read_note, draft.instrument),
        "comment": problem_of(read_note, draft.comment),
    }


def circumstances_of(draft: Draft, latest: str) -> Circumstances:
    """The circumstances that a draft without problems says; empty fields say that there is nothing."""
    return read_circumstances(draft.day, draft.instrument, draft.comment, latest)


def is_change(store: Store, query: Question, draft: Draft) -> bool:
    """Whether a draft says anything else than what is stored; what cannot be read says nothing."""
    now, measured = today(store.clock()), store.facts.measured
    if differ(measured, typed_numbers(measured, draft.value), query.outcome):
        return True
    if any(problems_of(draft, now).values()):
        return False
    return circumstances_of(draft, now).change(query.circumstances)
