"""A folder of the version before becomes one of this version when it is opened, whole or not at all."""

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from helpers.staff_browser import console_folder

from botorch_private.cli.main import main
from botorch_private.curator.service import schema
from botorch_private.curator.service.agenda import ALL
from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.sheet import SheetForm
from botorch_private.curator.service.take_in import take_in
from botorch_private.curator.service.trail_check import Checked, check_database

BEFORE = Path(__file__).parents[2] / "whole" / "made_before" / "clinic"


@pytest.fixture
def before(tmp_path):
    folder = Folder(Path(shutil.copytree(BEFORE, tmp_path / "clinic")))
    folder.path.chmod(0o700)
    return folder


def shape(path):
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"
        ).fetchall()
        columns = connection.execute("SELECT name, type FROM pragma_table_info('query')").fetchall()
    return {name: " ".join(re.sub("--.*", "", sql).split()) for name, sql in found}, columns


def version(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT value FROM fact WHERE name = 'schema_version'").fetchone()[0]


def test_it_has_the_shape_of_a_new_one_and_loses_nothing(before, tmp_path):
    with closing(before.open_to_read()) as reading:
        questions, events = reading.queries(), [tuple(each) for each in reading.events()]
        names = {query.id: reading.identifier(query.row) for query in questions}
    assert version(before.database) == "1"
    with closing(before.open()) as store:
        assert store.queries() == questions
        *old, chained = [tuple(each) for each in store.events()]
        assert [each[:6] for each in old] == events
        assert chained[3] == "chained"
        assert check_database(store) == Checked(len(old) + 1, store.last_hash(), len(old), "", None)
        found = store._all("SELECT id, label FROM query")
        assert {each["id"]: each["label"] for each in found} == names
        open_now = [item.query.id for item in store.agenda.page(ALL, 0)]
        assert open_now == [query.id for query in questions if query.state == "pending"]
    assert version(before.database) == "3"
    assert shape(before.database) == shape(console_folder(tmp_path / "new").database)


def test_opening_it_again_changes_nothing(before):
    with closing(before.open()):
        pass
    content = shape(before.database)
    with closing(before.open()) as store:
        assert store.queries()
    assert shape(before.database) == content


def test_a_sheet_goes_into_it(before):
    with closing(before.open()) as store:
        item = store.agenda.page(ALL, 0)[0]
        text = f"identifier,value\n{item.identifier},1.5\n"
        assert take_in(store, text, SheetForm(accepted=True), token=None, dry=False).stored == 1
        assert store.query(item.query.id).outcome == 1.5


def test_it_is_read_as_it_is_by_the_commands_that_only_read(before, capsys):
    for verb in ("status", "export"):
        assert main(["curator", verb, str(before.path)]) == 0
        assert capsys.readouterr().out
    assert version(before.database) == "1"


def test_a_step_that_fails_leaves_the_version_before(before, monkeypatch):
    content = shape(before.database)
    monkeypatch.setitem(schema.MIGRATIONS, 3, schema.MIGRATIONS[3] + "CREATE TABLE query (id INTEGER);")
    with pytest.raises(ValueError, match="cannot be used"):
        before.open()
    assert version(before.database) == "1"
    assert shape(before.database)[1] == content[1]
    monkeypatch.undo()
    with closing(before.open()) as store:
        assert store.queries()


def test_events_of_before_are_exported_once_they_have_hashes_and_not_before(before, capsys):
    for verb in (("export", "--events"), ("verify",)):
        with pytest.raises(SystemExit) as stopped:
            main(["curator", verb[0], str(before.path), *verb[1:]])
        assert stopped.value.code == 1
        shown = capsys.readouterr()
        assert (shown.out, shown.err.count("\n")) == ("", 1)
        assert "an earlier version wrote them" in shown.err
    assert main(["curator", "status", str(before.path)]) == 0
    assert "hash of the last one" not in capsys.readouterr().out
    with closing(before.open()):
        pass
    assert main(["curator", "verify", str(before.path)]) == 0
    assert "Written before events had hashes: 10" in capsys.readouterr().out


def test_an_event_of_before_that_is_changed_afterwards_shows(before):
    with closing(before.open()) as store:
        store.submit(lambda each: each.execute("UPDATE event SET detail = 'x' WHERE id = 3")).result()
        assert "event 3 does not follow" in check_database(store).problem
