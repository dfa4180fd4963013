"""The console: pages on which staff see what to measure, and enter what was measured.

Plain HTML forms: it works without scripts, by keyboard, and loads nothing from elsewhere.
"""

from fastapi import APIRouter, FastAPI
from starlette.responses import Response

from botorch_private.curator.service.console import (
    arranging,
    entering,
    login,
    measured,
    news,
    progress,
    queue,
    sheet,
    worklist,
)
from botorch_private.curator.service.console.guard import ConsoleRoute
from botorch_private.curator.service.console.pages import (
    ConsoleError,
    go_to,
    refusal_page,
    style_sheet,
)
from botorch_private.curator.service.console.sessions import Sessions

_home = APIRouter(include_in_schema=False)
_rest = APIRouter(prefix="/console", route_class=ConsoleRoute, include_in_schema=False)


@_home.get("/")
async def _console() -> Response:
    return go_to("/console")


@_rest.get("/console.css")
async def _style_sheet() -> Response:
    return style_sheet()


@_rest.api_route("/{rest:path}", methods=["GET", "POST"])
async def _nothing(rest: str) -> Response:
    raise ConsoleError(404, "There is nothing at this address", "Go on from the queue.")


def install(app: FastAPI) -> None:
    """Add the console to an application that has its store in ``app.state``."""
    app.state.sessions = Sessions(app.state.store)
    app.state.refusal_page = refusal_page
    for part in (login, queue, entering, arranging, sheet, worklist, measured, progress, news):
        app.include_router(part.router)
    app.include_router(_home)
    app.include_router(_rest)
