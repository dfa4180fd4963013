"""What staff may do: see which records are asked for, and enter what was measured."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from botorch_private.curator.service.access import StaffToken, StoreOf
from botorch_private.curator.service.agenda import today
from botorch_private.curator.service.circumstances import Circumstances, read_circumstances
from botorch_private.curator.service.forms import (
    ERRORS,
    After,
    CorrectionBody,
    KnownBody,
    KnownOutcomesBody,
    Limit,
    MeasurementBody,
    Number,
    StaffQueriesBody,
    StaffQueryBody,
    WithdrawalBody,
)
from botorch_private.curator.service.known import KnownOutcome
from botorch_private.curator.service.question import Outcome, Question, ServiceError
from botorch_private.curator.service.store import Store

router = APIRouter(prefix="/v1/staff", tags=["staff"], responses=ERRORS)


@router.get("/queries", response_model=StaffQueriesBody)
async def queries(
    _: StaffToken,
    store: StoreOf,
    state: Annotated[
        str | None, Query(pattern="^(pending|measuring|failed|measured|withdrawn)$")
    ] = None,
    after: After = 0,
    limit: Limit = 1000,
) -> JSONResponse:
    """Queries with the identifiers of their records."""
    found = store.queries(states=() if state is None else (state,), after=after, limit=limit)
    return JSONResponse({"queries": [_shown(store, each) for each in found]})


@router.put("/known", response_model=KnownBody)
async def know(body: KnownOutcomesBody, token: StaffToken, store: StoreOf) -> JSONResponse:
    """Store outcomes that are known. Whoever asks for such a record gets its answer at once."""
    known = [KnownOutcome(at, each.identifier, each.value) for at, each in enumerate(body.outcomes)]
    options = {"confirmed": body.confirm, "replace": body.replace, "place": "outcome"}
    found = await asyncio.wrap_future(store.know(known, token.id, **options))
    return JSONResponse({"kept": found.kept, "answered": len(found.answered)})


@router.put("/queries/{number}/measurement", response_model=StaffQueryBody)
async def measure(
    number: Number, body: MeasurementBody, token: StaffToken, store: StoreOf
) -> JSONResponse:
    """Store a measured value. The same one again changes nothing; another one is a conflict."""
    refuse_implausible(store, body.value, confirmed=body.confirm)
    said = _circumstances(store, body)
    query = await asyncio.wrap_future(store.measure(number, body.value, token.id, said))
    return JSONResponse(_shown(store, query))


@router.put("/queries/{number}/correction", response_model=StaffQueryBody)
async def correct(
    number: Number, body: CorrectionBody, token: StaffToken, store: StoreOf
) -> JSONResponse:
    """Replace what was entered wrongly, and say why."""
    refuse_implausible(store, body.value, confirmed=body.confirm)
    said = _circumstances(store, body)
    corrected = store.correct(
        number, body.value, body.reason, token.id, revision=body.revision, circumstances=said
    )
    query = await asyncio.wrap_future(corrected)
    return JSONResponse(_shown(store, query))


@router.put("/queries/{number}/withdrawal", response_model=StaffQueryBody)
async def withdraw(
    number: Number, body: WithdrawalBody, token: StaffToken, store: StoreOf
) -> JSONResponse:
    """Say that a record will not be measured. Its measurement returns to the budget."""
    query = await asyncio.wrap_future(store.withdraw(number, body.reason, token.id))
    return JSONResponse(_shown(store, query))


@router.post("/queries/{number}/retry", response_model=StaffQueryBody)
async def retry(number: Number, token: StaffToken, store: StoreOf) -> JSONResponse:
    """Let a program that failed try again."""
    return JSONResponse(_shown(store, await asyncio.wrap_future(store.retry(number, token.id))))


def refuse_implausible(store: Store, value: Outcome, *, confirmed: bool) -> None:
    """Refuse a value outside the plausible range that nobody confirmed.

    Raises:
        ServiceError: ``implausible``; ``other_outcomes`` if it is not of the outcomes that are measured.
    """
    doubts = store.facts.measured.doubts(value)
    if doubts and not confirmed:
        raise ServiceError("implausible", doubts)


def _circumstances(store: Store, body: MeasurementBody) -> Circumstances:
    try:
        return read_circumstances(body.date, body.instrument, body.comment, today(store.clock()))
    except ValueError as error:
        raise ServiceError("circumstances", f"date, instrument and comment: {error}") from None


def _shown(store: Store, query: Question) -> dict[str, Any]:
    said = query.circumstances
    return {
        "id": query.id,
        "identifier": store.identifier(query.row),
        "state": query.state,
        "value": query.outcome,
        "revision": query.revision,
        "reason": query.reason,
        "asked": query.asked,
        "settled": query.settled,
        "date": said.day,
        "instrument": said.instrument,
        "comment": said.comment,
    }
