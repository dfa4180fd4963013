"""A server whose folder was restored, or that answers wrongly: no loop without a pause, no wrong row."""

import itertools
import shutil
import time
from email.utils import formatdate
from threading import Timer

import httpx2
import pytest
from helpers.patience import wait_until
from helpers.remote_server import make_modeler

from botorch_private import RemoteCurator, RemoteError
from botorch_private.cli import main as cli
from botorch_private.modeler.remote import backoff
from botorch_private.modeler.state import ModelerState

FACTS = {
    "identity": "0",
    "rows": 9,
    "max_queries": None,
    "queries_left": None,
    "outcome": "y",
    "unit": "",
}


class TooMany(Exception):
    """The client asked so often that it would have gone on for ever."""


@pytest.fixture
def clock(monkeypatch):
    """A clock that only pauses move: what is noted is all that a client waits."""
    noted = []
    monkeypatch.setattr(time, "sleep", noted.append)
    monkeypatch.setattr(time, "monotonic", lambda: sum(noted))
    return noted


def shown(number, row, state="pending", value=None):
    return httpx2.Response(
        200, json={"id": number, "row": row, "state": state, "value": value, "revision": 0}
    )


def page(*queries):
    fields = ("id", "row", "state", "value")
    return httpx2.Response(
        200, json={"queries": [dict(zip(fields, each, strict=True)) for each in queries]}
    )


def error(status, code="some_code", **headers):
    return httpx2.Response(status, json={"error": {"code": code, "message": "no"}}, headers=headers)


def curator_behind(answer, most=400):
    """A curator whose server answers each request about a question by ``answer(request, count)``."""
    count = itertools.count()

    def handle(request):
        if request.url.path == "/v1/release":
            return httpx2.Response(200, json=FACTS)
        number = next(count)
        if number >= most:
            raise TooMany
        return answer(request, number)

    session = httpx2.Client(transport=httpx2.MockTransport(handle))
    return RemoteCurator("https://curator.example.org", "secret-token", session=session)


def asked_as(number, row):
    """Answers a question as it should be, and everything else by what it is given."""

    def of(other):
        def answer(request, count):
            return shown(number, row) if request.method == "POST" else other(request, count)

        return answer

    return of


@pytest.mark.parametrize(
    "wrong",
    [
        lambda *_: shown(1, 5),
        lambda *_: shown(1, 5, "measured", 1.0),
        lambda *_: shown(1, 5, "withdrawn"),
        lambda *_: shown(2, 4, "measured", 1.0),
        lambda *_: error(404, "no_query"),
    ],
    ids=["open", "measured", "withdrawn", "number", "404"],
)
def test_a_question_that_is_about_another_row_is_asked_again_and_not_for_ever(clock, wrong):
    curator = curator_behind(asked_as(1, 4)(wrong))
    with pytest.raises(RemoteError, match="the question about row 4 must stay known") as caught:
        curator.query(4)
    assert caught.value.code == "question_lost"
    assert len(clock) == 10
    assert all(later > 0.05 for later in clock)
    assert 30 < sum(clock) < 200
    assert curator.pending == [4]
    assert curator.withdrawn == []


@pytest.mark.parametrize("listed", [[], [(1, 5, "measured", 1.0)], [(1, 5, "withdrawn", None)]])
def test_polling_asks_again_for_a_row_that_is_not_listed_and_not_for_ever(clock, listed):
    curator = curator_behind(asked_as(1, 4)(lambda *_: page(*listed)))
    curator.submit(4)
    for _ in range(10):
        assert curator.poll() == []
    with pytest.raises(RemoteError, match="the question about row 4 must stay known"):
        curator.poll()
    assert len(clock) == 10


def test_an_answer_to_the_question_itself_that_is_about_another_row_is_not_taken(clock):
    curator = curator_behind(lambda *_: shown(1, 5, "measured", 1.0))
    with pytest.raises(RemoteError, match="the question about row 4 must stay known"):
        curator.submit(4)
    assert curator.pending == []


@pytest.mark.parametrize(
    "reply",
    [
        httpx2.Response(200, text=""),
        httpx2.Response(200, text="<html>"),
        httpx2.Response(200, text="[" * 100_000),
        httpx2.Response(200, json=[]),
        httpx2.Response(200, json={}),
        httpx2.Response(200, json={"id": 1, "row": 4, "state": "measured", "value": None}),
        httpx2.Response(200, text='{"id": 1, "row": 4, "state": "measured", "value": NaN}'),
        httpx2.Response(200, json={"id": 1, "row": 4, "state": "measured", "value": True}),
        httpx2.Response(200, json={"id": 1, "row": 99, "state": "measured", "value": 1.0}),
        httpx2.Response(200, json={"id": 1, "row": -1, "state": "pending", "value": None}),
        httpx2.Response(200, json={"id": 0, "row": 4, "state": "pending", "value": None}),
        httpx2.Response(200, json={"id": "1", "row": 4, "state": "pending", "value": None}),
        httpx2.Response(200, json={"id": 1, "row": 4, "state": "lost", "value": None}),
        httpx2.Response(204),
        httpx2.Response(302, headers={"Location": "https://elsewhere"}),
        httpx2.Response(404, text="not here"),
        httpx2.Response(410, text="gone"),
        error(409),
        error(410),
        error(501),
    ],
    ids=lambda reply: f"{reply.status_code} {reply.text[:60]}",
)
@pytest.mark.parametrize("way", ["query", "poll"])
def test_what_is_no_answer_ends_at_once_by_an_error_of_its_own(clock, reply, way):
    curator = curator_behind(asked_as(1, 4)(lambda *_: reply))
    curator.submit(4)
    with pytest.raises(RemoteError):
        curator.query(4) if way == "query" else curator.poll(wait=60)
    assert clock == []
    assert curator.pending == [4]


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
@pytest.mark.parametrize(
    "advice",
    [None, "0", "-5", "soon", "1e9", "²", "99999999999999999999", formatdate(0), "Fri, 31 Dec 9999", ""],
)
def test_a_busy_server_is_asked_later_and_later_whatever_it_advises(clock, status, advice):
    headers = {} if advice is None else {"Retry-After": advice.encode()}

    def busy(request, count):
        return error(status, **headers) if count < 12 else shown(1, 4, "measured", 2.0)

    if status == 500:
        busy_reply = httpx2.Response(500, text="cut", headers=headers)

        def busy(request, count):
            return busy_reply if count < 12 else shown(1, 4, "measured", 2.0)

    curator = curator_behind(asked_as(1, 4)(busy))
    assert curator.query(4) == (4, 2.0)
    assert len(clock) == 11  # the first request is the question
    for tries, pause in enumerate(clock):
        assert 0.5 * min(30.0, 0.2 * 2**tries) <= pause <= backoff._LONGEST_ADVICE


def test_a_server_that_does_not_wait_is_not_asked_without_a_pause(clock):
    curator = curator_behind(
        asked_as(1, 4)(lambda _, count: shown(1, 4, *(("measured", 2.0) if count > 50 else ())))
    )
    assert curator.query(4) == (4, 2.0)
    assert len(clock) == 50
    assert sum(clock) > 50 * 10

    def answer(request, count):
        if request.url.path.endswith("/queries"):
            return page((1, 4, "pending", None))
        return shown(1, 4)

    curator = curator_behind(asked_as(1, 4)(answer))
    curator.submit(4)
    before = sum(clock)
    assert curator.poll(wait=600) == []
    assert 599 < sum(clock) - before < 601


@pytest.mark.parametrize(
    "pages",
    [
        lambda after: [(1, 4, "pending", None)] * 1000,
        lambda after: [(after + k, 5, "withdrawn", None) for k in range(1, 1001)],
        lambda after: [(1000 - k, 5, "withdrawn", None) for k in range(1000)],
    ],
    ids=["the same", "no end", "backwards"],
)
def test_a_list_without_an_end_is_refused(clock, pages):
    def answer(request, count):
        return page(*pages(int(request.url.params["after"])))

    curator = curator_behind(asked_as(1, 4)(answer), most=2000)
    curator.submit(4)
    with pytest.raises(RemoteError, match="in no order|no end of questions"):
        curator.poll()


def test_answers_that_came_are_not_lost_where_another_question_is_refused(clock):
    def answer(request, count):
        if request.method == "POST":
            row = {0: 4, 1: 5}.get(count)
            return shown(count + 1, row) if row is not None else error(409, "budget_spent")
        return page((2, 5, "measured", 5.0))

    curator = curator_behind(answer)
    curator.submit(4)
    curator.submit(5)
    assert curator.poll() == [(5, 5.0)]
    with pytest.raises(RemoteError, match="measurements are spent"):
        curator.poll()
    assert curator.pending == []


def test_words_of_a_server_do_not_move_the_cursor(clock):
    reply = httpx2.Response(409, json={"error": {"code": "x", "message": "a\x1b[2Jb\r\n" + "c" * 9999}})
    curator = curator_behind(lambda *_: reply)
    with pytest.raises(RemoteError) as caught:
        curator.submit(4)
    assert str(caught.value).startswith("a [2Jb  ccc")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1100


def put_back(server, backup):
    """Restore a server's folder, as a person would: stop, replace, start."""
    server.stop()
    shutil.rmtree(server.folder.path)
    shutil.copytree(backup, server.folder.path)
    server.start()


@pytest.mark.slow
@pytest.mark.parametrize("way", ["query", "poll"])
def test_who_waits_gets_the_answer_of_its_own_row_after_a_restore(serve, tmp_path, way, caplog):
    server = serve(known=False)
    server.stop()
    backup = tmp_path / "backup"
    shutil.copytree(server.folder.path, backup)
    server.start()
    with (
        RemoteCurator(server.url, server.token) as waiting,
        RemoteCurator(server.url, server.token) as other,
    ):
        assert waiting.submit(4) == 1
        put_back(server, backup)
        assert other.submit(9) == 1  # the number that was row 4's
        server.measure(1, 9.0)
        if way == "query":
            timer = Timer(1.5, lambda: server.measure(2, 4.0))
            timer.start()
            assert waiting.query(4) == (4, 4.0)
            timer.join()
        else:
            assert waiting.poll() == []
            assert waiting.submit(4) == 2
            server.measure(2, 4.0)
            assert waiting.poll(wait=10) == [(4, 4.0)]
        assert [other.submit(row) for row in (9, 4)] == [1, 2]
        assert len(server.questions()) == 2
    assert "does not know the question about row 4 any more" in caplog.text


@pytest.mark.slow
def test_a_search_goes_on_with_answers_that_a_restored_server_does_not_know(
    serve, tmp_path, monkeypatch, capsys
):
    server = serve()
    server.stop()
    backup = tmp_path / "backup"
    shutil.copytree(server.folder.path, backup)
    server.start()
    monkeypatch.setenv("BOTORCH_PRIVATE_TOKEN", server.token)
    state = tmp_path / "run.json"
    more = ["--state", str(state), "--seed", "5", "--n-initial", "3"]
    assert cli.main(["optimize", server.url, "--rounds", "4", *more]) == 0
    first = ModelerState.load(state).history
    put_back(server, backup)
    assert server.questions() == []
    assert cli.main(["optimize", server.url, "--rounds", "7", *more]) == 0
    history = ModelerState.load(state).history
    assert history[:4] == first
    undisturbed = make_modeler(server.curator.release)
    for row, value in history:
        assert undisturbed.ask() == row
        undisturbed.tell(row, value)
    with RemoteCurator(server.url, server.token) as curator:
        assert [curator.submit(row) for row, _ in history[4:]] == [1, 2, 3]
    assert len(server.questions()) == 3


@pytest.mark.slow
def test_a_search_whose_question_was_lost_while_nobody_waited_asks_it_again(
    serve, tmp_path, monkeypatch
):
    server = serve(known=False)
    server.stop()
    backup = tmp_path / "backup"
    shutil.copytree(server.folder.path, backup)
    server.start()
    with RemoteCurator(server.url, server.token) as curator:
        modeler = make_modeler(curator.release)
        row = modeler.ask()
        curator.submit(row)
    put_back(server, backup)
    with RemoteCurator(server.url, server.token) as curator:
        other = next(each for each in range(40) if each != row)
        assert curator.submit(other) == 1
        assert curator.submit(modeler.ask()) == 2
        wait_until(lambda: len(server.questions()) == 2)
        server.measure(2, 1.5)
        assert curator.query(row) == (row, 1.5)
