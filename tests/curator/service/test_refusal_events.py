"""Who came in, and what was refused, are events: of each a word, and nothing that was sent."""

import json
import sqlite3
from contextlib import closing

import pytest
from helpers.staff_browser import StaffBrowser, logged_in

from botorch_private.curator.service import refusals
from botorch_private.curator.service.question import StorageError
from botorch_private.curator.service.refusals import Refusals
from botorch_private.curator.service.trail_check import check_database

MARK = "zqxmark"
MODELER, STAFF = 1, 2  # tokens of a service


def noted(service):
    """What was refused: why, where, whose token, which question, and how often if it was counted."""
    service.store.submit(lambda _: None).result()  # all that was sent before is stored
    found = []
    for event in service.store.events():
        if event["kind"] == "refused":
            data = json.loads(event["data"])
            found.append(
                (data["why"], data["place"], event["token"], event["query"], data.get("times", 1))
            )
            assert (event["detail"], event["time"][10]) == (None, "T")
    assert check_database(service.store).problem == ""
    return found


def kinds(service):
    service.store.submit(lambda _: None).result()
    return [(event["kind"], event["token"]) for event in service.store.events()]


def test_log_ins_and_log_outs_are_events_of_a_token(service):
    browser = logged_in(service)
    browser.open("/console")
    browser.send("/console/logout")
    assert kinds(service)[-2:] == [("login", STAFF), ("logout", STAFF)]
    assert noted(service) == []


def test_wrong_tokens_at_the_console_and_the_api_are_events_of_nobody(service):
    StaffBrowser(service).log_in(f"bop_{MARK}")
    StaffBrowser(service).log_in(service.modeler["Authorization"].split()[1])
    service.client.get("/v1/release", headers={"Authorization": f"Bearer {MARK}"})
    service.client.get("/v1/release", headers=service.staff)
    assert noted(service) == [
        ("no_token", "console", None, None, 1),
        ("wrong_role", "console", MODELER, None, 1),
        ("no_token", "api", None, None, 1),
        ("wrong_role", "api", STAFF, None, 1),
    ]


def test_log_ins_that_come_too_often_are_events(service):
    for _ in range(22):
        StaffBrowser(service).log_in("bop_wrong")
    assert [each[0] for each in noted(service)] == ["no_token"] * 20 + ["too_often"] * 2


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"value": 121.0}, "implausible"),
        ({"value": 2.0}, "measured"),
        ({"value": MARK}, "invalid"),
        ({"value": 1.0, "comment": "other"}, "measured"),
        ({"value": 1.0, "date": MARK}, "circumstances"),
        ({"value": 1.0, "date": "2999-01-01"}, "circumstances"),
        ({"value": 1.0, MARK: 1}, "invalid"),
    ],
)
def test_values_that_the_api_refuses_are_events(service, body, why):
    service.ask(0)
    service.measure(1, 1.0)
    assert service.put(1, "measurement", **body).status_code in (409, 422)
    assert noted(service) == [(why, "api", STAFF, 1, 1)]


def test_corrections_that_the_api_refuses_are_events(service):
    service.ask(0)
    service.put(1, "correction", value=2.0, reason="too early")
    service.measure(1, 1.0)
    service.put(1, "correction", value=2.0, reason=" \t ")
    service.put(99, "correction", value=2.0, reason="no such question")
    service.put("9" * 30, "correction", value=2.0, reason="no number")
    assert noted(service) == [
        ("not_measured", "api", STAFF, 1, 1),
        ("no_reason", "api", STAFF, 1, 1),
        ("no_query", "api", STAFF, None, 1),
        ("invalid", "api", STAFF, None, 1),
    ]
    assert service.store.query(1).outcome == 1.0


def test_values_that_the_console_refuses_are_events_and_in_the_history(service, browser):
    browser.open("/console")
    browser.send("/console/questions/1/check", value=f"3{MARK}")
    browser.send("/console/questions/1/check", value="300", comment="c" * 501)
    browser.send("/console/questions/1/check", value="300", comment="")
    browser.send("/console/questions/1/measurement")
    service.measure(1, 2.0)
    browser.send("/console/questions/1/measurement", looked="yes")
    assert noted(service) == [
        ("unreadable", "console", STAFF, 1, 1),
        ("unreadable", "console", STAFF, 1, 1),
        ("implausible", "console", STAFF, 1, 1),
        ("measured", "console", STAFF, 1, 1),
    ]
    page = browser.open("/console/measured/1")
    assert "nothing was stored. what was typed could not be read" in page.text
    browser.send("/console/measured/1/check", value="4", reason="")
    assert noted(service)[4:] == [("unreadable", "console", STAFF, 1, 1)]


def test_a_page_that_says_who_settled_a_question_does_not_name_who_was_refused(service, browser):
    service.measure(1, 2.0)
    service.measure(1, 3.0)
    assert noted(service) == [("measured", "api", STAFF, 1, 1)]
    assert "value stored" in browser.open("/console/questions/1").text


def test_a_form_of_another_site_is_an_event(service, browser):
    page = browser.open("/console/questions/1")
    form = {**page.forms["/console/questions/1/check"], "value": "3"}
    send = browser.client.post
    send("/console/questions/1/check", data=form, headers={"Origin": f"https://{MARK}.test"})
    send("/console/questions/1/check", data=form, headers={"Sec-Fetch-Site": "cross-site"})
    send("/console/questions/1/check", data={**form, "csrf": MARK})
    StaffBrowser(service).client.post(
        "/console/login", data={"token": MARK}, headers={"Origin": f"https://{MARK}.test"}
    )
    assert noted(service) == [("foreign_form", "console", STAFF, 1, 1)] * 3 + [
        ("foreign_form", "console", None, None, 1)
    ]


def test_a_sheet_that_is_refused_is_an_event(service, browser):
    browser.upload(f"{MARK}\n")
    browser.upload(f"identifier,value\n{MARK},1\n{MARK}2,5\n")
    name = service.store.identifier(0)
    browser.upload(f"identifier,value\n{name},300\n")
    browser.send("/console/sheet/store")
    assert noted(service) == [
        ("unreadable", "console", STAFF, None, 1),
        ("sheet", "sheet", STAFF, None, 1),
    ]


def test_nothing_that_was_sent_is_kept_of_what_was_refused(service, browser):
    StaffBrowser(service).log_in(f"bop_{MARK}")
    service.client.get(f"/v1/{MARK}", headers={"Authorization": f"Bearer {MARK}"})
    service.put(1, "measurement", value=MARK)
    service.put(1, "measurement", value=1.0, date=MARK)
    service.put(1, "correction", value=987654.25, reason=MARK)
    browser.open("/console/questions/1")
    browser.send("/console/questions/1/check", value=MARK)
    browser.client.post("/console/questions/1/check", data={"csrf": MARK, "value": MARK})
    browser.upload(f"identifier,value\n{MARK},{MARK}\n{MARK}")
    assert len(noted(service)) >= 6
    events = json.dumps([tuple(each) for each in service.store.events()])
    for text in (MARK, "987654", "testclient", "127.0.0.1", service.store.identifier(0), "bop_"):
        assert text not in events


def test_whoever_is_refused_again_and_again_does_not_fill_the_disk(service, monkeypatch):
    now = [0.0]
    clock = lambda: now[0]  # noqa: E731
    monkeypatch.setattr(refusals, "RateLimit", lambda *rates: refusals_limit(*rates, now=clock))
    counted = Refusals(service.store)
    for _ in range(10_000):
        counted.note("no_token", "api")
    for _ in range(100):
        counted.note("measured", "api", token=STAFF, query=None)
    assert len(noted(service)) == 120  # 60 of strangers, and as many of one person
    counted.flush()
    assert noted(service)[120:] == [
        ("no_token", "api", None, None, 9940),
        ("measured", "api", STAFF, None, 40),
    ]
    counted.note("no_token", "api")
    now[0] += 5
    counted.flush()  # not before a minute is over
    assert len(noted(service)) == 122
    now[0] += 56
    counted.flush()
    assert noted(service)[122:] == [("no_token", "api", None, None, 1)]
    # An hour of refusals all the time: one in ten seconds, and one that counts the rest a minute.
    for _ in range(3600):
        now[0] += 1
        counted.note("no_token", "api")
        counted.flush()
    counted.flush(now=True)
    found = noted(service)[123:]
    assert len(found) <= 6 + 360 + 61
    assert sum(each[4] for each in found) == 3600


def refusals_limit(*rates, now):
    from botorch_private.curator.service.limits import RateLimit

    return RateLimit(*rates, now=now)


def test_what_was_counted_is_written_when_the_server_stops(serve, tmp_path):
    service = serve()
    for _ in range(70):
        service.client.app.state.refusals.note("no_token", "api")
    service.client.__exit__(None, None, None)
    assert sum(each[4] for each in noted(service)) == 70
    service.client.__enter__()


def test_a_disk_that_refuses_keeps_nobody_out(service, monkeypatch, caplog):
    def full(*_, **__):
        raise sqlite3.OperationalError("disk is full")

    monkeypatch.setattr(refusals, "note", full)
    monkeypatch.setattr("botorch_private.curator.service.console.login.note", full)
    assert logged_in(service).page.url == "/console"
    assert StaffBrowser(service).log_in("bop_wrong").status == 401
    service.store.submit(lambda _: None).exception()
    assert "disk is full" not in caplog.text
    with pytest.raises(StorageError):
        service.store.submit(full).result()


def test_the_time_of_each_is_that_of_the_folders_clock(service):
    before = service.store.clock()
    StaffBrowser(service).log_in("bop_wrong")
    service.store.submit(lambda _: None).result()
    assert before <= service.store.events()[-1]["time"] <= service.store.clock()


def test_they_are_there_after_the_server_was_started_again(serve):
    service = serve()
    StaffBrowser(service).log_in("bop_wrong")
    service.store.submit(lambda _: None).result()
    with closing(service.folder.open_to_read()) as reading:
        assert reading.events()[-1]["kind"] == "refused"
