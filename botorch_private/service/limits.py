"""Limits at the door: how large a body may be, and how often somebody may ask."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 16 * 1024
TOO_LARGE = f"a body must have at most {LARGEST_BODY} bytes"
_MOST_VISITORS = 10_000


class RateLimit:
    """Token buckets: so many requests a second on average, and as many at once.

    Args:
        rate: Requests a second, > 0.
        burst: Requests at once.
        now: Seconds that never run backwards.
    """

    def __init__(self, rate: float, burst: float, now: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst = rate, burst
        self._now = now
        self._buckets: dict[object, tuple[float, float]] = {}

    def wait(self, visitor: object, cost: float = 1.0) -> float:
        """Seconds until this visitor may ask; 0: now, and the request is counted."""
        now = self._now()
        left, since = self._buckets.get(visitor, (self.burst, now))
        left = min(self.burst, left + (now - since) * self.rate)
        if left >= cost:
            self._remember(visitor, left - cost, now)
            return 0.0
        self._remember(visitor, left, now)
        return (cost - left) / self.rate

    def _remember(self, visitor: object, left: float, now: float) -> None:
        if len(self._buckets) >= _MOST_VISITORS and visitor not in self._buckets:
            full = self.burst - 1e-9
            self._buckets = {
                each: bucket
                for each, bucket in self._buckets.items()
                if bucket[0] + (now - bucket[1]) * self.rate < full
            }
        self._buckets[visitor] = (left, now)


_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


class StrictHeaders:
    """Headers that forbid what nothing here needs; an answer that has its own keeps them.

    Args:
        app: The application behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and complete the headers of its answer."""

        async def completed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, completed)


class BodyLimit:
    """Refuse bodies above `LARGEST_BODY` bytes, whatever their header says.

    Args:
        app: The application behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 413."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "0")
        if not declared.isdigit() or int(declared) > LARGEST_BODY:
            await _too_large(scope, receive, send)
            return
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > LARGEST_BODY:
                raise HTTPException(413)
            return message

        await self._app(scope, counted, send)


async def _too_large(scope: Scope, receive: Receive, send: Send) -> None:
    await JSONResponse({"error": {"code": "http", "message": TOO_LARGE}}, 413)(scope, receive, send)
