"""The queue of the console where a program measures, and sometimes fails."""

from html import escape

import pytest
from helpers.staff_browser import console_folder, logged_in


@pytest.fixture
def service(serve, tmp_path):
    """A service of three questions that a program measures."""
    service = serve(folder=console_folder(tmp_path / "program", objective="module:function"))
    for row in range(3):
        service.ask(row)
    return service


def test_what_a_program_could_not_measure_is_tried_again_or_entered(service):
    for reason in ("<script>alert(1)</script>", "out of memory"):
        service.store.fail(service.store.begin().result().id, reason).result()
    service.store.begin().result()
    browser = logged_in(service)
    assert escape("<script>alert(1)</script>") in browser.page.html
    assert "<script" not in browser.page.html
    assert "a program works on it" in browser.page.text
    assert {"value-1", "value-2"} == {i for i in browser.page.fields if i and i.startswith("value-")}
    assert "There is nothing for you to do now" in browser.open("/console/questions/3").text
    browser.open("/console")
    queue = browser.page
    for _ in range(2):  # the second time it is tried already
        browser.page = queue
        assert "tries" in browser.send("/console/questions/1/retry").text
    assert service.store.query(1).state == "pending"
    browser.enter(2, "7")
    assert service.store.query(2).outcome == 7.0
    browser.page = queue
    assert "settled already" in browser.send("/console/questions/2/retry").text


def test_what_a_program_could_not_measure_comes_first(service):
    for _ in range(2):
        latest = service.store.begin().result().id
    service.store.fail(latest, "out of memory").result()
    page = logged_in(service).page
    places = [
        page.html.index(service.store.identifier(service.store.query(number).row))
        for number in (2, 1, 3)
    ]
    assert places == sorted(places)
