"""`curator import` and `curator worklist`: what they say, what ends them, and that they fit together."""

import csv
import io
from contextlib import closing

import pytest
from helpers.planted import NUMBER, TEXT, found_in
from helpers.staff_browser import console_folder

from botorch_private.cli.main import main


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    """Return a folder in the current one, where four questions wait."""
    monkeypatch.chdir(tmp_path)
    folder = console_folder(tmp_path / "clinic")
    with closing(folder.open()) as store:
        store.tokens.make("modeler", "m").result()
        store.tokens.make("staff", "Ann").result()
        for row in range(4):
            store.ask(f"key-{row:08d}", row, 1).result()
        store.agenda.arrange(2, 2, "2020-01-02", "fasting, at 8").result()
        store.agenda.take(2, 2, 8).result()
    return folder


def names_of(folder):
    with closing(folder.open()) as store:
        return [store.identifier(query.row) for query in store.queries()]


def outcomes(folder):
    with closing(folder.open()) as store:
        return [query.outcome for query in store.queries()]


def run(capsys, *arguments):
    """Status and what was printed."""
    try:
        code = main(["curator", *arguments])
    except SystemExit as stopped:
        code = stopped.code
    said = capsys.readouterr()
    return code, said.out, said.err


def write(text):
    with open("values.csv", "w", encoding="utf-8") as file:
        file.write(text)


def test_a_worklist_goes_out_and_its_values_come_in(clinic, capsys):
    assert run(capsys, "worklist", "clinic", "--output", "work.csv")[:2] == (
        0,
        "Wrote work.csv: 4 rows, for your laboratory's eyes only.\n",
    )
    with open("work.csv", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["identifier"] for row in rows] == names_of(clinic)
    assert (rows[1]["due"], rows[1]["note"], rows[1]["taken by"]) == (
        "2020-01-02",
        "fasting, at 8",
        "Ann",
    )
    for i, row in enumerate(rows[:3]):
        row.update(value=f"{i}.5", date="2026-01-02", comment="fine")
    filled = io.StringIO()
    writer = csv.DictWriter(filled, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    write(filled.getvalue())
    dry = run(capsys, "import", "clinic", "values.csv", "--dry-run")
    assert dry[:2] == (
        0,
        "Values that would be stored: 3\nStored before, and the same: 0\nRows without a value: 1\n",
    )
    assert outcomes(clinic) == [None] * 4
    assert run(capsys, "import", "clinic", "values.csv")[1].startswith("Stored values: 3\n")
    assert outcomes(clinic) == [0.5, 1.5, 2.5, None]
    assert "Stored before, and the same: 3\n" in run(capsys, "import", "clinic", "values.csv")[1]


def test_a_worklist_is_a_table_that_can_be_narrowed(clinic, capsys):
    names = names_of(clinic)
    table = run(capsys, "worklist", "clinic")[1].splitlines()
    assert [line.split()[1] for line in table[1:]] == names
    assert "2020-01-02 (late)  Ann       fasting, at 8" in table[2]
    late = run(capsys, "worklist", "clinic", "--late")[1].splitlines()
    assert [line.split()[1] for line in late[1:]] == [names[1]]
    found = run(capsys, "worklist", "clinic", "--find", names[2].lower())[1].splitlines()
    assert [line.split()[1] for line in found[1:]] == [names[2]]
    assert (
        run(capsys, "worklist", "clinic", "--find", "zzz")[1]
        == "Nothing like that waits to be measured.\n"
    )


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_rows_that_are_refused_are_told_by_number_and_nothing_is_stored(clinic, capsys, dry):
    names = names_of(clinic)
    write(f"identifier,value\n{names[0]},1\n{TEXT},{NUMBER}\n{names[1]},{TEXT}\n{names[2]},{NUMBER}99\n")
    code, out, err = run(capsys, "import", "clinic", "values.csv", *dry)
    assert code == 1
    words = "would be" if dry else "was"
    assert out == f"Nothing {words} stored, since rows are refused: 3\n"
    *rows, advice = err.splitlines()
    assert [line.partition(":")[0] for line in rows] == ["row 3", "row 4", "row 5"]
    assert advice == "If values outside the plausible range are right, say --accept-implausible."
    assert found_in(out, err) == []
    assert outcomes(clinic) == [None] * 4


def test_values_that_are_not_plausible_need_a_word(clinic, capsys):
    write(f"identifier,value\n{names_of(clinic)[0]},121\n")
    code, _, err = run(capsys, "import", "clinic", "values.csv")
    assert code == 1
    assert "row 2: its value is outside the plausible range" in err
    assert "say --accept-implausible" in err
    assert run(capsys, "import", "clinic", "values.csv", "--plausible", "0", "200", "--dry-run")[0] == 0
    assert run(capsys, "import", "clinic", "values.csv", "--accept-implausible")[0] == 0
    assert outcomes(clinic)[0] == 121.0


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("a,b\n", (), "must name its columns in row 1, 'identifier' and 'value'"),
        ("a,b\n", ("--id", "x", "--value", "y"), "'x' and 'y'"),
        ("identifier,value\n", ("--unit", "weeks"), "--unit must be that of the folder"),
        ("identifier,value\n", ("--plausible", "3", "1"), "argument --plausible: must be a smallest"),
        ("identifier,value\n", ("--plausible", "nan", "1"), "argument --plausible: must be a smallest"),
        ("\0", (), "must be a text in UTF-8"),
    ],
)
def test_a_sheet_that_cannot_be_taken_ends_in_one_line(clinic, capsys, text, options, words):
    write(text)
    code, out, err = run(capsys, "import", "clinic", "values.csv", *options)
    assert code in (1, 2)
    assert (out, len(err.splitlines())) == ("", 1)
    assert words in err


def test_a_missing_sheet_or_folder_ends_in_one_line(clinic, capsys):
    assert "there is no file" in run(capsys, "import", "clinic", "no.csv")[2]
    assert "there is no folder nowhere" in run(capsys, "import", "nowhere", "no.csv")[2]
    assert "there is no folder nowhere" in run(capsys, "worklist", "nowhere")[2]


def test_values_of_the_command_line_are_the_curators_in_the_history(clinic, capsys):
    from botorch_private.curator.service.console.history import history

    write(f"identifier;value\n{names_of(clinic)[0]};1,5\n")
    assert run(capsys, "import", "clinic", "values.csv", "--decimal", ",", "--unit", "days")[0] == 0
    with closing(clinic.open()) as store:
        last = history(store, store.query(1))[-1]
    assert (last.who, last.what, last.reason) == ("the curator", "value stored", "from a sheet, row 2")
