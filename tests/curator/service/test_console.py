"""The queue of the console: what staff see, and what becomes of what they type."""

import sqlite3
from html import escape

import pytest
from helpers.staff_browser import IDENTIFIERS, StaffBrowser, console_folder, logged_in

from botorch_private.curator.service.console.queue import PAGE_LENGTH


def identifier(service, number):
    return service.store.identifier(service.store.query(number).row)


def fill_disk(service, monkeypatch):
    """Let the next commit find the disk full."""

    class Full:
        in_transaction = False

        def execute(self, *_):
            raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(service.store._writer, "_connection", Full())


def test_an_empty_queue_says_so(service):
    page = logged_in(service).page
    assert "Nothing waits to be measured" in page.text
    assert "Queue (0)" in page.text


def test_the_queue_shows_identifiers_oldest_first_and_never_features(service):
    for row in (5, 2, 9):
        service.ask(row)
    page = logged_in(service).page
    shown = [identifier(service, number) for number in (1, 2, 3)]
    assert set(shown) <= set(IDENTIFIERS)
    places = [page.html.index(each) for each in shown]
    assert places == sorted(places)
    assert "Question 1, asked just now" in page.text
    assert "Length of stay (days)" in page.text
    assert "Plausible: 0 to 120 days" in page.text
    assert [i for i, field in page.fields.items() if "autofocus" in field] == ["value-1"]
    assert "0." not in page.text


def test_a_value_is_shown_again_before_it_is_stored(service, browser):
    page = browser.send("/console/questions/1/check", value=" 3.50 ")
    assert page.url == "/console/questions/1/confirm"
    assert f"Record {identifier(service, 1)} Length of stay 3.5 days" in page.text
    assert service.store.query(1).state == "pending"
    page = browser.send("/console/questions/1/measurement")
    assert page.url == "/console"
    assert f"Stored: {identifier(service, 1)} is 3.5 days." in page.text
    stored = service.store.query(1)
    assert (stored.state, stored.outcome) == ("measured", 3.5)
    assert service.ask(0).json()["value"] == 3.5


def test_the_next_field_is_ready_after_a_value(service):
    for row in range(3):
        service.ask(row)
    page = logged_in(service).enter(2, "3")
    assert [i for i, field in page.fields.items() if "autofocus" in field] == ["value-3"]


@pytest.mark.parametrize(
    ("typed", "remedy"),
    [
        ("3,500", "Type a point before the decimals"),
        ("1,000", "this comma could mean either"),
        ("nan", "must be a finite number"),
        ("-inf", "must be a finite number"),
        ("1e999", "too large"),
        ("1e-999", "too small"),
        ("", "Type a number."),
        ("3 days", "the number alone"),
        ('"><script>alert(1)</script>', "the number alone"),
    ],
)
def test_what_is_no_number_is_refused_with_a_remedy_and_kept(service, browser, typed, remedy):
    for send in ("check", "measurement"):
        browser.open("/console")
        fields = {**browser.page.forms["/console/questions/1/check"], "value": typed, "looked": "yes"}
        browser.client.post(f"/console/questions/1/{send}", data=fields)
        page = browser.open("/console/questions/1")
        assert remedy in page.text
        assert page.fields["value"]["value"] == typed
        assert page.fields["value"]["aria-invalid"] == "true"
        assert "<script" not in page.html
        assert page.html.count("<title>Error: ") == 1
    assert browser.open("/console/questions/1/confirm").url == "/console/questions/1"
    assert browser.open("/console").fields["value-1"]["value"] == typed
    assert service.store.query(1).state == "pending"


def test_an_implausible_value_needs_a_second_look(service, browser):
    page = browser.send("/console/questions/1/check", value="350")
    assert "outside the plausible range, 0 to 120 days" in page.text
    page = browser.send("/console/questions/1/measurement")
    assert (page.status, service.store.query(1).state) == (422, "pending")
    assert "tick the box" in page.text
    browser.send("/console/questions/1/measurement", looked="yes")
    assert service.store.query(1).outcome == 350.0


def test_without_a_plausible_range_or_a_unit_nothing_is_said_of_them(serve, tmp_path):
    folder = console_folder(tmp_path / "bare", plausible=None, outcome_unit="", outcome_name="score")
    service = serve(folder=folder)
    service.ask(0)
    browser = logged_in(service)
    assert "Plausible" not in browser.page.text
    assert "inputmode" not in browser.page.fields["value-1"]  # some keypads have no minus
    assert "is -1e+300." in browser.enter(1, "\N{MINUS SIGN}1e300").text
    assert "Score Is" not in browser.open("/console/measured/1").text


def test_sending_a_value_twice_or_going_back_stores_it_once(service, browser):
    queue = browser.page
    confirm = browser.send("/console/questions/1/check", value="3")
    for _ in range(2):  # the Back button, and the form again
        browser.page = confirm
        assert "is 3 days" in browser.send("/console/questions/1/measurement").text
    for path in ("/console/questions/1", "/console/questions/1/confirm"):
        page = browser.open(path)
        assert "settled already" in page.text
        assert "stored, once" in page.text
    browser.page = queue
    page = browser.send("/console/questions/1/check", value="3")
    assert (page.status, "stored, once" in page.text) == (200, True)
    assert [event["kind"] for event in service.store.events(1)] == ["asked", "measured"]


def test_a_value_that_somebody_else_stored_meanwhile_is_shown_beside_ones_own(service):
    service.ask(0)
    one, two = logged_in(service), logged_in(service)
    one.send("/console/questions/1/check", value="3")
    two.enter(1, "4")
    page = one.send("/console/questions/1/measurement")
    assert page.status == 409
    assert "Your value, 3 days, was not stored" in page.text
    assert "Stored 4 days" in page.text
    assert "If yours is right, correct it" in page.text
    assert service.store.query(1).outcome == 4.0


def test_a_value_for_a_question_that_somebody_else_refused_meanwhile(service):
    service.ask(0)
    one, two = logged_in(service), logged_in(service)
    one.send("/console/questions/1/check", value="3")
    two.open("/console/questions/1/refusal")
    two.send("/console/questions/1/refusal", reason="left the ward")
    page = one.send("/console/questions/1/measurement")
    assert page.status == 409
    assert "left the ward" in page.text
    assert service.store.query(1).state == "withdrawn"


def test_a_refusal_needs_a_reason_and_gives_the_measurement_back(service, browser):
    browser.open("/console/questions/1/refusal")
    for reason, remedy in ((" \n", "Say why"), ("x" * 501, "at most 500 characters")):
        page = browser.send("/console/questions/1/refusal", reason=reason)
        assert remedy in page.text
        assert page.fields["reason"]["aria-invalid"] == "true"
    page = browser.send("/console/questions/1/refusal", reason=" sample\x00 lost\n<b>twice</b> ")
    assert "will not be measured. Its measurement is free again." in page.text
    assert service.store.query(1).reason == "sample lost <b>twice</b>"
    assert service.store.queries_left() == 10
    assert "sample lost <b>twice</b>" in browser.open("/console/measured").text
    assert "<b>" not in browser.page.html
    answer = service.client.get("/v1/queries/1", headers=service.modeler)
    assert "sample lost" not in answer.text
    assert "settled already" in browser.open("/console/questions/1/refusal").text


def test_a_measured_question_cannot_be_refused(service, browser):
    browser.open("/console/questions/1/refusal")
    logged_in(service).enter(1, "3")
    assert "settled already" in browser.send("/console/questions/1/refusal", reason="why").text
    assert service.store.query(1).state == "measured"


@pytest.mark.parametrize("action", ["measurement", "refusal"])
def test_a_full_disk_loses_nothing_that_was_typed(service, browser, monkeypatch, action):
    browser.send("/console/questions/1/check", value="3.25")
    if action == "refusal":
        browser.open("/console/questions/1/refusal")
    with monkeypatch.context() as full:
        fill_disk(service, full)
        page = browser.send(f"/console/questions/1/{action}", reason="typed at length")
    assert page.status == 503
    assert "Nothing was stored" in page.text
    assert "since the curator's disk is full, broken or closed" in page.text
    assert "database or disk" not in page.text
    assert {"3.25", "typed at length"} & set(page.forms[f"/console/questions/1/{action}"].values())
    assert service.store.query(1).state == "pending"
    browser.send(f"/console/questions/1/{action}")
    assert service.store.query(1).state != "pending"


def test_a_long_queue_has_pages_and_goes_on_where_one_was(serve, tmp_path):
    names = [f"unit {i}" for i in range(PAGE_LENGTH + 5)]
    folder = console_folder(tmp_path / "long", identifiers=names, max_queries=None)
    service = serve(folder=folder)
    for row in range(len(names)):
        service.ask(row)
    browser = logged_in(service)
    assert "1 to 50 of 55" in browser.page.text
    assert "value-51" not in browser.page.fields
    page = browser.open("/console?page=2")
    assert "51 to 55 of 55" in page.text
    assert "value-51" in page.fields
    browser.send("/console/questions/52/check", value="1")
    page = browser.send("/console/questions/52/measurement")
    assert "value-53" in page.fields
    for odd in ("0", "99", "-1", "x", "\N{SUPERSCRIPT TWO}", "9" * 30):
        for name in ("page", "done"):
            assert browser.client.get("/console", params={name: odd}).status_code == 200


def test_markup_in_an_identifier_is_text_everywhere(serve, tmp_path):
    names = [f'"><script>alert({i})</script>' for i in range(3)]
    service = serve(folder=console_folder(tmp_path / "markup", identifiers=names))
    service.ask(0)
    service.ask(1)
    browser = logged_in(service)
    pages = [browser.page, browser.open("/console/questions/2/refusal")]
    pages += [browser.enter(1, "3")]
    pages += [browser.open(f"/console{path}") for path in ("/measured", "/measured/1", "/progress")]
    browser.open("/console")
    pages += [
        browser.send("/console/questions/2/check", value="200"),
        browser.open("/console/questions/1"),
    ]
    for page in pages:
        assert "<script" not in page.html
        assert escape("<script>alert(") in page.html
        assert "<script>alert(" in page.text


def test_a_field_sent_as_a_file_is_no_value(service):
    service.ask(0)
    browser = StaffBrowser(service)
    browser.log_in()
    csrf = browser.page.forms["/console/logout"]["csrf"]
    answer = browser.client.post(
        "/console/questions/1/measurement", data={"csrf": csrf}, files={"value": b"3"}
    )
    assert answer.status_code == 400
    assert service.store.query(1).state == "pending"
