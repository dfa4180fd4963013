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


# --- what clipping would do is shown, and asked for, before anything is released ---


@pytest.fixture
def typed(monkeypatch):
    """Return a function that plays somebody at a terminal; it returns the questions that were put."""

    def set_answers(*answers):
        left, questions = list(answers), []

        def answer(question):
            questions.append(question)
            return left.pop(0)

        monkeypatch.setattr("builtins.input", answer)
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        return questions

    return set_answers


def write(place, ages, ranges="lower = 18\nupper = 100"):
    (place / "table.csv").write_text("age\n" + "\n".join(map(str, ages)) + "\n")
    (place / "ranges.toml").write_text(f"[features.age]\n{ranges}\n")


@pytest.mark.filterwarnings("error")
def test_init_shows_before_it_asks_how_many_records_each_feature_clips(place, capsys, typed):
    write(place, [*range(20, 39), -999])
    questions = typed("n")
    assert init() == 1
    out = capsys.readouterr().out
    assert [line.split() for line in out.splitlines() if line.startswith("  age")] == [
        ["age", "1", "0", "20"]
    ]
    assert "Warning" not in out
    assert questions == ["Release them once with this guarantee? [y/N] "]
    write(place, range(20, 40))
    typed("y")
    assert init() == 0
    assert "No record is outside of the declared ranges." in capsys.readouterr().out


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("answers", "code"), [(("y", "y"), 1), (("y", ""), 1), (("y", "clipped"), 0)])
def test_init_asks_harder_where_much_is_clipped(place, capsys, typed, answers, code):
    write(place, [*range(20, 37), -999, -999, 250])
    questions = typed(*answers)
    assert init() == code
    assert (place / "clinic").exists() == (code == 0)
    assert "age (3 of 20)" in capsys.readouterr().out
    assert len(questions) == 2


@pytest.mark.parametrize("ages", [[-999] * 20, [18] * 20, [50] * 20, [-999] * 11 + list(range(20, 29))])
def test_yes_alone_does_not_release_what_is_spoiled(place, capsys, ages):
    write(place, ages)
    with pytest.raises(SystemExit):
        init("--yes", "--ledger", "table.ledger.json")
    err = capsys.readouterr().err
    assert "the range of age must hold most records" in err
    assert "999" not in err
    assert not (place / "clinic").exists()
    assert not (place / "table.ledger.json").exists()
    assert init("--yes", "--accept-clipped") == 0
    assert (place / "clinic").exists()


def test_yes_releases_what_is_clipped_in_part_and_says_it(place, capsys):
    write(place, [*range(20, 37), -999, -999, 250])
    assert init("--yes") == 0
    assert "Warning: declared ranges may not fit the records" in capsys.readouterr().out


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("answers", "code"), [(("y", "y"), 1), (("y", "declared"), 0)])
def test_init_asks_whether_ends_that_are_in_the_table_were_declared(place, capsys, typed, answers, code):
    write(place, range(20, 40), "lower = 18\nupper = 39")
    (place / "table.csv").write_text("age,b\n" + "".join(f"{i},{i / 7}\n" for i in range(20, 40)))
    with (place / "ranges.toml").open("a") as file:
        file.write("[features.b]\nlower = 0\nupper = 10\n")
    questions = typed(*answers)
    assert init() == code
    out = capsys.readouterr().out
    assert "upper of age. If they were taken from the table" in out
    assert len(questions) == 2
    assert (place / "clinic").exists() == (code == 0)


def test_counts_of_clipped_records_stay_out_of_the_folder(place, capsys):
    write(place, [*range(20, 37), -999, -999, 250])
    assert init("--yes") == 0
    for path in (place / "clinic").iterdir():
        content = path.read_bytes()
        for words in (b"clip", b"may not fit", b"3 of 20"):
            assert words not in content


def test_a_table_of_one_record_is_refused_by_its_name(place, capsys):
    write(place, [50])
    with pytest.raises(SystemExit):
        init("--yes")
    assert "table.csv must hold at least 2 records, got 1" in capsys.readouterr().err


def test_a_missing_outcome_of_a_column_never_gets_the_advice_to_fill_one_in(place, capsys):
    (place / "table.csv").write_text("age,y\n20,1\n30,\n40,2\n")
    with pytest.raises(SystemExit):
        init("--yes", "--objective", "column:y")
    err = capsys.readouterr().err
    assert "no empty cells, got one in row 3, column 'y'" in err
    assert "have their outcomes measured" in err
    assert "fill in" not in err
