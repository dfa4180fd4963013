"""Who gets into the console, for how long, and that no other page can act for them."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from helpers.staff_browser import StaffBrowser, logged_in

from botorch_private.curator.service.console.sessions import IDLE_SECONDS, Draft, Sessions


def test_a_staff_token_opens_the_console_and_logging_out_closes_it(service):
    browser = StaffBrowser(service)
    assert browser.open("/console").url == "/console/login"
    assert browser.log_in().url == "/console"
    assert "Queue" in browser.page.text
    assert browser.open("/console/login").url == "/console"
    old = dict(browser.client.cookies)
    browser.open("/console")
    assert "You are logged out." in browser.send("/console/logout").text
    assert not browser.client.cookies
    browser.client.cookies.update(old)
    assert browser.open("/console").url == "/console/login"  # the server forgot it, not only the browser


def test_a_modelers_token_is_refused_with_a_reason(service):
    page = StaffBrowser(service).log_in(service.modeler["Authorization"].split()[1])
    assert page.status == 403
    assert "This token is a modeler's" in page.text
    assert "set-cookie" not in page.headers


@pytest.mark.parametrize("token", ["", "bop_wrong", "x" * 5000, "\N{SNOWMAN}", "\x00"])
def test_a_wrong_token_is_refused_and_not_repeated(service, token):
    page = StaffBrowser(service).log_in(token)
    assert page.status == 401
    assert "not a token that is valid now" in page.text
    assert not token or token not in page.html.replace("bop_ on", "")


def test_failed_logins_and_failed_requests_count_together(service):
    browser = StaffBrowser(service)
    for _ in range(20):
        browser.log_in("bop_wrong")
    page = browser.log_in("bop_wrong")
    assert page.status == 429
    assert int(page.headers["retry-after"]) > 0
    assert "Try again in" in page.text
    assert service.client.get("/v1/release").status_code == 429
    assert browser.log_in().url == "/console"  # whoever has a token still gets in


@pytest.mark.parametrize(
    ("base", "secure"), [("http://testserver", False), ("https://testserver", True)]
)
def test_the_cookie_is_of_no_use_elsewhere(service, base, secure):
    browser = StaffBrowser(service, base_url=base, follow_redirects=False)
    cookie = browser.log_in().headers["set-cookie"]
    value, *flags = cookie.split("; ")
    assert len(value.split("=")[1]) >= 43  # 256 bits
    assert {"HttpOnly", "SameSite=strict", "Path=/console"} <= set(flags)
    assert ("Secure" in flags) is secure
    assert not re.search("max-age|expires", cookie, re.IGNORECASE)
    assert service.staff["Authorization"].split()[1] not in cookie


def test_the_cookie_is_secure_behind_a_proxy_that_ends_tls(service):
    token = service.staff["Authorization"].split()[1]
    for origin, secure in (("https://testserver", True), ("http://testserver", False)):
        browser = StaffBrowser(service, follow_redirects=False)
        answer = browser.client.post("/console/login", data={"token": token}, headers={"Origin": origin})
        assert answer.status_code == 303
        assert ("secure" in answer.headers["set-cookie"].lower()) is secure


def test_each_login_is_a_session_of_its_own(service):
    chosen = {"Cookie": "console_session=chosen"}  # by somebody else, to be shared with them
    token = service.staff["Authorization"].split()[1]
    browser = StaffBrowser(service, follow_redirects=False)
    browser.client.post("/console/login", data={"token": token}, headers=chosen)
    assert browser.client.cookies["console_session"] != "chosen"
    other = logged_in(service)
    assert other.client.cookies["console_session"] != browser.client.cookies["console_session"]
    assert StaffBrowser(service).client.get("/console", headers=chosen).url.path == "/console/login"


def test_a_cookie_does_not_open_the_api_nor_a_token_the_console(service):
    browser = logged_in(service)
    assert browser.client.get("/v1/staff/queries").status_code == 401
    answer = service.client.get("/console", headers=service.staff, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/login")


def test_a_revoked_token_ends_the_session_at_once(service, browser):
    browser.open("/console")
    staff = next(token for token in service.store.tokens.all() if token.role == "staff")
    service.store.tokens.revoke(staff.id).result()
    page = browser.send("/console/questions/1/check", value="3")
    assert page.url == "/console/login"
    assert "not logged in any more" in page.text
    assert browser.open("/console").url == "/console/login"


def test_an_expired_token_ends_the_session(service):
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="microseconds")
    token = service.store.tokens.make("staff", "for an hour", soon).result()
    browser = StaffBrowser(service)
    assert browser.log_in(token).url == "/console"
    later = datetime.now(UTC) + timedelta(hours=2)
    service.store.clock._now = lambda: later
    assert browser.open("/console").url == "/console/login"
    assert browser.log_in(token).status == 401


def test_a_session_ends_when_it_was_not_used(service):
    now = [0.0]
    sessions = Sessions(service.store, lambda: now[0])
    token = next(token for token in service.store.tokens.all() if token.role == "staff")
    text = sessions.begin(token)
    for _ in range(3):
        now[0] += IDLE_SECONDS - 1
        assert sessions.find(text) is not None
    now[0] += IDLE_SECONDS + 1
    assert sessions.find(text) is None
    assert text not in repr(vars(sessions))


def test_sessions_and_drafts_do_not_pile_up(service):
    now = [0.0]
    sessions = Sessions(service.store, lambda: now[0])
    token = next(token for token in service.store.tokens.all() if token.role == "staff")
    texts = []
    for now[0] in range(1100):
        texts.append(sessions.begin(token))
    assert sessions.find(texts[0]) is None
    session = sessions.find(texts[-1])
    for i in range(500):
        session.keep("value", i, Draft("1"))
    assert len(session._drafts) == 20
    assert session.draft("value", 499) == Draft("1")


@pytest.mark.parametrize("csrf", ["", "wrong", "\N{SNOWMAN}", None, "another's"])
def test_a_form_without_the_sessions_own_mark_does_nothing(service, browser, csrf):
    fields = {**browser.page.forms["/console/logout"], "value": "3", "reason": "why", "looked": "yes"}
    if csrf is None:
        del fields["csrf"]
    elif csrf == "another's":
        fields["csrf"] = logged_in(service).page.forms["/console/logout"]["csrf"]
    else:
        fields["csrf"] = csrf
    for ending in ("check", "measurement", "refusal", "retry"):
        answer = browser.client.post(f"/console/questions/1/{ending}", data=fields)
        assert answer.status_code == 403
        assert "not sent by the console" in answer.text
    assert browser.client.post("/console/logout", data=fields).status_code == 403
    assert service.store.query(1).state == "pending"
    assert browser.open("/console").url == "/console"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://testserver.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_form_from_another_origin_does_nothing(service, browser, headers):
    fields = {**browser.page.forms["/console/logout"], "value": "3"}
    answer = browser.client.post("/console/questions/1/measurement", data=fields, headers=headers)
    assert answer.status_code == 403
    assert service.store.query(1).state == "pending"
    token = service.staff["Authorization"].split()[1]
    login = StaffBrowser(service).client.post("/console/login", data={"token": token}, headers=headers)
    assert login.status_code == 403
    assert "set-cookie" not in login.headers


def test_a_form_from_its_own_origin_is_taken(service, browser):
    fields = {**browser.page.forms["/console/logout"], "value": "3"}
    headers = {"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"}
    browser.client.post("/console/questions/1/measurement", data=fields, headers=headers)
    assert service.store.query(1).outcome == 3.0


def test_every_answer_has_strict_headers(service):
    browser = logged_in(service)
    for path in ("", "/login", "/measured", "/progress", "/console.css", "/nothing", "/questions/99"):
        headers = browser.client.get(f"/console{path}", follow_redirects=False).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "form-action 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["referrer-policy"] == "same-origin"


def test_pages_load_nothing_from_elsewhere_and_have_no_scripts(service, browser):
    browser.enter(1, "3")
    for path in ("", "/measured", "/measured/1", "/progress", "/login"):
        page = browser.open(f"/console{path}")
        assert not re.search(r"<script|<style|style=|\son\w+=|https?:", page.html)


def test_nobody_who_is_not_logged_in_learns_anything(service):
    service.ask(0)
    for path in ("", "/questions/1", "/measured", "/measured/1", "/progress", "/questions/99", "/what"):
        page = StaffBrowser(service).open(f"/console{path}")
        # What there may be is asked for a login whether it is there or not.
        assert (page.url, page.status) == (
            ("/console/what", 404) if path == "/what" else ("/console/login", 200)
        )
        assert "MRN" not in page.html
        assert "length of stay" not in page.html


def test_what_is_not_there_has_a_page(service):
    browser = logged_in(service)
    for path in ("/nothing", "/questions/99", "/questions/x", "/measured/99", "/questions/0"):
        page = browser.open(f"/console{path}")
        assert page.status == 404
        assert "Go to the queue" in page.text
    assert service.client.delete("/console/login").status_code == 405
    schema = service.client.get("/v1/openapi.json").json()
    assert not any("console" in path for path in schema["paths"])
