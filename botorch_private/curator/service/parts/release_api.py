"""What a modeler reads of a release in parts: its manifest, and each part by its number."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Request
from fastapi.responses import FileResponse, Response

from botorch_private.curator.service.access import ModelerToken, StoreOf
from botorch_private.curator.service.forms import ERRORS
from botorch_private.curator.service.parts.facts import PartsFacts
from botorch_private.curator.service.parts.layout import MANIFEST, RELEASE
from botorch_private.curator.service.question import ServiceError
from botorch_private.curator.service.store import Store

router = APIRouter(prefix="/v1/release", tags=["modeler"], responses=ERRORS)
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {}}},
    206: {"description": "the piece that was asked for"},
    304: {"description": "the one of that ETag is the current one"},
    416: {"description": "no such piece"},
}


@router.get("/manifest", response_class=FileResponse, responses=_RESPONSES)
async def manifest(
    _: ModelerToken,
    store: StoreOf,
    request: Request,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """The manifest of a release in parts, JSON: the parts in their order, with the SHA-256 of each."""
    _parts(store)
    return _file(request, f"{RELEASE}/{MANIFEST}", store, if_none_match)


@router.get("/parts/{part}", response_class=FileResponse, responses=_RESPONSES)
async def part(
    _: ModelerToken,
    store: StoreOf,
    request: Request,
    part: Annotated[int, Path(ge=0, le=2**31)],
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """A part of the release, .parquet, by its place in the manifest. Its ETag is its SHA-256."""
    names = _names(_parts(store))
    if part >= len(names):
        raise ServiceError("no_part", f"part must be in 0..{len(names) - 1}")
    return _file(request, names[part], store, if_none_match)


def shown_parts(parts: PartsFacts | None) -> dict[str, int] | None:
    """What `/v1/release` says of the parts; None: the release is in one piece."""
    if parts is None:
        return None
    names = _names(parts)
    return {"count": len(names), "bytes": sum(parts.files[name][0] for name in names)}


def _parts(store: Store) -> PartsFacts:
    """What is known of the parts, or a refusal where there are none."""
    if store.facts.parts is None:
        raise ServiceError("in_one_piece", "the release is in one piece: GET /v1/release/file")
    return store.facts.parts


def _names(parts: PartsFacts) -> list[str]:
    """Parts in their order, by their names in the folder."""
    # Their numbers have as many digits, so the order of names is that of the manifest.
    return sorted(
        name for name in parts.files if name.startswith(f"{RELEASE}/") and name.endswith(".parquet")
    )


def _file(request: Request, name: str, store: Store, if_none_match: str | None) -> Response:
    assert store.facts.parts is not None
    etag = f'"{store.facts.parts.files[name][1]}"'
    if if_none_match is not None and etag in (each.strip() for each in if_none_match.split(",")):
        return Response(status_code=304, headers={"ETag": etag})
    path = request.app.state.folder.path / name
    return FileResponse(path, media_type="application/octet-stream", headers={"ETag": etag})
