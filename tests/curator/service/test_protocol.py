"""What connections of strangers may cost: long heads, slow ones, and many of them."""

import asyncio
import resource
import signal
import socket
import threading
import time
from contextlib import contextmanager

import pytest
import uvicorn

from botorch_private.curator.service import protocol, server
from botorch_private.curator.service.protocol import ConnectionLimit, SlowProtocol, guarded_protocol

BASES = {"httptools": None, "h11": SlowProtocol}
PLAIN = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\n"


async def application(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    if scope["path"] == "/slow":
        await asyncio.sleep(1.5)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def listening(http):
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        application,
        http=http,
        ws="none",
        lifespan="off",
        log_config=None,
        h11_max_incomplete_event_size=protocol.LARGEST_HEAD,
    )
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        while not running.started:
            time.sleep(0.01)
        yield listener.getsockname()
    finally:
        running.should_exit = True
        thread.join()
        listener.close()


def connected(address):
    return socket.create_connection(address, timeout=10)


def received(connection):
    """The next bytes; empty: the server closed the connection."""
    try:
        return connection.recv(65536)
    except ConnectionError:
        return b""


def is_closed_on(connection, begin, more, most):
    """Whether the server ends a connection that sends ever more, before so many bytes."""
    connection.sendall(begin)
    sent = 0
    try:
        while sent < most:
            connection.sendall(more)
            sent += len(more)
    except ConnectionError:
        return True
    return False


def is_closed_while_trickling(connection, piece, seconds):
    end = time.monotonic() + seconds
    connection.settimeout(0.05)
    while time.monotonic() < end:
        try:
            connection.sendall(piece)
            if not connection.recv(65536):
                return True
        except TimeoutError:
            pass
        except ConnectionError:
            return True
    return False


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (b"GET /", b"x" * 4096),
        (b"GET / HTTP/1.1\r\nHost: x\r\na: ", b"x" * 4096),
        (b"GET / HTTP/1.1\r\n", b"a: b\r\n" * 700),
        (b"GET / HTTP/1.1\r\n", b"x" * 4096),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", b"a: b\r\n" * 700),
        (PLAIN + b"GET / HTTP/1.1\r\n", b"a: b\r\n" * 700),
    ],
    ids=["url", "header", "headers", "name", "trailers", "second"],
)
def test_a_head_without_an_end_closes_the_connection(base, begin, more):
    with listening(guarded_protocol(base=base)) as address, connected(address) as connection:
        assert is_closed_on(connection, begin, more, 16 * 2**20)


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_a_head_that_is_just_short_enough_is_answered_in_any_pieces(base):
    head = b"GET / HTTP/1.1\r\nHost: x\r\na: "
    head += b"x" * (protocol.LARGEST_HEAD - len(head) - 4) + b"\r\n\r\n"
    with listening(guarded_protocol(base=base)) as address, connected(address) as connection:
        for size in (len(head), 1000):
            for start in range(0, len(head), size):
                connection.sendall(head[start : start + size])
            assert received(connection).startswith(b"HTTP/1.1 200")


def test_a_head_in_one_piece_that_is_one_byte_too_long_is_not_answered():
    head = b"GET / HTTP/1.1\r\nHost: x\r\na: "
    head += b"x" * (protocol.LARGEST_HEAD - len(head) - 3) + b"\r\n\r\n"
    with listening(guarded_protocol()) as address, connected(address) as connection:
        connection.sendall(head)
        assert received(connection) == b""


def test_requests_behind_each_other_are_answered_in_turn():
    with listening(guarded_protocol()) as address, connected(address) as connection:
        body = POST + b"Content-Length: 20000\r\n\r\n" + b"x" * 20000
        connection.sendall(PLAIN * 3 + body + PLAIN)
        found = b""
        while found.count(b"HTTP/1.1 200") < 5 and (more := received(connection)):
            found += more
        assert found.count(b"HTTP/1.1 200") == 5


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        (b"", b""),
        (b"GET / HTTP/1.1\r\n", b"a: b\r\n"),
        (PLAIN, b"\r\n"),
        (PLAIN + b"GET / HTTP/1.1\r\n", b"a: b\r\n"),
        (POST + b"Content-Length: 9999\r\n\r\n", b"x"),
    ],
    ids=["silent", "headers", "empty lines", "second", "body"],
)
def test_a_request_that_does_not_come_closes_the_connection(base, begin, piece):
    protocol_class = guarded_protocol(seconds=0.5, base=base)
    with listening(protocol_class) as address, connected(address) as connection:
        connection.sendall(begin)
        assert is_closed_while_trickling(connection, piece, 4.0)


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_an_answer_may_take_longer_than_its_request(base):
    protocol_class = guarded_protocol(seconds=1.0, base=base)
    with listening(protocol_class) as address, connected(address) as connection:
        for _ in range(2):
            connection.sendall(PLAIN.replace(b"/ ", b"/slow "))
            assert received(connection).startswith(b"HTTP/1.1 200")


def test_an_address_gets_so_many_connections_and_their_places_return():
    with listening(guarded_protocol(5, 2)) as address:
        for _ in range(3):
            with connected(address) as first, connected(address) as second:
                for connection in (first, second):
                    connection.sendall(PLAIN)
                    assert received(connection).startswith(b"HTTP/1.1 200")
                with connected(address) as third:
                    assert received(third) == b""
                first.sendall(PLAIN)
                assert received(first).startswith(b"HTTP/1.1 200")
            time.sleep(0.3)


def test_connections_are_counted_in_all_and_by_address():
    limit = ConnectionLimit(3, 2)
    assert [limit.enter("a") for _ in range(3)] == [True, True, False]
    assert [limit.enter("b") for _ in range(2)] == [True, False]
    limit.leave("a")
    assert limit.enter("b")
    assert not limit.enter("c")
    for each in ("a", "b", "b"):
        limit.leave(each)
    assert not limit._inside
    for wrong in ((0, 1), (1, 0)):
        with pytest.raises(ValueError, match="must be at least 1, got 0"):
            guarded_protocol(*wrong)


@pytest.mark.parametrize(
    ("soft", "hard", "asked", "most"),
    [
        (64, 64, 64, 16),
        (300, 300, 300, 200),
        (256, 2**20, 4096, 400),
        (256, resource.RLIM_INFINITY, 4096, 400),
        (8192, 2**20, 8192, 400),
    ],
)
def test_descriptors_are_asked_for_and_connections_leave_some(monkeypatch, soft, hard, asked, most):
    limits = [soft, hard]
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", lambda _, wanted: limits.__setitem__(slice(2), wanted))
    assert guarded_protocol().limit.most == most
    assert limits == [asked, hard]


def test_the_server_uses_it(serve, monkeypatch):
    service = serve()
    service.store.close()

    class SeenError(Exception):
        pass

    def seen(application, **settings):
        raise SeenError(settings)

    monkeypatch.setattr(uvicorn, "Config", seen)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    with pytest.raises(SeenError) as error:
        server.serve(service.folder.path, port=0, connections=7, connections_of_address=3)
    (settings,) = error.value.args
    limit = settings["http"].limit
    assert (limit.most, limit.most_of_address) == (7, 3)
    assert settings["http"].seconds == 10.0
    assert settings["h11_max_incomplete_event_size"] == 16 * 1024
    assert settings["ws"] == "none"
