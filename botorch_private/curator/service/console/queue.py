"""The queue: open questions, oldest first, with a field for each value that a person enters."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from botorch_private.curator.service.console.guard import ConsoleRoute, SessionOf
from botorch_private.curator.service.console.news import refreshing
from botorch_private.curator.service.console.pages import page
from botorch_private.curator.service.console.shown import with_unit
from botorch_private.curator.service.console.typed import typed, waiting
from botorch_private.curator.service.question import OPEN, Question, ServiceError, State
from botorch_private.curator.service.store import Store

router = APIRouter(prefix="/console", route_class=ConsoleRoute, include_in_schema=False)
PAGE_LENGTH = 50


@router.get("")
async def queue(request: Request, session: SessionOf, done: str = "", still: str = "") -> Response:
    """Open questions; after ``done`` was settled, from where the next one is. ``still``: it stays."""
    store: Store = request.app.state.store
    found = store.queries(states=OPEN)
    # A program goes on with the others by itself.
    found.sort(key=lambda query: query.state != State.FAILED)
    settled = _settled(store, done)
    following = 0
    if settled is not None:
        following = next((i for i, each in enumerate(found) if each.id > settled.id), 0)
    wanted = request.query_params.get("page", "")
    shown = pages_of(found, wanted or str(following // PAGE_LENGTH + 1))
    items = [
        {
            "query": each,
            "identifier": store.identifier(each.row),
            "draft": typed(store, session, "value", each.id),
            "enters": may_enter(store, each),
        }
        for each in shown["items"]
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
        pages=shown,
        newest=store.counts.latest_question(),
        still=bool(still),
        headers={} if items or still else refreshing(),
    )


def pages_of(found: list[Any], wanted: str, length: int = PAGE_LENGTH) -> dict[str, Any]:
    """One page of a list, with its number and how many there are."""
    count = max(1, -(-len(found) // length))
    number = min(int(wanted), count) if wanted.isascii() and wanted.isdigit() and len(wanted) < 10 else 1
    number = max(1, number)
    start = (number - 1) * length
    return {
        "items": found[start : start + length],
        "number": number,
        "count": count,
        "total": len(found),
        "first": start + 1,
        "last": min(start + length, len(found)),
    }


def may_enter(store: Store, query: Question) -> bool:
    """Whether a person enters this value: always, unless a program works on it or is about to."""
    by_program = ":" in store.facts.objective
    return query.state == State.FAILED or (query.state == State.PENDING and not by_program)


def _settled(store: Store, done: str) -> Question | None:
    if not (done.isascii() and done.isdigit() and len(done) < 10):
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
        return f"Stored: {identifier} is {with_unit(query.outcome, store.facts.outcome_unit)}."
    if query.state == State.WITHDRAWN:
        return f"Stored: {identifier} will not be measured. Its measurement is free again."
    if query.state in (State.PENDING, State.MEASURING):
        return f"The program tries {identifier} again."
    return f"{identifier} failed again."
