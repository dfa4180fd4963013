"""Measured values, newest first, their history, and corrections."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request
from starlette.responses import Response

from botorch_private.curator.service.agenda import today
from botorch_private.curator.service.console.confirm import confirm_page, is_confirmed
from botorch_private.curator.service.console.guard import (
    ConsoleRoute,
    FormOf,
    SessionOf,
    note_refusal,
    storage_words,
)
from botorch_private.curator.service.console.history import history
from botorch_private.curator.service.console.measured_how import (
    circumstances_of,
    draft_from,
    draft_of,
    is_change,
    problems_of,
)
from botorch_private.curator.service.console.pages import ConsoleError, go_to, page
from botorch_private.curator.service.console.paging import PAGE_LENGTH, pages_of
from botorch_private.curator.service.console.typed import drop, keep, typed
from botorch_private.curator.service.console.typed_outcomes import (
    fields_of,
    missing,
    problems_of_value,
    read_outcome,
    text_with,
)
from botorch_private.curator.service.drafts import Draft
from botorch_private.curator.service.forms import Number
from botorch_private.curator.service.question import Question, ServiceError, State, StorageError
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.typed_values import problem_of, read_reason

router = APIRouter(prefix="/console/measured", route_class=ConsoleRoute, include_in_schema=False)
_REVISED = ConsoleError(
    409,
    "Somebody else corrected this value meanwhile",
    "Nothing of yours was stored. Look at it under Measured, where what you typed is kept.",
    "revised",
)
_TOLD = ConsoleError(
    409,
    "It is too late for a correction",
    "The modeler has read this answer, with its noise. A corrected answer would carry the same noise, "
    "so the two together would tell more than was promised. What is stored stays; nothing was changed.",
    "told",
)
_FIELDS: tuple[str, ...] = ("reason", "day", "instrument", "comment")


@router.get("")
async def measured(request: Request, session: SessionOf) -> Response:
    """Settled questions: values, and what will not be measured."""
    store: Store = request.app.state.store
    shown = pages_of(store.count(State.MEASURED), request.query_params.get("page", ""))
    found = store.latest(State.MEASURED, start=shown.first - 1, length=PAGE_LENGTH)
    refused = store.latest(State.WITHDRAWN, length=PAGE_LENGTH)
    return page(
        request,
        "measured.html",
        session,
        items=[(each, store.identifier(each.row)) for each in found],
        refused=[(each, store.identifier(each.row)) for each in refused],
        refusals=store.count(State.WITHDRAWN),
        pages=shown,
    )


@router.get("/{number}")
async def value(number: Number, request: Request, session: SessionOf, done: str = "") -> Response:
    """One value with its history, and the form that corrects it."""
    store: Store = request.app.state.store
    query, draft = _measured(request, number), typed(store, session, "correction", number)
    problems: dict[str, str] = (
        dict.fromkeys(_FIELDS, "") if draft is None else _problems(store, query, draft)
    )
    return page(
        request,
        "value.html",
        session,
        query=query,
        draft=draft or draft_from(query.circumstances),
        value_fields=fields_of(store.facts.measured, draft.value if draft else "", problems),
        problems=problems,
        stored=bool(done),
        history=history(store, query),
        too_late=store.facts.is_noised and query.told,
    )


@router.post("/{number}/check")
async def check(number: Number, request: Request, session: SessionOf, form: FormOf) -> Response:
    """Keep a typed correction, and have it confirmed if it is one."""
    store: Store = request.app.state.store
    query = _measured(request, number)
    draft = draft_of(
        store, form, typed(store, session, "correction", number) or draft_from(query.circumstances)
    )
    assert query.outcome is not None
    if missing(measured := store.facts.measured, draft.value) or is_change(store, query, draft):
        draft = draft._replace(value=text_with(measured, draft.value, query.outcome))
    waits = not any(_problems(store, query, draft).values())
    if not waits:
        note_refusal(request, session, "unreadable")
    await keep(store, session, "correction", number, draft, waits=waits)
    return go_to(f"/console/measured/{number}{'/confirm' if waits else ''}")


@router.get("/{number}/confirm")
async def confirm(number: Number, request: Request, session: SessionOf) -> Response:
    """Show a correction large, beside what it replaces."""
    store: Store = request.app.state.store
    query, draft = _measured(request, number), typed(store, session, "correction", number)
    if draft is None or any(_problems(store, query, draft).values()):
        return go_to(f"/console/measured/{number}")
    return confirm_page(request, session, query, draft, corrects=True)


@router.post("/{number}/correction")
async def correct(number: Number, request: Request, session: SessionOf, form: FormOf) -> Response:
    """Store a confirmed correction. The same one again changes nothing."""
    store: Store = request.app.state.store
    query = _measured(request, number)
    draft, measured = draft_of(store, form, draft_from(query.circumstances)), store.facts.measured
    problems = _problems(store, query, draft)
    problems |= problems_of_value(measured, draft.value)  # the same value again is not an error here
    if any(problems.values()):
        note_refusal(request, session, "unreadable")
        session.keep("correction", number, draft)
        return go_to(f"/console/measured/{number}")
    new = read_outcome(measured, draft.value)
    if new != query.outcome and form.get("revision") != str(query.revision):
        session.keep("correction", number, draft)
        raise _REVISED
    if not is_confirmed(store, new, form):
        note_refusal(request, session, "implausible")
        return confirm_page(request, session, query, draft, corrects=True, missed=True)
    try:
        corrected = store.correct(
            number,
            new,
            read_reason(draft.reason),
            session.token,
            revision=query.revision,
            circumstances=circumstances_of(draft, today(store.clock())),
        )
        await asyncio.wrap_future(corrected)
    except StorageError as error:
        text = storage_words(error)
        return confirm_page(request, session, query, draft, corrects=True, failure=text)
    except ServiceError as error:
        if error.code == "told":
            raise _TOLD from None
        if error.code == "revised":
            session.keep("correction", number, draft)
            raise _REVISED from None
        raise
    await drop(store, session, "correction", number, stored=True)
    return go_to(f"/console/measured/{number}?done=1")


@router.post("/{number}/discard")
async def discard(number: Number, request: Request, session: SessionOf, _: FormOf) -> Response:
    """Throw away a correction that was typed and not stored."""
    store: Store = request.app.state.store
    store.query(number)
    await drop(store, session, "correction", number, stored=False)
    return go_to("/console")


def _measured(request: Request, number: int) -> Question:
    query: Question = request.app.state.store.query(number)
    if query.state != State.MEASURED:
        raise ConsoleError(409, f"Question {number} has no value", "There is nothing to correct.")
    return query


def _problems(store: Store, query: Question, draft: Draft) -> dict[str, str]:
    """What is wrong with each field of a correction; empty texts: nothing."""
    measured = store.facts.measured
    wrong, problems = problems_of_value(measured, draft.value), problems_of(draft, today(store.clock()))
    if not (any(wrong.values()) or any(problems.values()) or is_change(store, query, draft)):
        wrong[next(iter(wrong))] = "This is the value that is stored already."
    return {**wrong, "reason": problem_of(read_reason, draft.reason), **problems}
