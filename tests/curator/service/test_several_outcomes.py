"""Several outcomes of a record at the curator's server: what staff enter, and what modelers read."""

import json
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from helpers.named_folder import GOAL, NAMES, named_curator, named_folder
from helpers.remote_server import make_curator

from botorch_private import Maximize, Scalarized
from botorch_private.curator.service.exported import export_csv
from botorch_private.curator.service.make_folder import make_folder
from botorch_private.curator.service.measuring import Measuring
from botorch_private.curator.service.question import ServiceError
from botorch_private.curator.service.worker import FAILED, answer

GOOD = {"cost": 3.5, "safety": 0.9}
SEVERAL = "/v1/release?outcomes=several"


@pytest.fixture
def service(serve, tmp_path):
    return serve(folder=named_folder(tmp_path / "named"))


def test_modelers_are_told_names_units_and_goal(service):
    body = service.get(SEVERAL).json()
    assert body["outcomes"] == [{"name": "cost", "unit": "EUR"}, {"name": "safety", "unit": ""}]
    assert body["goal"] == GOAL.to_dict()


def test_a_client_that_reads_one_number_is_told_to_be_upgraded(service):
    answer = service.get("/v1/release")
    assert answer.status_code == 409
    assert answer.json()["error"]["code"] == "too_old"
    assert "upgrade botorch-private" in answer.json()["error"]["message"]


def test_a_folder_of_one_outcome_answers_both_kinds_of_clients_alike(serve):
    service = serve()
    assert service.get("/v1/release").json() == service.get(SEVERAL).json()
    assert service.get("/v1/release").json()["outcomes"] == []
    service.ask(0)
    refusal = service.measure(1, GOOD)
    assert (refusal.status_code, refusal.json()["error"]["code"]) == (422, "other_outcomes")
    assert service.measure(1, 2.5).json()["value"] == 2.5
    with sqlite3.connect(service.folder.database) as connection:
        assert connection.execute("SELECT 1 FROM fact WHERE name = 'outcomes'").fetchone() is None
        found = connection.execute("SELECT typeof(outcome), typeof(answer) FROM query").fetchone()
    assert found == ("real", "real")


def test_staff_enter_a_number_for_each_name_and_modelers_read_them(service):
    service.ask(7)
    assert service.get("/v1/queries/1").json()["value"] is None
    assert service.measure(1, GOOD).json()["value"] == GOOD
    assert service.measure(1, dict(reversed(GOOD.items()))).status_code == 200  # the same again
    assert service.measure(1, {**GOOD, "cost": 4.0}).json()["error"]["code"] == "measured"
    assert service.get("/v1/queries/1").json()["value"] == GOOD
    other = {"cost": 3.0, "safety": 0.9}
    assert service.put(1, "correction", value=other, reason="typing").json()["revision"] == 1
    assert service.get("/v1/queries").json()["queries"][0]["value"] == other


@pytest.mark.parametrize(
    ("value", "code", "words"),
    [
        (3.5, "other_outcomes", "an object with a number for each of cost, safety"),
        ({"cost": 3.5}, "other_outcomes", "but safety is missing"),
        ({**GOOD, "mrs-smith": 1.0}, "other_outcomes", "nobody declared"),
        ({"cost": 3.5, "mrs-smith": 1.0}, "other_outcomes", "but safety is missing"),
        ({"cost": 99.0, "safety": 0.9}, "implausible", "cost: 0 ... 12"),
        ({"cost": "mrs-smith", "safety": 0.9}, "invalid", "form"),
        ({"mrs-smith": "x", "safety": 0.9}, "invalid", "form"),
        ({}, "other_outcomes", "but cost, safety is missing"),
    ],
)
def test_other_values_are_refused_and_nothing_of_them_is_repeated(service, value, code, words):
    service.ask(0)
    answer = service.measure(1, value)
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == code
    assert words in answer.json()["error"]["message"]
    assert "smith" not in answer.text
    assert service.store.query(1).state == "pending"


def test_an_implausible_number_is_taken_once_it_is_confirmed(service):
    service.ask(0)
    assert service.measure(1, {"cost": 99.0, "safety": 0.9}, confirm=True).status_code == 200


def test_nothing_is_stored_by_whatever_door_without_the_declared_names(service):
    service.ask(0)
    with pytest.raises(ServiceError, match="safety is missing"):
        service.store.measure(1, {"cost": 1.0}, None).result()
    assert service.store.query(1).outcome is None


def test_known_outcomes_answer_at_once(service):
    body = {"outcomes": [{"identifier": "record 1", "value": GOOD}]}
    answer = service.client.put("/v1/staff/known", json=body, headers=service.staff)
    assert answer.json() == {"kept": 1, "answered": 0}
    row = next(row for row in range(40) if service.store.record(row) == 0)
    assert service.ask(row).json()["value"] == GOOD
    body["outcomes"][0]["value"] = 2.0
    answer = service.client.put("/v1/staff/known", json=body, headers=service.staff)
    assert answer.json()["error"]["code"] == "other_outcomes"


def test_columns_that_are_known_answer_as_the_curator_does(serve, tmp_path):
    curator = named_curator(known=True)
    twin = {
        row: dict(zip(NAMES, curator.outcomes[i].tolist(), strict=True))
        for row, i in enumerate(curator.permutation.tolist())
    }
    service = serve(folder=named_folder(tmp_path / "known", curator))
    assert all(service.ask(row).json()["value"] == twin[row] for row in range(10))


def test_noised_answers_are_those_of_the_curator_and_cannot_be_corrected_once_read(serve, tmp_path):
    curator = named_curator(noised=True)
    mechanisms, noise = curator.outcome_mechanism, curator.grid_noise[curator.permutation]
    promised = curator.guarantee
    service = serve(folder=named_folder(tmp_path / "noised", curator))
    assert service.get("/v1/guarantee").json()["guarantee"] == json.loads(promised.to_json())
    service.ask(4)
    service.measure(1, GOOD)
    told = service.get("/v1/queries/1").json()["value"]
    for i, name in enumerate(NAMES):
        low, high = mechanisms[name].bound
        step = mechanisms[name].law.grid * (high - low)
        on_grid = round((GOOD[name] - low) / step) + int(noise[4, i])
        assert told[name] == pytest.approx(low + step * on_grid, abs=1e-9)
    refusal = service.put(1, "correction", value={**GOOD, "cost": 4.0}, reason="typing")
    assert refusal.json()["error"]["code"] == "told"


def test_the_best_so_far_is_the_best_that_keeps_the_limits(service):
    for row, (cost, safety) in enumerate([(1.0, 0.5), (5.0, 0.96), (4.0, 0.99), (4.0, 1.0)]):
        service.ask(row)
        assert service.store.best() is None or row > 1
        service.measure(row + 1, {"cost": cost, "safety": safety})
    assert service.store.best().id == 3
    assert service.store.best(before=3).id == 2


def test_the_export_has_a_column_for_each_name(service):
    service.ask(0)
    service.ask(1)
    service.measure(1, GOOD)
    head, first, second = export_csv(service.store).splitlines()
    assert head.split(",")[3:8] == [
        "state",
        "outcome cost",
        "outcome safety",
        "answer cost",
        "answer safety",
    ]
    assert first.split(",")[3:8] == ["measured", "3.5", "0.9", "3.5", "0.9"]
    assert second.split(",")[3:8] == ["pending", "", "", "", ""]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"goal": None}, "goal must be Scalarized or Constrained"),
        ({"goal": Maximize()}, "goal must be Scalarized or Constrained"),
        ({"goal": Scalarized({"speed": 1.0})}, "goal must be about outcomes among cost, safety"),
        ({"outcome_unit": "EUR"}, "outcome_unit must be a dict"),
        ({"outcome_unit": {"speed": "m/s"}}, "outcome_unit must be of outcomes among cost, safety"),
        ({"plausible": (0.0, 1.0)}, "plausible must be a dict"),
        ({"plausible": {"cost": (1.0, 0.0)}}, r"plausible\[cost\] must be a smallest and a larger"),
        ({"known": [1.0] * 40}, "known must be None where records have several outcomes"),
    ],
)
def test_what_does_not_fit_several_outcomes_is_refused_before_there_is_a_folder(
    tmp_path, options, words
):
    with pytest.raises(ValueError, match=words):
        named_folder(tmp_path / "folder", **options)
    assert list(tmp_path.iterdir()) == []


def test_a_goal_of_several_outcomes_is_refused_where_there_is_one(tmp_path):
    curator = make_curator(known=False)
    with pytest.raises(ValueError, match="goal must be about one outcome"):
        make_folder(tmp_path / "folder", curator, goal=GOAL)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (GOOD, {"value": GOOD}),
        (
            {"cost": 1, "safety": float("nan")},
            {"error": "the objective must return a finite number, got another one"},
        ),
        ({"cost": "mrs-smith", "safety": 1.0}, {"error": FAILED}),
    ],
)
def test_a_program_returns_a_number_for_each_name(returned, said, capsys):
    assert answer(lambda record: returned, [0.5, 0.5], ["cost", "safety"]) == said


@pytest.mark.parametrize("returned", [{"mrs-smith": 1.0}, 1.0])
def test_a_program_that_returns_other_names_has_failed_and_the_next_question_goes_on(
    serve, tmp_path, returned
):
    folder = named_folder(tmp_path / "program")
    store = folder.open()
    np.save(tmp_path / "records.npy", np.zeros((40, 2)))
    token = store.tokens.make("modeler", "m").result() and store.tokens.all()[0].id
    for row in (0, 1):
        store.ask(f"key-of-row-{row}", row, token).result()
    given = iter([returned, GOOD])
    measuring = Measuring(store, lambda record: next(given), tmp_path / "records.npy")
    while measuring._one(measuring._table):
        pass
    first, second = store.queries()
    assert first.state == "failed"
    assert "a number for each of cost, safety" in first.reason
    assert "smith" not in first.reason
    assert second.outcome == GOOD
    store.close()


def test_a_command_about_a_folder_of_several_outcomes_loads_no_pytorch(tmp_path):
    named_folder(tmp_path / "named")
    code = (
        "import sys; from botorch_private.cli.main import main; "
        "main(['curator', 'status', sys.argv[1]]); sys.exit('torch' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "named")]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
