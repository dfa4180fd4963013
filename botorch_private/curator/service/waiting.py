"""Waiting: requests that stay open until a query is settled."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable

from botorch_private.curator.service.question import Question, State


class Waiting:
    """Wakes requests when a query that they wait for is settled; works in one event loop.

    Args:
        is_valid: Whether the token of a number is valid now.
    """

    def __init__(self, is_valid: Callable[[int], bool] = lambda _: True) -> None:
        self._is_valid = is_valid
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: dict[int, set[asyncio.Future[None]]] = defaultdict(set)
        self._whose: dict[asyncio.Future[None], int] = {}
        self._closed = False

    def changed(self, query: Question) -> None:
        """Tell of a change, from any thread.

        An answer that came early would tell a modeler that a program has begun or failed.
        """
        if query.public_state == State.PENDING:
            return
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake, query.id)

    async def wait(
        self, number: int, seconds: float, look: Callable[[], Question], *, token: int = 0
    ) -> None:
        """Return when the query is settled, the time is over, the token has ended, or the server stops.

        Args:
            number: Of the query.
            seconds: At most.
            look: Reads the query again, since it may have been settled before anybody listened.
            token: Number of the token of whoever waits.
        """
        self._loop = asyncio.get_running_loop()
        if self._closed:
            return
        future = self._loop.create_future()
        self._waiting[number].add(future)
        self._whose[future] = token
        try:
            if look().public_state != State.PENDING:
                return
            await asyncio.wait([future], timeout=seconds)
        finally:
            del self._whose[future]
            self._waiting[number].discard(future)
            if not self._waiting[number]:
                del self._waiting[number]

    def let_go_of_ended_tokens(self) -> None:
        """Wake the requests of tokens that were revoked or have expired: they get no answer."""
        ended = {token for token in set(self._whose.values()) if not self._is_valid(token)}
        for future, token in self._whose.items():
            if token in ended and not future.done():
                future.set_result(None)

    def let_go(self) -> None:
        """Wake all requests."""
        for number in list(self._waiting):
            self._wake(number)

    def close(self) -> None:
        """Let all requests go, and make none wait any more."""
        self._closed = True
        self.let_go()

    def _wake(self, number: int) -> None:
        for future in self._waiting.get(number, ()):
            if not future.done():
                future.set_result(None)
