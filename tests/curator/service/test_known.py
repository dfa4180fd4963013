"""Outcomes that nobody asked for: kept, and answered when they are asked for as any other answer."""

import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
import torch
from helpers.staff_browser import IDENTIFIERS, Page, console_folder, logged_in

from botorch_private.cli import main as cli
from botorch_private.curator.service import look_up
from botorch_private.curator.service.agenda import View, Wanted
from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.known import KnownOutcome
from botorch_private.curator.service.question import ServiceError
from botorch_private.privacy.outcome_grid import noised_answer

N = len(IDENTIFIERS)
NAN = float("nan")


def outcomes(*pairs, first=2):
    return [KnownOutcome(place, *pair) for place, pair in enumerate(pairs, start=first)]


def row_of(store, identifier):
    return next(row for row in range(N) if store.identifier(row) == identifier)


def dump(store):
    """All that could change, but for tokens."""
    with closing(sqlite3.connect(store._writer._path)) as connection:
        return [
            connection.execute(f"SELECT * FROM {table}").fetchall()
            for table in ("record", "query", "event", "idempotency")
        ]


def test_a_known_outcome_is_told_to_nobody_until_it_is_asked_for_and_then_at_once(service):
    store = service.store
    told = []
    store.listen(told.append)
    found = store.know(outcomes((IDENTIFIERS[3], 7.5)), 2).result()
    assert (found.kept, found.answered) == (1, [])
    assert service.get("/v1/queries").json() == {"queries": []}
    assert service.get("/v1/release").json()["queries_left"] == 10
    assert told == []
    assert store.known_waiting() == 1
    answered = service.ask(row_of(store, IDENTIFIERS[3])).json()
    assert (answered["state"], answered["value"]) == ("measured", 7.5)
    assert service.get("/v1/release").json()["queries_left"] == 9  # as any other answer
    assert store.known_waiting() == 0
    assert [event["kind"] for event in store.events(1)] == ["asked", "known"]


def test_an_open_question_is_answered_and_whoever_waits_is_told(service):
    store = service.store
    row = row_of(store, IDENTIFIERS[5])
    assert service.ask(row).json()["state"] == "pending"
    told = []
    store.listen(told.append)
    found = store.know(outcomes((IDENTIFIERS[5], 4.0), (IDENTIFIERS[6], 5.0)), 2).result()
    assert (found.kept, [each.row for each in found.answered]) == (1, [row])
    assert [each.row for each in told] == [row]
    assert service.get("/v1/queries/1").json()["value"] == 4.0
    assert store.queries(states=("pending",)) == []


def test_what_is_known_already_changes_nothing(service):
    store = service.store
    service.ask(row_of(store, IDENTIFIERS[0]))
    same = outcomes((IDENTIFIERS[0], 1.0), (IDENTIFIERS[1], 2.0), (IDENTIFIERS[1], 2.0))
    store.know(same, 2).result()
    before = dump(store)
    assert store.know(same, 2).result() == (0, [])
    assert dump(store) == before


@pytest.mark.parametrize("replace", [False, True])
def test_all_are_stored_or_none_and_no_message_holds_an_identifier_or_a_value(service, replace):
    store = service.store
    a, b, c, d, *_ = IDENTIFIERS
    service.ask(row_of(store, a))
    service.measure(1, 3.0)
    store.know(outcomes((b, 31.0)), 2).result()
    service.ask(row_of(store, d))
    assert store.begin().result().row == row_of(store, d)
    before = dump(store)
    cases = [
        ("no_record", [(c, 6.0), ("MRN-9", 6.0)], "line 3: no record is called that"),
        ("no_number", [(c, 6.0), (b, NAN)], "line 3: a finite number is needed"),
        ("no_number", [(c, float("inf"))], "line 2: a finite number"),
        ("implausible", [(c, 121.0)], "line 2: the value is outside the plausible range 0 ... 120"),
        ("twice", [(c, 6.0), (a, 3.0), (c, 7.0)], "line 4: the record has another value in line 2"),
        ("measured", [(c, 6.0), (a, 4.0)], "line 3: it has another value: correct it"),
        ("measuring", [(c, 6.0), (d, 4.0)], "line 3: a program works on that record"),
    ]
    if not replace:
        cases.append(("known", [(c, 6.0), (b, 32.0)], "line 3: another value is known"))
    for code, pairs, message in cases:
        with pytest.raises(ServiceError, match=message) as refused:
            store.know(outcomes(*pairs), 2, replace=replace).result()
        assert refused.value.code == code
        assert "MRN" not in str(refused.value)
        assert "31" not in str(refused.value)
        assert dump(store) == before
    if replace:
        assert store.know(outcomes((c, 6.0), (b, 32.0)), 2, replace=True).result().kept == 2
        assert service.ask(row_of(store, b)).json()["value"] == 32.0
    else:
        assert store.know(outcomes((c, 121.0)), 2, confirmed=True).result().kept == 1


def test_a_record_is_found_by_what_looks_like_its_identifier(service):
    service.store.know(outcomes((f"  {IDENTIFIERS[2]} ".replace("-", "\N{EN DASH}"), 1.0)), 2).result()
    assert service.ask(row_of(service.store, IDENTIFIERS[2])).json()["value"] == 1.0


def test_a_question_that_was_withdrawn_is_answered_where_it_is_asked_again(service):
    row = row_of(service.store, IDENTIFIERS[4])
    service.ask(row)
    service.put(1, "withdrawal", reason="left")
    assert service.store.know(outcomes((IDENTIFIERS[4], 9.0)), 2).result().kept == 1
    assert service.get("/v1/queries/1").json()["state"] == "withdrawn"
    assert service.ask(row, "another-key").json()["value"] == 9.0


def test_an_answer_has_its_noise_whether_it_was_known_or_measured(serve, tmp_path):
    service = serve(folder=console_folder(tmp_path / "noised", noised=True))
    store, facts = service.store, service.store.facts
    rows = [row_of(store, identifier) for identifier in IDENTIFIERS[:3]]
    service.ask(rows[2])
    store.know(outcomes(*[(each, 6.0) for each in IDENTIFIERS[:3]]), 2).result()
    for number, row in enumerate([rows[2], *rows[:2]], start=1):
        service.ask(row, f"again-row-{row}")
        noise = store._one("SELECT noise FROM record WHERE row = ?", row)[0]
        low, high = facts.outcome_range
        wanted = noised_answer(
            np.array(6.0), np.array(noise), low=low, high=high, grid=facts.outcome_grid
        )
        assert service.get(f"/v1/queries/{number}").json()["value"] == float(wanted)


def test_staff_store_known_outcomes_over_http_and_modelers_cannot(service):
    body = {"outcomes": [{"identifier": IDENTIFIERS[7], "value": 8.0}]}
    assert service.client.put("/v1/staff/known", json=body, headers=service.modeler).status_code == 403
    assert service.client.put("/v1/staff/known", json=body).status_code == 401
    done = service.client.put("/v1/staff/known", json=body, headers=service.staff)
    assert (done.status_code, done.json()) == (200, {"kept": 1, "answered": 0})
    body["outcomes"].append({"identifier": "MRN-secret", "value": 1.0})
    wrong = service.client.put("/v1/staff/known", json=body, headers=service.staff)
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (422, "no_record")
    assert wrong.json()["error"]["message"].startswith("outcome 1: no record")
    assert "MRN" not in wrong.text
    assert service.ask(row_of(service.store, IDENTIFIERS[7])).json()["value"] == 8.0


def test_the_console_says_that_a_value_was_known(service):
    service.store.know(outcomes((IDENTIFIERS[7], 8.0)), None).result()
    service.ask(row_of(service.store, IDENTIFIERS[7]))
    page = Page(logged_in(service).client.get("/console/measured/1"))
    assert "the curator: the value was known" in page.text


def test_a_folder_is_made_with_known_outcomes_and_people_measure_the_others(serve, tmp_path):
    known = torch.full((N,), NAN, dtype=torch.float64)
    known[1], known[8] = 3.5, 0.0
    service = serve(folder=console_folder(tmp_path / "folder", known=known))
    assert service.store.known_waiting() == 2
    states = {}
    for identifier in IDENTIFIERS[:10]:
        states[identifier] = service.ask(row_of(service.store, identifier)).json()
    values = {name: each["value"] for name, each in states.items() if each["state"] == "measured"}
    assert values == {IDENTIFIERS[1]: 3.5, IDENTIFIERS[8]: 0.0}
    waiting = service.client.get("/v1/staff/queries?state=pending", headers=service.staff).json()
    assert len(waiting["queries"]) == 8


@pytest.mark.parametrize(
    ("known", "more", "message"),
    [
        ([1.0], {}, "known must have 12 entries"),
        ([1.0] * N, {"objective": "column"}, "known must be None where a column has the outcomes"),
        ([NAN] * N, {}, "known must have at least one outcome"),
        ([float("inf")] + [NAN] * (N - 1), {}, "known must be finite, got an infinity at position 0"),
        ([NAN, 121.0] + [NAN] * (N - 2), {}, "plausible range 0 ... 120, but that of record 2"),
    ],
)
def test_known_outcomes_that_are_none_are_refused_before_a_folder_is_made(
    known, more, message, tmp_path
):
    with pytest.raises(ValueError, match=message):
        console_folder(tmp_path / "folder", known=known, **more)
    assert list(tmp_path.iterdir()) == []


def test_looks_are_taken_only_where_no_identifier_is_exact(service, monkeypatch):
    monkeypatch.setattr(look_up, "look", None)
    assert service.store.know(outcomes((IDENTIFIERS[0], 1.0)), 2).result().kept == 1


@pytest.fixture
def table(tmp_path):
    """A table with a column that is half filled, and its ranges."""
    frame = pd.DataFrame(
        {
            "patient": [f"p{i}" for i in range(6)],
            "age": [20.0, 30.0, 40.0, 50.0, 60.0, 70.0],
            "cost": [1.5, None, 2.5, None, None, None],
            "note": ["a", None, "secret", None, None, None],
        }
    )
    frame.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "ranges.toml").write_text("[features.age]\nlower = 18\nupper = 100\n")
    return tmp_path


def init(folder, *more):
    arguments = ["--ranges", folder / "ranges.toml", "--epsilon", "3", "--yes", *more]
    return cli.main(
        ["curator", "init", *map(str, (folder / "table.csv", folder / "clinic", *arguments))]
    )


def test_init_takes_a_column_that_is_half_filled(table, serve, capsys):
    assert init(table, "--id", "patient", "--known", "cost") == 0
    assert cli.main(["curator", "status", str(table / "clinic")]) == 0
    assert "Known, and not asked for yet: 2\n" in capsys.readouterr().out
    service = serve(folder=Folder(table / "clinic"))
    found = {service.store.identifier(row): service.ask(row).json().get("value") for row in range(6)}
    assert found == {"p0": 1.5, "p1": None, "p2": 2.5, "p3": None, "p4": None, "p5": None}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--known", "note"], "must hold numbers, got something else in row 2, column 'note'"),
        (["--known", "age"], "known must be a column that is not released"),
        (["--known", "nothing"], "nothing"),
        (["--known", "cost", "--plausible", "2", "3"], "plausible range 2 ... 3, but that of record 1"),
    ],
)
def test_init_refuses_known_outcomes_that_are_none_before_anything_is_spent(
    table, more, message, capsys
):
    with pytest.raises(SystemExit) as stopped:
        init(table, *more)
    assert stopped.value.code == 1
    error = capsys.readouterr().err
    assert message in error
    assert "secret" not in error
    assert not (table / "clinic").exists()
    assert not (table / "table.csv.ledger.json").exists()


def test_a_known_outcome_answers_a_question_that_somebody_took_and_ends_that(service):
    """A value that is there need not be measured: nobody waits for whoever took the question."""
    store = service.store
    service.ask(row_of(store, IDENTIFIERS[5]))
    store.agenda.take(1, 2, hours=24).result()
    assert store.agenda.count(Wanted(View.MINE), 2) == 1
    found = store.know(outcomes((IDENTIFIERS[5], 4.0)), None).result()
    assert [each.id for each in found.answered] == [1]
    assert store.agenda.count(Wanted(View.MINE), 2) == 0
    assert service.measure(1, 4.0).status_code == 200  # the same value from whoever took it
    refused = service.measure(1, 5.0)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "measured")
