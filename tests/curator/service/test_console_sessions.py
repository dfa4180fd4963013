"""Sessions over restarts: they last as long as they should, and come back in no other way."""

import shutil
import sqlite3
from concurrent.futures import Future
from contextlib import closing

import pytest
from helpers.staff_browser import StaffBrowser, logged_in
from starlette.testclient import TestClient

from botorch_private.curator.service.app import create_app
from botorch_private.curator.service.console.guard import COOKIE
from botorch_private.curator.service.console.sessions import IDLE_SECONDS, LONGEST_SECONDS, Sessions
from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.question import StorageError


def staff_token(store):
    return next(token for token in store.tokens.all() if token.role == "staff")


class Times:
    """Sessions of a store, at a time that the test sets, over restarts."""

    def __init__(self, store):
        self.store, self.now = store, 1e9
        self.restart()

    def restart(self):
        self.store.submit(lambda _: None).result()  # what was submitted before is on the disk
        self.sessions = Sessions(self.store, lambda: self.now)

    def find(self, text, **options):
        return self.sessions.find(text, **options)


@pytest.fixture
def times(service):
    return Times(service.store)


def test_a_person_stays_logged_in_over_a_restart_and_a_form_that_was_open_is_taken(service):
    service.ask(0)
    browser = logged_in(service)
    browser.open("/console")
    service.store.submit(lambda _: None).result()
    app = create_app(service.folder, service.store, rate=1e6)  # as a new process would
    again = StaffBrowser(service)
    again.client = TestClient(app, cookies={COOKIE: browser.client.cookies[COOKIE]})
    again.page = browser.page
    assert again.send("/console/questions/1/check", value="3").url == "/console/questions/1/confirm"
    assert again.send("/console/questions/1/measurement").url == "/console"


def test_logging_out_lasts_over_a_restart(times):
    text = times.sessions.begin(staff_token(times.store))
    times.restart()
    assert times.find(text) is not None
    times.sessions.end(text).result()
    times.restart()
    assert times.find(text) is None
    assert times.store._all("SELECT * FROM session") == []


def test_a_revoked_token_ends_sessions_of_before_a_restart(times):
    token = staff_token(times.store)
    text = times.sessions.begin(token)
    times.store.tokens.revoke(token.id).result()
    times.restart()
    assert times.find(text) is None


@pytest.mark.parametrize("restarts", [False, True])
def test_limits_count_over_restarts(times, restarts):
    token = staff_token(times.store)
    idle, used = times.sessions.begin(token), times.sessions.begin(token)
    for hour in range(1, 24):
        times.now = 1e9 + 3600 * hour
        if restarts:
            times.restart()
        assert (times.find(idle, used=False) is not None) == (3600 * hour <= IDLE_SECONDS)
        assert times.find(used) is not None
    times.now = 1e9 + LONGEST_SECONDS + 1
    if restarts:
        times.restart()
    assert times.find(used) is None


def test_a_page_that_refreshes_itself_keeps_nobody_logged_in(times):
    text = times.sessions.begin(staff_token(times.store))
    for _ in range(100):
        times.now += IDLE_SECONDS / 90
        times.find(text, used=False)
    assert times.find(text) is None


def test_a_session_of_a_clock_that_was_ahead_is_over(times):
    text = times.sessions.begin(staff_token(times.store))
    times.now -= 3600
    times.restart()
    assert times.find(text) is None


def test_the_database_holds_nothing_that_opens_the_console(times):
    text = times.sessions.begin(staff_token(times.store))
    csrf = times.find(text).csrf
    times.restart()
    assert times.find(text).csrf == csrf
    stored = repr([tuple(each) for each in times.store._all("SELECT * FROM session")])
    assert text not in stored
    assert csrf not in stored
    (found,) = times.store._all("SELECT hash FROM session")
    assert times.find(found["hash"].hex()) is None
    assert len(text) >= 43  # 256 bits
    assert csrf != times.find(times.sessions.begin(staff_token(times.store))).csrf


def test_sessions_do_not_pile_up_on_the_disk(times):
    token = staff_token(times.store)
    for i in range(1050):
        times.now = 1e9 + i
        times.sessions.begin(token)
    times.restart()
    assert len(times.sessions) == 1000
    times.now += LONGEST_SECONDS
    times.sessions.begin(token)
    times.restart()
    assert len(times.sessions) == 1


def test_a_log_in_that_cannot_be_stored_lasts_until_the_restart(times, monkeypatch):
    def refused(operation):
        future = Future()
        future.set_exception(StorageError("full"))
        return future

    token = staff_token(times.store)
    monkeypatch.setattr(times.store, "submit", refused)
    text = times.sessions.begin(token)
    assert times.find(text) is not None
    monkeypatch.undo()
    times.restart()
    assert times.find(text) is None


def test_a_folder_that_was_made_before_gets_its_sessions(service, tmp_path):
    place = tmp_path / "before"
    shutil.copytree(service.folder.path, place)
    with closing(sqlite3.connect(place / "curator.db")) as connection:
        connection.execute("DROP TABLE session")
    with closing(Folder(place).open()) as store:
        times = Times(store)
        text = times.sessions.begin(staff_token(store))
        times.restart()
        assert times.find(text) is not None
