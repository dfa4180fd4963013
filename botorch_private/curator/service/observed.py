"""Observed: tells the access log and the metrics of each request that was answered."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
Observer = Callable[[str, str, str, int, float], None]


class Observed:
    """Calls observers with address, method, pattern of the path, status and seconds.

    What a stranger can make up is not passed on: another method, or a path without a pattern, is "-".

    Args:
        app: The application behind it.
        observers: What is called.
    """

    def __init__(self, app: ASGIApp, observers: tuple[Observer, ...]) -> None:
        self._app, self._observers = app, observers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, start = 0, time.perf_counter()

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            seconds = time.perf_counter() - start
            client = scope.get("client")
            method = scope["method"] if scope["method"] in METHODS else "-"
            for observe in self._observers:
                observe(client[0] if client else "-", method, _pattern(scope), status, seconds)


def _pattern(scope: Scope) -> str:
    return str(getattr(scope.get("route"), "path", "-"))
