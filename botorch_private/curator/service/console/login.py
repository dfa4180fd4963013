"""Logging in to the console with a staff token, and out."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request
from starlette.responses import Response

from botorch_private.curator.service.access import TooOftenError, address_of
from botorch_private.curator.service.console.guard import (
    COOKIE,
    ConsoleRoute,
    FormOf,
    SessionOf,
    found_session,
    read_form,
    sessions_of,
)
from botorch_private.curator.service.console.pages import go_to, page
from botorch_private.curator.service.errors import STATUS
from botorch_private.curator.service.question import ServiceError
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.trail import note

router = APIRouter(prefix="/console", route_class=ConsoleRoute, include_in_schema=False)
_ENDED = (
    "You are not logged in any more. What was not stored before is not stored; a value that waited for "
    "you to confirm it is still in the queue."
)
_PROBLEMS = {
    "no_token": (
        "This is not a token that is valid now. Copy all of it, from bop_ on; or ask whoever keeps the "
        "server for another one."
    ),
    "wrong_role": (
        "This token is a modeler's. The console shows what modelers must not see, so it opens with "
        "staff tokens only."
    ),
}


@router.get("/login")
async def login_page(request: Request, ended: str = "", out: str = "") -> Response:
    """The form for the token."""
    if found_session(request) is not None:
        return go_to("/console")
    words = _ENDED if ended else "You are logged out." if out else ""
    return page(request, "login.html", None, problem="", note=words)


@router.post("/login")
async def login(request: Request) -> Response:
    """Begin a session. None is there yet to vouch for the form, so only its origin is checked."""
    form = await read_form(request)
    try:
        token = request.app.state.access.check(
            form.get("token", "").strip(), "staff", address_of(request), "console"
        )
    except ServiceError as error:
        headers = {}
        if isinstance(error, TooOftenError):
            problem = f"There were too many attempts. Try again in {error.retry_after} s."
            headers["Retry-After"] = str(error.retry_after)
        else:
            problem = _PROBLEMS[error.code]
        return page(
            request,
            "login.html",
            None,
            status=STATUS[error.code],
            headers=headers,
            problem=problem,
            note="",
        )
    sessions = sessions_of(request)
    _note(request, "login", token.id)
    sessions.end(request.cookies.get(COOKIE))
    answer = go_to("/console")
    answer.set_cookie(
        COOKIE,
        sessions.begin(token),
        path="/console",
        secure=_over_tls(request),
        httponly=True,
        samesite="strict",
    )
    return answer


def _note(request: Request, kind: str, token: int) -> None:
    """Note who comes and goes. The disk may refuse that, and people must get in all the same.

    The writer keeps the order: nothing that a session stores comes before its log-in.
    """
    store: Store = request.app.state.store
    store.submit(lambda connection: note(connection, store.clock(), kind, token=token))


def _over_tls(request: Request) -> bool:
    """Whether the browser speaks TLS, if only to a proxy that speaks plain HTTP to this server."""
    origin = request.headers.get("origin", "")  # it was checked to be the console's own
    return request.scope["scheme"] == "https" or origin.lower().startswith("https://")


@router.post("/logout")
async def logout(request: Request, session: SessionOf, _: FormOf) -> Response:
    """End the session."""
    _note(request, "logout", session.token)
    ended = sessions_of(request).end(request.cookies.get(COOKIE))
    if ended is not None:
        await asyncio.wrap_future(ended)  # else a restart would bring it back
    answer = go_to("/console/login?out=1")
    answer.delete_cookie(COOKIE, path="/console", httponly=True, samesite="strict")
    return answer
