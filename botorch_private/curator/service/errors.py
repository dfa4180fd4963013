"""Answers to requests that cannot be met: a code, a sentence, and nothing of what was sent."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from botorch_private.curator.service.in_place import InPlace
from botorch_private.curator.service.limits import TOO_LARGE
from botorch_private.curator.service.log import place_of
from botorch_private.curator.service.question import LostError, ServiceError, StorageError

_log = logging.getLogger("botorch_private.curator.service")
STATUS = {
    "no_token": 401,
    "wrong_role": 403,
    "budget_spent": 403,
    "no_query": 404,
    "key_reused": 409,
    "measured": 409,
    "measuring": 409,
    "too_many_keys": 429,
    "no_reason": 422,
    "circumstances": 422,
    "not_measured": 409,
    "not_failed": 409,
    "withdrawn": 409,
    "told": 409,
    "revised": 409,
    "taken": 409,
    "known": 409,
    "twice": 422,
    "no_record": 422,
    "no_number": 422,
    "no_row": 422,
    "other_outcomes": 422,
    "too_old": 409,
    "no_part": 404,
    "in_one_piece": 409,
    "no_key": 422,
    "implausible": 422,
    "too_often": 429,
    "storage": 503,
    "lost": 503,
}
_TITLES = {
    404: "there is nothing at this address",
    405: "this method is not allowed here",
    413: TOO_LARGE,
}
_LONGEST_NUMBER = 19
NOT_STORED = "nothing was stored, since the curator's disk is full, broken or closed to the server"
NOT_READ = "the curator's disk cannot be read now: try again later"


def error_response(
    status: int, code: str, message: str, *, headers: dict[str, str] | None = None, **more: Any
) -> JSONResponse:
    """Answer with ``{"error": {"code": ..., "message": ...}}``."""
    return JSONResponse({"error": {"code": code, "message": message, **more}}, status, headers=headers)


def log_place(error: Exception) -> None:
    """Log what kind an error is and where it happened; never its text: it may hold values."""
    _log.error("%s", place_of(type(error), error.__traceback__))


def public_message(error: ServiceError) -> str:
    """What clients are told: of a disk, no words that SQLite or the system found."""
    hidden = isinstance(error, StorageError) and not isinstance(error, LostError)
    return NOT_STORED if hidden else error.message


def _refusal(
    request: Request, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    """A page where people are, else JSON."""
    page = getattr(request.app.state, "refusal_page", None)
    path = request.scope["path"]  # not `request.url`: no URL can be made of every Host header
    if page is not None and f"{path}/".startswith("/console/"):
        return page(request, status, code, message, headers)
    return error_response(status, code, message, headers=dict(headers or {}) or None)


def asked_number(request: Request) -> int | None:
    """Number of the question that the address of a request names; None: it names none."""
    text = str(request.path_params.get("number", ""))
    return int(text) if text.isascii() and text.isdigit() and len(text) < _LONGEST_NUMBER else None


def _note_refusal(request: Request, why: str) -> None:
    """Note what staff were refused; `Access` has noted where there is no token."""
    token = getattr(request.state, "token", None)
    if token is not None and token.role == "staff":
        number = asked_number(request)
        request.app.state.refusals.note(why, "api", token=token.id, query=number)


def _http_refusal(request: Request, error: HTTPException) -> Response:
    message = _TITLES.get(error.status_code, "the request cannot be met")
    return _refusal(request, error.status_code, "http", message, error.headers)


def install(app: FastAPI) -> None:
    """Let every error of an application leave in one form."""

    @app.exception_handler(ServiceError)
    async def _service(request: Request, error: ServiceError) -> Response:
        headers = {}
        if not isinstance(error, StorageError):
            _note_refusal(request, error.code)
        if error.code == "no_token":
            headers["WWW-Authenticate"] = "Bearer"
        if error.code == "too_often":
            headers["Retry-After"] = str(getattr(error, "retry_after", 1))
        return error_response(STATUS[error.code], error.code, public_message(error), headers=headers)

    @app.exception_handler(sqlite3.Error)
    async def _storage(request: Request, error: sqlite3.Error) -> Response:
        log_place(error)
        return _refusal(request, STATUS["storage"], "storage", NOT_READ)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> Response:
        _note_refusal(request, "invalid")
        # Where, and what is needed; never what was sent: it may be a measured value.
        details = [{"where": _where(each), "needed": _needed(each)} for each in error.errors()]
        return error_response(
            422, "invalid", "the request does not have the form that is needed", details=details
        )

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        return _http_refusal(request, error)


class OnlyInPlace:
    """Answers nothing from files that are not in the folder any more, or are not what they were.

    Args:
        app: The application behind it.
        in_place: Looks at them.
    """

    def __init__(self, app: ASGIApp, in_place: InPlace) -> None:
        self._app, self._in_place = app, in_place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 503."""
        if scope["type"] == "http":
            try:
                self._in_place.check(wait=False)
            except StorageError as error:
                refusal = _refusal(Request(scope), 503, error.code, public_message(error))
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


class Unexpected:
    """Answers what nothing else did, so that neither Starlette nor uvicorn logs the text of an error.

    It stands outside of everything but `StrictHeaders`.

    Args:
        app: The application behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and answer 500 if nothing was answered yet."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        request = Request(scope)
        try:
            await self._app(scope, receive, watched)
            return
        except ClientDisconnect:
            return  # nobody is there to be answered
        except HTTPException as error:
            answer = _http_refusal(request, error)
        except Exception as error:
            log_place(error)
            message = "the server met an error that it was not made for"
            answer = _refusal(request, 500, "internal", message)
        if not started:
            await answer(scope, receive, send)


_NEEDED = {
    "missing": "a value",
    "int_type": "an integer",
    "int_parsing": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "string_type": "a text",
    "bool_type": "true or false",
    "extra_forbidden": "nothing of that name",
    "json_invalid": "JSON",
    "model_attributes_type": "a JSON object",
}


def _where(error: Any) -> str:
    # A name that nobody asked for was made up by the sender, and so was a place inside of JSON.
    known = error["loc"] if error["type"] not in ("extra_forbidden", "json_invalid") else ("body",)
    if "value" in known:  # what lies deeper are names of outcomes, as the sender has them
        known = known[: known.index("value") + 1]
    return ".".join(map(str, known))


def _needed(error: Any) -> str:
    if error["type"] in _NEEDED:
        return _NEEDED[error["type"]]
    limits = {
        name: value
        for name, value in error.get("ctx", {}).items()
        if name in ("ge", "gt", "le", "lt", "min_length", "max_length", "expected")
    }
    return f"{error['type']} {limits}" if limits else error["type"]
