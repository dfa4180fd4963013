"""Progress: how much of the budget is used, and how good the measured values are."""

from __future__ import annotations

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import Response

from botorch_private.curator.service.console.guard import ConsoleRoute, SessionOf
from botorch_private.curator.service.console.pages import page
from botorch_private.curator.service.console.plot import draw
from botorch_private.curator.service.question import State
from botorch_private.curator.service.store import Store
from botorch_private.exchange.goals import Above, TopK, goal_from_dict

router = APIRouter(prefix="/console", route_class=ConsoleRoute, include_in_schema=False)
_MOST_SHOWN = 300


@router.get("/progress")
async def progress(request: Request, session: SessionOf) -> Response:
    """Budget and plot, with the plot's numbers as a table."""
    store: Store = request.app.state.store
    found = store.queries(states=(State.MEASURED,))  # in the order in which they were asked
    values = [query.outcome for query in found if query.outcome is not None]
    goal = goal_from_dict(store.facts.goal)
    best = goal.best_so_far(values)
    start = max(0, len(values) - _MOST_SHOWN)
    rows = [
        (i + 1, found[i].id, store.identifier(found[i].row), values[i], best[i])
        for i in range(start, len(values))
    ]
    plot = None
    if values:
        plot = Markup(draw(values[start:], best[start:], start + 1))  # numbers alone: nothing to escape
    return page(
        request,
        "progress.html",
        session,
        used=store.queries_used(),
        measured=len(values),
        refused=len(store.queries(states=(State.WITHDRAWN,))),
        best=best[-1] if best else None,
        best_of=store.identifier(found[values.index(best[-1])].row) if best else "",
        best_is=goal.best_is,
        so_far=goal.progress(values, store.facts.outcome_unit) if isinstance(goal, Above | TopK) else "",
        rows=rows,
        plot=plot,
    )
