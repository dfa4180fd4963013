"""Pages of the console: templates filled in, and headers that forbid what they do not need."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.ext import Extension
from starlette.responses import Response

from botorch_private.curator.service.agenda import ALL, today
from botorch_private.curator.service.console import shown
from botorch_private.curator.service.console.sessions import Session
from botorch_private.curator.service.drafts import Draft
from botorch_private.curator.service.question import Question
from botorch_private.curator.service.store import Store

_HERE = Path(__file__).parent
HEADERS = {
    # No script runs, whatever ends up in a page.
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src data:; frame-src 'self'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    ),
    # With "no-referrer" browsers would hide the origin of forms, which `guard` checks.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_LINK = re.compile(r"""\b(href|action)="(?=/|\{\{)""")


class _Prefixed(Extension):
    """Puts the path that a proxy serves the console at before every link of a template."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        return _LINK.sub(r'\1="{{ root_path }}', source)


_templates = Environment(
    extensions=[_Prefixed],
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.globals.update(
    when=shown.when,
    ago=shown.ago,
    number=shown.number,
    with_unit=shown.with_unit,
    in_words=shown.in_words,
    range_of=shown.range_of,
    none_typed=Draft(),
)


class ConsoleError(Exception):
    """A request that ends with a page that says why.

    Args:
        status: Of the answer.
        title: In a few words.
        message: What to do.
        why: A word for the event that says that something was refused; empty: there is none.
    """

    def __init__(self, status: int, title: str, message: str, why: str = "") -> None:
        super().__init__(title)
        self.status, self.title, self.message, self.why = status, title, message, why


def page(
    request: Request,
    template: str,
    session: Session | None,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    query: Question | None = None,
    **more: Any,
) -> Response:
    """Fill in a template.

    Args:
        request: What it answers.
        template: Name of the file.
        session: Of whoever reads it; None: nobody is logged in, so nothing of the folder is shown.
        status: Of the answer.
        headers: Beside the usual ones.
        query: The question that the page is about; the template gets its record's identifier, too.
        **more: What else the template needs.
    """
    store: Store = request.app.state.store
    known: dict[str, Any] = {"root_path": request.app.state.root_path}
    if query is not None:
        known |= {"query": query, "identifier": store.identifier(query.row)}
    if session is not None:
        known |= {
            "facts": store.facts,
            "unit": store.facts.outcome_unit,
            "measured_as": store.facts.measured,
            "now": (now := store.clock()),
            "today": today(now),
            "waiting": store.agenda.count(ALL, session.token),
            "by_program": ":" in store.facts.objective,
        }
    text = _templates.get_template(template).render(session=session, **known, **more)
    return HTMLResponse(text, status, headers={**HEADERS, **(headers or {})})


def message_page(
    request: Request,
    session: Session | None,
    error: ConsoleError,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A page that says what went wrong."""
    return page(
        request,
        "message.html",
        session,
        status=error.status,
        headers=headers,
        title=error.title,
        message=error.message,
    )


_TITLES = {
    400: "This form cannot be read",
    403: "This is not allowed",
    404: "There is nothing at this address",
    413: "This form is too large",
    500: "The server met an error",
    503: "The server cannot read its disk",
}


LOST = (
    "Tell whoever keeps it. If you have just typed a value, it is not stored: go back in your browser "
    "and write it down."
)


def refusal_page(
    request: Request, status: int, code: str, message: str, headers: Mapping[str, str] | None
) -> Response:
    """A page for what failed before or beside the console; it reads nothing of the folder."""
    title, words = _TITLES.get(status, "This cannot be done"), sentence(message)
    if code == "lost":
        title, words = "The server has lost its files", f"{words} {LOST}"
    return message_page(request, None, ConsoleError(status, title, words), headers)


def sentence(text: str) -> str:
    """A message as a sentence of its own."""
    return f"{text[:1].upper()}{text[1:]}."


def go_to(path: str) -> Response:
    """Have the browser get another page, so that reloading it sends nothing twice."""
    return RedirectResponse(path, 303, headers=HEADERS)


def style_sheet() -> Response:
    """The one style sheet."""
    return Response(
        (_HERE / "console.css").read_text(encoding="utf-8"), media_type="text/css", headers=HEADERS
    )
