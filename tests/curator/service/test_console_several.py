"""The console where records have several outcomes: a field for each, all of them stored together."""

import json
import shutil
from contextlib import closing

import pytest
from helpers.marked import listening
from helpers.named_folder import named_curator, named_folder
from helpers.planted import NUMBER, TEXT, found_in
from helpers.staff_browser import StaffBrowser, logged_in

from botorch_private import Scalarized
from botorch_private.curator.service.console.typed_outcomes import (
    is_whole,
    read_outcome,
    text_of_form,
    text_with,
    typed_numbers,
)
from botorch_private.curator.service.exported import export_csv
from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.trail_check import check_database

GOOD = {"cost": 3.5, "safety": 0.9}
CHECK, MEASUREMENT = "/console/questions/1/check", "/console/questions/1/measurement"


@pytest.fixture
def service(serve, tmp_path):
    return serve(folder=named_folder(tmp_path / "named"))


@pytest.fixture
def restarted(serve, service):
    """The same folder under another server, which was stopped, or killed, and the same token."""

    def start(*, killed=False):
        folder = service.folder
        if killed:  # what lies on the disk while it runs is all that a kill leaves
            folder = Folder(shutil.copytree(folder.path, folder.path.with_name("left")))
        else:
            service.store.close()
        again = serve(folder=folder)
        again.staff = service.staff
        return again

    return start


def name_of(service, number=1):
    return service.store.identifier(service.store.query(number).row)


def sheet_of(service, cost):
    return f"identifier,cost,safety\n{name_of(service)},{cost},0.9\n"


def test_each_outcome_has_a_field_and_all_are_stored_after_a_second_look(service, browser):
    page = browser.open("/console/questions/1")
    assert "Cost (EUR)" in page.text
    assert "Safety" in page.text
    assert "Plausible: cost 0 to 12 EUR. Anything else is asked about again." in page.text
    assert page.fields["value-1"]["inputmode"] == "decimal"
    assert [name for name in page.forms[CHECK] if name.startswith("value")] == ["value-1", "value-2"]
    page = browser.send(CHECK, **{"value-1": "3,5", "value-2": "0,9"})
    assert page.url == "/console/questions/1/confirm"
    assert "Cost 3.5 EUR Safety 0.9" in page.text
    assert service.store.query(1).outcome is None
    page = browser.send(MEASUREMENT)
    assert f"Stored: {name_of(service)} is cost 3.5 EUR, safety 0.9." in page.text
    assert service.store.query(1).outcome == GOOD
    assert service.get("/v1/queries/1").json()["value"] == GOOD
    assert service.store.drafts.count() == 0


def test_the_queue_has_a_field_for_each_unless_there_are_many(serve, service, browser, tmp_path):
    assert {"value-1-1", "value-1-2"} <= browser.open("/console").fields.keys()
    names = [f"outcome {i}" for i in range(20)]
    curator = named_curator(outcome_names=names)
    options = {"goal": Scalarized({names[0]: 1.0}), "outcome_unit": None, "plausible": None}
    many = serve(folder=named_folder(tmp_path / "many", curator, **options))
    many.ask(0)
    browser = logged_in(many)
    assert CHECK not in browser.page.forms
    assert "Enter its values" in browser.page.text
    browser.open("/console/questions/1")
    browser.send(CHECK, **{f"value-{i + 1}": f"{i}" for i in range(20)})
    browser.send(MEASUREMENT)
    assert many.store.query(1).outcome == {name: float(i) for i, name in enumerate(names)}


@pytest.mark.parametrize("killed", [False, True])
def test_a_partial_set_is_kept_and_survives_a_restart(service, browser, restarted, killed):
    page = browser.send(CHECK, **{"value-1": "3,5"})
    assert page.url == "/console/questions/1"
    assert "What you typed is kept, and nothing is stored: safety is still to be measured." in page.text
    assert "Error" not in page.text
    assert [each["kind"] for each in service.store.events()].count("refused") == 0
    again = restarted(killed=killed)
    browser = logged_in(again)
    assert f"{name_of(again)} : cost 3.5 EUR Still to be measured: safety" in browser.page.text
    assert "Go on with it" in browser.page.text
    assert browser.open("/console/questions/1/confirm").url == "/console/questions/1"
    assert browser.page.fields["value-1"]["value"] == "3,5"
    assert "autofocus" in browser.page.fields["value-2"]
    browser.send(CHECK, **{"value-2": "0.9"})
    browser.send(MEASUREMENT)
    assert again.store.query(1).outcome == GOOD
    assert "Typed and not stored" not in browser.page.text
    assert check_database(again.store).problem == ""


def test_a_number_stays_where_the_other_one_cannot_be_read(service, browser, restarted):
    page = browser.send(CHECK, **{"value-1": "3.5", "value-2": "1,500"})
    assert page.url == "/console/questions/1"
    assert page.text.count("this comma could mean either") == 1
    assert page.fields["value-2"]["aria-invalid"] == "true"
    assert "aria-invalid" not in page.fields["value-1"]
    browser = logged_in(restarted())
    page = browser.open("/console/questions/1")
    assert (page.fields["value-1"]["value"], page.fields["value-2"]["value"]) == ("3.5", "1,500")


def test_nothing_typed_is_asked_for_once(service, browser):
    page = browser.send(CHECK)
    assert page.text.count("Type a number.") == 1
    assert service.store.drafts.count() == 0


def test_a_part_is_thrown_away_and_that_is_noted(service, browser):
    browser.send(CHECK, **{"value-2": "0.9"})
    browser.open("/console")
    browser.send("/console/questions/1/discard")
    assert service.store.drafts.count() == 0
    assert json.loads(service.store.events(1)[-1]["detail"]) == {"safety": "0.9"}
    service.measure(1, GOOD)
    assert "a typed value was thrown away. safety 0.9" in browser.open("/console/measured/1").text


def test_a_part_that_met_other_values_is_kept_and_the_same_is_not(service, browser):
    service.ask(1)
    browser.send(CHECK, **{"value-1": "3.5"})
    browser.open("/console/questions/2")
    browser.send("/console/questions/2/check", **{"value-1": "7"})
    for number in (1, 2):
        service.measure(number, GOOD)
    page = browser.open("/console")
    assert f"{name_of(service)} : cost" not in page.text
    assert f"{name_of(service, 2)} : cost 7 EUR" in page.text
    page = browser.open("/console/questions/2")
    assert page.status == 409
    assert "Your value, cost 7 EUR, was not stored: there is another one." in page.text
    assert "Stored cost 3.5 EUR, safety 0.9" in page.text
    assert browser.open("/console/questions/1").status == 200


@pytest.mark.parametrize("looked", [False, True])
def test_an_implausible_number_among_several_needs_a_word(service, browser, looked):
    page = browser.send(CHECK, **{"value-1": "99", "value-2": "0.9"})
    assert "This is outside the plausible range, cost 0 to 12 EUR." in page.text
    page = browser.send(MEASUREMENT, **({"looked": "yes"} if looked else {}))
    assert page.status == (200 if looked else 422)
    assert (service.store.query(1).outcome is not None) == looked


def test_a_correction_of_one_outcome_leaves_the_others_and_keeps_old_values_reason_and_person(
    service, browser
):
    service.measure(1, GOOD, instrument="scale 3")
    page = browser.open("/console/measured/1")
    assert "Cost 3.5 EUR Safety 0.9" in page.text
    browser.send("/console/measured/1/check", **{"value-2": "0,95", "reason": "misread"})
    page = browser.open("/console/measured/1/confirm")
    assert "Cost 3.5 EUR Safety 0.95" in page.text
    assert "Instead of cost 3.5 EUR, safety 0.9. Instrument: scale 3. Because misread" in page.text
    page = browser.send("/console/measured/1/correction")
    assert service.store.query(1).outcome == {"cost": 3.5, "safety": 0.95}
    words = (
        "test: value corrected, cost 3.5 EUR, safety 0.95, instrument scale 3; "
        "it was cost 3.5 EUR, safety 0.9, instrument scale 3. misread"
    )
    assert words in page.text
    data = json.loads(service.store.events(1)[-1]["data"])
    assert (data["before"]["value"], data["value"]) == (GOOD, {"cost": 3.5, "safety": 0.95})
    assert check_database(service.store).problem == ""
    assert "3.5,0.95,3.5,0.95" in export_csv(service.store)
    assert "Cost: 3.5 EUR Safety: 0.95" in browser.open("/console/measured").text


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"value-1": "4"}, "Say why"),
        ({"value-1": "x", "reason": "typing"}, "Type the number alone"),
        ({"value-1": "3.5", "reason": "typing"}, "This is the value that is stored already"),
        ({"reason": "typing"}, "Type a number"),
    ],
)
def test_a_correction_that_is_none_is_refused_with_its_field(service, browser, fields, words):
    service.measure(1, GOOD)
    browser.open("/console/measured/1")
    page = browser.send("/console/measured/1/check", **fields)
    assert page.url == "/console/measured/1"
    assert words in page.text
    assert service.store.query(1).revision == 0


def test_an_instrument_alone_is_corrected_and_a_draft_waits(service, browser, restarted):
    service.measure(1, GOOD)
    browser.open("/console/measured/1")
    browser.send("/console/measured/1/check", instrument="scale 4", reason="forgotten")
    browser = logged_in(restarted())
    assert "cost 3.5 EUR, safety 0.9 A correction, typed" in browser.page.text
    browser.open("/console/measured/1/confirm")
    page = browser.send("/console/measured/1/correction")
    assert "Instrument: scale 4" in page.text


def test_noised_outcomes_that_were_read_are_not_corrected(serve, tmp_path):
    service = serve(folder=named_folder(tmp_path / "noised", named_curator(noised=True)))
    service.ask(0)
    browser = logged_in(service)
    browser.open("/console/questions/1")
    page = browser.send(CHECK, **{"value-1": "3.5", "value-2": "0.9"})
    assert "with noise, clipped to cost 0 to 12 EUR, safety 0 to 1." in page.text
    browser.send(MEASUREMENT)
    service.get("/v1/queries/1")
    assert "cannot be corrected any more" in browser.open("/console/measured/1").text
    assert "read by a modeler" in browser.open("/console/measured").text


def test_progress_draws_what_is_wanted_within_the_limits(service, browser):
    service.measure(1, {"cost": 3.0, "safety": 0.5})
    page = browser.open("/console/progress")
    assert "Nothing that is measured keeps the limits yet" in page.text
    assert 'class="best"' not in page.html
    for row, value in enumerate([(5.0, 0.96), (1e308, 1.0), (4.0, 1.0)], start=1):
        service.ask(row)
        service.measure(row + 1, dict(zip(GOOD, value, strict=True)), confirm=True)
    page = browser.open("/console/progress")
    assert (
        f"The best that keeps the limits so far is cost 4 EUR, safety 1: {name_of(service, 4)}"
        in page.text
    )
    assert page.html.count('class="dot"') == 4
    assert 'class="best"' in page.html


def test_progress_of_a_weighted_sum_is_drawn_whatever_is_entered(serve, tmp_path):
    goal = Scalarized({"cost": -1e10, "safety": 50.0})
    service = serve(folder=named_folder(tmp_path / "sum", goal=goal))
    for row, cost in enumerate([1e308, -1e308, 3.0]):
        service.ask(row)
        service.measure(row + 1, {"cost": cost, "safety": 1.0}, confirm=True)
        page = logged_in(service).open("/console/progress")
        assert page.status == 200
    assert "weighted sum" in page.text
    assert page.html.count('class="dot"') == 3


def test_a_printed_worklist_has_a_box_for_each(service, browser):
    page = browser.open("/console/worklist")
    assert "Cost (EUR) Safety Date Signed" in page.text
    assert page.html.count('<td class="blank">') == 4
    text = browser.client.get("/console/worklist.csv").text
    assert "note,cost (EUR),safety,date,instrument,comment" in text
    lines = text.splitlines()
    filled = "\n".join([lines[0], *(line[: -len(",,,,")] + "3.5,0.9,,," for line in lines[1:])])
    page = browser.upload(filled)
    assert "New values 1" in page.text
    assert "1 new value" in browser.send("/console/sheet/store").text
    assert service.store.query(1).outcome == GOOD


def test_a_sheet_is_looked_at_and_its_doubts_are_named(service, browser):
    page = browser.open("/console/sheet")
    assert "identifier, cost (EUR), safety" in page.text
    assert "value" not in page.forms["/console/sheet"]
    page = browser.upload(sheet_of(service, 99))
    assert "Its value of cost is outside the plausible range" in page.text
    assert "outside the plausible range, cost 0 to 12 EUR" in page.text
    assert browser.send("/console/sheet/store").status == 422
    assert "1 new value" in browser.send("/console/sheet/store", looked="yes").text
    page = browser.upload("identifier,cost\na,1\n")
    assert (page.status, "row 1 does not name safety" in page.text) == (422, True)


HOSTILE = [
    {},
    {"value": "1"},
    {"value-1": "1"},
    {"value-1": "1", "value-2": "nan"},
    {"value-1": "1", "value-3": "2"},
    {"value-1": '{"cost": 1}', "value-2": "[]"},
    {"value-1": "1", "value-2": "\0"},
]


def test_forms_that_the_console_did_not_make_store_nothing(service, browser):
    csrf = browser.page.forms[CHECK]["csrf"]
    for fields in HOSTILE:
        for action in (CHECK, MEASUREMENT):
            answer = browser.client.post(action, data={"csrf": csrf, **fields})
            assert answer.status_code == 200
            assert service.store.query(1).outcome is None
            assert browser.open("/console").status == 200
            assert browser.open("/console/questions/1").status == 200
    service.measure(1, GOOD)
    for fields in HOSTILE:
        sent = {"csrf": csrf, "reason": "x", "revision": "0", **fields}
        answer = browser.client.post("/console/measured/1/correction", data=sent)
        assert answer.status_code == 200
        assert service.store.query(1).outcome == GOOD


def test_more_fields_than_there_can_be_are_refused(service, browser):
    csrf = browser.page.forms[CHECK]["csrf"]
    fields = {"csrf": csrf, **{f"value-{i}": "1" for i in range(1, 30)}}
    assert browser.client.post(CHECK, data=fields).status_code == 400


def test_nothing_that_was_typed_is_logged_and_others_do_not_see_it(service, browser):
    other = StaffBrowser(service)
    other.log_in(service.store.tokens.make("staff", "somebody else").result())
    with listening() as said:
        browser.send(CHECK, **{"value-1": f"{NUMBER}", "value-2": TEXT})
        pages = [other.open(path).html for path in ("/console", "/console/questions/1")]
        pages.append(service.get("/v1/queries/1").text)
    ours = [each.getMessage() for each in said["records"] if not each.name.startswith("httpx")]
    assert found_in(pages, ours) == []


def test_the_events_have_all_outcomes(service, browser, capsys):
    from botorch_private.cli.main import main

    service.measure(1, GOOD)
    browser.open("/console")
    service.put(1, "correction", value={**GOOD, "cost": 4.0}, reason="typing")
    assert main(["curator", "export", str(service.folder.path), "--events"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()][1:]
    data = [each["event"]["data"] for each in events if each["event"]["kind"] == "corrected"]
    assert data[0]["value"] == {"cost": 4.0, "safety": 0.9}
    assert data[0]["before"]["value"] == GOOD
    assert main(["curator", "verify", str(service.folder.path)]) == 0


def test_typed_texts_are_read_as_they_were_typed(tmp_path):
    folder = named_folder(tmp_path / "folder")
    with closing(folder.open()) as store:
        measured = store.facts.measured
    text = text_of_form(measured, {"value-1": " 3,5", "value-2": ""})
    assert json.loads(text) == {"cost": " 3,5"}
    assert typed_numbers(measured, text) == {"cost": 3.5}
    assert not is_whole(measured, text)
    whole = text_with(measured, text, {"cost": 1.0, "safety": 0.1})
    assert read_outcome(measured, whole) == {"cost": 3.5, "safety": 0.1}
    assert text_of_form(measured, {}) == ""
