"""`curator init` finds the ledger of its table, so that releases of one table add up."""

import os

import pytest

from botorch_private.cli.main import main
from botorch_private.curator.ledger import Ledger
from botorch_private.curator.table_ledger import ledger_of, ledger_path

AGES = "age,who\n" + "\n".join(f"{age},{age % 4}" for age in range(20, 32)) + "\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a working folder, which is the current one, with a table and ranges."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stays.csv").write_text(AGES)
    (tmp_path / "ranges.toml").write_text("[features.age]\nlower = 18\nupper = 100\n")
    return tmp_path


def init(folder, *more, table="stays.csv"):
    ranges = ["--ranges", "ranges.toml", "--epsilon", "3", "--yes"]
    return main(["curator", "init", table, folder, *ranges, *more])


def refused(capsys, *arguments, **options):
    with pytest.raises(SystemExit) as stopped:
        init(*arguments, **options)
    assert stopped.value.code == 1
    return " ".join(capsys.readouterr().err.split())


def epsilon_of(path):
    return Ledger(path=path).total.epsilon


def test_a_second_release_of_a_table_is_added_to_the_first_without_being_asked(place, capsys):
    assert init("one") == 0
    said = capsys.readouterr().out
    assert f"It will be entered in {place / 'stays.ledger.json'}: keep that file with the table." in said
    assert "composition" not in said
    assert init("two") == 0
    said = capsys.readouterr().out
    assert "Privacy guarantee of composition of 2 releases: HOLDS" in said
    assert "all together, epsilon at one unit is 6 then" in said
    assert "this release alone would have epsilon 3" in said
    assert epsilon_of(place / "stays.ledger.json") == pytest.approx(6.0)
    assert epsilon_of(place / "two" / "ledger.json") == pytest.approx(6.0)
    assert main(["curator", "status", "two"]) == 0
    assert "composition of 2 releases" in capsys.readouterr().out


def test_the_ledger_is_that_of_the_file_however_it_is_named(place):
    (place / "sub").mkdir()
    (place / "sub" / "link.csv").symlink_to(place / "stays.csv")
    assert init("one") == 0
    assert init("two", table="sub/link.csv") == 0
    assert init("three", table=str(place / "sub" / ".." / "stays.csv")) == 0
    assert init("four", "--ledger", "stays.ledger.json") == 0
    assert epsilon_of("stays.ledger.json") == pytest.approx(12.0)
    assert not list((place / "sub").glob("*.ledger.json"))


def test_a_table_with_more_or_fewer_records_is_refused_before_anything_is_asked(place, capsys):
    assert init("one") == 0
    before = (place / "stays.ledger.json").read_bytes()
    for text in (AGES + "32,1\n", AGES[:-5]):
        (place / "stays.csv").write_text(text)
        said = refused(capsys, "two")
        assert "is of a table of 12 records, but stays.csv has 1" in said
        assert "name another ledger by --ledger FILE" in said
    assert (place / "stays.ledger.json").read_bytes() == before
    assert not (place / "two").exists()
    assert init("two", "--ledger", "other.json") == 0


def test_another_ledger_than_the_one_beside_the_table_is_cautioned_of(place, capsys):
    assert init("one", "--ledger", "mine.json") == 0
    assert "CAUTION" not in capsys.readouterr().out
    assert init("two") == 0
    capsys.readouterr()
    assert init("three", "--ledger", "mine.json") == 0
    said = capsys.readouterr().out
    assert "CAUTION: there is a ledger beside the table" in said
    assert "What was entered there is not added up here" in said
    assert epsilon_of("mine.json") == pytest.approx(6.0)


def test_a_table_in_a_folder_that_cannot_be_written_is_released_with_a_caution(
    place, capsys, monkeypatch
):
    really = os.access
    (place / "sealed").mkdir()
    (place / "sealed" / "stays.csv").write_text(AGES)

    def access(path, mode):
        return str(path) != str(place / "sealed") and really(path, mode)

    monkeypatch.setattr(os, "access", access)
    assert init("one", table="sealed/stays.csv") == 0
    said = capsys.readouterr().out
    assert f"CAUTION: {place / 'sealed'} cannot be written, so that no ledger can be kept" in said
    assert os.listdir(place / "sealed") == ["stays.csv"]
    assert epsilon_of(place / "one" / "ledger.json") == pytest.approx(3.0)
    Ledger().copy(place / "sealed" / "stays.ledger.json")
    assert "must be writable, since this release is entered there" in refused(
        capsys, "two", table="sealed/stays.csv"
    )
    assert not (place / "two").exists()


def test_what_lies_where_the_ledger_should_be_is_refused_and_left_alone(place, capsys):
    (place / "stays.ledger.json").write_text("{}")
    assert "must be a ledger" in refused(capsys, "one")
    assert (place / "stays.ledger.json").read_text() == "{}"
    assert not (place / "one").exists()


def test_nothing_is_entered_where_nobody_agrees(place, monkeypatch, capsys):
    monkeypatch.setattr("builtins.input", lambda question: "n")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    command = ["curator", "init", "stays.csv", "one", "--ranges", "ranges.toml", "--epsilon", "3"]
    assert main(command) == 1
    assert not (place / "stays.ledger.json").exists()


def test_a_declared_budget_refuses_a_release_before_anybody_is_asked(place, capsys, monkeypatch):
    assert init("one", "--privacy-budget", "7", "0") == 0
    assert "at most epsilon 7 at 1 unit and delta 0 may be spent" in capsys.readouterr().out
    assert init("two") == 0  # the ledger knows its budget
    monkeypatch.setattr("builtins.input", lambda question: pytest.fail("somebody was asked"))
    for options in ([], ["--privacy-budget", "7", "0"]):
        said = refused(capsys, "three", *options)
        assert "of that 6 is spent, and with this epsilon would be 9" in said
    said = refused(capsys, "three", "--privacy-budget", "99", "0")
    assert "budget must be the one that" in said
    assert not (place / "three").exists()
    assert epsilon_of("stays.ledger.json") == pytest.approx(6.0)


def test_a_budget_binds_the_first_release_and_makes_no_ledger_where_it_refuses(place, capsys):
    said = refused(capsys, "one", "--privacy-budget", "2", "0")
    assert "of that 0 is spent, and with this epsilon would be 3" in said
    assert "--privacy-budget: epsilon must be" in refused(capsys, "one", "--privacy-budget", "0", "0")
    assert "--privacy-budget: delta must be" in refused(capsys, "one", "--privacy-budget", "9", "1")
    assert not (place / "one").exists()
    assert not (place / "stays.ledger.json").exists()


@pytest.mark.parametrize("name", ["stays.csv", "stays.parquet", "my.stays.csv"])
def test_the_ledger_has_the_name_of_the_table(tmp_path, name):
    path = ledger_path(tmp_path / name)
    assert path == tmp_path / (name.rsplit(".", 1)[0] + ".ledger.json")
    assert ledger_of(tmp_path / name, 3, None).ledger.path == path


# --- persons ---


def prices(text):
    return [line for line in text.splitlines() if "This depends on the table" in line]


def test_init_says_what_the_person_with_the_most_records_pays_and_the_release_does_not(place, capsys):
    assert init("one", "--person", "who") == 0
    (price,) = prices(capsys.readouterr().out)
    assert "The person with the most records has 3." in price
    assert "If all of them move by 1 unit each, epsilon is 9 for that person" in price
    assert "(50 units each) costs epsilon 449.9" in price
    assert (place / "one" / "person.txt").read_text().strip() == price
    assert (place / "one" / "person.txt").stat().st_mode & 0o077 == 0
    elsewhere = ["release.safetensors", "ledger.json", "curator.db"]
    for name in (place / "one" / each for each in elsewhere):
        assert b"most records" not in name.read_bytes()
    assert "most records" not in (place / "stays.ledger.json").read_text()
    assert init("two", "--person", "who") == 0  # of both releases together
    assert "epsilon is 18 for that person" in prices(capsys.readouterr().out)[0]
    assert init("three") == 0
    assert not prices(capsys.readouterr().out)
    assert not (place / "three" / "person.txt").exists()


@pytest.mark.parametrize(
    "labels",
    [
        ["A1", "A1 ", "a1", "B", "C", "D"],
        ["A1", "\uff21\uff11", "A\u200b1", "B", "C", "D"],
        ["Ann  Lee", "Ann Lee", "Ann\u00a0Lee", "B", "C", "D"],
    ],
)
def test_labels_that_look_the_same_are_one_person(place, capsys, labels):
    rows = "\n".join(f"{age},{who}" for age, who in enumerate(labels, start=20))
    (place / "stays.csv").write_text(f"age,who\n{rows}\n", encoding="utf-8")
    assert init("one", "--person", "who") == 0
    said = capsys.readouterr().out
    assert "The person with the most records has 3." in said
    assert "Lee" not in said


def test_one_record_each_is_said_too(place, capsys):
    (place / "stays.csv").write_text("age,who\n20,a\n30,b\n")
    assert init("one", "--person", "who") == 0
    assert "No person has more than one record." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--person", "age"], "person must be a column that is not released"),
        (["--person", "nobody"], "nobody"),
    ],
)
def test_a_column_of_persons_is_never_released(place, capsys, options, message):
    assert message in refused(capsys, "one", *options)
    assert not (place / "one").exists()
    assert not (place / "stays.ledger.json").exists()


@pytest.mark.parametrize("label", ['""', '" "', '"\u200b"'])
def test_a_record_of_nobody_is_refused_by_its_row(place, capsys, label):
    (place / "stays.csv").write_text(f"age,who\n20,SECRET\n30,{label}\n40,b\n", encoding="utf-8")
    said = refused(capsys, "one", "--person", "who")
    assert "row 3" in said
    assert "SECRET" not in said
