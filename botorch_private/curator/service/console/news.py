"""News: questions came in since a page was loaded; told without a script, and nothing typed is lost.

A page with fields never loads itself again. It has a small frame that does, and says how many questions
are new. A queue without fields is loaded again as a whole. Neither keeps anybody logged in.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from botorch_private.curator.service.console.guard import ConsoleRoute, found_session
from botorch_private.curator.service.console.pages import HEADERS, page
from botorch_private.curator.service.store import Store

router = APIRouter(prefix="/console", route_class=ConsoleRoute, include_in_schema=False)
REFRESH_SECONDS = 30
_FRAME = {
    "Content-Security-Policy": HEADERS["Content-Security-Policy"].replace(
        "frame-ancestors 'none'", "frame-ancestors 'self'"
    ),
    "X-Frame-Options": "SAMEORIGIN",
}


@router.get("/news")
async def news(
    request: Request, after: Annotated[int, Query(ge=0, le=2**62)] = 0, watch: str = ""
) -> Response:
    """The frame: how many questions wait that were asked after a question.

    ``watch``: nobody did anything; see `found_session`.
    """
    store: Store = request.app.state.store
    session = found_session(request)
    count = 0 if session is None else store.counts.waiting_after(after)
    headers = dict(_FRAME)
    if session is not None:
        headers["Refresh"] = f"{REFRESH_SECONDS}; url=/console/news?after={after}&watch=1"
    return page(request, "news.html", None, headers=headers, count=count, ended=session is None)


def refreshing() -> dict[str, str]:
    """The header of a queue on which nothing can be typed."""
    return {"Refresh": f"{REFRESH_SECONDS}; url=/console?watch=1"}
