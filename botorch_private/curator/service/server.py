"""serve: run the application of a folder, and nothing that others could slip into."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from ipaddress import ip_address, ip_network
from pathlib import Path

import uvicorn

from botorch_private._base.loopback import is_loopback
from botorch_private.curator.service.access_log import AccessLog
from botorch_private.curator.service.app import DEFAULT_RATE, create_app
from botorch_private.curator.service.certificates import Certificates
from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.log import log_to
from botorch_private.curator.service.look_after import warn_of_clock
from botorch_private.curator.service.measuring import Measuring, Program
from botorch_private.curator.service.metrics import Metrics, parse_place
from botorch_private.curator.service.notify.notifier import Notifier
from botorch_private.curator.service.notify.settings import NotifySettings
from botorch_private.curator.service.observed import Observed, Observer
from botorch_private.curator.service.protocol import (
    CONNECTIONS,
    CONNECTIONS_OF_ADDRESS,
    LARGEST_HEAD,
    guarded_protocol,
)
from botorch_private.curator.service.root_path import checked_root_path
from botorch_private.curator.service.waiting import Waiting

LARGEST_PORT = 65535
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
    trusted_proxies: Sequence[str] = (),
    notify: NotifySettings | None = None,
    root_path: str = "",
    access_log: Path | None = None,
    metrics: str | None = None,
) -> None:
    """Serve a curator's folder until the process is told to stop.

    The address is printed once requests are answered there. On SIGHUP the certificate is read again, and
    the access log goes on in a new file if the old one was moved.

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
        trusted_proxies: Addresses or networks whose ``X-Forwarded-For`` and ``X-Forwarded-Proto`` are
            believed; from anybody else they are a stranger's words.
        notify: Who is told that questions wait; None: nobody.
        root_path: What a proxy puts before all addresses, such as ``/curator``.
        access_log: File that gets a line for each request; ``-``: the output; None: nobody writes any.
        metrics: Port, or address and port, of metrics for Prometheus; None: nowhere.

    Raises:
        ValueError: If the folder, its database or release, the address, the certificate or an argument
            is unusable; nothing is served then.
        OSError: If the address is taken.
    """
    if not 0 <= port <= LARGEST_PORT:
        raise ValueError(f"port must be in 0..{LARGEST_PORT}, got {port}")
    proxies = [_proxy(each) for each in trusted_proxies]
    _refuse_plain_text(host, certificate, key, insecure=insecure)
    pair = None if certificate is None or key is None else Certificates(certificate, key)
    root_path = checked_root_path(root_path)
    metrics_place = None if metrics is None else parse_place(metrics)
    folder = Folder(path)
    if not folder.path.is_dir():
        raise ValueError(f"folder must be a curator's, but there is no folder {path}")
    folder.refuse_strangers()
    with (
        folder.lock(),
        closing(_listen(host, port)) as listening,
        closing(folder.open(locked=True)) as store,
        closing(log_to()),
        ExitStack() as more,
    ):
        store.in_place.watch(folder.lock_file)
        warn_of_clock(store)
        notifier = None if notify is None else Notifier(store, notify, folder.notifications)
        log = None if access_log is None else more.enter_context(closing(AccessLog(access_log)))
        measuring = None
        observers: list[Observer] = [] if log is None else [log.observe]
        # uvicorn raises the signal again once it has stopped; without this the process would end there.
        signal.signal(signal.SIGTERM, _end)
        try:
            if ":" in store.facts.objective:
                facts = store.facts
                names = [each.name for each in facts.outcomes]
                program = Program(facts.objective, facts.time_limit, folder.objective_output, names)
                measuring = Measuring(store, program, store.behind or folder.records)
                program.start()
                measuring.start()
            app = create_app(folder, store, rate=rate, root_path=root_path)
            if notifier is not None:
                notifier.start()
            if metrics_place is not None:
                counted = Metrics(
                    store,
                    is_healthy=lambda: app.state.health.is_well,
                    sessions=lambda: len(app.state.sessions),
                    notified=None if notifier is None else notifier.sent,
                )
                more.enter_context(closing(counted))
                counted.serve(*metrics_place)
                observers.append(counted.observe)
            config = uvicorn.Config(
                Observed(app, tuple(observers)) if observers else app,
                http=guarded_protocol(connections, connections_of_address),
                ws="none",
                h11_max_incomplete_event_size=LARGEST_HEAD,
                ssl_certfile=certificate,
                ssl_keyfile=key,
                access_log=False,
                server_header=False,
                log_config=None,  # see `log_to`
                # uvicorn's own default believes whatever comes from this machine.
                proxy_headers=bool(proxies),
                forwarded_allow_ips=proxies or "",
                timeout_graceful_shutdown=3,
                lifespan="on",
            )
            config.load()
            if pair is not None and config.ssl is not None:
                pair.install(config.ssl)
            rereads = [each for each in (pair and pair.reload, log and log.reopen) if each]
            address = _shown(listening, certificate) + root_path
            _Server(config, app.state.waiting, address, rereads).run(sockets=[listening])
        finally:
            if notifier is not None:
                notifier.stop()
            if measuring is not None:
                measuring.stop()


class _Server(uvicorn.Server):
    """Says when it is ready, and lets requests that wait for a measurement go before it ends."""

    def __init__(
        self,
        config: uvicorn.Config,
        waiting: Waiting,
        address: str,
        rereads: Sequence[Callable[[], object]] = (),
    ) -> None:
        super().__init__(config)
        self._waiting_requests, self._address, self._rereads = waiting, address, rereads

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # Without anything to read again a terminal that is closed ends the server, as it should.
        if self._rereads and hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._reread)
        if self.started and not self.should_exit:
            print(self._address, flush=True)

    def _reread(self) -> None:
        for reread in self._rereads:
            reread()

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


def _proxy(text: str) -> str:
    try:
        return str(ip_network(text) if "/" in text else ip_address(text))
    except ValueError:
        raise ValueError(
            "trusted_proxies must be addresses such as 127.0.0.1 or networks such as 10.0.0.0/8"
        ) from None


def _shown(listening: socket.socket, certificate: Path | None) -> str:
    host, port, *_ = listening.getsockname()
    shown = f"[{host}]" if ":" in host else host
    return f"http{'s' if certificate else ''}://{shown}:{port}"


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
