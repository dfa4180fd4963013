"""The page that shows a typed value large before it is stored."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Request
from starlette.responses import Response

from botorch_private.curator.service.console.pages import page
from botorch_private.curator.service.console.sessions import Session
from botorch_private.curator.service.console.shown import number
from botorch_private.curator.service.console.typed import typed_by
from botorch_private.curator.service.console.typed_outcomes import fields_of, read_outcome
from botorch_private.curator.service.drafts import Draft
from botorch_private.curator.service.question import Outcome, Question, ServiceError
from botorch_private.curator.service.staff_api import refuse_implausible
from botorch_private.curator.service.store import Store


def is_confirmed(store: Store, value: Outcome, form: Mapping[str, str]) -> bool:
    """Whether a value is plausible, or the box was ticked that says it is right all the same."""
    try:
        refuse_implausible(store, value, confirmed=form.get("looked") == "yes")
    except ServiceError:
        return False
    return True


def confirm_page(
    request: Request,
    session: Session,
    query: Question,
    draft: Draft,
    *,
    corrects: bool = False,
    missed: bool = False,
    failure: str = "",
) -> Response:
    """Ask whether a value is right.

    Args:
        request: What this answers.
        session: Whose.
        query: The question.
        draft: What was typed; it can be read.
        corrects: Whether there is a value already.
        missed: Whether the box for an implausible value was not ticked.
        failure: Why the value could not be stored.
    """
    store: Store = request.app.state.store
    measured = store.facts.measured
    value = read_outcome(measured, draft.value)
    named, doubtful = measured.named(value), measured.implausible(value)
    place = f"/console/{'measured' if corrects else 'questions'}/{query.id}"
    return page(
        request,
        "confirm.html",
        session,
        status=503 if failure else 422 if missed else 200,
        query=query,
        value=value,
        fields_typed=[
            (each, number(named[each.outcome.name])) for each in fields_of(measured, draft.value)
        ],
        reason=draft.reason,
        draft=draft,
        corrects=corrects,
        implausible=[each for each in measured.each if each.name in doubtful],
        missed=missed,
        failure=failure,
        whose=typed_by(store, session, "correction" if corrects else "value", query.id),
        discard=f"{place}/discard",
        action=f"{place}/{'correction' if corrects else 'measurement'}",
        back=place,
    )
