"""What may be the address of a curator's server, its token, and the certificates to believe."""

from __future__ import annotations

import ssl
from pathlib import Path
from urllib.parse import urlsplit

from botorch_private._base.loopback import is_loopback


def checked_url(url: str, *, insecure: bool) -> tuple[str, bool]:
    """The address without a slash at its end, and whether it is this machine's own."""
    if isinstance(url, str) and "@" in url:  # and do not show it
        raise ValueError("url must hold no name or password: the token says who asks")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except (ValueError, AttributeError):
        host, parts = None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise ValueError(f"url must be an address such as https://curator.example.org:8400, got {url!r}")
    loopback = is_loopback(host)
    if parts.scheme == "http" and not loopback and not insecure:
        raise ValueError(
            f"url must begin with https:// for {host}: without TLS everybody on the way could read the "
            f"token; where the way is protected otherwise, say insecure=True (--insecure-http)"
        )
    return url.rstrip("/"), loopback


def check_token(token: str) -> None:
    """Refuse what cannot be a token, without showing it."""
    visible = isinstance(token, str) and token.isascii() and token.isprintable() and " " not in token
    if not visible or not token:
        raise ValueError(
            "token must be a text of visible ASCII characters, as 'curator token new' printed it, got "
            + ("an empty one" if token == "" else "something else")
        )


def certificates(verify: bool | str | Path | ssl.SSLContext) -> bool | ssl.SSLContext:
    """Which certificates are believed, read from a file if it is one."""
    if isinstance(verify, (bool, ssl.SSLContext)):
        return verify
    with open(verify, "rb"):  # an error that says which file it is: that of `ssl` does not
        pass
    try:
        return ssl.create_default_context(cafile=str(verify))
    except ssl.SSLError as error:
        raise ValueError(
            f"verify must be a file with certificates in PEM form, but {verify} is not: {error.reason}"
        ) from None
