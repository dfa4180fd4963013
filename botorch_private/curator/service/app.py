"""The HTTP application of a curator's folder."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from botorch_private.curator.service import console, errors, health, modeler_api, staff_api
from botorch_private.curator.service.access import Access
from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.health import Health
from botorch_private.curator.service.limits import BodyLimit, StrictHeaders
from botorch_private.curator.service.look_after import look_after
from botorch_private.curator.service.parts import release_api
from botorch_private.curator.service.parts.parts_files import PartsFiles
from botorch_private.curator.service.refusals import Refusals
from botorch_private.curator.service.release_file import ReleaseFile
from botorch_private.curator.service.root_path import RootPath, checked_root_path
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.waiting import Waiting

DEFAULT_RATE = 2000.0


def create_app(
    folder: Folder, store: Store, *, rate: float = DEFAULT_RATE, root_path: str = ""
) -> FastAPI:
    """Make the application of a folder.

    Args:
        folder: Where the release lies.
        store: Its open database; closing it is the caller's.
        rate: Requests a second that one token may make.
        root_path: What stands before all its addresses, such as ``/curator``; empty: nothing.

    Raises:
        ValueError: If ``rate`` is not a finite number > 0, ``root_path`` is no path, the database is
            damaged, or the release file is not the one that the folder was made with.
        OSError: If that cannot be read.
    """
    if not (math.isfinite(rate) and rate > 0):
        raise ValueError(f"rate must be a finite number > 0, got {rate}")
    root_path = checked_root_path(root_path)
    try:
        store.require_sound()
    except ValueError as error:
        raise ValueError(f"{folder.database} cannot be used: {error}") from error
    release: ReleaseFile | PartsFiles
    if store.facts.parts is None:
        release = ReleaseFile(folder.release, store.facts.identity)
    else:
        release = PartsFiles(folder.path, store.facts.parts)
        if store.behind is not None:
            store.behind.is_right = release.holds
    store.in_place.require(release.path.name, release.is_right)
    store.in_place.serve()
    waiting = Waiting(store.tokens.is_valid)
    store.listen(waiting.changed)
    refusals = Refusals(store)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        looking = asyncio.create_task(look_after(store, waiting, refusals))
        yield
        looking.cancel()
        refusals.flush(now=True)
        waiting.close()

    app = FastAPI(
        title="botorch-private curator",
        version="1",
        summary="Ask about released rows by index; get measured numbers.",
        lifespan=lifespan,
        docs_url=None,  # it would load scripts from elsewhere
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        servers=[{"url": root_path}] if root_path else None,
    )
    app.state.root_path = root_path
    app.state.folder, app.state.store, app.state.waiting = folder, store, waiting
    app.state.access, app.state.refusals = Access(store, refusals, rate=rate), refusals
    app.state.health = Health(folder.path, store, release)
    errors.install(app)
    app.include_router(health.router)
    app.include_router(modeler_api.router)
    app.include_router(release_api.router)
    app.include_router(staff_api.router)
    console.install(app)
    app.add_middleware(BodyLimit)
    app.add_middleware(errors.OnlyInPlace, in_place=store.in_place)
    app.add_middleware(errors.Unexpected)
    app.add_middleware(StrictHeaders)  # the last one is the outermost
    if root_path:
        app.add_middleware(RootPath, prefix=root_path)
    return app
