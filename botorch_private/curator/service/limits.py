"""Limits at the door: how large a body may be, and how often somebody may ask."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, IPv6Network, ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 16 * 1024
LARGEST_SHEET = 2**20  # a sheet that is sent to the console; it stays in memory, see `guard.read_upload`
SHEET_PATH = "/console/sheet"
TOO_LARGE = f"a body must have at most {LARGEST_BODY} bytes, and a sheet {LARGEST_SHEET}"
_MOST_VISITORS = 10_000
_SWEEP_SECONDS = 1.0
_LONGEST_ADDRESS = 64
_LONGEST_LENGTH = 20


def group_of(address: str) -> str:
    """Whom an address stands for: an IPv6 network of /64 is one customer's, who has all of it."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:_LONGEST_ADDRESS]
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(IPv6Network((int(found) >> 64 << 64, 64)))


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
        self._buckets: OrderedDict[object, tuple[float, float]] = OrderedDict()
        self._swept = -math.inf

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
            self._make_room(now)
        self._buckets[visitor] = (left, now)
        self._buckets.move_to_end(visitor)

    def _make_room(self, now: float) -> None:
        """Forget who is owed nothing, at most once a second; else who was seen longest ago."""
        if now - self._swept >= _SWEEP_SECONDS:
            self._swept = now
            full = self.burst - 1e-9
            for each, (left, since) in list(self._buckets.items()):
                if left + (now - since) * self.rate >= full:
                    del self._buckets[each]
        while len(self._buckets) >= _MOST_VISITORS:
            self._buckets.popitem(last=False)


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


def _inner_path(scope: Scope) -> str:
    """The path of a request without the prefix of a proxy."""
    return scope["path"].removeprefix(scope.get("root_path", ""))


class BodyLimit:
    """Refuse bodies above `LARGEST_BODY` bytes, sheets above `LARGEST_SHEET`, whatever the header says.

    Args:
        app: The application behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on.

        Raises:
            HTTPException: 413, for whoever stands outside of this.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "0")
        is_number = declared.isascii() and declared.isdigit() and len(declared) < _LONGEST_LENGTH
        largest = LARGEST_SHEET if _inner_path(scope) == SHEET_PATH else LARGEST_BODY
        if not is_number or int(declared) > largest:
            raise HTTPException(413)
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > largest:
                raise HTTPException(413)
            return message

        await self._app(scope, counted, send)
