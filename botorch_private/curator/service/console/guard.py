"""Who may open a page of the console, and that its forms come from its own pages."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import Response

from botorch_private.curator.service.console.pages import (
    LOST,
    ConsoleError,
    go_to,
    message_page,
    sentence,
)
from botorch_private.curator.service.console.sessions import Session, Sessions
from botorch_private.curator.service.errors import STATUS, asked_number, public_message
from botorch_private.curator.service.limits import LARGEST_BODY
from botorch_private.curator.service.question import LostError, ServiceError, StorageError

COOKIE = "console_session"
_MOST_FIELDS = 10  # beside those of the outcomes
_FOREIGN = ConsoleError(
    403,
    "This form was not sent by the console",
    "Nothing was stored. Open the console again and send the form from there.",
    "foreign_form",
)
_NO_FORM = ConsoleError(
    400,
    "This form cannot be read",
    "Nothing was stored. Open the console again and send the form from there.",
)
_NOTHING = ConsoleError(404, "There is nothing at this address", "Go on from the queue.")


class LoggedOutError(Exception):
    """Nobody is logged in, or not any more."""


def sessions_of(request: Request) -> Sessions:
    """The sessions of the server that got a request."""
    return request.app.state.sessions


def found_session(request: Request) -> Session | None:
    """The session that a request belongs to, if any. With ``watch`` a page asked by itself."""
    used = not request.query_params.get("watch")
    return sessions_of(request).find(request.cookies.get(COOKIE), used=used)


def note_refusal(request: Request, session: Session | None, why: str) -> None:
    """Note that something was refused; see `Refusals`."""
    token = None if session is None else session.token
    request.app.state.refusals.note(why, "console", token=token, query=asked_number(request))


async def _session(request: Request) -> Session:
    session = found_session(request)
    if session is None:
        raise LoggedOutError
    return session


SessionOf = Annotated[Session, Depends(_session)]


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form that was not sent from another origin.

    Raises:
        ConsoleError: If it was, or is not a form.
    """
    _refuse_foreign(request)
    if not _is_form(request.headers.get("content-type", "")):
        raise _NO_FORM
    fields = await request.form(max_fields=_most_fields(request), max_files=0)
    return {name: value for name, value in fields.items() if isinstance(value, str)}


def _most_fields(request: Request) -> int:
    return _MOST_FIELDS + len(request.app.state.store.facts.outcomes)


def _refuse_foreign(request: Request) -> None:
    if not _is_own(request.headers.get("origin"), request.headers.get("host")):
        raise _FOREIGN
    if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        raise _FOREIGN


class Upload(NamedTuple):
    """A form with a file.

    Attributes:
        fields: What was typed.
        content: Of the file; empty where none was chosen.
    """

    fields: dict[str, str]
    content: bytes


async def read_upload(request: Request) -> Upload:
    """A form with at most one file, that was not sent from another origin.

    No body is larger than what Starlette keeps in memory, so that no value is written to a file of the
    system's.

    Raises:
        ConsoleError: If it was, or is not such a form.
    """
    _refuse_foreign(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data":
        raise _NO_FORM
    fields, content = {}, b""
    try:
        form = await request.form(
            max_fields=_most_fields(request), max_files=1, max_part_size=LARGEST_BODY
        )
    except ValueError:  # of the parser: its words quote what was sent
        form = None
    if form is None:
        raise _NO_FORM
    for name, value in form.items():
        if isinstance(value, str):
            fields[name] = value
        else:
            content = await value.read()
    await form.close()
    return Upload(fields, content)


def _is_own(origin: str | None, host: str | None) -> bool:
    if origin is None:
        return True
    try:
        # The scheme is left out: a proxy that has the certificate may speak plain HTTP to this server.
        return urlsplit(origin).netloc == host
    except ValueError:
        return False


def _is_form(content_type: str) -> bool:
    """Whether it is what browsers send for the console's forms: no parts, in UTF-8."""
    kind, *settings = (each.strip().lower() for each in content_type.split(";"))
    return kind == "application/x-www-form-urlencoded" and all(
        each in ("", "charset=utf-8", 'charset="utf-8"') for each in settings
    )


async def _checked_form(request: Request, session: SessionOf) -> dict[str, str]:
    form = await read_form(request)
    _require_csrf(form, session)
    return form


async def _checked_upload(request: Request, session: SessionOf) -> Upload:
    upload = await read_upload(request)
    _require_csrf(upload.fields, session)
    return upload


def _require_csrf(form: dict[str, str], session: Session) -> None:
    sent = form.get("csrf", "").encode("utf-8", "surrogatepass")
    if not hmac.compare_digest(sent, session.csrf.encode()):
        raise _FOREIGN


FormOf = Annotated[dict[str, str], Depends(_checked_form)]
UploadOf = Annotated[Upload, Depends(_checked_upload)]


class ConsoleRoute(APIRoute):
    """A route whose errors are pages, not JSON."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        """Wrap the handler of the route."""
        handle = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                return await handle(request)
            except LoggedOutError:
                was_in = COOKIE in request.cookies or request.method == "POST"
                return go_to(f"/console/login{'?ended=1' if was_in else ''}")
            except ConsoleError as error:
                if error.why:
                    note_refusal(request, found_session(request), error.why)
                problem = error
            except StorageError as error:
                problem = ConsoleError(503, "Nothing was stored", storage_words(error))
            except ServiceError as error:
                note_refusal(request, found_session(request), error.code)
                words = sentence(error.message)
                problem = ConsoleError(STATUS[error.code], "This cannot be done", words)
            except RequestValidationError:
                problem = _NOTHING
            except HTTPException as error:
                if error.status_code != 404:
                    raise
                problem = _NOTHING
            return message_page(request, found_session(request), problem)

        return answered


def storage_words(error: StorageError) -> str:
    """What staff can do when the disk refuses."""
    if isinstance(error, LostError):
        return f"{sentence(public_message(error))} {LOST}"
    remedy = "Have somebody make room on it or repair it, then send the form again."
    return f"{sentence(public_message(error))} {remedy}"
