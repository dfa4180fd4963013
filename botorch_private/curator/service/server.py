"""serve: run the application of a folder, and nothing that others could slip into."""

from __future__ import annotations

import logging
import signal
import socket
from contextlib import closing
from pathlib import Path

import uvicorn

from botorch_private._base.loopback import is_loopback
from botorch_private.curator.service.app import DEFAULT_RATE, create_app
from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.measuring import Measuring, Program
from botorch_private.curator.service.protocol import (
    CONNECTIONS,
    CONNECTIONS_OF_ADDRESS,
    LARGEST_HEAD,
    guarded_protocol,
)
from botorch_private.curator.service.waiting import Waiting

_log = logging.getLogger("botorch_private.curator.service")
_BACKLOG = 512


def serve(
    path: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8400,
    certificate: Path | None = None,
    key: Path | None = None,
    insecure: bool = False,
    rate: float = DEFAULT_RATE,
    connections: int = CONNECTIONS,
    connections_of_address: int = CONNECTIONS_OF_ADDRESS,
) -> None:
    """Serve a curator's folder until the process is told to stop.

    Args:
        path: The folder.
        host: Address to listen at.
        port: Port to listen at; 0: any that is free.
        certificate: TLS certificate chain, PEM.
        key: Its private key, PEM.
        insecure: Listen without TLS at an address that others can reach.
        rate: Requests a second that one token may make.
        connections: Connections at once; fewer where the system allows fewer descriptors.
        connections_of_address: Connections at once from one address; a proxy's are all from one.

    Raises:
        ValueError: If the folder, the address or the certificate is unusable; nothing is served then.
        OSError: If the address is taken.
    """
    _refuse_plain_text(host, certificate, key, insecure=insecure)
    folder = Folder(path)
    if not folder.path.is_dir():
        raise ValueError(f"folder must be a curator's, but there is no folder {path}")
    folder.refuse_strangers()
    with folder.lock(), closing(_listen(host, port)) as listening, closing(folder.open()) as store:
        measuring = None
        # uvicorn raises the signal again once it has stopped; without this the process would end there.
        signal.signal(signal.SIGTERM, _end)
        try:
            if ":" in store.facts.objective:
                facts = store.facts
                program = Program(facts.objective, facts.time_limit, folder.objective_output)
                measuring = Measuring(store, program, folder.records)
                program.start()
                measuring.start()
            address = listening.getsockname()
            shown = f"[{address[0]}]" if ":" in address[0] else address[0]
            print(f"http{'s' if certificate else ''}://{shown}:{address[1]}", flush=True)
            app = create_app(folder, store, rate=rate)
            config = uvicorn.Config(
                app,
                http=guarded_protocol(connections, connections_of_address),
                ws="none",
                h11_max_incomplete_event_size=LARGEST_HEAD,
                ssl_certfile=certificate,
                ssl_keyfile=key,
                access_log=False,
                server_header=False,
                log_level="warning",
                timeout_graceful_shutdown=3,
                lifespan="on",
            )
            _Server(config, app.state.waiting).run(sockets=[listening])
        finally:
            if measuring is not None:
                measuring.stop()


class _Server(uvicorn.Server):
    """Lets requests that wait for a measurement go before it waits for them to end."""

    def __init__(self, config: uvicorn.Config, waiting: Waiting) -> None:
        super().__init__(config)
        self._waiting_requests = waiting

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._waiting_requests.close()
        await super().shutdown(sockets)


def _end(*_: object) -> None:
    raise SystemExit(0)


def _refuse_plain_text(host: str, certificate: Path | None, key: Path | None, *, insecure: bool) -> None:
    if (certificate is None) != (key is None):
        raise ValueError("--tls-cert and --tls-key must be given together")
    for name, path in (("--tls-cert", certificate), ("--tls-key", key)):
        if path is not None and not path.is_file():
            raise ValueError(f"{name} must be a file, but there is no file {path}")
    if certificate is None and not insecure and not is_loopback(host):
        raise ValueError(
            f"{host} can be reached from other machines, and without TLS everybody on the way reads "
            f"tokens and values: give --tls-cert and --tls-key, or listen at 127.0.0.1 behind a proxy "
            f"that has them, or say --insecure-http"
        )


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        raise ValueError(f"--host must be an address of this machine, got {host}: {error}") from error
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(_BACKLOG)  # who comes before all is ready waits, and is not turned away
    except OSError as error:
        listening.close()
        raise OSError(f"cannot listen at {host} port {port}: {error.strerror}") from error
    return listening
