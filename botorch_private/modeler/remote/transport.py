"""Requests to a curator's server: what is tried again, what is refused, and where a token may go."""

from __future__ import annotations

import logging
import os
import re
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from botorch_private._base import validate
from botorch_private.modeler.remote.address import certificates, check_token, checked_url
from botorch_private.modeler.remote.backoff import Backoff, retry_after
from botorch_private.modeler.remote.remedies import may_pass, remedy

if TYPE_CHECKING:
    import httpx2

_LATER = (408, 425, 429, 502, 503, 504, *range(520, 525))
_INTERNAL_TRIES = 10  # of a request that is not waiting: the last pause is half a minute
_LONGEST_MESSAGE = 1000  # characters of a server's own words
_NUMBER = re.compile(r"\[Errno -?\d+\] ")  # for programs, not for people
_log = logging.getLogger(__name__)


class RemoteError(RuntimeError):
    """A curator's server cannot be used, or refuses a request.

    Args:
        code: A word for programs, such as "budget_spent", "no_token", "wrong_role", "question_lost" or
            "unreachable".
        message: A sentence for people.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code, self.message = code, message

    def __str__(self) -> str:
        return self.message


class Transport:
    """Sends requests with a token, until they are answered.

    Connections that fail, silence, and statuses by which servers and proxies say that they are busy or
    stopping are tried again, later and later. So is an internal error of the server, a limited number
    of times unless the request is one that waits. Whatever else the server refuses is refused for good.

    Args:
        url: Address of the server.
        token: Who asks. It goes into the header of requests to this address, and nowhere else.
        timeout: Seconds in which the server must answer, beyond those that it was asked to wait.
        insecure: Send the token without TLS, or to a server that was not verified.
        verify: True: certificates of the usual authorities; a file with certificates; an SSLContext;
            False: none (needs ``insecure``).
        session: An ``httpx2.Client`` to use instead of a new one.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float,
        insecure: bool,
        verify: bool | str | Path | ssl.SSLContext,
        session: httpx2.Client | None,
    ) -> None:
        validate.positive(timeout=timeout)
        self.url, loopback = checked_url(url, insecure=insecure)
        check_token(token)
        if session is not None and verify is not True:
            raise ValueError("verify must be left out beside a session, which has its own")
        if verify is False and not insecure:
            raise ValueError(
                "verify must not be False: anybody on the way could pose as the curator and take the "
                "token; give the file with the curator's certificate, or say insecure=True"
            )
        self._library = _httpx()
        self._sign = _bearer(token)
        self._timeout = timeout
        self._owned, self._own_file = session is None, not isinstance(verify, bool)
        # A proxy from the environment has no business between this machine and itself.
        self._session = session or self._library.Client(
            verify=certificates(verify), trust_env=not loopback
        )

    def close(self) -> None:
        """Close the connections."""
        if self._owned:
            self._session.close()

    def get(self, path: str, *, wait: float = 0.0, patience: float | None = None, **params: Any) -> Any:
        """Read JSON; the server may take ``wait`` seconds for it. ``patience``: as in `_persist`."""
        if wait:
            params["wait"] = f"{wait:.3f}"
        return self._json(
            lambda: self._send("GET", path, wait, params=params), path, patience, waits=wait > 0
        )

    def post(self, path: str, body: dict[str, Any], *, key: str) -> Any:
        """Send JSON and read JSON. A request that is sent twice counts once, by its ``key``."""
        headers = {"Idempotency-Key": key}
        return self._json(lambda: self._send("POST", path, json=body, headers=headers), path, None)

    def download(self, path: str, target: BinaryIO, *, etag: str | None) -> bool:
        """Write what is at a path to a file; False if it still has this ETag, which writes nothing."""

        def once() -> httpx2.Response:
            with self._session.stream(
                "GET",
                self.url + path,
                headers={} if etag is None else {"If-None-Match": f'"{etag}"'},
                auth=self._sign,
                timeout=self._timeout,
                follow_redirects=False,
            ) as response:
                if response.status_code == 200:
                    target.seek(0)
                    target.truncate()
                    for part in response.iter_bytes():
                        target.write(part)
                else:
                    response.read()
                return response

        response = self._persist(once, None)
        if response.status_code not in (200, 304):
            self._refuse(response, path)
        return response.status_code == 200

    def download_rest(
        self,
        path: str,
        target: BinaryIO,
        *,
        etag: str,
        most: int,
        arrived: Callable[[int], object] = lambda _: None,
    ) -> None:
        """Append to a file what of a path is not in it yet, through failures on the way.

        Where the server has another one by now, it comes from its start.

        Args:
            path: Where.
            target: Opened for appending; what it holds is the beginning of what is at the path.
            etag: Of what it must be.
            most: Bytes that it may have.
            arrived: Is told how many bytes came, each time.

        Raises:
            RemoteError: If the server refuses, or sends more than that.
        """

        def once() -> httpx2.Response:
            start = target.seek(0, os.SEEK_END)
            headers = {"Accept-Encoding": "identity"}  # a piece of what is packed cannot go on
            if start:
                headers |= {"Range": f"bytes={start}-", "If-Range": f'"{etag}"'}
            with self._session.stream(
                "GET",
                self.url + path,
                headers=headers,
                auth=self._sign,
                timeout=self._timeout,
                follow_redirects=False,
            ) as response:
                wanted = response.headers.get("content-range", "").startswith(f"bytes {start}-")
                if response.status_code == 200 or (response.status_code == 206 and not wanted):
                    target.seek(0)
                    target.truncate()
                if response.status_code == 200 or (response.status_code == 206 and wanted):
                    for piece in response.iter_bytes():
                        if target.tell() + len(piece) > most:
                            raise self.no_curator(f"sends more than {path} can hold")
                        target.write(piece)
                        arrived(len(piece))
                else:
                    response.read()
                return response

        response = self._persist(once, None)
        if response.status_code not in (200, 206, 416):  # 416: it is all there
            self._refuse(response, path)

    def __repr__(self) -> str:
        return f"Transport({self.url!r})"

    def _send(self, method: str, path: str, wait: float = 0.0, **more: Any) -> httpx2.Response:
        # A token must not follow a redirect to somewhere else.
        return self._session.request(
            method,
            self.url + path,
            auth=self._sign,
            timeout=self._timeout + wait,
            follow_redirects=False,
            **more,
        )

    def _json(
        self,
        once: Callable[[], httpx2.Response],
        path: str,
        patience: float | None,
        *,
        waits: bool = False,
    ) -> Any:
        response = self._persist(once, patience, waits=waits)
        if response.status_code not in (200, 201):
            self._refuse(response, path)
        found = _read_json(response)
        if not isinstance(found, dict):
            raise self.no_curator(f"does not answer {path} with JSON")
        return found

    def _persist(
        self, once: Callable[[], httpx2.Response], patience: float | None, *, waits: bool = False
    ) -> httpx2.Response:
        """Try until there is an answer; with ``patience``, for so many seconds.

        An internal error is an answer in the end, but not of a request that ``waits``.
        """
        end = None if patience is None else time.monotonic() + patience
        backoff, internal = Backoff(), 0
        while True:
            advice, final, passes = 0.0, None, True
            try:
                response = once()
            except self._library.RequestError as error:
                problem, internal, passes = self._problem(error), 0, may_pass(error)
            else:
                internal = internal + 1 if _is_internal(response) else 0
                final = response if internal else None
                if not _may_pass(response) or (internal == _INTERNAL_TRIES and not waits):
                    if backoff.tries > 1 and final is None:
                        _log.warning("the curator at %s answers again", self.url)
                    return response
                problem = _status_problem(response)
                advice = retry_after(response.headers.get("retry-after"))
            pause = backoff.next(at_least=advice)
            if end is not None and (time.monotonic() + pause > end or not passes):
                if final is not None:
                    return final
                raise RemoteError(
                    "unreachable",
                    f"url must be the address of a curator's server, but {self.url} cannot be reached "
                    f"{problem}",
                )
            if backoff.tries == 2:
                _log.warning(
                    "the curator at %s does not answer; trying until it does %s", self.url, problem
                )
            time.sleep(pause)

    def _problem(self, error: Exception) -> str:
        """What happened to a request, and what to do about it."""
        what = remedy(error, https=self.url.startswith("https:"), own_file=self._own_file)
        return f"({type(error).__name__}: {_NUMBER.sub('', printable(str(error)))}): {what}"

    def no_curator(self, found: str) -> RemoteError:
        """The error of an address that does not lead to a curator's server, and what was found there."""
        return RemoteError(
            "no_curator", f"url must be the address of a curator's server, but {self.url} {found}"
        )

    def _refuse(self, response: httpx2.Response, path: str) -> NoReturn:
        error = _own_error(response)
        if error is None:
            raise self.no_curator(f"answers {path} with status {response.status_code}")
        code, message = printable(str(error["code"])), printable(str(error.get("message", "")))
        if code == "no_token":
            message = (
                "token must be one that the curator made for a modeler and that is still valid, but the "
                "curator does not accept it: it may be mistyped, expired or revoked, or the curator's "
                "folder was restored from before it was made; ask for a new one"
            )
        elif code == "wrong_role":
            message = (
                "token must be one for a modeler, got one for staff: it can see which record is behind "
                "a row, so do not keep it here, and ask the curator for one with --role modeler"
            )
        raise RemoteError(code, message)


def _httpx() -> Any:
    try:
        import httpx2
    except ImportError as error:
        raise ImportError(
            "a curator elsewhere needs httpx2: pip install 'botorch-private[client]'"
        ) from error
    return httpx2


def _bearer(token: str) -> Callable[[httpx2.Request], httpx2.Request]:
    # In a closure the token is no attribute of anything, so that nothing prints or pickles it.
    def sign(request: httpx2.Request) -> httpx2.Request:
        request.headers["Authorization"] = f"Bearer {token}"
        return request

    return sign


def _read_json(response: httpx2.Response) -> Any:
    try:
        return response.json()
    except (ValueError, RecursionError):
        return None


def _own_error(response: httpx2.Response) -> dict[str, Any] | None:
    """What a curator's server says of a refusal; None if it comes from something else."""
    found = _read_json(response)
    error = found.get("error") if isinstance(found, dict) else None
    if not isinstance(error, dict) or error.get("code") in (None, "http"):
        return None
    return error


def _is_internal(response: httpx2.Response) -> bool:
    if response.status_code != 500:
        return False
    error = _own_error(response)
    return error is not None and error["code"] == "internal"


def _may_pass(response: httpx2.Response) -> bool:
    # A server that is told to stop ends open requests with a 500 that is not one of its own errors.
    if response.status_code == 500:
        return _own_error(response) is None or _is_internal(response)
    return response.status_code in _LATER


def _status_problem(response: httpx2.Response) -> str:
    error = _own_error(response)
    said = "" if error is None else f": {printable(str(error.get('message', '')))}"
    return f"(status {response.status_code}{said})"


def printable(text: str) -> str:
    """A server's words without what would move the cursor or colour a terminal, and not too long."""
    shown = "".join(each if each.isprintable() else " " for each in text[:_LONGEST_MESSAGE])
    return shown if len(text) <= _LONGEST_MESSAGE else f"{shown}..."
