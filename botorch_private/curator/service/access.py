"""Who is asking: bearer tokens, roles, and how often."""

from __future__ import annotations

import math
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from botorch_private.curator.service.limits import RateLimit, group_of
from botorch_private.curator.service.question import ServiceError
from botorch_private.curator.service.refusals import Refusals
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.tokens import Token

_LONGEST_TOKEN = 200


class TooOftenError(ServiceError):
    """Too many requests; there is a time after which to try again."""

    def __init__(self, seconds: float) -> None:
        self.retry_after = max(1, math.ceil(seconds))
        super().__init__("too_often", f"too many requests: try again in {self.retry_after} s")


class Access:
    """Checks tokens.

    Args:
        store: Knows them.
        refusals: Are told of what is refused.
        rate: Requests a second that one token may make.
        failures: Requests a minute that one address may make with a wrong token.
    """

    def __init__(self, store: Store, refusals: Refusals, *, rate: float, failures: float = 20) -> None:
        self._store, self._refusals = store, refusals
        self._rate = RateLimit(rate, max(rate, 10.0))
        self._failures = RateLimit(failures / 60, failures)

    def check(self, text: str | None, role: str, address: str, place: str = "api") -> Token:
        """The token of a text.

        Args:
            text: As it was sent; None: nothing.
            role: "modeler" or "staff".
            address: Where the request came from.
            place: What was to be entered, for `Refusals`.

        Raises:
            ServiceError: ``no_token``, ``wrong_role`` or ``too_often``.
        """
        token = None
        if text and len(text) <= _LONGEST_TOKEN:
            token = self._store.tokens.find(text)
        if token is None:
            if seconds := self._failures.wait(group_of(address)):
                self._refusals.note("too_often", place)
                raise TooOftenError(seconds)
            self._refusals.note("no_token", place)
            raise ServiceError("no_token", "a valid token is needed: Authorization: Bearer <token>")
        if seconds := self._rate.wait(token.id):
            raise TooOftenError(seconds)
        if token.role != role:
            self._refusals.note("wrong_role", place, token=token.id)
            raise ServiceError("wrong_role", f"this is for {role} tokens, got one for {token.role}")
        return token


def address_of(request: Request) -> str:
    """Where a request came from."""
    return request.client.host if request.client else ""


async def _store(request: Request) -> Store:
    return request.app.state.store


# The header is read by `_token_for`; this has it described where programs look for it.
_Described = Annotated[
    object,
    Depends(
        HTTPBearer(auto_error=False, description="a token from 'botorch-private curator token new'")
    ),
]


def _token_for(role: str) -> Any:
    async def token(request: Request, _: _Described) -> Token:
        kind, _, text = request.headers.get("authorization", "").partition(" ")
        access: Access = request.app.state.access
        sent = text.strip() if kind.lower() == "bearer" else None
        request.state.token = access.check(sent, role, address_of(request))
        return request.state.token

    return Depends(token)


StoreOf = Annotated[Store, Depends(_store)]
ModelerToken = Annotated[Token, _token_for("modeler")]
StaffToken = Annotated[Token, _token_for("staff")]
