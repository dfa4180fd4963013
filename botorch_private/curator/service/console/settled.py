"""The page for a question that was settled already: by a second click, or by somebody else."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from botorch_private.curator.service.console.history import history
from botorch_private.curator.service.console.pages import page
from botorch_private.curator.service.console.sessions import Draft, Session
from botorch_private.curator.service.console.values import read_value
from botorch_private.curator.service.question import Question
from botorch_private.curator.service.store import Store


def settled_page(request: Request, session: Session, query: Question, draft: Draft | None) -> Response:
    """Say what is stored, by whom, and what became of a typed value."""
    store: Store = request.app.state.store
    typed = None
    if draft is not None:
        try:
            typed = read_value(draft.value)
        except ValueError:
            typed = None
    conflict = typed is not None and typed != query.outcome
    last = history(store, query)[-1]
    return page(
        request,
        "settled.html",
        session,
        status=409 if conflict else 200,
        query=query,
        identifier=store.identifier(query.row),
        typed=typed if conflict else None,
        last=last,
    )
