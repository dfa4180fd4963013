"""One POST: what it holds, where it goes, and what is taken for an answer."""

import json
import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
import trustme
from helpers.receiver import SECRET, receiver
from standardwebhooks.webhooks import Webhook as Standard

from botorch_private.curator.service.notify.message import Message
from botorch_private.curator.service.notify.signing import read_secret
from botorch_private.curator.service.notify.webhook import SendingError, Webhook

KEY = read_secret(SECRET)
MESSAGE = Message("msg_1", "questions", "2026-01-02T03:04:05.000000+00:00", new=2, open=5)


def send(url, **options):
    Webhook(url, KEY, internal=True, **options).send(MESSAGE, "Clinic", "https://c.example.org/console")


def test_a_message_is_signed_and_holds_counts_alone():
    with receiver() as kept:
        send(f"{kept.url}/hook?a=b")
    (found,) = kept.received
    assert found.path == "/hook?a=b"
    assert Standard(SECRET).verify(found.body, found.headers) == json.loads(found.body)
    assert json.loads(found.body) == {
        "type": "questions.new",
        "timestamp": MESSAGE.time,
        "data": {"name": "Clinic", "new": 2, "open": 5, "console": "https://c.example.org/console"},
    }
    assert found.headers["host"] == kept.url.removeprefix("http://")
    assert "botorch" not in str(found.headers).lower()


@pytest.mark.parametrize(
    ("status", "wait", "for_good"),
    [
        (301, 0, False),
        (307, 0, False),
        (400, 0, False),
        (410, 0, True),
        (429, 7, False),
        (500, 0, False),
    ],
)
def test_only_success_is_success_and_redirects_are_not_followed(status, wait, for_good):
    with receiver() as other, receiver() as kept:
        kept.statuses = [status]
        kept.headers = {"Location": other.url, "Retry-After": "7"} if status in (301, 307, 429) else {}
        with pytest.raises(SendingError, match=f"^it answered {status}$") as caught:
            send(kept.url)
        assert other.received == []
        assert len(kept.received) == 1
    assert caught.value.for_good == for_good
    if wait:
        assert caught.value.wait == wait


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("soon", 0, 0),
        ("-5", 0, 0),
        ("9" * 50, 0, 0),
        ("999999999", 86400, 86400),
        ("in 5 hours", 17000, 18001),
    ],
)
def test_what_a_receiver_asks_to_wait_is_read_or_ignored(text, least, most):
    if text == "in 5 hours":  # not among the parameters: tests are collected twice, at two times
        text = format_datetime(datetime.now(UTC) + timedelta(hours=5))
    with receiver() as kept:
        kept.statuses, kept.headers = [503], {"Retry-After": text}
        with pytest.raises(SendingError) as caught:
            send(kept.url)
    assert least <= caught.value.wait <= most


def test_the_address_that_was_looked_at_is_the_one_that_is_connected_to(monkeypatch):
    """Whoever answers for a name may say something else when it is asked again."""
    asked, look_up = [], socket.getaddrinfo

    def answer(host, *more, **options):
        name = host.decode() if isinstance(host, bytes) else host
        if name != "localhost":
            return look_up(host, *more, **options)
        asked.append(name)
        return look_up("127.0.0.1" if len(asked) == 1 else "127.0.0.9", *more, **options)

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    with receiver() as kept:
        send(kept.url)
    assert len(kept.received) == 1
    assert asked == ["localhost"]


def test_this_machine_is_not_reached_unless_that_is_said():
    with receiver() as kept:
        with pytest.raises(SendingError, match="must be a public one, unless internal = true"):
            Webhook(kept.url, KEY).send(MESSAGE, "Clinic", "")
        assert kept.received == []


def test_a_proxy_of_the_environment_is_not_used(monkeypatch):
    with receiver() as proxy, receiver() as kept:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        send(kept.url)
        assert len(kept.received) == 1
        assert proxy.received == []


def test_a_certificate_must_be_of_the_host_that_was_named():
    authority = trustme.CA()
    context = ssl.create_default_context()
    authority.configure_trust(context)
    with receiver(authority.issue_cert("localhost")) as kept:
        send(kept.url, context=context)
        with pytest.raises(SendingError):  # nobody vouches for it
            send(kept.url)
        with pytest.raises(SendingError):  # it is another host's, at the same address
            send(kept.url.replace("localhost", "127.0.0.1"), context=context)
    assert len(kept.received) == 1


def test_what_is_no_receiver_is_an_error_without_its_words():
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def speak():
            connection, _ = listening.accept()
            connection.recv(10_000)
            connection.sendall(b"MARKER is no HTTP\r\n\r\n")
            connection.close()

        thread = threading.Thread(target=speak, daemon=True)
        thread.start()
        with pytest.raises(SendingError) as caught:
            send(f"http://localhost:{listening.getsockname()[1]}")
        thread.join()
    assert "MARKER" not in str(caught.value)
    with pytest.raises(SendingError, match="ConnectError"):
        send("http://localhost:9")
