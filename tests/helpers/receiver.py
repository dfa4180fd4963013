"""A receiver of webhooks on this machine, which keeps what it gets and answers what it is told to."""

import ssl
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

SECRET = "whsec_plJ3nmyCDGBKInavdOK15jsl" + "AAAAAAAA"


class Received(NamedTuple):
    """A request that came."""

    path: str
    headers: dict
    body: bytes


class Receiver:
    """What came, and what is answered: the next of ``statuses``, or 204."""

    def __init__(self):
        self.received, self.statuses, self.headers, self.url = [], [], {}, ""


@contextmanager
def receiver(certificate=None):
    """Listen at a free port of this machine; with TLS if there is a certificate (of trustme)."""
    kept = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            kept.received.append(Received(self.path, headers, body))
            self.send_response(kept.statuses.pop(0) if kept.statuses else 204)
            for name, value in kept.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self):
            self.do_POST()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    kept.url = f"http{'s' if certificate else ''}://localhost:{server.server_port}"
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
