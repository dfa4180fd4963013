"""Webhook: one POST of a signed message."""

from __future__ import annotations

import hashlib
import ssl
import time
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import httpx2

from botorch_private.curator.service.notify.addresses import allowed_address
from botorch_private.curator.service.notify.message import Message
from botorch_private.curator.service.notify.signing import signed_headers

_SECONDS = 10.0
_GONE = 410
_LONGEST_WAIT = 86_400.0


class SendingError(Exception):
    """A message did not arrive.

    Args:
        reason: In a few words, without anything that the other side sent.
        wait: Seconds that the other side asks to wait; 0: it does not say.
        for_good: Whether it will never arrive.
    """

    def __init__(self, reason: str, *, wait: float = 0.0, for_good: bool = False) -> None:
        super().__init__(reason)
        self.wait, self.for_good = wait, for_good


@dataclass(frozen=True)
class Webhook:
    """Where messages are posted to. Redirects are not followed, and no proxy of the environment is used.

    Args:
        url: Where to; with TLS, unless the host is this machine.
        key: Signs the messages.
        internal: Whether the host may be this machine, or in a private network.
        context: Whose certificates are believed; None: those that the system's authorities signed.
    """

    url: str
    key: bytes = field(repr=False)
    internal: bool = False
    context: ssl.SSLContext | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """For the log: where to, without a path, which may be a secret."""
        return f"webhook {urlsplit(self.url).hostname}"

    @property
    def identity(self) -> str:
        """Tells it from other channels, in the file of what is still to be sent."""
        return f"webhook:{hashlib.sha256(self.url.encode()).hexdigest()[:16]}"

    def send(self, message: Message, name: str, console: str) -> None:
        """Post a message.

        Raises:
            SendingError: If that fails, or is not answered by a status of 200 to 299.
        """
        body = message.body(name, console)
        url = httpx2.URL(self.url)
        port = url.port or (443 if url.scheme == "https" else 80)
        headers = {
            **signed_headers(self.key, message.id, int(time.time()), body),
            "Content-Type": "application/json",
            "Host": url.netloc.decode("ascii"),
        }
        try:
            address = allowed_address(url.host, port, internal=self.internal)
            with (
                httpx2.Client(
                    verify=self.context or True,
                    trust_env=False,
                    follow_redirects=False,
                    timeout=_SECONDS,
                ) as client,
                client.stream(
                    "POST",
                    url.copy_with(host=address),
                    content=body,
                    headers=headers,
                    extensions={"sni_hostname": url.host},
                ) as answer,
            ):
                status, later = answer.status_code, answer.headers.get("retry-after", "")
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise SendingError(_reason(error)) from None
        if not 200 <= status < 300:
            raise SendingError(f"it answered {status}", wait=_seconds(later), for_good=status == _GONE)


def _reason(error: Exception) -> str:
    # Words of our own alone: those of others may hold what was sent or received.
    return str(error) if type(error).__module__.startswith("botorch_private") else type(error).__name__


def _seconds(text: str) -> float:
    """What Retry-After says, in seconds; 0 where it says nothing that can be read."""
    if text.isascii() and text.isdigit() and len(text) < 10:
        return min(float(text), _LONGEST_WAIT)
    try:
        return min(max(0.0, parsedate_to_datetime(text).timestamp() - time.time()), _LONGEST_WAIT)
    except (ValueError, TypeError, OverflowError):
        return 0.0
