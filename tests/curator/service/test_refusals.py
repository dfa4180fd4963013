"""What is answered, logged and kept when something goes wrong, or somebody tries to make it so."""

import asyncio
import logging
import sqlite3
import threading
import time

import pytest
from helpers.patience import wait_until
from helpers.staff_browser import logged_in
from starlette.testclient import TestClient

from botorch_private.curator.service.app import create_app
from botorch_private.curator.service.console.sessions import (
    IDLE_SECONDS,
    LONGEST_SECONDS,
    Sessions,
)
from botorch_private.curator.service.limits import RateLimit, group_of
from botorch_private.curator.service.question import StorageError

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def is_page(response):
    assert response.headers["content-type"].startswith("text/html")
    assert "Go to the queue" in response.text
    assert "form-action 'self'" in response.headers["content-security-policy"]
    assert response.headers["cache-control"] == "no-store"
    return True


def raising(error):
    def broken(*_, **__):
        raise error

    return broken


# --- errors that nobody expected ---


@pytest.mark.parametrize("path", ["/v1/release", "/console/login"])
def test_an_unexpected_error_does_not_reach_the_server(service, monkeypatch, caplog, path):
    monkeypatch.setattr(service.store, "queries_left", raising(RuntimeError("MARKER")))
    monkeypatch.setattr(service.client.app.state.sessions, "find", raising(RuntimeError("MARKER")))
    strict = TestClient(service.client.app)  # it raises what a server would log
    with caplog.at_level(logging.DEBUG):
        response = strict.get(path, headers=service.modeler)
    assert response.status_code == 500
    for name in ("x-content-type-options", "cache-control", "x-frame-options", "referrer-policy"):
        assert name in response.headers
    assert "content-security-policy" in response.headers
    assert "MARKER" not in response.text + caplog.text
    assert "Traceback" not in caplog.text
    assert "RuntimeError in broken" in caplog.text
    if path.startswith("/console"):
        assert is_page(response)
    else:
        assert response.json()["error"]["code"] == "internal"


def test_an_error_in_the_middle_of_an_answer_is_not_raised_either(service, caplog):
    @service.client.app.get("/half")
    async def half():
        from starlette.responses import StreamingResponse

        async def parts():
            yield b"one"
            raise RuntimeError("MARKER")

        return StreamingResponse(parts())

    assert TestClient(service.client.app).get("/half").status_code == 200
    assert "MARKER" not in caplog.text


def test_a_disk_that_cannot_be_read_is_told_without_its_words(service, browser, monkeypatch, caplog):
    broken = raising(sqlite3.OperationalError("MARKER in /a/path"))
    monkeypatch.setattr(service.store, "queries_left", broken)
    monkeypatch.setattr(service.store.agenda, "count", broken)
    response = service.client.get("/v1/release", headers=service.modeler)
    assert response.status_code == 503
    assert response.json()["error"]["code"] == "storage"
    assert "MARKER" not in response.text
    page = browser.client.get("/console")
    assert page.status_code == 503
    assert is_page(page)
    assert "MARKER" not in page.text + caplog.text


def test_what_a_disk_says_is_not_told(service, monkeypatch):
    monkeypatch.setattr(service.store, "ask", raising(StorageError("nothing was stored: MARKER")))
    response = service.ask(0)
    assert (response.status_code, response.json()["error"]["code"]) == (503, "storage")
    assert "nothing was stored" in response.text
    assert "MARKER" not in response.text


# --- forms ---


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({**FORM, "Origin": "http://["}, 403),
        ({**FORM, "Origin": "http://[x]"}, 403),
        ({"Content-Type": "multipart/form-data; boundary=x; charset=undefined"}, 400),
        ({"Content-Type": "multipart/form-data"}, 400),
        ({"Content-Type": "application/x-www-form-urlencoded; charset=undefined"}, 400),
        ({"Content-Type": "text/plain"}, 400),
        ({"Content-Type": "application/x-www-form-urlencoded; charset=UTF-8"}, 401),
        ({**FORM, "Content-Length": "20000"}, 413),
        ({**FORM, "Content-Length": "9" * 5000}, 413),
        ({**FORM, "Content-Length": "\xb2".encode("latin-1")}, 413),
    ],
)
def test_a_broken_login_has_a_page(service, headers, status):
    body = b'--x\r\nContent-Disposition: form-data; name="token"\r\n\r\nbop\r\n--x--\r\n'
    response = TestClient(service.client.app).post("/console/login", content=body, headers=headers)
    assert response.status_code == status
    assert status == 401 or is_page(response)


def test_forms_in_other_encodings_are_refused_to_staff_too(service, browser):
    body = b'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n\\ud800\r\n--x--\r\n'
    kind = "multipart/form-data; boundary=x; charset=unicode_escape"
    response = TestClient(service.client.app, cookies=dict(browser.client.cookies)).post(
        "/console/questions/1/check", content=body, headers={"Content-Type": kind}
    )
    assert response.status_code == 400
    for content, kind, status in (
        (b"csrf=%ED%A0%80", FORM, 403),
        (b"csrf=" + b"&a=1" * 50, FORM, 400),
        (b"x" * 20_000, FORM, 413),
        (b"--x\r\nbroken", {"Content-Type": "multipart/form-data; boundary=x"}, 400),
        (b'{"csrf": 1}', {"Content-Type": "application/json"}, 400),
    ):
        response = browser.client.post("/console/questions/1/check", content=content, headers=kind)
        assert response.status_code == status
        assert is_page(response)


def test_any_host_header_is_survived(service):
    token = service.staff["Authorization"].split()[1]
    for path, status in (("/console/login", 303), ("/console/nothing", 404), ("/v1/nothing", 404)):
        client = TestClient(service.client.app)
        response = client.post(
            path, data={"token": token}, headers={"Host": "["}, follow_redirects=False
        )
        assert response.status_code == status


# --- who asks how often ---


def test_visitors_that_come_all_at_once_are_forgotten_beyond_a_number():
    now = [0.0]
    limit = RateLimit(1.0, 5.0, lambda: now[0])
    for visitor in range(30_000):
        limit.wait(visitor)
        now[0] += 1e-6
    assert len(limit._buckets) == 10_000
    now[0] += 100.0
    limit.wait("another")  # all the others have their whole burst again
    assert len(limit._buckets) == 1


def test_a_flood_of_new_visitors_costs_little():
    now = [0.0]
    limit = RateLimit(1.0, 5.0, lambda: now[0])
    for visitor in range(10_000):
        limit.wait(visitor)
    start = time.process_time()
    for visitor in range(20_000):
        limit.wait(("new", visitor))
    assert time.process_time() - start < 2.0  # looking through all for each: a minute


def test_addresses_are_grouped_by_who_has_them():
    assert group_of("2001:db8:1:2:3:4:5:6") == group_of("2001:db8:1:2::9")
    assert group_of("2001:db8:1:2::9") != group_of("2001:db8:1:3::9")
    assert group_of("fe80::1%eth0") == group_of("fe80::2")
    assert group_of("::ffff:192.0.2.1") == group_of("192.0.2.1") != group_of("192.0.2.2")
    assert group_of("testclient") == "testclient"
    assert len(group_of("x" * 9999)) == 64


def test_failures_from_one_network_count_together(service):
    wrong = {"Authorization": "Bearer x"}
    clients = [TestClient(service.client.app, client=(f"2001:db8::{i:x}", 5000)) for i in range(25)]
    responses = [client.get("/v1/release", headers=wrong) for client in clients]
    assert [response.status_code for response in responses] == [401] * 20 + [429] * 5
    assert int(responses[-1].headers["retry-after"]) >= 1
    assert clients[-1].get("/v1/release", headers=service.modeler).status_code == 200


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_that_is_none_is_refused(service, rate):
    with pytest.raises(ValueError, match="rate must be a finite number > 0, got"):
        create_app(service.folder, service.store, rate=rate)


# --- sessions and drafts ---


def test_a_session_ends_after_a_day_however_much_it_is_used(service):
    now = [0.0]
    sessions = Sessions(service.store, lambda: now[0])
    token = next(token for token in service.store.tokens.all() if token.role == "staff")
    text = sessions.begin(token)
    while now[0] + IDLE_SECONDS / 2 <= LONGEST_SECONDS:
        now[0] += IDLE_SECONDS / 2
        assert sessions.find(text) is not None
    now[0] += 1.0
    assert sessions.find(text) is None


@pytest.mark.parametrize("ending", ["check", "measurement", "refusal"])
def test_nothing_is_kept_for_a_question_that_is_none(service, ending):
    browser = logged_in(service)
    page = browser.send("/console/logout", value="3")
    browser = logged_in(service)
    fields = {**browser.page.forms["/console/logout"], "value": "3", "reason": "why"}
    page = browser.client.post(f"/console/questions/99/{ending}", data=fields)
    assert page.status_code == 404
    (session,) = service.client.app.state.sessions._sessions.values()
    assert not session._drafts


# --- waiting ---


def test_a_modeler_who_waits_does_not_learn_that_a_program_works(service):
    service.ask(0)
    waiting, store = service.client.app.state.waiting, service.store
    told = []
    store.listen(lambda query: told.append(query.state))

    async def waited(act, seconds):
        start = time.monotonic()
        threading.Timer(0.2, act).start()
        await waiting.wait(1, seconds, lambda: store.query(1))
        return time.monotonic() - start

    for act in (
        lambda: store.begin().result(),
        lambda: store.fail(1, "why").result(),
        lambda: store.retry(1, None).result(),
    ):
        assert asyncio.run(waited(act, 1.0)) > 0.9
    assert asyncio.run(waited(lambda: store.measure(1, 3.0, None).result(), 20.0)) < 10
    wait_until(lambda: len(told) == 4)  # it is told after whoever waits
    assert told == ["measuring", "failed", "pending", "measured"]
