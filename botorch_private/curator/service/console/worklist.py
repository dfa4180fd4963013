"""The worklist: open questions as a page to print, with a box to sign."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from botorch_private.curator.features.dialect import Dialect
from botorch_private.curator.service.console.guard import ConsoleRoute, SessionOf
from botorch_private.curator.service.console.pages import HEADERS, page
from botorch_private.curator.service.console.paging import pages_of
from botorch_private.curator.service.console.queue import address_of_wanted, wanted_of
from botorch_private.curator.service.console.typed import names_of
from botorch_private.curator.service.sheet_columns import DELIMITERS
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.worklist import worklist_csv

router = APIRouter(prefix="/console", route_class=ConsoleRoute, include_in_schema=False)
_LENGTH = 200  # entries: some sheets of paper
_MOST_ROWS = 10_000


@router.get("/worklist.csv")
async def sheet(request: Request, session: SessionOf) -> Response:
    """The same as a sheet to fill in and to send back."""
    store: Store = request.app.state.store
    items = store.agenda.page(wanted_of(request), session.token, length=_MOST_ROWS)
    headers = {**HEADERS, "Content-Disposition": 'attachment; filename="worklist.csv"'}
    separator = DELIMITERS.get(request.query_params.get("separator", ""), ",")
    text = worklist_csv(store, items, Dialect(separator))
    content = text.encode("utf-8-sig")  # by its mark spreadsheets know UTF-8
    return Response(content, media_type="text/csv; charset=utf-8", headers=headers)


@router.get("/worklist")
async def worklist(request: Request, session: SessionOf) -> Response:
    """Records that are asked for, with room for a value, a date and a sign."""
    store: Store = request.app.state.store
    wanted = wanted_of(request)
    total = store.agenda.count(wanted, session.token)
    pages = pages_of(total, request.query_params.get("page", ""), _LENGTH)
    items = store.agenda.page(wanted, session.token, start=pages.first - 1, length=_LENGTH)
    return page(
        request,
        "worklist.html",
        session,
        items=items,
        names=names_of(store),
        pages=pages,
        wanted=wanted,
        address=address_of_wanted(wanted),
    )
