"""`curator init` and `curator retry`: what ends them, and what they say then."""

from concurrent.futures import Future
from contextlib import closing

import pytest
from helpers.staff_browser import console_folder

from botorch_private import PrivacyGuarantee
from botorch_private.cli.main import main
from botorch_private.curator.ledger import Ledger
from botorch_private.curator.service.question import StorageError
from botorch_private.curator.service.store import Store


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a working folder, which is the current one, with a table and ranges."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("age\n" + "\n".join(map(str, range(20, 32))) + "\n")
    (tmp_path / "ranges.toml").write_text("[features.age]\nlower = 18\nupper = 100\n")
    return tmp_path


def init(*more):
    return main(
        ["curator", "init", "table.csv", "clinic", "--ranges", "ranges.toml", "--epsilon", "3", *more]
    )


@pytest.mark.parametrize("stop", [EOFError, KeyboardInterrupt])
def test_no_answer_to_the_question_of_init_is_no(place, capsys, monkeypatch, stop):
    def typed(question):
        raise stop

    monkeypatch.setattr("builtins.input", typed)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert init() == 1
    assert "Nothing was released." in capsys.readouterr().out
    assert not (place / "clinic").exists()


def test_init_refuses_what_the_budget_of_the_ledger_does_not_allow(place, capsys):
    ledger = Ledger(PrivacyGuarantee.budget(epsilon=2.0), path="table.ledger.json")
    with pytest.raises(SystemExit) as stopped:
        init("--yes", "--ledger", "table.ledger.json")
    assert stopped.value.code == 1
    assert "curator init: the privacy budget is epsilon 2 at one unit" in capsys.readouterr().err
    assert not (place / "clinic").exists()
    assert ledger.entries == ()


def test_retry_counts_what_is_tried_again_and_says_when_nothing_can_be_stored(
    place, capsys, monkeypatch
):
    folder = console_folder(place / "clinic", objective="lab:measure")
    with closing(folder.open()) as store:
        store.tokens.make("modeler", "m").result()
        for row in range(3):
            number = store.ask(f"key-{row:08d}", row, 1).result().query.id
            assert store.begin().result().id == number
            store.fail(number, "broken").result()
    refused = Future()
    refused.set_exception(StorageError("nothing was stored"))
    with monkeypatch.context() as patch:
        patch.setattr(Store, "retry", lambda *_: refused)
        with pytest.raises(SystemExit) as stopped:
            main(["curator", "retry", "clinic"])
    assert stopped.value.code == 1
    assert "curator retry: nothing was stored" in capsys.readouterr().err
    for count in (3, 0):
        assert main(["curator", "retry", "clinic"]) == 0
        assert capsys.readouterr().out == f"Queries that will be measured again: {count}\n"
