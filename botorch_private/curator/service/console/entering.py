"""Settling an open question: a value, a refusal, or another try."""

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
from botorch_private.curator.service.console.history import Happened, history
from botorch_private.curator.service.console.measured_how import circumstances_of, draft_of, problems_of
from botorch_private.curator.service.console.pages import go_to, page
from botorch_private.curator.service.console.queue import may_enter
from botorch_private.curator.service.console.sessions import Session
from botorch_private.curator.service.console.shown import in_words
from botorch_private.curator.service.console.typed import drop, keep, typed
from botorch_private.curator.service.console.typed_outcomes import (
    differ,
    fields_of,
    is_whole,
    missing,
    problems_of_value,
    read_outcome,
    typed_numbers,
)
from botorch_private.curator.service.drafts import Draft
from botorch_private.curator.service.forms import Number
from botorch_private.curator.service.question import OPEN, Question, ServiceError, State, StorageError
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.typed_values import problem_of, read_reason

router = APIRouter(prefix="/console/questions", route_class=ConsoleRoute, include_in_schema=False)


@router.get("/{number}")
async def question(number: Number, request: Request, session: SessionOf) -> Response:
    """One question, with what was typed for it before."""
    store: Store = request.app.state.store
    query, draft = store.query(number), typed(store, session, "value", number)
    if query.state not in OPEN:
        return _settled_page(request, session, query, draft)
    text, measured = "" if draft is None else draft.value, store.facts.measured
    wrong = {} if draft is None else _wrong_numbers(store, draft)
    return page(
        request,
        "question.html",
        session,
        query=query,
        draft=draft,
        value_fields=fields_of(measured, text, wrong),
        missing=missing(measured, text),
        problems=problems_of(draft or Draft(), today(store.clock())),
        enters=may_enter(store, query),
    )


@router.post("/{number}/check")
async def check(number: Number, request: Request, session: SessionOf, form: FormOf) -> Response:
    """Keep a typed value, and have it confirmed if it is one."""
    store: Store = request.app.state.store
    store.query(number)  # refuses what is not a question
    draft = draft_of(store, form, typed(store, session, "value", number))
    wrong = problems_of(draft, today(store.clock()))
    if any(wrong.values()) or any(_wrong_numbers(store, draft).values()):
        note_refusal(request, session, "unreadable")
    some = bool(typed_numbers(store.facts.measured, draft.value))
    await keep(store, session, "value", number, draft, waits=some and not any(wrong.values()))
    return go_to(f"/console/questions/{number}{'/confirm' if _can_be_read(store, draft) else ''}")


@router.get("/{number}/confirm")
async def confirm(number: Number, request: Request, session: SessionOf) -> Response:
    """Show a typed value large, beside whose it is."""
    store: Store = request.app.state.store
    query, draft = store.query(number), typed(store, session, "value", number)
    if query.state not in OPEN:
        return _settled_page(request, session, query, draft)
    if draft is None or not _can_be_read(store, draft):
        return go_to(f"/console/questions/{number}")
    return confirm_page(request, session, query, draft)


@router.post("/{number}/measurement")
async def measure(number: Number, request: Request, session: SessionOf, form: FormOf) -> Response:
    """Store a confirmed value. The same one again changes nothing."""
    store: Store = request.app.state.store
    store.query(number)
    draft = draft_of(store, form)
    waits = _can_be_read(store, draft)
    await keep(store, session, "value", number, draft, waits=waits)
    if not waits:
        note_refusal(request, session, "unreadable")
        return go_to(f"/console/questions/{number}")
    value = read_outcome(store.facts.measured, draft.value)
    said = circumstances_of(draft, today(store.clock()))
    if not is_confirmed(store, value, form):
        note_refusal(request, session, "implausible")
        return confirm_page(request, session, store.query(number), draft, missed=True)
    try:
        await asyncio.wrap_future(store.measure(number, value, session.token, said))
    except StorageError as error:
        return confirm_page(request, session, store.query(number), draft, failure=storage_words(error))
    except ServiceError as error:
        if error.code not in ("measured", "withdrawn"):
            raise
        note_refusal(request, session, error.code)
        return _settled_page(request, session, store.query(number), draft)
    await drop(store, session, "value", number, stored=True)
    return go_to(f"/console?done={number}")


@router.post("/{number}/discard")
async def discard(number: Number, request: Request, session: SessionOf, _: FormOf) -> Response:
    """Throw away what was typed and not stored."""
    store: Store = request.app.state.store
    store.query(number)
    await drop(store, session, "value", number, stored=False)
    return go_to("/console")


@router.get("/{number}/refusal")
async def refusal(number: Number, request: Request, session: SessionOf) -> Response:
    """The form for a reason why a record will not be measured."""
    query = request.app.state.store.query(number)
    if query.state not in OPEN:
        return _settled_page(request, session, query, None)
    draft = session.draft("refusal", number)
    problem = "" if draft is None else problem_of(read_reason, draft.reason)
    return _refusal_page(request, session, query, problem)


@router.post("/{number}/refusal")
async def refuse(number: Number, request: Request, session: SessionOf, form: FormOf) -> Response:
    """Store that a record will not be measured, and why."""
    store: Store = request.app.state.store
    store.query(number)
    session.keep("refusal", number, Draft(reason=form.get("reason", "")))
    if problem_of(read_reason, form.get("reason", "")):
        note_refusal(request, session, "no_reason")
        return go_to(f"/console/questions/{number}/refusal")
    reason = read_reason(form["reason"])
    try:
        await asyncio.wrap_future(store.withdraw(number, reason, session.token))
    except StorageError as error:
        query = store.query(number)
        return _refusal_page(request, session, query, "", failure=storage_words(error))
    except ServiceError as error:
        if error.code != "measured":
            raise
        return _settled_page(request, session, store.query(number), None)
    session.drop("refusal", number)
    return go_to(f"/console?done={number}")


@router.post("/{number}/retry")
async def retry(number: Number, request: Request, session: SessionOf, _: FormOf) -> Response:
    """Let the program try again. If somebody else said so meanwhile, it does already."""
    store: Store = request.app.state.store
    try:
        await asyncio.wrap_future(store.retry(number, session.token))
    except ServiceError as error:
        query = store.query(number)
        if error.code != "not_failed":
            raise
        if query.state not in OPEN:
            return _settled_page(request, session, query, None)
    return go_to(f"/console?done={number}")


def _last(store: Store, query: Question) -> Happened:
    """What settled a question, or happened last before anything was refused."""
    return [each for each in history(store, query) if not each.is_refusal][-1]


def _can_be_read(store: Store, draft: Draft) -> bool:
    """Whether all that was typed can be."""
    problems = problems_of(draft, today(store.clock()))
    return is_whole(store.facts.measured, draft.value) and not any(problems.values())


def _wrong_numbers(store: Store, draft: Draft) -> dict[str, str]:
    """Name of a field to what is wrong there; one that waits for its number is not wrong."""
    measured = store.facts.measured
    fields = fields_of(measured, draft.value, problems_of_value(measured, draft.value))
    waiting = missing(measured, draft.value) or [each.name for each in measured.each[1:]]
    return {
        each.name: each.problem
        for each in fields
        if each.text.strip() or each.outcome.name not in waiting
    }


def _settled_page(request: Request, session: Session, query: Question, draft: Draft | None) -> Response:
    """Say what is stored already, by a second click or somebody else, and what became of a value."""
    store: Store = request.app.state.store
    measured = store.facts.measured
    numbers = {} if draft is None else typed_numbers(measured, draft.value)
    conflict = differ(measured, numbers, query.outcome)
    others = (
        draft is not None
        and not conflict
        and query.state == State.MEASURED
        and _can_be_read(store, draft)
        and circumstances_of(draft, today(store.clock())).change(query.circumstances)
    )
    return page(
        request,
        "settled.html",
        session,
        status=409 if conflict or others else 200,
        query=query,
        others=others,
        typed=in_words(measured, numbers) if conflict else None,
        last=_last(store, query),
    )


def _refusal_page(
    request: Request, session: Session, query: Question, problem: str, failure: str = ""
) -> Response:
    draft = session.draft("refusal", query.id)
    return page(
        request,
        "refusal.html",
        session,
        status=503 if failure else 200,
        query=query,
        reason="" if draft is None else draft.reason,
        problem=problem,
        failure=failure,
    )
