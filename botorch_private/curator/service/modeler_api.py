"""What a modeler may do: read the release, ask for rows, read answers."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import FileResponse, JSONResponse, Response

from botorch_private.curator.service.access import ModelerToken, StoreOf
from botorch_private.curator.service.forms import (
    ERRORS,
    After,
    AskBody,
    GuaranteeBody,
    Limit,
    Number,
    QueriesBody,
    QueryBody,
    ReleaseBody,
)
from botorch_private.curator.service.parts.release_api import shown_parts
from botorch_private.curator.service.question import OPEN, Question, ServiceError, State
from botorch_private.curator.service.store import Store

LONGEST_WAIT = 30.0
TOO_OLD = (
    "records have several outcomes here, and answers several numbers: upgrade botorch-private to a "
    "version that reads them (in requests of your own, say outcomes=several)"
)
TOO_OLD_FOR_PARTS = (
    "the release is in parts here: upgrade botorch-private to a version that reads them (in requests of "
    "your own, say parts=yes, and read /v1/release/manifest)"
)
_KEY = r"^[\x21-\x7e]{8,128}$"
router = APIRouter(prefix="/v1", tags=["modeler"], responses=ERRORS)


@router.get("/release", response_model=ReleaseBody)
async def release(
    _: ModelerToken,
    store: StoreOf,
    outcomes: Annotated[
        Literal["several"] | None, Query(description="several: the client reads values of several names")
    ] = None,
    parts: Annotated[
        Literal["yes"] | None, Query(description="yes: the client reads a release in parts")
    ] = None,
) -> dict[str, Any]:
    """What the release is, and what is left of the measurements.

    Where records have several outcomes, or the release is in parts, a client must say that it can read
    them: 409 otherwise.
    """
    facts = store.facts
    if facts.outcomes and outcomes is None:
        raise ServiceError("too_old", TOO_OLD)
    if facts.parts is not None and parts is None:
        raise ServiceError("too_old", TOO_OLD_FOR_PARTS)
    return {
        "identity": facts.identity,
        "rows": facts.n,
        "projection_dim": facts.projection_dim,
        "outcome": facts.outcome_name,
        "unit": facts.outcome_unit,
        "outcomes": [{"name": each.name, "unit": each.unit} for each in facts.outcomes],
        "goal": facts.goal,
        "max_queries": facts.max_queries,
        "queries_left": store.queries_left(),
        "restored": store.was_restored,
        "earlier": store.grew_from,
        "parts": shown_parts(facts.parts),
    }


@router.get(
    "/release/file",
    response_class=FileResponse,
    responses={
        200: {"content": {"application/octet-stream": {}}},
        206: {"description": "the part that was asked for"},
        304: {"description": "the release of that ETag is the current one"},
        416: {"description": "no such part"},
    },
)
async def release_file(
    _: ModelerToken,
    store: StoreOf,
    request: Request,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """The release, a safetensors file. Its ETag is the release's SHA-256.

    Of a release in parts there is none: 409.
    """
    if store.facts.parts is not None:
        raise ServiceError("too_old", TOO_OLD_FOR_PARTS)
    etag = f'"{store.facts.identity}"'
    if if_none_match is not None and etag in (each.strip() for each in if_none_match.split(",")):
        return Response(status_code=304, headers={"ETag": etag})
    path = request.app.state.folder.release
    return FileResponse(path, media_type="application/octet-stream", headers={"ETag": etag})


@router.get("/guarantee", response_model=GuaranteeBody)
async def guarantee(_: ModelerToken, store: StoreOf) -> dict[str, Any]:
    """What release and answers promise together, and what is left of the measurements."""
    return {
        "guarantee": store.facts.guarantee,
        "words": store.facts.guarantee_words,
        "max_queries": store.facts.max_queries,
        "queries_left": store.queries_left(),
    }


@router.post(
    "/queries",
    status_code=201,
    response_model=QueryBody,
    responses={200: {"model": QueryBody, "description": "the question was there before"}},
)
async def ask(
    body: AskBody,
    token: ModelerToken,
    store: StoreOf,
    idempotency_key: Annotated[str, Header(pattern=_KEY)],
) -> JSONResponse:
    """Ask for a row. 201: the question is on the disk; 200: it was there before.

    The same key with the same row gives the same query, however often it is sent; with another row it
    is a conflict. A row that was asked before is the same question under any key.
    """
    known = store.replayed(idempotency_key, body.row, token.id)
    if known is not None:
        return JSONResponse(await _shown(store, known), 200)
    asked = await asyncio.wrap_future(store.ask(idempotency_key, body.row, token.id))
    return JSONResponse(await _shown(store, asked.query), 201 if asked.new else 200)


@router.get("/queries/{number}", response_model=QueryBody)
async def read(
    number: Number,
    token: ModelerToken,
    store: StoreOf,
    request: Request,
    wait: Annotated[float, Query(ge=0, le=LONGEST_WAIT, allow_inf_nan=False)] = 0.0,
) -> JSONResponse:
    """A query. With ``wait`` the answer comes when it is not pending any more, or after so long.

    A token that ends meanwhile ends the wait, without an answer.
    """
    query = store.query(number)
    if wait and query.public_state == State.PENDING:
        await request.app.state.waiting.wait(number, wait, lambda: store.query(number), token=token.id)
        # Much may have happened since the request was let in.
        store.in_place.check(wait=False)
        if not store.tokens.is_valid(token.id):
            raise ServiceError("no_token", "the token ended while its request waited")
        query = store.query(number)
    return JSONResponse(await _shown(store, query))


@router.get("/queries", response_model=QueriesBody)
async def queries(
    _: ModelerToken,
    store: StoreOf,
    state: Annotated[str | None, Query(pattern="^(pending|measured|withdrawn)$")] = None,
    after: After = 0,
    limit: Limit = 1000,
) -> JSONResponse:
    """Queries in the order in which they were asked; the next page is ``after`` the last ``id``."""
    states = OPEN if state == State.PENDING else () if state is None else (state,)
    found = store.queries(states=states, after=after, limit=limit)
    return JSONResponse({"queries": [await _shown(store, each) for each in found]})


async def _shown(store: Store, query: Question) -> dict[str, Any]:
    """A query as a modeler sees it. A noised answer is marked as read before it is sent."""
    while store.facts.is_noised and query.state == State.MEASURED and not query.told:
        try:
            await asyncio.wrap_future(store.tell(query.id, query.revision))
            break
        except ServiceError as error:
            if error.code != "revised":
                raise
            query = store.query(query.id)
    return {
        "id": query.id,
        "row": query.row,
        "state": query.public_state,
        "value": query.answer,
        "revision": query.revision,
    }
