"""Files of version 0.1.0 are read, and what goes on from them goes on as it would have then."""

import json
import math
import shutil
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from botorch_private import Ledger, Modeler, PrivacyGuarantee, Release
from botorch_private.curator.service.app import create_app
from botorch_private.curator.service.folder import Folder
from botorch_private.modeler.state import ModelerState

MADE = Path(__file__).parent / "made_before"
EXPECTED = json.loads((MADE / "expected.json").read_text(encoding="utf-8"))
RELEASES = {"laplace": MADE / "laplace.safetensors", "kinds": MADE / "clinic" / "release.safetensors"}


def assert_same_promise(guarantee, expected):
    assert json.loads(guarantee.to_json()) == expected["json"]
    assert guarantee.holds is expected["holds"]
    assert [guarantee.at(each) for each in EXPECTED["distances"]] == pytest.approx(
        expected["epsilon"], rel=1e-12
    )
    assert str(guarantee).splitlines()[0].endswith("HOLDS")


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_has_the_same_rows_and_promises_and_keeps_them(name, tmp_path):
    Release.load(RELEASES[name]).save(tmp_path / name)
    for path in (RELEASES[name], tmp_path / name):
        assert_same_release(Release.load(path), EXPECTED[name])


def assert_same_release(release, expected):
    assert release.identity == expected["identity"]
    assert release.candidates[0].tolist() == expected["first_row"]
    assert release.noise_variance == expected["noise_variance"]
    assert release.outcome_variance == expected["outcome_variance"]
    assert_same_promise(release.guarantee, expected["guarantee"])
    if expected["outcome_guarantee"] is None:
        assert release.outcome_guarantee is None
    else:
        assert_same_promise(release.outcome_guarantee, expected["outcome_guarantee"])


def assert_same_ledger(ledger, expected):
    budget = None if ledger.budget is None else [ledger.budget.epsilon, ledger.budget.delta]
    assert budget == expected["budget"]
    assert ledger.records == expected["records"]
    entries = [[each.start, each.stop, each.time, each.guarantee.epsilon] for each in ledger.entries]
    assert entries == expected["entries"]
    assert [ledger.total.epsilon, ledger.total.delta] == pytest.approx(expected["total"], rel=1e-6)


def test_a_ledger_has_the_same_entries_and_total_and_goes_on(tmp_path):
    path = Path(shutil.copy(MADE / "ledger.json", tmp_path))
    ledger = Ledger(path=path)
    assert_same_ledger(ledger, EXPECTED["ledger"])
    last = ledger.entries[-1].guarantee
    ledger.spend(last, start=0, stop=ledger.records)
    again = Ledger(PrivacyGuarantee.budget(*EXPECTED["ledger"]["budget"]), path)
    assert len(again.entries) == len(EXPECTED["ledger"]["entries"]) + 1
    assert again.total.epsilon > EXPECTED["ledger"]["total"][0]


def test_a_search_goes_on_with_the_picks_of_then(tmp_path):
    expected = EXPECTED["search"]
    state = ModelerState.load(MADE / "run.json")
    assert [list(each) for each in state.history] == expected["history"]
    assert (state.pending, state.skipped) == (expected["pending"], expected["skipped"])
    release = Release.load(RELEASES["laplace"])
    modeler = Modeler.load(MADE / "run.json", release)
    assert modeler.exploration == "theory"  # there was no other
    assert [modeler.ask()] == expected["pending"]
    modeler.save(tmp_path / "run.json")
    for again in (modeler, Modeler.load(tmp_path / "run.json", release)):
        again.tell(again.ask(), expected["answer"])
        assert again.ask(3) == expected["next"]


def test_a_search_of_version_2_goes_on_with_the_picks_of_then():
    made = MADE.with_name("made_before_2")
    expected = json.loads((made / "expected.json").read_text(encoding="utf-8"))
    modeler = Modeler.load(made / "run.json", Release.load(RELEASES["laplace"]))
    assert [list(each) for each in modeler.history] == expected["history"]
    assert (modeler.pending, modeler.skipped) == (expected["pending"], expected["skipped"])
    assert (modeler.n_initial, modeler.outcome_noise, modeler.exploration) == (4, 0.2, "shared")
    for row in modeler.pending:
        modeler.tell(row, math.sin(row))
    assert modeler.ask(3) == expected["next"]


@pytest.fixture
def folder(tmp_path):
    """The curator's folder, with the modes that git does not keep."""
    folder = Folder(Path(shutil.copytree(MADE / "clinic", tmp_path / "clinic")))
    folder.path.chmod(0o700)
    for path in folder.path.iterdir():
        path.chmod(0o600)
    return folder


@pytest.fixture
def clinic(folder):
    """The same, served: what one of its tokens gets from a path."""
    folder.refuse_strangers()
    with folder.lock():
        store = folder.open(locked=True)
        with TestClient(create_app(folder, store)) as client:

            def request(who, method, path, **options):
                headers = {"Authorization": f"Bearer {EXPECTED['clinic']['tokens'][who]}"}
                return client.request(
                    method, path, **options | {"headers": headers | options.get("headers", {})}
                )

            yield request
        store.close()


def ask(clinic, row, key):
    return clinic("modeler", "POST", "/v1/queries", json={"row": row}, headers={"Idempotency-Key": key})


def test_a_folder_has_the_same_records_and_ledger(folder):
    expected = EXPECTED["clinic"]
    store = folder.open()
    try:
        assert [store.identifier(row) for row in range(store.facts.n)] == expected["identifiers"]
        assert store.facts.identity == EXPECTED["kinds"]["identity"]
        assert store.facts.guarantee_words == expected["words"]
    finally:
        store.close()
    assert_same_ledger(Ledger(path=folder.ledger), expected["ledger"])


def test_a_folder_is_served_to_its_tokens_with_the_same_answers(clinic):
    for shown in EXPECTED["clinic"]["questions"]:
        assert clinic("modeler", "GET", f"/v1/queries/{shown['id']}").json() == shown
        # A request that is sent again by its key is the same question.
        again = ask(clinic, shown["row"], f"first-row-{shown['row']}")
        assert (again.status_code, again.json()) == (200, shown)
    assert clinic("gone", "GET", "/v1/release").status_code == 401
    assert clinic("modeler", "GET", "/v1/staff/queries").status_code == 403


def test_a_folder_sends_the_same_release(clinic):
    content = clinic("modeler", "GET", "/v1/release/file").content
    assert content == RELEASES["kinds"].read_bytes()


def test_open_questions_are_answered_with_the_noise_of_then(clinic):
    later = EXPECTED["clinic"]["later"]
    number, value = later["answer"]["id"], later["entered"]
    measured = clinic("staff", "PUT", f"/v1/staff/queries/{number}/measurement", json={"value": value})
    assert measured.json()["identifier"] == EXPECTED["clinic"]["identifiers"][later["answer"]["row"]]
    assert clinic("modeler", "GET", f"/v1/queries/{number}").json() == later["answer"]
    asked_again = ask(clinic, later["asked_again"]["row"], "again-row")
    assert (asked_again.status_code, asked_again.json()) == (201, later["asked_again"])
    assert clinic("modeler", "GET", "/v1/release").json()["queries_left"] == later["queries_left"]
