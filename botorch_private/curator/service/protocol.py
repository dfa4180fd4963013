"""Protocol: what a connection may cost before anybody knows whose it is.

uvicorn's fast protocol takes headers of any length, waits for them for ever, and accepts as many
connections as there are descriptors. Here a connection ends when a head is too long or a request too
slow, and each address gets only so many.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from botorch_private.curator.service.limits import group_of

LARGEST_HEAD = 16 * 1024
REQUEST_SECONDS = 10.0
CONNECTIONS = 400
CONNECTIONS_OF_ADDRESS = 200
_DESCRIPTORS = 4096
_OTHER_DESCRIPTORS = 100  # the database, files that are sent, the objective's pipes
_FEWEST = 16


class ConnectionLimit:
    """Counts connections, in all and by address.

    Args:
        most: Connections in all.
        most_of_address: Connections of one address.
    """

    def __init__(self, most: int, most_of_address: int) -> None:
        for name, value in (("connections", most), ("connections_of_address", most_of_address)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        self.most, self.most_of_address = most, most_of_address
        self._inside: Counter[str] = Counter()
        self._count = 0

    def enter(self, address: str) -> bool:
        """Whether one more may come in; it is counted then, until it leaves."""
        if self._count >= self.most or self._inside[address] >= self.most_of_address:
            return False
        self._count += 1
        self._inside[address] += 1
        return True

    def leave(self, address: str) -> None:
        """Count one less."""
        self._count -= 1
        self._inside[address] -= 1
        if not self._inside[address]:
            del self._inside[address]


class _Guarded(asyncio.Protocol):
    """A connection that must be let in, and whose requests must be whole in time."""

    limit: ConnectionLimit
    seconds: float
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    _address: str | None = None  # None: not let in
    _since: float | None = None  # since when an unfinished request is waited for
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        address = group_of(peer[0] if isinstance(peer, tuple) else "")
        if not self.limit.enter(address):
            transport.abort()
            return
        self._address = address
        self._since = self.loop.time()
        self._timer = self.loop.call_later(self.seconds, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._address is not None:
            self.limit.leave(self._address)
            self._address = None
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._since is None:
            self._since = self.loop.time()
        super().data_received(data)

    def _look(self) -> None:
        # One timer a connection, not one a request: it looks again when a request could be late.
        left = self.seconds
        if self._since is not None:
            left -= self.loop.time() - self._since
        if left <= 0:
            self.transport.abort()
        else:
            self._timer = self.loop.call_later(left, self._look)

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing: anybody could fill the log with it."""


class SlowProtocol(_Guarded, H11Protocol):
    """For where httptools is missing; h11 has a limit for heads of its own."""

    def data_received(self, data: bytes) -> None:  # noqa: D102
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._since = None


_protocol: type[_Guarded] = SlowProtocol
try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
except ImportError:
    pass
else:

    class FastProtocol(_Guarded, HttpToolsProtocol):
        """httptools, which has no limit for heads: what came since the last progress is counted."""

        _unread = 0

        def data_received(self, data: bytes) -> None:  # noqa: D102
            while data and not self.transport.is_closing():
                room = LARGEST_HEAD - self._unread
                if room <= 0:
                    self.transport.abort()
                    return
                part, data = (data, b"") if len(data) <= room else (data[:room], data[room:])
                self._unread += len(part)
                super().data_received(part)

        def on_message_begin(self) -> None:  # noqa: D102
            if self._since is None:
                self._since = self.loop.time()
            super().on_message_begin()

        def on_headers_complete(self) -> None:  # noqa: D102
            self._unread = 0
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:  # noqa: D102
            self._unread = 0
            super().on_body(body)

        def on_message_complete(self) -> None:  # noqa: D102
            self._unread, self._since = 0, None
            super().on_message_complete()

    _protocol = FastProtocol


def guarded_protocol(
    connections: int = CONNECTIONS,
    connections_of_address: int = CONNECTIONS_OF_ADDRESS,
    seconds: float = REQUEST_SECONDS,
    base: type[_Guarded] | None = None,
) -> type[asyncio.Protocol]:
    """Make the protocol of one server, with a `ConnectionLimit` of its own.

    Args:
        connections: In all; fewer where the process may not open so many descriptors.
        connections_of_address: Of one address; behind a proxy all connections are the proxy's.
        seconds: Until the first request, and any that was begun, must have come.
        base: What reads HTTP; None: the fastest there is.

    Raises:
        ValueError: If a number is below 1.
    """
    ConnectionLimit(
        connections, connections_of_address
    )  # refuses what was asked for, not what is left of it
    room = _descriptors()
    if room is not None:
        connections = min(connections, max(room - _OTHER_DESCRIPTORS, _FEWEST))
    base = base or _protocol
    limit = ConnectionLimit(connections, connections_of_address)
    return type(base.__name__, (base,), {"limit": limit, "seconds": seconds})


def _descriptors() -> int | None:
    """How many descriptors this process may have, after asking for more; None: nobody says."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            return soft
        return wanted
    return None if soft == resource.RLIM_INFINITY else soft
