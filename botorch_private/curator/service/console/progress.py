"""Progress: how much of the budget is used, and how good the measured values are."""

from __future__ import annotations

import math
from typing import Any

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import Response

from botorch_private.curator.service.console.guard import ConsoleRoute, SessionOf
from botorch_private.curator.service.console.pages import page
from botorch_private.curator.service.console.plot import draw
from botorch_private.curator.service.console.shown import in_words
from botorch_private.curator.service.question import State
from botorch_private.curator.service.store import Store
from botorch_private.exchange.goals import Above, Goal, TopK, goal_from_dict

router = APIRouter(prefix="/console", route_class=ConsoleRoute, include_in_schema=False)
_MOST_SHOWN = 300
_SUM = "weighted sum"


@router.get("/progress")
async def progress(request: Request, session: SessionOf) -> Response:
    """Budget and plot, with the plot's numbers as a table."""
    store: Store = request.app.state.store
    measured, best = store.count(State.MEASURED), store.best()
    found = store.last_asked(State.MEASURED, _MOST_SHOWN)
    values: list[Any] = [query.outcome for query in found if query.outcome is not None]
    goal = goal_from_dict(store.facts.goal)
    first = measured - len(values) + 1
    before = store.best(before=found[0].id) if found else None
    start: list[Any] = [] if before is None or before.outcome is None else [before.outcome]
    measured_as, drawn_name = store.facts.measured, _drawn_name(goal)
    numbers = dict(zip(goal.gains([*start, *values]), _drawn(goal, [*start, *values]), strict=True))
    running = [numbers.get(each, math.nan) for each in goal.best_so_far([*start, *values])]
    running = running[len(start) :]
    rows = [
        (first + i, store.identifier(query.row), list(measured_as.named(value).values()), largest)
        for i, (query, value, largest) in enumerate(zip(found, values, running, strict=True))
    ]
    plot = None
    if values:
        plot = Markup(draw(_drawn(goal, values), running, first))  # numbers alone: nothing to escape
    return page(
        request,
        "progress.html",
        session,
        used=store.queries_used(),
        measured=measured,
        refused=store.count(State.WITHDRAWN),
        best="" if best is None or best.outcome is None else in_words(measured_as, best.outcome),
        best_of="" if best is None else store.identifier(best.row),
        best_is=goal.best_is,
        so_far=_so_far(goal, store),
        drawn_name=drawn_name,
        rows=rows,
        plot=plot,
    )


def _drawn_name(goal: Goal) -> str:
    """Of several outcomes, what is drawn: the one that is to be large or small, or a sum of some."""
    weights = getattr(goal, "weights", {})
    return _SUM if len(weights) > 1 else next(iter(weights), "")


def _drawn(goal: Goal, values: list[Any]) -> list[float]:
    """A number for each value, to be drawn."""
    name = _drawn_name(goal)
    return goal.gains(values) if name in ("", _SUM) else [each[name] for each in values]


def _so_far(goal: Goal, store: Store) -> str:
    """What the best value alone does not say."""
    several = isinstance(goal, Above | TopK) and store.count(State.MEASURED)
    return goal.progress(store.outcomes(), store.facts.outcome_unit) if several else ""
