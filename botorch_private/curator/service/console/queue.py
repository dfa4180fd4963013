"""The queue: open questions, oldest first, with a field for each value that a person enters."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from botorch_private.curator.service.agenda import ALL, Arranged, View, Wanted
from botorch_private.curator.service.console.guard import ConsoleRoute, SessionOf
from botorch_private.curator.service.console.news import refreshing
from botorch_private.curator.service.console.pages import page
from botorch_private.curator.service.console.paging import PAGE_LENGTH, is_number, pages_of
from botorch_private.curator.service.console.sessions import Session
from botorch_private.curator.service.console.shown import in_words
from botorch_private.curator.service.console.typed import names_of, typed, waiting
from botorch_private.curator.service.console.typed_outcomes import fields_of
from botorch_private.curator.service.question import Question, ServiceError, State
from botorch_private.curator.service.store import Store

router = APIRouter(prefix="/console", route_class=ConsoleRoute, include_in_schema=False)
_LONGEST_BEGINNING = 100
_MOST_FIELDS = 3  # of a record in the queue; more have a page of their own


@router.get("")
async def queue(request: Request, session: SessionOf, done: str = "", still: str = "") -> Response:
    """Open questions; after ``done`` was settled, those that were looked at, from the next one on.

    ``still``: the page does not load itself.
    """
    store: Store = request.app.state.store
    settled = _settled(store, done)
    session.wanted = wanted = session.wanted if done else wanted_of(request)
    following = 0
    if settled is not None and wanted == ALL:
        following = store.agenda.place_after(settled)
    asked_for = request.query_params.get("page", "")
    total = store.agenda.count(wanted, session.token)
    pages = pages_of(total, asked_for or str(following // PAGE_LENGTH + 1))
    names = names_of(store)
    items = [
        _item(store, session, names, *each)
        for each in store.agenda.page(wanted, session.token, start=pages.first - 1, length=PAGE_LENGTH)
    ]
    after = settled.id if settled is not None else 0
    fields = [item["query"].id for item in items if item["enters"]]
    first = next((number for number in fields if number > after), fields[0] if fields else 0)
    return page(
        request,
        "queue.html",
        session,
        done="" if settled is None else _done(store, settled),
        items=items,
        first=first,
        typed=waiting(store, session),
        pages=pages,
        wanted=wanted,
        address=address_of_wanted(wanted),
        newest=store.counts.latest_question(),
        still=bool(still),
        has_fields=len(store.facts.measured.each) <= _MOST_FIELDS,
        headers={} if items or still or wanted != ALL else refreshing(),
    )


def wanted_of(request: Request) -> Wanted:
    """Which open questions an address asks for."""
    view = request.query_params.get("view", View.OPEN)
    beginning = request.query_params.get("find", "").strip()[:_LONGEST_BEGINNING]
    return Wanted(view if view in list(View) else View.OPEN, beginning)


def address_of_wanted(wanted: Wanted) -> str:
    """What stands in an address behind its question mark; empty for all open questions."""
    view = {"view": str(wanted.view)} if wanted.view != View.OPEN else {}
    return urlencode(view | ({"find": wanted.beginning} if wanted.beginning else {}))


def may_enter(store: Store, query: Question) -> bool:
    """Whether a person enters this value: always, unless a program works on it or is about to."""
    by_program = ":" in store.facts.objective
    return query.state == State.FAILED or (query.state == State.PENDING and not by_program)


def _item(
    store: Store,
    session: Session,
    names: dict[int, str],
    query: Question,
    identifier: str,
    arranged: Arranged,
) -> dict[str, Any]:
    is_own = arranged.taken_by == session.token
    taken_by = "" if is_own else names.get(arranged.taken_by or 0, "")
    draft = typed(store, session, "value", query.id)
    return {
        "query": query,
        "identifier": identifier,
        "arranged": arranged,
        "is_own": is_own,
        "taken_by": taken_by,
        "value_fields": fields_of(store.facts.measured, draft.value if draft else ""),
        "enters": may_enter(store, query) and not taken_by,
    }


def _settled(store: Store, done: str) -> Question | None:
    if not is_number(done):
        return None
    try:
        return store.query(int(done))
    except ServiceError:
        return None


def _done(store: Store, query: Question) -> str:
    """What became of a question; read from the disk, so that it is true after a reload as well."""
    identifier = store.identifier(query.row)
    if query.state == State.MEASURED:
        assert query.outcome is not None
        return f"Stored: {identifier} is {in_words(store.facts.measured, query.outcome)}."
    if query.state == State.WITHDRAWN:
        return f"Stored: {identifier} will not be measured. Its measurement is free again."
    if query.state == State.MEASURING or ":" in store.facts.objective:
        words = "failed again" if query.state == State.FAILED else ""
        return f"{identifier} {words}." if words else f"The program tries {identifier} again."
    return ""
