"""A value at the confirmation step: nothing but a person ends its wait."""

from datetime import UTC, datetime, timedelta

import pytest
from helpers.staff_browser import StaffBrowser, console_folder, logged_in

from botorch_private.curator.service.console.sessions import LONGEST_SECONDS


def token_of(service):
    return service.staff["Authorization"].split()[1]


def number_of(service, text):
    return service.store.tokens.find(text).id


@pytest.fixture
def restarted(serve, service):
    """The same folder under another server, and somebody with the same token at its console."""

    def start():
        service.store.close()
        again = serve(folder=service.folder)
        again.staff = service.staff
        return again

    return start


def test_a_typed_value_survives_a_restart_and_is_stored_as_it_was_typed(browser, restarted):
    browser.send("/console/questions/1/check", value="3.25")
    again = restarted()
    other = logged_in(again)
    assert "Typed and not stored" in other.page.text
    assert ": 3.25 days Typed" in other.page.text
    assert other.page.fields["value-1"]["value"] == "3.25"
    page = other.open("/console/questions/1/confirm")
    assert "3.25 days" in page.text
    other.send("/console/questions/1/measurement")
    assert again.store.query(1).outcome == 3.25
    assert "Typed and not stored" not in other.open("/console").text
    assert again.store.drafts.count() == 0


def test_a_correction_survives_a_restart_with_its_reason(browser, restarted):
    browser.enter(1, "35")
    browser.open("/console/measured/1")
    browser.send("/console/measured/1/check", value="3.5", reason="point forgotten")
    again = restarted()
    other = logged_in(again)
    assert "A correction, typed" in other.page.text
    page = other.open("/console/measured/1/confirm")
    assert "Because point forgotten" in page.text
    other.send("/console/measured/1/correction")
    assert again.store.query(1).outcome == 3.5
    assert again.store.drafts.count() == 0


@pytest.mark.parametrize("end", ["log out", "too long"])
def test_a_typed_value_survives_the_end_of_its_session(service, browser, end):
    browser.send("/console/questions/1/check", value="3.25")
    if end == "log out":
        browser.send("/console/logout")
    else:
        sessions = service.client.app.state.sessions
        sessions._now = lambda: 1e9 + LONGEST_SECONDS
        assert "is still in the queue" in browser.open("/console").text
    assert "3.25 days" in logged_in(service).page.text


def test_many_typed_values_are_all_kept(serve, tmp_path):
    names = [f"unit {i}" for i in range(30)]
    service = serve(folder=console_folder(tmp_path / "many", identifiers=names, max_queries=None))
    for row in range(30):
        service.ask(row)
    browser = logged_in(service)
    for number in range(1, 31):
        browser.open("/console")
        browser.send(f"/console/questions/{number}/check", value=f"{number}.5")
    page = browser.open("/console")
    assert all(f": {number}.5 days" in page.text for number in range(1, 31))


def test_a_person_throws_a_typed_value_away_and_that_is_noted(service, browser):
    browser.send("/console/questions/1/check", value="3.25")
    page = browser.send("/console/questions/1/discard")
    assert page.url == "/console"
    assert "3.25" not in page.html
    assert "3.25" not in logged_in(service).page.html
    (event,) = [each for each in service.store.events(1) if each["kind"] == "discarded"]
    assert event["detail"] == "3.25"
    assert event["token"] == number_of(service, token_of(service))
    assert service.store.query(1).state == "pending"
    browser.enter(1, "4")
    assert "a typed value was thrown away" in browser.open("/console/measured/1").text


def test_a_typed_value_is_shown_to_who_typed_it_and_to_nobody_else(service, browser):
    browser.send("/console/questions/1/check", value="3.25")
    other = StaffBrowser(service)
    other.log_in(service.store.tokens.make("staff", "somebody else").result())
    assert "3.25" not in other.page.html
    assert "3.25" not in other.open("/console/questions/1").html
    fields = {**other.page.forms["/console/logout"]}
    other.client.post("/console/questions/1/discard", data=fields)
    assert "3.25" in browser.open("/console").html


@pytest.mark.parametrize("end", ["revoked", "expired"])
@pytest.mark.parametrize("then", ["measurement", "discard"])
def test_a_typed_value_goes_to_all_staff_once_the_token_of_its_author_has_ended(service, end, then):
    service.ask(0)
    in_an_hour = (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="microseconds")
    text = service.store.tokens.make("staff", "Night shift", in_an_hour).result()
    author = StaffBrowser(service)
    author.log_in(text)
    author.send("/console/questions/1/check", value="3.25")
    if end == "revoked":
        service.store.tokens.revoke(number_of(service, text)).result()
    else:
        service.store.clock._now = lambda: datetime.now(UTC) + timedelta(hours=2)
    other = logged_in(service)
    assert "3.25 days Typed by Night shift, whose token has ended" in other.page.text
    page = other.open("/console/questions/1/confirm")
    assert "Night shift typed it" in page.text
    other.send(f"/console/questions/1/{then}")
    assert service.store.drafts.count() == 0
    assert service.store.query(1).outcome == (3.25 if then == "measurement" else None)


def test_a_typed_value_that_met_another_one_is_kept_until_it_is_thrown_away(service):
    service.ask(0)
    one, two = logged_in(service), StaffBrowser(service)
    two.log_in(service.store.tokens.make("staff", "two").result())
    one.send("/console/questions/1/check", value="3")
    two.enter(1, "4")
    assert one.send("/console/questions/1/measurement").status == 409
    assert ": 3 days" in one.open("/console").text
    page = one.open("/console/questions/1")
    assert (page.status, "Your value, 3 days, was not stored" in page.text) == (409, True)
    assert ": 3 days" not in one.send("/console/questions/1/discard").text


def test_the_same_value_that_somebody_else_stored_waits_no_more(service):
    service.ask(0)
    one, two = logged_in(service), StaffBrowser(service)
    two.log_in(service.store.tokens.make("staff", "two").result())
    one.send("/console/questions/1/check", value="3.0")
    two.enter(1, "3")
    assert "Typed and not stored" not in one.open("/console").text


def test_what_is_no_value_does_not_wait_in_the_database(service, browser):
    browser.send("/console/questions/1/check", value="3,500")
    assert service.store.drafts.count() == 0
    assert browser.open("/console").fields["value-1"]["value"] == "3,500"


def test_the_modeler_does_not_see_typed_values(service, browser):
    browser.send("/console/questions/1/check", value="41.73190526")
    assert "41.73190526" not in service.get("/v1/queries/1").text
    assert "41.73190526" not in service.get("/v1/queries").text
