"""What is said where TLS fails: each trouble has its own remedy, and none is waited for."""

import datetime
import http.server
import ssl
import threading
import time
from contextlib import contextmanager

import pytest
import trustme

from botorch_private import RemoteCurator, RemoteError

NOW = datetime.datetime.now(datetime.UTC)
DAY = datetime.timedelta(days=1)


@contextmanager
def listening(certificate=None):
    """Serve pages, by TLS if there is a certificate; yields the port."""

    class Quiet(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, *_):
            pass

    with Server(("127.0.0.1", 0), Quiet) as server:
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            certificate.configure_cert(context)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


def refusal(url, patience=5.0, **options):
    began = time.monotonic()
    with pytest.raises(RemoteError) as caught:
        RemoteCurator(url, "secret-token", patience=patience, **options)
    assert caught.value.code == "unreachable"
    assert "secret-token" not in str(caught.value)
    return str(caught.value), time.monotonic() - began


CASES = {
    "authority unknown": ({}, "127.0.0.1", False, "give the file with it (verify=, --ca-file)"),
    "another file": (
        {},
        "127.0.0.1",
        "other",
        "holds neither its certificate nor that of its authority",
    ),
    "expired": (
        {"not_before": NOW - 3 * DAY, "not_after": NOW - DAY},
        "127.0.0.1",
        True,
        "its certificate has expired: the curator must renew it",
    ),
    "not yet": ({"not_before": NOW + DAY}, "127.0.0.1", True, "not valid yet: is the clock right"),
    "another host": ({}, "curator.example.org", True, "is for another host name: use the name"),
    "another address": ({}, "10.1.2.3", True, "is for another host name: use the name"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_each_trouble_with_a_certificate_has_its_remedy(authority, tmp_path, case, host):
    options, name, believed, remedy = CASES[case]
    names = ("127.0.0.1", "localhost") if name == "127.0.0.1" else (name,)
    certificate = authority.issue_cert(*names, **options)
    verify = {}
    if believed:
        authority_file = tmp_path / "ca.pem"
        (trustme.CA() if believed == "other" else authority).cert_pem.write_to_path(authority_file)
        verify = {"verify": authority_file}
    with listening(certificate) as port:
        message, seconds = refusal(f"https://{host}:{port}", **verify)
    assert remedy in message
    others = {each[3] for each in CASES.values()} - {remedy}
    assert not any(other in message for other in others)
    assert seconds < 3  # it will not pass, so it is not tried again


def test_tls_at_a_port_without_it_and_the_other_way_round(authority):
    with listening() as port:
        message, seconds = refusal(f"https://127.0.0.1:{port}")
    assert "does not speak TLS there" in message
    assert "begin the address with http://" in message
    assert seconds < 3
    with listening(authority.issue_cert("127.0.0.1")) as port:
        message, _ = refusal(f"http://127.0.0.1:{port}", patience=0.5)
    assert "If the curator serves with TLS, begin the address with https://" in message


def test_nobody_there_is_no_trouble_with_tls():
    for scheme in ("http", "https"):
        message, _ = refusal(f"{scheme}://127.0.0.1:9", patience=0.3)
        assert "is it running, and is the address right?" in message
        assert "certificate" not in message
