"""Values of records that nobody asks for: refused, kept until somebody does, or told, as is said."""

import json
import shutil
from contextlib import closing

import numpy as np
import pytest
from helpers.staff_browser import IDENTIFIERS, console_folder, logged_in
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from botorch_private.cli.main import main
from botorch_private.curator.features.identifiers import look
from botorch_private.curator.service.agenda import ALL
from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.known import KnownOutcome
from botorch_private.curator.service.look_up import rows_of
from botorch_private.curator.service.sheet import SheetForm
from botorch_private.curator.service.take_in import take_in
from botorch_private.curator.service.trail_check import check_database
from botorch_private.privacy.outcome_grid import noised_answer

KEEP, TELL = SheetForm(unasked="keep"), SheetForm(unasked="tell")


def sheet_of(*rows, columns="identifier,value,date,instrument,comment,reason"):
    return columns + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)


def row_of(store, identifier):
    return store.rows_of([identifier])[0]


def contents(store):
    tables = ("record", "known_said", "query", "event", "idempotency")
    return [[tuple(each) for each in store._all(f"SELECT * FROM {table}")] for table in tables]


def take(store, form, *rows, dry=False):
    return take_in(store, sheet_of(*rows), form, token=2, dry=dry)


def test_what_nobody_asks_for_is_refused_unless_it_is_said(service):
    store = service.store
    service.ask(row_of(store, IDENTIFIERS[0]))
    rows = [(IDENTIFIERS[0], 1), (IDENTIFIERS[1], 2)]
    taken = take(store, SheetForm(), *rows)
    assert (taken.refused, taken.unasked, taken.stored) == ([(3, "nobody asks for this record")], 1, 1)
    assert store.query(1).outcome is None
    assert store.known_waiting() == 0
    assert store.events()[-1]["kind"] == "refused"


def test_what_is_kept_is_told_to_nobody_spends_nothing_and_answers_its_question_at_once(service):
    store, told = service.store, []
    store.listen(told.append)
    row = (IDENTIFIERS[3], 7.5, "2020-01-02", "scale", "fasting")
    before = contents(store)
    dry = take(store, KEEP, row, dry=True)
    assert contents(store) == before
    assert take(store, KEEP, row) == dry
    assert (dry.kept, dry.stored, dry.told, dry.refused) == (1, 0, 0, [])
    assert told == []
    assert store.queries() == []
    assert store.agenda.count(ALL, 2) == 0
    assert service.get("/v1/queries").json() == {"queries": []}
    assert service.get("/v1/release").json()["queries_left"] == 10
    assert check_database(store).problem == ""
    answered = service.ask(row_of(store, IDENTIFIERS[3])).json()
    assert (answered["state"], answered["value"]) == ("measured", 7.5)
    assert service.get("/v1/release").json()["queries_left"] == 9  # told, so it counts
    assert store.query(1).circumstances == ("2020-01-02", "scale", "fasting")
    assert [event["kind"] for event in store.events(1)] == ["asked", "known"]
    assert check_database(store).problem == ""
    assert "date 2020-01-02, instrument scale" in logged_in(service).open("/console/measured/1").text


def test_a_kept_value_that_is_sent_again_changes_nothing_and_another_needs_a_reason(service):
    store, name = service.store, IDENTIFIERS[3]
    take(store, KEEP, (name, 7.5, "2020-01-02", "scale"))
    before = contents(store)
    assert take(store, KEEP, (name, 7.5)).same == 1  # what it does not say stays
    assert contents(store) == before
    for row, why in (
        ((name, 8), "another value is stored for this record"),
        ((name, 7.5, "2020-01-03"), "this value is stored with another date"),
        ((IDENTIFIERS[4], 1, "", "", "", "typo"), "it has a reason for a correction, but no value"),
    ):
        (refused,) = take(store, KEEP, row, dry=True).refused
        assert refused.why.startswith(why)
    assert take(store, KEEP, (name, 8, "", "", "", "typo")).corrected == 1
    event = store.events()[-1]
    assert (event["kind"], event["detail"]) == ("known", "typo")
    assert '"before":{"day":"2020-01-02","instrument":"scale","value":7.5}' in event["data"]
    assert check_database(store).problem == ""
    assert service.ask(row_of(store, name)).json()["value"] == 8.0
    assert store.query(1).circumstances == ("2020-01-02", "scale", None)


@pytest.mark.parametrize("form", [KEEP, TELL])
def test_a_kept_value_is_as_plausible_as_any(service, form):
    store = service.store
    taken = take(store, form, (IDENTIFIERS[3], 121))
    assert ([each.row for each in taken.refused], taken.implausible) == ([2], 1)
    assert store.known_waiting() == 0
    assert store.queries() == []


def test_what_is_told_counts_as_a_question_of_the_curator_and_has_its_noise(serve, tmp_path):
    service = serve(folder=console_folder(tmp_path / "noised", noised=True, max_queries=3))
    store, facts, names = service.store, service.store.facts, IDENTIFIERS
    take(store, KEEP, (names[0], 6))
    rows = [(names[0], 6), (names[1], 4.5, "2020-01-02")]
    dry = take(store, TELL, *rows, dry=True)
    assert store.queries() == []
    assert take(store, TELL, *rows) == dry
    assert (dry.told, dry.kept, dry.refused) == (2, 0, [])
    found = service.get("/v1/queries").json()["queries"]
    # In the order of released rows, which is uniform: the order of the sheet is not told.
    values = sorted([(row_of(store, names[0]), 6.0), (row_of(store, names[1]), 4.5)])
    assert [each["row"] for each in found] == [row for row, _ in values]
    low, high = facts.outcome_range
    for each, (_, value) in zip(found, values, strict=True):
        noise = store._one("SELECT noise FROM record WHERE row = ?", each["row"])[0]
        wanted = noised_answer(
            np.array(value), np.array(noise), low=low, high=high, grid=facts.outcome_grid
        )
        assert each["value"] == float(wanted)
    assert service.get("/v1/release").json()["queries_left"] == 1
    assert [event["token"] for event in store.events(1)] == [None, None]
    assert check_database(store).problem == ""
    assert take(store, TELL, *rows).same == 2  # again: they are asked for now
    page = logged_in(service).open("/console/measured/1").text
    assert "the curator: asked" in page
    refused = take(store, TELL, (names[1], 5, "", "", "", "typo")).refused
    assert "would tell more than was promised" in refused[0].why
    asked = service.ask(row_of(store, names[0])).json()  # the same question, and not one more
    assert asked["id"] == next(each["id"] for each in found if each["row"] == asked["row"])
    assert store.queries_left() == 1


def test_modelers_do_not_see_in_which_order_a_sheet_was_written(serve, tmp_path):
    folder = console_folder(tmp_path / "folder")
    told = []
    for number, rows in enumerate((range(4), reversed(range(4)))):
        copy = shutil.copytree(folder.path, tmp_path / str(number))
        service = serve(folder=Folder(copy))
        names = [(IDENTIFIERS[row], 10 + row) for row in rows]
        assert take(service.store, TELL, *names).told == 4
        found = service.get("/v1/queries").json()["queries"]
        told.append([(each["id"], each["row"], each["value"]) for each in found])
    assert told[0] == told[1]
    assert [row for _, row, _ in told[0]] == sorted(row for _, row, _ in told[0])


@pytest.mark.parametrize("noised", [False, True])
def test_nothing_is_told_beyond_the_budget(serve, tmp_path, noised):
    service = serve(folder=console_folder(tmp_path / "folder", noised=noised, max_queries=2))
    store = service.store
    service.ask(row_of(store, IDENTIFIERS[0]))
    before = contents(store)
    taken = take(store, TELL, (IDENTIFIERS[1], 1), (IDENTIFIERS[2], 2), dry=True)
    assert contents(store) == before
    last = 2 if row_of(store, IDENTIFIERS[1]) > row_of(store, IDENTIFIERS[2]) else 3
    assert [(each.row, each.why.split(";")[0]) for each in taken.refused] == [
        (last, "all 2 measurements are spent")
    ]
    assert take(store, KEEP, (IDENTIFIERS[1], 1), (IDENTIFIERS[2], 2)).kept == 2  # spends nothing
    assert store.queries_left() == 1


def test_a_withdrawn_record_is_one_that_nobody_asks_for(service):
    store, row = service.store, row_of(service.store, IDENTIFIERS[4])
    service.ask(row)
    service.put(1, "withdrawal", reason="left")
    assert take(store, SheetForm(), (IDENTIFIERS[4], 9)).unasked == 1
    assert take(store, KEEP, (IDENTIFIERS[4], 9)).kept == 1
    assert store.query(1).state == "withdrawn"
    assert service.ask(row, "another-key").json()["value"] == 9.0


def test_what_a_program_measured_stays_and_what_it_need_not_measure_is_kept(tmp_path):
    with closing(console_folder(tmp_path / "f", objective="lab:measure").open()) as store:
        for role in ("modeler", "staff"):
            store.tokens.make(role, role).result()
        assert take(store, KEEP, (IDENTIFIERS[0], 3)).kept == 1
        store.ask("a-key-of-ours", row_of(store, IDENTIFIERS[0]), 1).result()
        assert store.begin().result() is None
        assert store.query(1).outcome == 3.0


def test_a_list_of_the_staff_api_and_a_sheet_do_the_same(service, serve, tmp_path):
    """The slow, obvious twin: the step that keeps known outcomes one list at a time."""
    other = serve(folder=console_folder(tmp_path / "twin"))
    for each in (service, other):
        each.ask(row_of(each.store, IDENTIFIERS[0]))
    pairs = list(zip(IDENTIFIERS[:5], (1.0, 2.0, 3.0, 4.0, 5.0), strict=True))
    taken = take(service.store, KEEP, *pairs)
    listed = other.store.know([KnownOutcome(i, *pair) for i, pair in enumerate(pairs)], 2).result()
    assert (taken.kept, taken.stored) == (listed.kept, len(listed.answered)) == (4, 1)
    for name, _ in pairs:
        answers = [each.ask(row_of(each.store, name)).json() for each in (service, other)]
        assert answers[0]["value"] == answers[1]["value"]


WRITTEN = ["a", "A", "a b", "a\N{NO-BREAK SPACE}b ", " a", "\N{FULLWIDTH LATIN SMALL LETTER A}", "é",
           "e\N{COMBINING ACUTE ACCENT}", "а", "а́", "x-1", "x\N{EN DASH}1", "x-1 ", "b"]  # noqa: RUF001 # fmt: skip


@given(st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_record_is_found_as_a_reader_of_the_whole_list_would(data):
    texts = data.draw(st.lists(st.sampled_from(WRITTEN), unique_by=look, min_size=1))
    wanted = data.draw(st.lists(st.sampled_from(WRITTEN)))
    reads = []

    def read(statement, *values):
        reads.append(statement)
        return [
            {"row": row, "identifier": text}
            for row, text in enumerate(texts)
            if not values or text == values[0]
        ]

    obvious = [
        next((row for row, text in enumerate(texts) if look(text) == look(each)), None)
        for each in wanted
    ]
    assert rows_of(read, wanted) == obvious
    assert sum("WHERE" not in each for each in reads) <= 1  # all are read once, at most


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = console_folder(tmp_path / "clinic", max_queries=2)
    (tmp_path / "values.csv").write_text(sheet_of((IDENTIFIERS[0], 1), (IDENTIFIERS[1], 2)))
    return folder


def run(capsys, *arguments):
    try:
        code = main(["curator", "import", "clinic", "values.csv", *arguments])
    except SystemExit as stopped:
        code = stopped.code
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_command_says_what_can_be_done_and_does_it(clinic, capsys):
    code, out, err = run(capsys)
    assert (code, out) == (1, "Nothing was stored, since rows are refused: 2\n")
    assert err.splitlines()[-1].endswith(
        "To keep values until somebody asks for their records, say --unasked keep."
    )
    assert run(capsys, "--unasked", "keep", "--dry-run")[1].startswith(
        "Values that would be stored: 0\nValues that would be kept until somebody asks: 2\n"
    )
    assert "Kept until somebody asks: 2\n" in run(capsys, "--unasked", "keep")[1]
    assert main(["curator", "status", "clinic", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["earlier"] == {"waiting": 2, "answered": 0}
    assert "Told to every modeler unasked: 2\n" in run(capsys, "--unasked", "tell")[1]
    assert main(["curator", "status", "clinic", "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert status["earlier"] == {"waiting": 0, "answered": 2}
    assert (status["earlier_releases"], status["restored"]) == ([], None)
    with closing(clinic.open()) as store:
        by_row = sorted((row_of(store, IDENTIFIERS[i]), 1.0 + i) for i in range(2))
        assert [query.outcome for query in store.queries()] == [value for _, value in by_row]
        assert store.queries_left() == 0


def test_staff_keep_values_of_a_sheet_in_the_console_and_cannot_tell_them(service):
    store, browser = service.store, logged_in(service)
    text = sheet_of((IDENTIFIERS[0], 1), (IDENTIFIERS[1], 2))
    page = browser.upload(text)
    assert "This sheet cannot be stored" in page.text
    assert "nobody asks for some of these records" in page.text
    page = browser.send("/console/sheet/keep")
    assert "Kept until somebody asks 2" in page.text
    assert store.known_waiting() == 0  # it was only looked at
    page = browser.send("/console/sheet/store")
    assert "The sheet is stored: 0 new values, 2 kept until somebody asks." in page.text
    assert store.known_waiting() == 2
    for unasked, kept in (("keep", 3), ("tell", 3)):
        browser.upload(sheet_of((IDENTIFIERS[2], 3)), unasked=unasked)
        if "/console/sheet/store" in browser.page.forms:
            browser.send("/console/sheet/store")
        assert store.known_waiting() == kept
    assert store.queries() == []
