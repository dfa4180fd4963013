"""Whatever is refused, and through whatever door, nothing that is said holds a piece of the table.

A mark is planted in cells, undeclared names, labels of rows, categories, dates and bytes
(`marked_tables`, `marked_files`), and pushed through every door (`doors`). What is searched: the error
with all that it holds and is chained to, warnings, log lines of every level, both streams, and the repr
of what holds records.
"""

import pytest
from helpers import doors
from helpers.doors import RANGES
from helpers.file_doors import command_doors, library_doors
from helpers.marked_files import FILES, written
from helpers.marked_tables import TABLES
from helpers.planted import NUMBER, TEXT, found_in, tried

from botorch_private.curator.features.tables import read_encoded

SLOW = ("report", "replay", "order_audit")  # where a table is accepted, they work on it for long
# A row is a public number, and an integer that is given as one is repeated.
ROWS = {("history", "other: list of whole"), ("history", "other: whole")}
ROWS |= {("history of a Modeler", table) for _, table in ROWS}


def leaks_of(name, door, tables):
    found = {}
    for table_name, table in tables.items():
        error, said = tried(lambda table=table: door(table))
        if (name, table_name) not in ROWS and (spelled := found_in(*said)):
            found[table_name] = (error, spelled)
        assert isinstance(error, (ValueError, TypeError, RuntimeError, NotImplementedError, type(None)))
    return found


@pytest.fixture(scope="module")
def refused():
    """The tables that are no records by the declared ranges."""
    return {name: t for name, t in TABLES.items() if tried(lambda t=t: doors.SCALING.check(t))[0]}


@pytest.mark.parametrize("kind", ["records", "columns", "settings"])
def test_no_table_comes_out_of_a_door_of_python(refused, kind, tmp_path):
    makers = {
        "records": doors.records_doors,
        "columns": doors.column_doors,
        "settings": lambda: doors.setting_doors(tmp_path),
    }
    found = {
        name: leaks
        for name, door in makers[kind]().items()
        if (leaks := leaks_of(name, door, refused if name in SLOW else TABLES))
    }
    assert found == {}


def test_most_of_the_marked_tables_are_refused(refused):
    accepted = set(TABLES) - set(refused)
    assert len(refused) > 80
    assert {name.partition(": ")[0] for name in accepted} == {"pandas", "polars", "pyarrow", "other"}


@pytest.mark.parametrize(
    "said",
    [
        f"got {TEXT.lower()}",
        f"got {NUMBER:.3e} in row 3",
        f"got {NUMBER:,.2f}",
        f"got {int(NUMBER)}",
        ValueError("no", {"row": [NUMBER]}),
        KeyError(TEXT),
    ],
)
def test_the_search_finds_a_planted_leak(said):
    def door():
        raise said if isinstance(said, Exception) else ValueError(said)

    def chained():
        try:
            door()
        except Exception:
            raise ValueError("must be something else") from None

    for step in (door, chained):
        _, everything = tried(step)
        assert found_in(*everything)


def names_the_mark(name, said):
    """Whether a template was made of a table that has the mark as a name: it says all names."""
    return name == "ranges template" and "# Features to be released" in said[2]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("side", [library_doors, command_doors])
def test_no_file_comes_out_of_a_door(kind, side, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a search keeps its state where it runs
    doors = side() if side is library_doors else side(tmp_path)
    found = {}
    for file in [each for each in FILES if each.startswith(kind)]:
        path = written(file, tmp_path)
        right = tried(lambda path=path: read_encoded(path, RANGES))[0] is None
        for name, door in doors.items():
            if name == "report --records" and right and not file.endswith("out of range"):
                continue  # a whole report takes a second
            error, said = tried(lambda door=door, path=path: door(path))
            assert isinstance(error, (ValueError, type(None))), (name, file)
            assert not isinstance(error, UnicodeError), (name, file)
            assert "not made for" not in said[2], (name, file)
            if (spelled := found_in(*said)) and not names_the_mark(name, said):
                found[name, file] = (error, spelled, said[2])
    assert found == {}


def test_a_template_says_names_and_no_cell(tmp_path):
    path = written("csv: right, but for the mark", tmp_path)
    _, said = tried(lambda: command_doors(tmp_path)["ranges template"](path))
    assert "[features.dose]" in said[2]
    assert found_in(*said) == []
