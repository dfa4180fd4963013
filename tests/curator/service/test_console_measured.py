"""Measured values in the console: corrections, their history, and progress."""

import pytest
from helpers.staff_browser import IDENTIFIERS, console_folder, logged_in


def correct(browser, number, value, reason, **more):
    browser.open(f"/console/measured/{number}")
    browser.send(f"/console/measured/{number}/check", value=value, reason=reason)
    return browser.send(f"/console/measured/{number}/correction", **more)


@pytest.fixture
def measured(browser):
    """Somebody at the console, where question 1 was measured: 35."""
    browser.enter(1, "35")
    return browser


def test_nothing_measured_yet(service):
    browser = logged_in(service)
    assert "Nothing is measured yet" in browser.open("/console/measured").text
    assert "Nothing is measured yet" in browser.open("/console/progress").text
    assert "0 of 10 measurements are used; 10 are left" in browser.page.text


def test_measured_values_are_listed_the_latest_first(service):
    browser = logged_in(service)
    for row in (3, 4):
        service.ask(row)
    browser.enter(2, "5")
    browser.enter(1, "6.5")
    page = browser.open("/console/measured")
    names = [service.store.identifier(row) for row in (3, 4)]
    assert set(names) <= set(IDENTIFIERS)
    assert page.html.index(names[0]) < page.html.index(names[1])
    assert "6.5 days" in page.text


def test_a_correction_is_shown_beside_what_it_replaces_and_stays_visible(service, measured):
    measured.open("/console/measured/1")
    page = measured.send("/console/measured/1/check", value="3.5", reason="point <b>forgotten</b>")
    assert "Instead of 35 days Because point <b>forgotten</b>" in page.text
    assert service.store.query(1).outcome == 35.0
    page = measured.send("/console/measured/1/correction")
    assert "is 3.5 days" in page.text
    assert "test: value corrected, 3.5 days; it was 35 days. point <b>forgotten</b>" in page.text
    assert "<b>" not in page.html
    assert service.store.query(1).outcome == 3.5
    assert "corrected" in measured.open("/console/measured").text


@pytest.mark.parametrize(
    ("value", "reason", "remedy"),
    [
        ("3,500", "typo", "Type a point"),
        ("35", "typo", "the value that is stored already"),
        ("36", " ", "Say why"),
        ("", "", "Type a number."),
    ],
)
def test_a_correction_that_cannot_be_read_is_refused_and_kept(service, measured, value, reason, remedy):
    measured.open("/console/measured/1")
    page = measured.send("/console/measured/1/check", value=value, reason=reason)
    assert page.url == "/console/measured/1"
    assert remedy in page.text
    assert (page.fields["value"]["value"], page.fields["reason"]["value"]) == (value, reason)
    assert measured.open("/console/measured/1/confirm").url == "/console/measured/1"
    assert service.store.query(1).revision == 0


def test_an_implausible_correction_needs_a_second_look(service, measured):
    assert correct(measured, 1, "350", "typo").status == 422
    assert service.store.query(1).outcome == 35.0
    measured.send("/console/measured/1/correction", looked="yes")
    assert service.store.query(1).outcome == 350.0


def test_a_correction_sent_twice_is_one(service, measured):
    measured.open("/console/measured/1")
    confirm = measured.send("/console/measured/1/check", value="3.5", reason="typo")
    for _ in range(2):
        measured.page = confirm
        assert "is 3.5 days" in measured.send("/console/measured/1/correction").text
    assert service.store.query(1).revision == 1


def test_two_people_do_not_correct_over_each_other(service):
    service.ask(0)
    one, two = logged_in(service), logged_in(service)
    one.enter(1, "35")
    one.open("/console/measured/1")
    one.send("/console/measured/1/check", value="3.5", reason="typo")
    correct(two, 1, "4.5", "other typo")
    page = one.send("/console/measured/1/correction")
    assert page.status == 409
    assert "Somebody else corrected this value meanwhile" in page.text
    assert service.store.query(1).outcome == 4.5
    assert one.open("/console/measured/1").fields["value"]["value"] == "3.5"


def test_a_noised_answer_that_was_read_cannot_be_corrected(serve, tmp_path):
    service = serve(folder=console_folder(tmp_path / "noised", noised=True))
    service.ask(0)
    service.ask(1)
    browser = logged_in(service)
    browser.open("/console")
    page = browser.send("/console/questions/1/check", value="5")
    assert "gets it with noise, clipped to 0 to 10 days" in page.text
    browser.send("/console/questions/1/measurement")
    correct(browser, 1, "6", "typo")
    assert service.store.query(1).outcome == 6.0  # nobody has read it yet

    browser.send("/console/measured/1/check", value="7", reason="again")
    service.client.get("/v1/queries/1", headers=service.modeler)
    page = browser.send("/console/measured/1/correction")
    assert page.status == 409
    assert "too late for a correction" in page.text
    page = browser.open("/console/measured/1")
    assert "cannot be corrected any more" in page.text
    assert "/console/measured/1/check" not in page.forms
    assert "read by a modeler" in browser.open("/console/measured").text
    assert service.store.query(1).outcome == 6.0


def test_a_question_without_a_value_cannot_be_corrected(service):
    service.ask(0)
    page = logged_in(service).open("/console/measured/1")
    assert page.status == 409
    assert "has no value" in page.text


def test_progress_says_in_words_numbers_and_a_plot_how_far_it_is(service):
    browser = logged_in(service)
    for row, value in enumerate((4, 2, 9)):
        service.ask(row)
        browser.enter(row + 1, str(value))
    service.ask(3)
    service.ask(4)
    browser.open("/console/questions/5/refusal")
    browser.send("/console/questions/5/refusal", reason="lost")
    page = browser.open("/console/progress")
    assert "4 of 10 measurements are used; 6 are left." in page.text
    assert "3 are measured, 1 waits in the queue , and 1 will not be measured" in page.text
    best = service.store.identifier(2)
    assert f"The largest so far is 9 days: {best}" in page.text
    names = [service.store.identifier(row) for row in range(3)]
    assert f"1 {names[0]} 4 4 2 {names[1]} 2 4 3 {names[2]} 9 9" in page.text
    assert page.html.count('class="dot"') == 3
    assert 'role="img" aria-labelledby="plot-title plot-description"' in page.html


def test_progress_without_a_limit(serve, tmp_path):
    service = serve(folder=console_folder(tmp_path / "free", max_queries=None))
    service.ask(0)
    page = logged_in(service).open("/console/progress")
    assert "1 measurement is used; there is no limit." in page.text
    assert "<progress" not in page.html


@pytest.mark.parametrize("shown", [1, 3, 300])
def test_progress_of_many_values_shows_the_last_of_them_with_the_largest_so_far(
    service, browser, monkeypatch, shown
):
    from botorch_private.curator.service.console import progress

    monkeypatch.setattr(progress, "_MOST_SHOWN", shown)
    values = [3.0, 9.0, 1.0, 9.0, 4.0]
    for row, value in enumerate(values):
        service.measure(service.ask(row).json()["id"], value)
    text = browser.open("/console/progress").text
    names = [service.store.identifier(query.row) for query in service.store.queries()]
    for i in range(5):
        row = f"{i + 1} {names[i]} {values[i]:g} {max(values[: i + 1]):g}"
        assert (row in text) == (i >= 5 - shown)
    assert f"The largest so far is 9 days: {names[1]} ." in text
    assert "5 are measured" in text
