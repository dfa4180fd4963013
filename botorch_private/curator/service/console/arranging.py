"""What staff arrange among themselves about a question: who takes it, by when, and a note."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request
from starlette.responses import Response

from botorch_private.curator.service.agenda import HOURS
from botorch_private.curator.service.console.guard import ConsoleRoute, FormOf, SessionOf
from botorch_private.curator.service.console.pages import ConsoleError, go_to, page
from botorch_private.curator.service.console.queue import address_of_wanted
from botorch_private.curator.service.console.sessions import Session
from botorch_private.curator.service.console.typed import names_of
from botorch_private.curator.service.forms import Number
from botorch_private.curator.service.question import OPEN, ServiceError
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.typed_values import problem_of, read_day, read_note

router = APIRouter(prefix="/console/questions", route_class=ConsoleRoute, include_in_schema=False)
_TAKEN = ConsoleError(
    409,
    "Somebody else has taken this question",
    "Nothing was changed. The queue says who, and until when.",
)
_SETTLED = ConsoleError(409, "This question is settled already", "Nothing was changed.")


@router.get("/{number}/arrangement")
async def arrangement(number: Number, request: Request, session: SessionOf) -> Response:
    """The forms that take a question, and that set its day and its note."""
    arranged = request.app.state.store.agenda.arranged(number)
    return _arrangement_page(request, session, number, arranged.due or "", arranged.note, ("", ""))


@router.post("/{number}/take")
async def take(number: Number, request: Request, session: SessionOf, form: FormOf) -> Response:
    """Take a question, for so many hours."""
    hours = {str(each): each for each in HOURS}.get(form.get("hours", ""), HOURS[1])
    await _change(request.app.state.store.agenda.take(number, session.token, hours))
    return _back(session)


@router.post("/{number}/release")
async def release(number: Number, request: Request, session: SessionOf, _: FormOf) -> Response:
    """Give a question back."""
    await _change(request.app.state.store.agenda.release(number, session.token))
    return _back(session)


@router.post("/{number}/arrangement")
async def arrange(number: Number, request: Request, session: SessionOf, form: FormOf) -> Response:
    """Set the day and the note of a question."""
    due, note = form.get("due", "").strip(), form.get("note", "")
    problems = (problem_of(read_day, due) if due else "", problem_of(read_note, note))
    if any(problems):
        return _arrangement_page(request, session, number, due, note, problems)
    agenda = request.app.state.store.agenda
    day = read_day(due) if due else None
    await _change(agenda.arrange(number, session.token, day, read_note(note)))
    return _back(session)


def _arrangement_page(
    request: Request, session: Session, number: int, due: str, note: str, problems: tuple[str, str]
) -> Response:
    store: Store = request.app.state.store
    query, arranged = store.query(number), store.agenda.arranged(number)
    if query.state not in OPEN:
        raise _SETTLED
    return page(
        request,
        "arrangement.html",
        session,
        status=422 if any(problems) else 200,
        query=query,
        arranged=arranged,
        is_own=arranged.taken_by == session.token,
        taken_by=names_of(store).get(arranged.taken_by or 0, ""),
        hours=HOURS,
        due=due,
        note=note,
        problems=problems,
        back=_address(session),
    )


async def _change(change: asyncio.Future | object) -> None:
    try:
        await asyncio.wrap_future(change)  # pyright: ignore[reportArgumentType]
    except ServiceError as error:
        if error.code == "taken":
            raise _TAKEN from None
        if error.code in ("measured", "withdrawn"):
            raise _SETTLED from None
        raise


def _address(session: Session) -> str:
    wanted = address_of_wanted(session.wanted)
    return f"/console?{wanted}" if wanted else "/console"


def _back(session: Session) -> Response:
    return go_to(_address(session))
