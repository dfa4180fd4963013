"""Health: whether a server can do what it is there for, found out by doing it."""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from botorch_private.curator.service.errors import error_response, log_place
from botorch_private.curator.service.forms import ErrorBody
from botorch_private.curator.service.parts.parts_files import PartsFiles
from botorch_private.curator.service.question import ServiceError
from botorch_private.curator.service.release_file import ReleaseFile
from botorch_private.curator.service.store import Store

LEAST_SPACE = 16 * 2**20  # bytes
_TRUST_SECONDS = 2.0
_LONGEST_TRY = 5.0
_log = logging.getLogger("botorch_private.curator.service")
router = APIRouter(prefix="/v1", tags=["anybody"])


class Health:
    """Tries a write, the release file and the space on the disk, at most every two seconds.

    Args:
        folder: The curator's folder.
        store: Its database.
        release: Its release file, or those of a release in parts.
        now: Seconds that never run backwards.
    """

    def __init__(
        self,
        folder: Path,
        store: Store,
        release: ReleaseFile | PartsFiles,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._store, self._release, self._now = folder, store, release, now
        self._trying = asyncio.Lock()
        self._found, self._until = "", 0.0

    @property
    def is_well(self) -> bool:
        """What was found last."""
        return not self._found

    async def problem(self) -> str:
        """What does not work, for anybody to read; empty: all works."""
        async with self._trying:
            if self._now() >= self._until:
                found = await self._try()
                if found and found != self._found:
                    _log.error("not healthy: %s", found)
                self._found, self._until = found, self._now() + _TRUST_SECONDS
            return self._found

    async def _try(self) -> str:
        try:
            if shutil.disk_usage(self._folder).free < LEAST_SPACE:
                return "the curator's disk is almost full"
            if not await asyncio.to_thread(self._release.is_whole):
                return "the release file is gone or was changed"
            written = asyncio.wrap_future(self._store.submit(self._write))
            await asyncio.wait_for(asyncio.shield(written), _LONGEST_TRY)
        except TimeoutError:
            return "the curator's disk does not answer"
        except ServiceError:
            return "nothing can be stored"
        except OSError as error:
            log_place(error)
            return "the curator's disk cannot be read"
        return ""

    def _write(self, connection: sqlite3.Connection) -> None:
        connection.execute("INSERT OR REPLACE INTO health VALUES (1, ?)", (self._store.clock(),))


class HealthBody(BaseModel):
    """All is well."""

    status: Literal["ok"]


@router.get(
    "/health",
    response_model=HealthBody,
    responses={503: {"model": ErrorBody, "description": "it cannot do its work now"}},
)
async def health(request: Request) -> Response:
    """Whether the server can store and answer: it tries. No token is needed."""
    problem = await request.app.state.health.problem()
    if problem:
        return error_response(503, "unhealthy", problem)
    return JSONResponse({"status": "ok"})
