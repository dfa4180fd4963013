"""Date, instrument and comment of a measurement: entered everywhere, kept when corrected, never told."""

import csv
import io
import json
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from helpers.staff_browser import console_folder
from hypothesis import given
from hypothesis import strategies as st

from botorch_private.curator.service.circumstances import UNSAID, Circumstances, read_circumstances
from botorch_private.curator.service.exported import export_csv
from botorch_private.curator.service.sheet import SheetForm
from botorch_private.curator.service.take_in import take_in
from botorch_private.curator.service.trail import data_of, note
from botorch_private.curator.service.trail_check import check_database

SAID = Circumstances("2020-01-02", "scale 3", "fasting")
FIELDS = {"date": "2020-01-02", "instrument": "scale 3", "comment": "fasting"}
texts = st.none() | st.sampled_from(["", "a", "b"])
circumstances = st.builds(Circumstances, texts, texts, texts)


@given(circumstances, circumstances)
def test_a_change_is_what_putting_one_over_the_other_changes(ours, stored):
    def plain(each):
        return [text or "" for text in each]

    assert ours.change(stored) == (plain(ours.over(stored)) != plain(stored))
    assert not UNSAID.change(stored)
    assert not stored.change(stored)


@pytest.mark.parametrize("day", ["31.03.2027", "2027-3-31", "2027-02-30", "2999-01-01", "x"])
def test_a_day_that_is_none_or_to_come_is_refused(day):
    with pytest.raises(ValueError, match="Type a day"):
        read_circumstances(day, None, None, "2027-03-31")


def test_what_is_typed_is_put_on_one_line():
    assert read_circumstances(" 2020-01-02 ", " scale\t3 ", "a\nb", "2027-01-01") == (
        "2020-01-02",
        "scale 3",
        "a b",
    )
    with pytest.raises(ValueError, match="at most 500 characters"):
        read_circumstances(None, None, "c" * 501, "")


# --- the API ---


def shown(service, number):
    found = service.client.get("/v1/staff/queries", headers=service.staff).json()["queries"]
    (one,) = [each for each in found if each["id"] == number]
    return {name: one[name] for name in FIELDS}


def test_they_are_stored_with_a_value_and_shown_to_staff_alone(service):
    service.ask(0)
    answer = service.measure(1, 3.0, **FIELDS)
    assert {name: answer.json()[name] for name in FIELDS} == FIELDS == shown(service, 1)
    told = json.dumps([service.get("/v1/queries").json(), service.get("/v1/queries/1").json()])
    assert not any(text in told for text in FIELDS.values())
    assert service.measure(1, 3.0, **FIELDS).status_code == 200
    assert service.measure(1, 3.0).status_code == 200  # it says nothing else
    other = service.measure(1, 3.0, instrument="scale 4")
    assert (other.status_code, other.json()["error"]["code"]) == (409, "measured")
    assert shown(service, 1) == FIELDS


def test_a_value_without_them_has_none(service):
    service.ask(0)
    service.measure(1, 3.0)
    assert shown(service, 1) == dict.fromkeys(FIELDS)


def test_a_correction_keeps_what_it_does_not_say_and_the_event_what_was_there(service):
    service.ask(0)
    service.measure(1, 3.0, **FIELDS)
    answer = service.put(1, "correction", value=30.0, reason="point", comment="", instrument="scale 4")
    assert (answer.status_code, answer.json()["revision"]) == (200, 1)
    assert shown(service, 1) == {"date": "2020-01-02", "instrument": "scale 4", "comment": None}
    event = service.store.events(1)[-1]
    assert (event["kind"], event["token"], event["detail"]) == ("corrected", 2, "point")
    before = {"value": 3.0, "day": "2020-01-02", "instrument": "scale 3", "comment": "fasting"}
    now = {"value": 30.0, "answer": 30.0, "day": "2020-01-02", "instrument": "scale 4"}
    assert data_of(event) == {**now, "before": before}


def test_a_modeler_notices_nothing_where_only_they_are_corrected(serve, tmp_path):
    service = serve(folder=console_folder(tmp_path / "noised", noised=True))
    service.ask(0)
    service.measure(1, 3.0, **FIELDS)
    told = service.get("/v1/queries/1").json()  # its noised answer was read
    assert service.put(1, "correction", value=4.0, reason="typo").status_code == 409
    answer = service.put(1, "correction", value=3.0, reason="wrong scale", instrument="scale 4")
    assert answer.status_code == 200
    assert service.get("/v1/queries/1").json() == told
    assert service.store.query(1).told
    assert service.store.query(1).circumstances.instrument == "scale 4"
    events = len(service.store.events())
    service.put(1, "correction", value=3.0, reason="again", instrument="scale 4")
    assert len(service.store.events()) == events
    assert check_database(service.store).problem == ""


@pytest.mark.parametrize("reason", ["", " ", "\t\n", "\N{NO-BREAK SPACE}"])
def test_a_correction_without_a_reason_is_refused(service, reason):
    service.ask(0)
    service.measure(1, 3.0)
    assert service.put(1, "correction", value=4.0, reason=reason).status_code == 422
    assert service.put(1, "correction", value=4.0).status_code == 422
    assert service.store.query(1).outcome == 3.0


def test_a_day_to_come_is_refused_without_repeating_it(service):
    service.ask(0)
    day = (datetime.now(UTC) + timedelta(days=3)).date().isoformat()
    answer = service.measure(1, 3.0, date=day)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "circumstances")
    assert day not in answer.text
    assert service.store.query(1).state == "pending"


# --- the console ---


def test_they_are_typed_confirmed_stored_and_shown(service, browser):
    browser.open("/console/questions/1")
    page = browser.send(
        "/console/questions/1/check", value="3.5", day="2020-01-02", instrument="scale 3", comment="<b>"
    )
    assert "Date 2020-01-02 Instrument scale 3 Comment <b>" in page.text
    assert "<b>" not in page.html.replace("&lt;b&gt;", "")
    browser.send("/console/questions/1/measurement")
    assert service.store.query(1).circumstances == ("2020-01-02", "scale 3", "<b>")
    for path in ("/console/measured", "/console/measured/1"):
        assert "Date: 2020-01-02. Instrument: scale 3. Comment: <b>" in browser.open(path).text
    history = "value stored, 3.5 days, date 2020-01-02, instrument scale 3, comment <b>"
    assert history in browser.page.text


def test_the_form_in_the_queue_needs_none_and_keeps_what_was_typed_before(service, browser):
    browser.open("/console/questions/1")
    browser.send("/console/questions/1/check", value="", instrument="scale 3")
    assert "Type a number." in browser.page.text
    assert browser.page.fields["instrument"]["value"] == "scale 3"
    browser.enter(1, "2")
    assert service.store.query(1).circumstances.instrument == "scale 3"
    service.ask(1)
    browser.enter(2, "2")
    assert service.store.query(2).circumstances == UNSAID


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("day", "2999-01-01", "in the future"),
        ("day", "1/2/2020", "year, month and day"),
        ("instrument", "i" * 501, "at most 500 characters"),
        ("comment", "c" * 501, "at most 500 characters"),
    ],
)
def test_what_cannot_be_read_is_asked_for_again_beside_its_field(service, browser, name, text, words):
    browser.open("/console/questions/1")
    page = browser.send("/console/questions/1/check", **{"value": "3", name: text})
    assert (page.url, words in page.text) == ("/console/questions/1", True)
    assert page.fields[name]["aria-invalid"] == "true"
    assert page.fields[name]["aria-describedby"] == f"{name}-problem"
    assert "details open" in page.html
    form = browser.send("/console/questions/1/check", **{"value": "3", name: ""})
    page = browser.client.post(
        "/console/questions/1/measurement",
        data={**form.forms["/console/questions/1/measurement"], name: text},
    )
    assert page.url.path == "/console/questions/1"
    assert service.store.query(1).state == "pending"


def test_they_wait_with_the_value_over_a_restart(serve, service, browser):
    browser.open("/console/questions/1")
    browser.send("/console/questions/1/check", value="3", day="2020-01-02", instrument="s", comment="c")
    (draft,) = service.store.drafts.all(2)
    assert draft.draft == ("3", "", "2020-01-02", "s", "c")


def test_another_comment_on_a_value_that_is_stored_is_said_and_not_lost(service, browser):
    browser.open("/console/questions/1")
    browser.send("/console/questions/1/check", value="3", comment="mine")
    service.measure(1, 3.0, comment="theirs")
    page = browser.send("/console/questions/1/measurement")
    assert page.status == 409
    assert "but not the date, instrument or comment that you typed" in page.text
    assert service.store.query(1).circumstances.comment == "theirs"
    browser.send("/console/questions/1/discard")
    assert browser.open("/console/questions/1").status == 200


def test_they_are_corrected_with_a_reason_and_the_value_stays(service, browser):
    service.measure(1, 3.0, **FIELDS)
    page = browser.open("/console/measured/1")
    assert page.forms["/console/measured/1/check"]["instrument"] == "scale 3"
    assert "Say why" in browser.send("/console/measured/1/check", instrument="scale 4").text
    page = browser.send("/console/measured/1/check", instrument="scale 4", reason="misread")
    assert page.url == "/console/measured/1/confirm"
    assert "Instead of 3 days. Date: 2020-01-02. Instrument: scale 3. Comment: fasting" in page.text
    browser.open("/console")
    assert "waits" in browser.page.text
    browser.open("/console/measured/1/confirm")
    page = browser.send("/console/measured/1/correction")
    assert "test: value corrected, 3 days, date 2020-01-02, instrument scale 4" in page.text
    assert "it was 3 days, date 2020-01-02, instrument scale 3, comment fasting. misread" in page.text
    assert service.store.query(1).revision == 0
    assert check_database(service.store).problem == ""


def test_a_correction_of_an_earlier_version_is_shown_as_it_was(service, browser):
    service.measure(1, 3.0)
    store = service.store
    store.submit(
        lambda each: note(each, store.clock(), "corrected", token=2, query=1, detail="30.0: a: b")
    ).result()
    assert "test: value corrected; it was 30 days. a: b" in browser.open("/console/measured/1").text


def test_the_history_says_who_corrected_and_who_was_nobody(service, browser):
    service.measure(1, 3.0)
    store, name = service.store, service.store.identifier(0)
    take_in(store, f"identifier,value,reason\n{name},4,typo\n", SheetForm(), token=None, dry=False)
    service.client.app.state.refusals.note("foreign_form", "console", query=1)
    page = browser.open("/console/measured/1").text
    assert "the curator: value corrected, 4 days; it was 3 days. typo" in page
    assert "somebody: nothing was stored. the form was not sent by the console" in page


# --- sheets and export ---


@pytest.fixture
def store(tmp_path):
    with closing(console_folder(tmp_path / "folder", noised=True).open()) as store:
        for role in ("modeler", "staff"):
            store.tokens.make(role, role).result()
        for row in range(4):
            store.ask(f"key-{row:08d}", row, 1).result()
        store.measure(1, 3.0, 2, SAID).result()
        yield store


def taken(store, *rows, dry=False, names="identifier,value,date,instrument,comment,reason"):
    text = "\n".join([names, *(row.replace("ID", store.identifier(i)) for i, row in enumerate(rows))])
    return take_in(store, text, SheetForm(), token=2, dry=dry)


def test_a_sheet_brings_them_and_corrects_with_a_reason(store):
    row = "ID,30,2020-01-03,scale 4,,a point was lost"
    before = [tuple(each) for each in store._all("SELECT * FROM query")]
    dry = taken(store, row, "ID,2,2020-01-02,scale 5,seen,", dry=True)
    assert (dry.stored, dry.corrected, dry.refused) == (1, 1, [])
    assert [tuple(each) for each in store._all("SELECT * FROM query")] == before
    assert taken(store, row, "ID,2,2020-01-02,scale 5,seen,") == dry
    assert [query.outcome for query in store.queries()][:2] == [30.0, 2.0]
    assert store.query(1).circumstances == ("2020-01-03", "scale 4", "fasting")
    assert store.query(2).circumstances == ("2020-01-02", "scale 5", "seen")
    event = store.events(1)[-1]
    assert (event["kind"], event["detail"], event["token"]) == ("corrected", "a point was lost", 2)
    assert data_of(event)["from"] == "from a sheet, row 2"
    assert data_of(event)["before"]["value"] == 3.0
    again = taken(store, row, "ID,2,2020-01-02,scale 5,seen,")
    assert (again.stored, again.corrected, again.same) == (0, 0, 2)  # it may be sent again
    assert check_database(store).problem == ""


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("ID,30,,,,", "another value is stored for this record: say why"),
        ("ID,30,,,, ", "another value is stored for this record: say why"),
        ("ID,3,,scale 4,,", "another date, instrument or comment: say why"),
        ("ID,3,2999-01-01,,,x", "in the future"),
        ("ID,30,,,,%s" % ("r" * 501), "at most 500 characters"),
    ],
)
def test_a_sheet_without_a_reason_corrects_nothing(store, row, why):
    (refusal,) = taken(store, row).refused
    assert (refusal.row, why in refusal.why) == (2, True)
    assert store.query(1).outcome == 3.0


def test_a_sheet_that_says_nothing_about_them_changes_none(store):
    found = taken(store, "ID,3", names="identifier,value")
    assert (found.same, found.corrected) == (1, 0)
    assert store.query(1).circumstances == SAID


def test_the_console_counts_corrections_apart(service, browser):
    service.ask(1)
    service.measure(1, 3.0)
    names = [service.store.identifier(row) for row in (0, 1)]
    page = browser.upload(f"identifier,value,reason\n{names[0]},4,typo\n{names[1]},5,\n")
    assert "New values 1 Corrections 1" in page.text
    page = browser.send("/console/sheet/store")
    assert "The sheet is stored: 1 new value, 1 correction." in page.text


def test_a_reason_where_nothing_is_stored_is_refused(store):
    found = taken(store, "ID,3,,,,", "ID,3,,,,typo")
    assert [(each.row, each.why) for each in found.refused] == [
        (3, "it has a reason for a correction, but no value is stored for this record")
    ]


def test_a_value_whose_noised_answer_was_read_is_not_corrected_by_a_sheet(store):
    store.tell(1, 0).result()
    (refusal,) = taken(store, "ID,30,,,,typo").refused
    assert "would tell more than was promised" in refusal.why
    assert taken(store, "ID,3,,scale 4,,misread").corrected == 1


def test_export_has_them_and_no_spreadsheet_computes_them(store):
    store.measure(2, 2.0, 2, Circumstances("2020-01-02", "=1+1", "@x")).result()
    rows = list(csv.DictReader(io.StringIO(export_csv(store))))
    assert [(row["date"], row["instrument"], row["comment"]) for row in rows][:3] == [
        ("2020-01-02", "scale 3", "fasting"),
        ("2020-01-02", "'=1+1", "'@x"),
        ("", "", ""),
    ]
