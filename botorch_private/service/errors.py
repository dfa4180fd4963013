"""Answers to requests that cannot be met: a code, a sentence, and nothing of what was sent."""

from __future__ import annotations

import logging
import traceback
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.responses import Response

from botorch_private.service.limits import TOO_LARGE
from botorch_private.service.query import ServiceError

_log = logging.getLogger("botorch_private.service")
STATUS = {
    "no_token": 401,
    "wrong_role": 403,
    "budget_spent": 403,
    "no_query": 404,
    "key_reused": 409,
    "measured": 409,
    "not_measured": 409,
    "not_failed": 409,
    "withdrawn": 409,
    "told": 409,
    "revised": 409,
    "no_row": 422,
    "no_key": 422,
    "implausible": 422,
    "too_often": 429,
    "storage": 503,
}
_TITLES = {
    404: "there is nothing at this address",
    405: "this method is not allowed here",
    413: TOO_LARGE,
}


def error_response(
    status: int, code: str, message: str, *, headers: dict[str, str] | None = None, **more: Any
) -> JSONResponse:
    """Answer with ``{"error": {"code": ..., "message": ...}}``."""
    return JSONResponse({"error": {"code": code, "message": message, **more}}, status, headers=headers)


def install(app: FastAPI) -> None:
    """Let every error of an application leave in one form."""

    @app.exception_handler(ServiceError)
    async def _service(_: Request, error: ServiceError) -> Response:
        headers = {}
        if error.code == "no_token":
            headers["WWW-Authenticate"] = "Bearer"
        if error.code == "too_often":
            headers["Retry-After"] = str(getattr(error, "retry_after", 1))
        return error_response(STATUS[error.code], error.code, error.message, headers=headers)

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> Response:
        # Where, and what is needed; never what was sent: it may be a measured value.
        details = [{"where": _where(each), "needed": _needed(each)} for each in error.errors()]
        return error_response(
            422, "invalid", "the request does not have the form that is needed", details=details
        )

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> Response:
        message = _TITLES.get(error.status_code, "the request cannot be met")
        return error_response(
            error.status_code, "http", message, headers=dict(error.headers or {}) or None
        )

    @app.exception_handler(Exception)
    async def _unexpected(request: Request, error: Exception) -> Response:
        # Its text may hold values: log where it happened, and what kind it is.
        frame = traceback.extract_tb(error.__traceback__)[-1]
        _log.error("%s in %s, line %s", type(error).__name__, frame.name, frame.lineno)
        return error_response(500, "internal", "the server met an error that it was not made for")


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
