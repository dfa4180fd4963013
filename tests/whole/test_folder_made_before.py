"""A folder of version 2 becomes one of this version with all that is in it, at a kill as well."""

import json
import os
import shutil
import signal
import sqlite3
from contextlib import closing, nullcontext
from dataclasses import asdict
from pathlib import Path

import pytest
from helpers.forks import needs_fork
from starlette.testclient import TestClient

from botorch_private.cli.main import main
from botorch_private.curator.service import store as store_module
from botorch_private.curator.service.agenda import ALL
from botorch_private.curator.service.app import create_app
from botorch_private.curator.service.backup import back_up, restore
from botorch_private.curator.service.console.sessions import Sessions
from botorch_private.curator.service.drafts import Draft
from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.schema import SCHEMA_VERSION, migrate
from botorch_private.curator.service.take_in import take_in
from botorch_private.curator.service.trail_check import check_database

MADE = Path(__file__).parent / "made_before_3"
EXPECTED = json.loads((MADE / "expected.json").read_text(encoding="utf-8"))
STAFF, OTHER = 2, 3
TABLES = ("record", "query", "idempotency", "token", "event", "draft", "session", "sheet", "health")


def copied(place):
    folder = Folder(Path(shutil.copytree(MADE / "clinic", place)))
    folder.path.chmod(0o700)
    for path in folder.path.iterdir():
        path.chmod(0o600)
    return folder


@pytest.fixture
def folder(tmp_path):
    return copied(tmp_path / "clinic")


def content(folder):
    """Every row of every table, by the names of its columns; what is empty in a new column left out."""
    with closing(sqlite3.connect(folder.database)) as connection:
        connection.row_factory = sqlite3.Row
        return {
            table: [
                {name: row[name] for name in row.keys() if row[name] not in (None, "")}  # noqa: SIM118
                for row in connection.execute(f"SELECT * FROM {table}")
            ]
            for table in TABLES
        }


def version(folder):
    with closing(folder.open_to_read()), closing(sqlite3.connect(folder.database)) as connection:
        found = connection.execute("SELECT value FROM fact WHERE name = 'schema_version'").fetchone()
    return int(found[0])


def test_no_row_of_any_table_is_lost_or_changed(folder):
    before = content(folder)
    assert version(folder) == 2
    with closing(folder.open()) as store:
        assert check_database(store).problem == ""
    after = content(folder)
    hashes = [event.pop("hash") for event in after["event"]]
    assert len(set(hashes)) == len(hashes) == len(before["event"]) + 1
    assert after["event"].pop()["kind"] == "chained"
    assert after == before
    assert version(folder) == SCHEMA_VERSION


@pytest.mark.parametrize("migrated", [False, True])
def test_it_is_read_as_by_the_code_of_then(folder, migrated):
    if migrated:
        folder.open().close()
    with closing(folder.open_to_read()) as reading:
        found = [asdict(query) for query in reading.queries()]
        circumstances = [each.pop("circumstances") for each in found]
        assert found == EXPECTED["queries"]
        names = [reading.identifier(row) for row in range(reading.facts.n)]
        assert names == EXPECTED["identifiers"]
        assert [list(each)[:6] for each in reading.events()][: len(EXPECTED["events"])] == EXPECTED[
            "events"
        ]
        assert reading.facts.guarantee_words == EXPECTED["words"]
        assert reading.queries_left() == EXPECTED["queries_left"]
    how = [[each["id"], said[0], said[2]] for each, said in zip(found, circumstances, strict=True)]
    assert how == EXPECTED["measured_how"]


def test_what_staff_arranged_and_typed_waits_for_them(folder):
    with closing(folder.open()) as store:
        found = store.agenda.page(ALL, STAFF)
        arranged = [[item.query.id, item.identifier, list(item.arranged)] for item in found]
        assert arranged == EXPECTED["open"]
        for token in (STAFF, OTHER):
            for kept, then in zip(store.drafts.all(token), EXPECTED["drafts"][str(token)], strict=True):
                assert kept.draft == Draft(*then[3])
                assert [kept.kind, kept.query, kept.token, kept.time] == [*then[:3], then[4]]
        sheet = store.sheets.find(OTHER)
        text, form = EXPECTED["sheet"]
        assert sheet.content == text
        assert {name: getattr(sheet.form, name) for name in form} == form
        taken = take_in(store, sheet.content, sheet.form, token=OTHER, dry=False)
        assert (taken.stored, taken.refused) == (2, [])
        assert check_database(store).problem == ""
        began = json.loads(json.dumps(content(folder)["session"][0]["began"]))
        session = Sessions(store, lambda: began + 60.0).find(EXPECTED["cookie"])
        assert (session.token, session.name) == (STAFF, "staff")


def test_its_tokens_and_answers_are_served(folder):
    with (
        folder.lock(),
        closing(folder.open(locked=True)) as store,
        TestClient(create_app(folder, store)) as client,
    ):

        def get(who, path):
            return client.get(path, headers={"Authorization": f"Bearer {EXPECTED['tokens'][who]}"})

        for answer in EXPECTED["answers"]:
            assert get("modeler", f"/v1/queries/{answer['id']}").json() == answer
        assert get("gone", "/v1/release").status_code == 401
        assert get("other", "/v1/staff/queries").status_code == 200


@needs_fork
def test_a_kill_at_any_statement_leaves_a_folder_that_opens_with_everything(tmp_path, monkeypatch):
    before, step = content(copied(tmp_path / "before")), 0
    killed, versions = True, set()
    while killed:
        folder = copied(tmp_path / f"kill {step}")
        child = os.fork()
        if child == 0:
            try:
                monkeypatch.setattr(store_module, "migrate", _killed_at(step))
                folder.open().close()
            finally:
                os._exit(0)
        status = os.waitpid(child, 0)[1]
        killed = os.WIFSIGNALED(status)
        versions.add(version(folder))
        with closing(folder.open()) as store:
            assert check_database(store).problem == ""
        after = content(folder)
        assert {name: after[name] for name in after if name != "event"} == {
            name: before[name] for name in before if name != "event"
        }
        assert [event["kind"] for event in after["event"]].count("chained") == 1
        step += 1
    assert step > len(before["event"])
    assert versions == {2, SCHEMA_VERSION}


def _killed_at(step):
    """A migration whose process is killed at one of its statements."""

    class Killing:
        def __init__(self, connection):
            self._connection, self._left = connection, step

        def _run(self, name, *arguments):
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            self._left -= 1
            return getattr(self._connection, name)(*arguments)

        def execute(self, *arguments):
            return self._run("execute", *arguments)

        def executescript(self, *arguments):
            return self._run("executescript", *arguments)

    return lambda connection, alone=nullcontext: migrate(Killing(connection), alone)


def test_it_stays_of_its_version_while_a_server_of_that_version_uses_it(folder, capsys):
    before = content(folder)
    with folder.lock():  # as that server does
        with pytest.raises(SystemExit) as stopped:
            main(["curator", "token", "new", str(folder.path), "--role", "staff"])
        assert stopped.value.code == 1
        shown = capsys.readouterr()
        assert (shown.out, shown.err.count("\n")) == ("", 1)
        assert "an earlier version made it, and a server still uses it: stop that first" in shown.err
        assert main(["curator", "status", str(folder.path)]) == 0
    assert content(folder) == before
    assert version(folder) == 2
    with closing(folder.open()):
        assert version(folder) == SCHEMA_VERSION


@pytest.mark.parametrize(
    "command",
    [
        ("clock",),
        ("clock", "--accept"),
        ("token", "list"),
        ("token", "revoke", "3"),
        ("worklist",),
        ("import", "values.csv"),
        ("backup", "clinic.backup"),
    ],
    ids=" ".join,
)
def test_every_command_takes_it_as_it_is(folder, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("values.csv").write_text("identifier,value\nstay 00,1\n", encoding="utf-8")
    words = 2 if command[0] == "token" else 1
    assert main(["curator", *command[:words], str(folder.path), *command[words:]]) == 0
    with closing(folder.open()) as store:
        assert check_database(store).problem == ""


def test_a_backup_of_it_is_one_of_this_version(folder, tmp_path):
    before = content(folder)
    back_up(folder, tmp_path / "clinic.backup")
    _, again = restore(tmp_path / "clinic.backup", tmp_path / "again")
    assert version(again) == SCHEMA_VERSION
    after = content(again)
    for table in ("record", "idempotency", "token", "draft", "sheet"):
        assert after[table] == before[table]


def test_a_folder_of_a_later_version_is_left_as_it_is(folder, tmp_path, capsys):
    folder.open().close()
    with closing(sqlite3.connect(folder.database)) as connection:
        later = str(SCHEMA_VERSION + 1)
        connection.execute("UPDATE fact SET value = ? WHERE name = 'schema_version'", (later,))
        connection.commit()
    before = folder.database.read_bytes()
    path = str(folder.path)
    values = tmp_path / "values.csv"
    values.write_text("identifier,value\nstay 00,1\n", encoding="utf-8")
    for command in (
        ("serve", path, "--port", "0"),
        ("status", path),
        ("export", path),
        ("verify", path),
        ("worklist", path),
        ("import", path, str(values)),
        ("backup", path, str(tmp_path / "clinic.backup")),
        ("token", "list", path),
    ):
        with pytest.raises(SystemExit) as stopped:
            main(["curator", *command])
        assert stopped.value.code == 1
        shown = capsys.readouterr()
        assert (shown.out, shown.err.count("\n")) == ("", 1)
        assert "a newer botorch-private made it or opened it" in shown.err
        assert "upgrade this one" in shown.err
    assert folder.database.read_bytes() == before
    assert not (tmp_path / "clinic.backup").exists()
