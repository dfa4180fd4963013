"""What is tried again, what is not, and where a token does not go."""

import ssl
import subprocess
import sys
import time
from email.utils import formatdate

import httpx2
import pytest
from helpers.remote_server import SERVE

from botorch_private import RemoteCurator, RemoteError
from botorch_private.modeler.remote import transport as transport_module

FACTS = {
    "identity": "0",
    "rows": 3,
    "max_queries": None,
    "queries_left": None,
    "outcome": "y",
    "unit": "",
}
URL = "https://curator.example.org"


@pytest.fixture
def pauses(monkeypatch):
    """Do not sleep, but note for how long."""
    noted = []
    monkeypatch.setattr(transport_module.time, "sleep", noted.append)
    return noted


def curator_that_answers(*replies, url=URL):
    """A curator behind a transport that gives these replies, one after another."""
    seen, left = [], list(replies)

    def handle(request):
        seen.append(request)
        if len(seen) == 1:
            return httpx2.Response(200, json=FACTS)
        reply = left.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    session = httpx2.Client(transport=httpx2.MockTransport(handle))
    return RemoteCurator(url, "secret-token", session=session), seen


def asked():
    return httpx2.Response(
        201, json={"id": 4, "row": 1, "state": "pending", "value": None, "revision": 0}
    )


def refused(status, code="some_code", **headers):
    body = {"error": {"code": code, "message": "no"}}
    return httpx2.Response(status, json=body, headers=headers)


def test_what_may_pass_is_tried_again_later_and_later(pauses):
    failures = [
        httpx2.ConnectError("refused"),
        httpx2.ReadTimeout("silence"),
        httpx2.RemoteProtocolError("cut"),
        *(refused(status) for status in (429, 502, 503, 504)),
        *(httpx2.Response(status, text="later") for status in (408, 425, *range(520, 525))),
        httpx2.Response(500, text="Internal Server Error"),
        httpx2.Response(500, json={"error": "a proxy's"}),
    ] * 3
    curator, seen = curator_that_answers(*failures, asked())
    assert curator.submit(1) == 4
    assert len(pauses) == len(failures)
    for tries, pause in enumerate(pauses):
        longest = min(30.0, 0.2 * 2**tries)
        assert 0.5 * longest <= pause <= longest
    assert len({request.headers["idempotency-key"] for request in seen[1:]}) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 500])
def test_what_is_refused_for_good_is_not_tried_again(pauses, status):
    curator, seen = curator_that_answers(refused(status))
    with pytest.raises(RemoteError, match="^no$"):
        curator.submit(1)
    assert len(seen) == 2
    assert pauses == []


def test_an_internal_error_is_final_after_a_while(pauses):
    cut = httpx2.ConnectError("refused")
    nine = [refused(500, "internal")] * 9
    curator, _ = curator_that_answers(*nine, cut, *nine, asked())
    assert curator.submit(1) == 4
    curator, seen = curator_that_answers(*nine, refused(500, "internal"))
    with pytest.raises(RemoteError, match="^no$") as caught:
        curator.submit(1)
    assert caught.value.code == "internal"
    assert len(seen) == 11


def test_who_waits_for_a_measurement_waits_through_internal_errors(pauses):
    measured = {"id": 4, "row": 1, "state": "measured", "value": 2.0, "revision": 1}
    failures = [refused(500, "internal")] * 50
    curator, _ = curator_that_answers(asked(), *failures, httpx2.Response(200, json=measured))
    assert curator.query(1) == (1, 2.0)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (refused(500, "internal"), "internal"),
        (httpx2.Response(500, text="Internal Server Error"), "unreachable"),
    ],
)
def test_the_first_contact_has_no_more_patience_than_said(reply, code):
    session = httpx2.Client(transport=httpx2.MockTransport(lambda _: reply))
    began = time.monotonic()
    with pytest.raises(RemoteError) as caught:
        RemoteCurator(URL, "secret-token", session=session, patience=0.5)
    assert caught.value.code == code
    assert 0.05 < time.monotonic() - began < 2


def test_a_server_that_says_when_is_obeyed(pauses):
    later = formatdate(time.time() + 120, usegmt=True)
    replies = [refused(429, **{"Retry-After": text}) for text in ("7", later, "soon", "999999")]
    curator, _ = curator_that_answers(*replies, asked())
    curator.submit(1)
    assert pauses[0] == 7
    assert 110 < pauses[1] <= 120
    assert pauses[2] < 1
    assert pauses[3] == 3600


def test_a_redirect_is_not_followed(pauses):
    curator, seen = curator_that_answers(httpx2.Response(307, headers={"Location": "https://elsewhere"}))
    with pytest.raises(RemoteError, match="answers /v1/queries with status 307"):
        curator.submit(1)
    assert {request.url.host for request in seen} == {"curator.example.org"}
    assert {request.headers["authorization"] for request in seen} == {"Bearer secret-token"}


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://curator.example.org", "url must begin with https:// for curator.example.org"),
        ("http://127.0.0.1.example.org", "url must begin with https://"),
        ("ftp://127.0.0.1", "url must be an address such as"),
        ("curator.example.org", "url must be an address such as"),
        ("https://", "url must be an address such as"),
        ("https://host:99999", "url must be an address such as"),
        ("https://host/?token=1", "url must be an address such as"),
        (None, "url must be an address such as"),
        ("https://name:hidden@host", "url must hold no name or password"),
    ],
)
def test_an_address_that_would_show_the_token_or_is_none_is_refused(url, message):
    with pytest.raises(ValueError, match=message) as caught:
        RemoteCurator(url, "secret-token")
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "tökén", None, b"bytes"])
def test_what_cannot_be_a_token_is_refused_and_not_shown(token):
    with pytest.raises(ValueError, match="token must be a text of visible ASCII characters") as caught:
        RemoteCurator(URL, token)
    assert not token or str(token) not in str(caught.value)


def test_http_elsewhere_and_no_verification_need_a_word():
    with pytest.raises(ValueError, match="verify must not be False"):
        RemoteCurator(URL, "secret-token", verify=False)
    with pytest.raises(FileNotFoundError, match="no/such.pem"):
        RemoteCurator(URL, "secret-token", verify="no/such.pem")
    session = httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(200, json=FACTS)))
    RemoteCurator("http://curator.example.org", "secret-token", insecure=True, session=session)


def test_a_file_that_holds_no_certificate_is_refused(tmp_path):
    path = tmp_path / "ca.pem"
    path.write_text("a letter")
    with pytest.raises(ValueError, match="verify must be a file with certificates in PEM form"):
        RemoteCurator(URL, "secret-token", verify=path)


@pytest.mark.slow
def test_without_httpx2_it_is_said_what_to_install():
    code = (
        "import sys; sys.modules['httpx2'] = None\n"
        "from botorch_private import Modeler, RemoteCurator\n"
        "RemoteCurator('https://host', 'token')\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (
        "ImportError: a curator elsewhere needs httpx2: pip install 'botorch-private[client]'"
        in done.stderr
    )


def test_certificates_are_verified_and_a_file_of_ones_own_is_believed(serve, tmp_path):
    server = serve()
    server.kill()
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    try:
        command = [*make, *names, "-keyout", key, "-out", certificate]
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs openssl")
    options = ["--port", "0", "--tls-cert", certificate, "--tls-key", key]
    server.process = subprocess.Popen(
        [*SERVE, server.folder.path, *options], stdout=subprocess.PIPE, text=True
    )
    url = server.process.stdout.readline().strip()
    assert url.startswith("https://")
    began = time.monotonic()
    with pytest.raises(RemoteError, match="give the file with it") as caught:
        RemoteCurator(url, server.token)
    assert caught.value.code == "unreachable"
    assert time.monotonic() - began < 3  # it will not pass, so it is not tried again
    for verify in (certificate, ssl.create_default_context(cafile=str(certificate))):
        with RemoteCurator(url, server.token, verify=verify) as curator:
            assert curator.release.identity == server.curator.release.identity
    with RemoteCurator(url, server.token, verify=False, insecure=True) as curator:
        assert curator.queries_left is None
