"""Signing: how a receiver knows that a message is the curator's, and not an old one.

The scheme is that of Standard Webhooks (https://www.standardwebhooks.com): HMAC-SHA256 of id, time and
body under a secret that both sides know. A receiver refuses times that are more than five minutes off,
and an id that it has seen.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

_PREFIX = "whsec_"
_FEWEST_BYTES, _MOST_BYTES = 24, 64


def read_secret(text: str) -> bytes:
    """The key of a secret: ``whsec_`` and 24 to 64 bytes in base64.

    Raises:
        ValueError: If it is not one. It is not repeated.
    """
    try:
        key = base64.b64decode(text.strip().removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not _FEWEST_BYTES <= len(key) <= _MOST_BYTES:
        raise ValueError(
            f"a webhook's secret must be {_PREFIX} and {_FEWEST_BYTES} to {_MOST_BYTES} random bytes in "
            "base64, as 'openssl rand -base64 32' prints them"
        )
    return key


def signed_headers(key: bytes, message_id: str, time: int, body: bytes) -> dict[str, str]:
    """The three headers of a signed message.

    Args:
        key: Of `read_secret`.
        message_id: The same at each try, so that a receiver can drop what it has.
        time: Of this try, seconds since 1970.
        body: What is sent.
    """
    content = b".".join((message_id.encode(), str(time).encode(), body))
    signature = base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(time),
        "webhook-signature": f"v1,{signature}",
    }
