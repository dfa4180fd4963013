"""A curator on another machine, with failures in between, beside one in this process."""

import contextlib
import http.server
import logging
import pickle
import threading
import time

import httpx2
import pytest
from helpers.patience import wait_until
from helpers.remote_server import Here, N, Server, make_modeler

from botorch_private import Observation, Release, RemoteCurator, RemoteError, WithdrawnError, run
from botorch_private.modeler.remote.transport import Transport


class LosesReplies(httpx2.HTTPTransport):
    """Lets a request through and loses its reply, once for each question."""

    lost = 0

    def handle_request(self, request):
        response = super().handle_request(request)
        if request.method == "POST" and request.extensions.get("lost") is None and self.lost < 3:
            self.lost += 1
            response.close()
            raise httpx2.ReadError("the reply is lost")
        return response


def test_over_http_and_in_one_process_the_picks_are_the_same(serve):
    server = serve()
    here = run(Here(server.curator), make_modeler(server.curator.release), 8)
    with RemoteCurator(server.url, server.token) as curator:
        assert curator.release.identity == server.curator.release.identity
        assert curator.release is curator.release
        assert curator.guarantee == str(server.curator.guarantee)
        assert run(curator, make_modeler(curator.release), 8) == here
        assert len(server.questions()) == 8
        # with one question at a time, asking without waiting is the same run, too
        assert run(curator, make_modeler(curator.release), 8, pending=1) == here
    assert len(server.questions()) == 8


def test_a_question_whose_reply_was_lost_is_the_same_question(serve):
    server = serve(known=False)
    transport = LosesReplies()
    with httpx2.Client(transport=transport) as session:
        curator = RemoteCurator(server.url, server.token, session=session)
        assert curator.submit(7) == 1
        assert transport.lost == 3
    assert [each["id"] for each in server.questions()] == [1]
    with RemoteCurator(server.url, server.token) as restarted:
        assert restarted.submit(7) == 1
        assert restarted.submit(8) == 2
        assert restarted.pending == [7, 8]


@pytest.mark.slow
def test_a_run_goes_on_when_the_server_is_killed_and_comes_back(serve):
    server = serve()
    here = run(Here(server.curator), make_modeler(server.curator.release), 8)
    with RemoteCurator(server.url, server.token) as curator:
        modeler = make_modeler(curator.release)
        for rounds in (2, 3, 3):
            server.kill()
            timer = server.start_later(0.3)
            # the first thing that happens in a run is a request
            assert run(curator, modeler, rounds) == modeler.history
            timer.join()
    assert modeler.history == here
    assert len(server.questions()) == 8


@pytest.mark.slow
@pytest.mark.parametrize("end", [Server.kill, Server.stop])
def test_waiting_for_a_measurement_outlives_the_server(serve, end):
    server = serve(known=False)
    found = []
    with RemoteCurator(server.url, server.token) as curator:
        waiting = threading.Thread(target=lambda: found.append(curator.query(4)))
        waiting.start()
        wait_until(server.questions)
        time.sleep(0.2)  # by now the client waits for the answer
        end(server)
        time.sleep(0.3)
        server.start()
        server.measure(1, 2.5)
        waiting.join(timeout=20)
    assert found == [Observation(4, 2.5)]


def test_a_withdrawn_row_is_skipped_and_may_be_asked_again(serve):
    server = serve(known=False)
    with RemoteCurator(server.url, server.token) as curator:
        curator.submit(3)
        server.withdraw(1)
        with pytest.raises(WithdrawnError, match="row 3 will not be measured") as caught:
            curator.query(3)
        assert pickle.loads(pickle.dumps(caught.value)).index == 3
        assert curator.withdrawn == [3]
        assert curator.pending == []
        assert curator.submit(3) == 2
        assert curator.withdrawn == []
        server.measure(2, 1.0)
        assert curator.poll() == [(3, 1.0)]
    # A restarted modeler replays what its predecessor saw: first the withdrawal, then the new question.
    with RemoteCurator(server.url, server.token) as restarted, contextlib.suppress(WithdrawnError):
        assert restarted.submit(3) == 1
        restarted.query(3)
        pytest.fail("the withdrawal was lost")
    with RemoteCurator(server.url, server.token) as restarted:
        restarted.submit(3)
        assert restarted.poll() == []
        assert restarted.query(3) == (3, 1.0)
    assert len(server.questions()) == 2


def test_run_goes_on_without_a_row_that_is_withdrawn(serve):
    server = serve(known=False)
    with RemoteCurator(server.url, server.token) as curator:
        modeler = make_modeler(curator.release)
        first, second, third = make_modeler(curator.release).ask(3)
        for row in (first, second, third):
            curator.submit(row)
        server.withdraw(1)
        server.measure(2, 2.0)
        server.measure(3, 3.0)
        history = run(curator, modeler, 2)
    assert list(history) == [(second, 2.0), (third, 3.0)]
    assert modeler.skipped == [first]


def test_answers_come_in_any_order_and_corrections_come_again(serve):
    server = serve(known=False)
    with RemoteCurator(server.url, server.token) as curator:
        numbers = [curator.submit(row) for row in (9, 2, 5)]
        assert curator.poll() == []
        server.measure(numbers[2], 5.0)
        assert curator.poll(wait=5) == [(5, 5.0)]
        server.measure(numbers[0], 9.0)
        server.measure(numbers[1], 2.0)
        assert list(curator.answers()) == [(9, 9.0), (2, 2.0)]
        assert curator.poll(wait=100) == []  # nothing is open, so nothing is waited for
        server.correct(numbers[1], -2.0)
        assert curator.poll() == [(2, -2.0)]
        assert curator.poll() == []
        assert curator.query(2) == (2, -2.0)
    server.correct(numbers[0], 90.0)
    with RemoteCurator(server.url, server.token) as restarted:
        assert restarted.poll() == []
        restarted.remember([(9, 9.0), (2, -2.0), (5, 5.0)])
        assert restarted.poll() == [(9, 90.0)]


def test_a_long_poll_returns_as_soon_as_there_is_an_answer(serve):
    server = serve(known=False)
    with RemoteCurator(server.url, server.token) as curator:
        curator.submit(0)
        timer = threading.Timer(0.3, server.measure, (1, 1.0))
        timer.start()
        began = time.monotonic()
        assert curator.poll(wait=20) == [(0, 1.0)]
        assert time.monotonic() - began < 5
        timer.join()


def test_a_spent_budget_names_max_queries_and_answers_what_was_asked(serve):
    server = serve(max_queries=2)
    with RemoteCurator(server.url, server.token) as curator:
        assert (curator.max_queries, curator.queries_left) == (2, 2)
        first = curator.query(0)
        curator.query(1)
        with pytest.raises(RemoteError, match="all max_queries=2 measurements are spent") as caught:
            curator.query(2)
        assert caught.value.code == "budget_spent"
        assert curator.query(0) == first
        assert curator.queries_left == 0
        with pytest.raises(ValueError, match="rounds must be at most the curator's 0 queries left"):
            run(curator, make_modeler(curator.release), 1)
        with pytest.raises(ValueError, match="rounds must be at most the curator's 0 queries left"):
            run(curator, make_modeler(curator.release), 1, pending=1)


def test_what_is_not_a_row_is_refused_without_a_request(serve):
    server = serve()
    with RemoteCurator(server.url, server.token) as curator:
        server.kill()
        for index in (-1, N, 1.0, True, "1"):
            with pytest.raises(ValueError, match="index must be"):
                curator.submit(index)


def test_wrong_tokens_and_addresses_are_refused_at_once_and_no_token_is_shown(serve, caplog):
    caplog.set_level(logging.DEBUG)
    server = serve()
    wrong = "bop_" + "x" * 43
    shown = []
    began = time.monotonic()
    for url, token, code in (
        (server.url, wrong, "no_token"),
        (server.url, server.staff_token, "wrong_role"),
        (server.url + "/elsewhere", server.token, "no_curator"),
        ("http://127.0.0.1:9", server.token, "unreachable"),
    ):
        with pytest.raises(RemoteError) as caught:
            RemoteCurator(url, token, patience=1.0)
        assert caught.value.code == code
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
        shown += [str(caught.value), repr(caught.value)]
    assert time.monotonic() - began < 10
    with RemoteCurator(server.url, server.token) as curator:
        curator.query(1)
        shown += [repr(curator), repr(vars(curator)), repr(vars(curator._transport))]
        shown += [repr(vars(curator._transport._session))]
    shown += [server.log.read_text(), caplog.text]
    assert caplog.records
    for text in shown:
        for token in (wrong, server.token, server.staff_token):
            assert token not in text


def test_another_web_server_is_no_curator():
    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>hello</html>")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as other:
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        with pytest.raises(RemoteError, match="url must be the address of a curator's server"):
            RemoteCurator(f"http://127.0.0.1:{other.server_port}", "token")
        other.shutdown()
        thread.join()


def test_the_release_is_kept_and_then_only_asked_about(serve, tmp_path):
    server, other = serve(), serve()
    path = tmp_path / "kept.safetensors"
    with RemoteCurator(server.url, server.token, release_path=path) as curator:
        assert curator.release.identity == Release.load(path).identity
    before = path.stat()
    with RemoteCurator(server.url, server.token, release_path=path) as curator:
        assert curator.release.identity == curator.identity
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    with RemoteCurator(other.url, other.token, release_path=path) as curator:
        assert curator.release.identity == Release.load(path).identity == other.curator.release.identity
    path.write_text("a letter")
    with RemoteCurator(other.url, other.token, release_path=path) as curator:
        with pytest.raises(
            ValueError, match="release_path must be a new file or one that holds a release"
        ):
            _ = curator.release
        assert path.read_text() == "a letter"
    assert not list(tmp_path.glob(".release*"))


def test_a_damaged_or_forged_release_is_refused_and_not_kept(serve, tmp_path, monkeypatch):
    """What a proxy does to it: the server itself sends no file but its own, whole."""
    server, other = serve(), serve()
    path = tmp_path / "kept.safetensors"
    whole = server.folder.release.read_bytes()
    for content in (whole[:-3], other.folder.release.read_bytes()):

        def forged(self, path, file, *, etag=None, content=content):
            file.write(content)
            return True

        monkeypatch.setattr(Transport, "download", forged)
        with (
            RemoteCurator(server.url, server.token, release_path=path) as curator,
            pytest.raises(RemoteError, match="it is damaged or another one: nothing was kept"),
        ):
            _ = curator.release
        assert list(tmp_path.glob("*.safetensors")) == []
