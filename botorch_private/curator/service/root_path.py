"""A prefix of all addresses, where a proxy serves this server below a path of its own."""

from __future__ import annotations

import re

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)+")
_COOKIE_PATH = re.compile(r"(; *path=)(?=/)", re.IGNORECASE)


def checked_root_path(text: str) -> str:
    """A prefix such as ``/curator``, without a slash at its end; empty: none.

    Raises:
        ValueError: If it is something else.
    """
    prefix = text.rstrip("/")
    dots = any(each in (".", "..") for each in prefix.split("/"))
    if prefix and (dots or not _PREFIX.fullmatch(prefix)):
        raise ValueError(
            "root_path must be a path such as /curator, of letters, digits and . _ ~ - between slashes"
        )
    return prefix


class RootPath:
    """Takes the prefix off requests, and puts it before where answers lead to.

    A proxy may pass the prefix on or take it off itself: both are understood. Pages put it into their
    links; see `console.pages`.

    Args:
        app: The application behind it.
        prefix: See `checked_root_path`; not empty.
    """

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app, self._prefix = app, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def prefixed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                location = headers.get("location", "")
                if location.startswith("/") and not location.startswith("//"):
                    headers["location"] = self._prefix + location
                refresh = headers.get("refresh")
                if refresh is not None:
                    headers["refresh"] = refresh.replace("url=/", f"url={self._prefix}/")
                cookie = headers.get("set-cookie")  # there is one at most
                if cookie is not None:
                    headers["set-cookie"] = _COOKIE_PATH.sub(rf"\g<1>{self._prefix}", cookie)
            await send(message)

        path: str = scope["path"]
        if path == self._prefix or path.startswith(f"{self._prefix}/"):
            path = path[len(self._prefix) :] or "/"
            scope["path"] = path
        await self._app(scope, receive, prefixed)
