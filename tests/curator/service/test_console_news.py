"""News on the console: nothing typed is lost, nobody is kept logged in, no script is needed."""

import re

from helpers.staff_browser import IDENTIFIERS, StaffBrowser, console_folder, logged_in

from botorch_private.curator.service.console.sessions import IDLE_SECONDS


def frame_of(page):
    return re.search(r'<iframe class="news" title="[^"]+" src="([^"]+)"', page.html)[1]


def test_a_page_with_fields_never_loads_itself_and_its_frame_counts_what_is_new(service, browser):
    page = browser.open("/console")
    assert "refresh" not in page.headers
    assert "http-equiv" not in page.html
    frame = frame_of(page)
    assert "No question is new" in browser.open(frame).text
    service.ask(1)
    assert "1 new question. Look at it" in browser.open(frame).text
    service.ask(2)
    shown = browser.open(frame)
    assert "2 new questions. Look at them" in shown.text
    assert 'href="/console" target="_top"' in shown.html
    assert shown.headers["refresh"] == "30; url=/console/news?after=1&watch=1"
    service.measure(2, 3.0)
    assert "1 new question" in browser.open(frame).text
    assert not any(each in shown.html for each in IDENTIFIERS)


def test_a_queue_without_fields_loads_itself_unless_that_is_stopped(service):
    browser = logged_in(service)
    page = browser.open("/console")
    assert page.headers["refresh"] == "30; url=/console?watch=1"
    assert "refresh" not in browser.open("/console?still=1").headers
    service.ask(0)
    assert "refresh" not in browser.open("/console?watch=1").headers


def test_what_waits_to_be_confirmed_does_not_stop_news(service, browser):
    browser.open("/console")
    browser.send("/console/questions/1/check", value="3")
    service.measure(1, 5.0)  # somebody else was faster: the queue is empty, a value waits
    page = browser.open("/console")
    assert "Typed and not stored" in page.text
    assert "refresh" in page.headers


def test_only_the_frame_may_be_framed_and_only_by_the_console(service, browser):
    page = browser.open("/console")
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert "frame-src 'self'" in page.headers["content-security-policy"]
    assert page.headers["x-frame-options"] == "DENY"
    frame = browser.open(frame_of(page))
    assert "frame-ancestors 'self'" in frame.headers["content-security-policy"]
    assert frame.headers["x-frame-options"] == "SAMEORIGIN"


def test_who_is_not_logged_in_learns_nothing_from_the_frame(service):
    for row in range(3):
        service.ask(row)
    page = StaffBrowser(service).open("/console/news?after=0")
    assert "You are not logged in any more. Log in" in page.text
    assert "3" not in page.text
    assert "refresh" not in page.headers


def test_pages_that_load_themselves_keep_nobody_logged_in(service, browser):
    sessions = service.client.app.state.sessions
    start = sessions._now()
    shift = [0.0]
    sessions._now = lambda: start + shift[0]
    for part in range(1, 12):
        shift[0] = part * IDLE_SECONDS / 10
        browser.client.get("/console/news?after=0&watch=1")
        browser.client.get("/console?watch=1")
    assert browser.open("/console").url == "/console/login"


def test_a_number_that_is_none_is_nothing(browser):
    assert browser.open("/console/news?after=x").status == 404
    assert browser.open("/console/news?after=-1").status == 404


def test_where_a_program_measures_only_its_failures_are_news(serve, tmp_path):
    service = serve(folder=console_folder(tmp_path / "program", objective="lab:total"))
    service.ask(0)
    browser = logged_in(service)
    assert "No question is new" in browser.open("/console/news?after=0").text
    service.store.begin().result()
    service.store.fail(1, "no").result()
    assert "1 new question" in browser.open("/console/news?after=0").text
