"""botorch-private curator serve: answer modelers and show staff what to measure."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from botorch_private.cli.common import refusals
from botorch_private.cli.curator.folder import add_folder_command
from botorch_private.cli.streams import warn

_LARGEST_PORT = 65535


def add(verbs: Any) -> None:
    """Add the command."""
    serve = add_folder_command(
        verbs,
        "serve",
        _serve,
        "answer modelers and show staff what to measure",
        "Serve a folder until you stop it (Ctrl-C). It prints its address when it is ready. Staff "
        "open /console there; modelers use it as 'botorch-private optimize ADDRESS'.",
    )
    serve.add_argument("--host", default="127.0.0.1", help="address to listen at (default: 127.0.0.1)")
    serve.add_argument("--port", type=_port, default=8400, help="port (default: 8400; 0: any)")
    serve.add_argument("--tls-cert", type=Path, help="TLS certificate chain, PEM")
    serve.add_argument("--tls-key", type=Path, help="its private key, PEM")
    serve.add_argument(
        "--insecure-http",
        action="store_true",
        help="listen without TLS where other machines can reach it, such as a proxy that ends TLS "
        "(which must pass Host on unchanged)",
    )
    serve.add_argument("--rate", type=float, help="requests a second that one token may make")
    serve.add_argument(
        "--notify",
        type=Path,
        metavar="FILE",
        help="webhooks and e-mail that are told of new questions (see 'curator notify')",
    )
    serve.add_argument(
        "--trusted-proxy",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="address or network of a proxy whose X-Forwarded-For says where requests came from; may be "
        "given again (default: none is believed)",
    )
    serve.add_argument(
        "--root-path",
        default="",
        metavar="PATH",
        help="what a proxy puts before all addresses, such as /curator",
    )
    serve.add_argument(
        "--access-log",
        type=Path,
        metavar="FILE",
        help="write a line for each request, without identifiers (-: to the output)",
    )
    serve.add_argument(
        "--metrics",
        metavar="[HOST:]PORT",
        help="serve metrics for Prometheus there: counts alone, without a token (host: 127.0.0.1)",
    )


def _serve(options: argparse.Namespace) -> int:
    from botorch_private.curator.service.app import DEFAULT_RATE
    from botorch_private.curator.service.measuring import MeasuringError
    from botorch_private.curator.service.notify.settings import read_settings
    from botorch_private.curator.service.server import serve

    try:
        with refusals(options, MeasuringError):
            serve(
                options.folder,
                host=options.host,
                port=options.port,
                certificate=options.tls_cert,
                key=options.tls_key,
                insecure=options.insecure_http,
                rate=DEFAULT_RATE if options.rate is None else options.rate,
                trusted_proxies=options.trusted_proxy,
                root_path=options.root_path,
                access_log=options.access_log,
                metrics=options.metrics,
                notify=None if options.notify is None else read_settings(options.notify),
            )
    except KeyboardInterrupt:
        warn("Stopped.")
    return 0


def _port(text: str) -> int:
    # Not `int` alone: the system takes a port beyond the range for another one.
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= _LARGEST_PORT):
        raise argparse.ArgumentTypeError(f"must be a whole number in 0..{_LARGEST_PORT}, got {text!r}")
    return int(text)
