"""The server's certificate, read again when the process is told to."""

from __future__ import annotations

import logging
import ssl
from pathlib import Path
from typing import Any

_log = logging.getLogger("botorch_private.curator.service")


class Certificates:
    """A certificate chain and its key. Connections that are made get the pair that was read last.

    A pair that cannot be used is refused, and the one before is kept.

    Args:
        certificate: Certificate chain, PEM.
        key: Its private key, PEM.

    Raises:
        ValueError: If they are not a pair, or the key has a password.
        OSError: If they cannot be read.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        self._certificate, self._key = certificate, key
        self._context = self._read()

    def install(self, context: ssl.SSLContext) -> None:
        """Have connections of a context get the pair."""

        def choose(connection: Any, name: str | None, _: ssl.SSLContext) -> None:
            connection.context = self._context

        context.sni_callback = choose

    def reload(self) -> bool:
        """Read the pair again; whether it can be used."""
        try:
            self._context = self._read()
        except ValueError as error:
            _log.error("the certificate was not changed: %s", error)
        except OSError as error:
            _log.error("the certificate was not changed: %s", type(error).__name__)
        else:
            _log.warning("the certificate was read again")
            return True
        return False

    def _read(self) -> ssl.SSLContext:
        def no_password() -> str:
            raise ValueError("--tls-key must not be encrypted: nobody is there to type its password")

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self._certificate, self._key, no_password)
        except ssl.SSLError as error:
            raise ValueError(
                f"--tls-cert and --tls-key must be a certificate chain and its own private key, both "
                f"PEM, but OpenSSL says {error.reason or 'that they cannot be read'}"
            ) from error
        return context
