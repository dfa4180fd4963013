"""Excel workbooks: read like the plain table, or refused where people see something else."""

import datetime
import zipfile

import pytest
import torch

from botorch_private import Category, Encoding, Number, YesNo
from botorch_private.cli import main as cli
from botorch_private.curator.features.dialect import PLAIN, Dialect
from botorch_private.curator.features.tables import (
    read_encoded,
    read_identifiers,
    read_names,
    read_table,
    read_texts,
)

openpyxl = pytest.importorskip("openpyxl")
pytest.importorskip("pandas")
ENCODING = Encoding(
    [
        Number("dose", 0.0, 10.0, missing=1.0),
        YesNo("smoker", yes="J", no="N"),
        Category("ward", ("1", "b", "c")),
    ]
)
NAMES = ["id", "dose", "smoker", "ward"]
ROWS = [["007", 1, "J", 1], ["008", 2.5, "n", "b"], ["x 9", None, "N", "c"]]


def workbook(path, change=lambda book, sheet: None, rows=ROWS, names=NAMES):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "stays"
    for row in (names, *rows):
        sheet.append(row)
    change(book, sheet)
    book.save(path)
    return path


def test_a_workbook_is_read_like_the_plain_table(tmp_path):
    path = workbook(tmp_path / "t.xlsx")
    (tmp_path / "t.csv").write_text("id,dose,smoker,ward\n007,1,J,1\n008,2.5,n,b\nx 9,,N,c\n")
    assert torch.equal(read_encoded(path, ENCODING), read_encoded(tmp_path / "t.csv", ENCODING))
    assert read_names(path) == NAMES
    assert read_identifiers(path, "id") == ["007", "008", "x 9"]


def test_booleans_whole_numbers_and_empty_ends_are_taken(tmp_path):
    def padded(book, sheet):
        sheet.append([None, "", None, None])

    rows = [[7, True, "yes", 1.0], [8, False, True, 1]]
    path = workbook(tmp_path / "t.xlsx", padded, rows)
    assert read_table(path, ["dose"]).tolist() == [[1.0], [0.0]]
    assert read_texts(path, "id") == ["7", "8"]
    found = Encoding([YesNo("smoker"), Category("ward", ("1", "2"))])
    assert read_encoded(path, found).tolist() == [[1, 1, 0], [1, 1, 0]]


def test_a_sheet_is_named_where_there_are_several(tmp_path):
    def another(book, sheet):
        book.create_sheet("smith").append(NAMES)

    def hidden(book, sheet):
        another(book, sheet)
        book["smith"].sheet_state = "hidden"
        book["smith"].append(["1", 9, "J", "b"])

    path = workbook(tmp_path / "t.xlsx", another)
    with pytest.raises(ValueError, match="has 2 visible ones: say --sheet NAME") as told:
        read_names(path)
    assert "smith" not in str(told.value)
    assert read_names(path, dialect=Dialect(sheet="stays")) == NAMES
    with pytest.raises(ValueError, match="it has none of that name"):
        read_names(path, dialect=Dialect(sheet="Stays"))
    path = workbook(tmp_path / "h.xlsx", hidden)
    assert len(read_encoded(path, ENCODING)) == 3
    assert len(read_encoded(path, ENCODING, dialect=Dialect(sheet="smith"))) == 1


def set_cell(place, value):
    def change(book, sheet):
        sheet[place] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_cell("B3", "=1+1"), "a formula that was never computed in row 3, column 'dose'"),
        (set_cell("B3", "#DIV/0!"), "an error of Excel in row 3, column 'dose'"),
        (set_cell("C3", "#N/A"), "an error of Excel in row 3, column 'smoker'"),
        (set_cell("B3", "2.5"), "one that is stored as text in row 3, column 'dose'"),
        (set_cell("B3", "2,5"), "one that is stored as text in row 3, column 'dose'"),
        (set_cell("B3", "smith"), "must hold numbers, got something else in row 3, column 'dose'"),
        (set_cell("B3", datetime.date(2020, 5, 4)), "got something else in row 3, column 'dose'"),
        (set_cell("D3", datetime.date(2020, 5, 4)), "one of the declared categories.* row 3, column"),
        (set_cell("C4", None), "no empty cells, got one in row 4, column 'smoker'"),
        (lambda book, sheet: sheet.merge_cells("B3:B4"), "no merged cells .* row 3"),
        (lambda book, sheet: sheet.merge_cells("E1:F1"), "no merged cells .* row 1"),
        (lambda book, sheet: setattr(sheet.row_dimensions[3], "hidden", True), "row 3 is hidden"),
        (lambda book, sheet: sheet.insert_rows(3), "no empty rows among its records, got one in row 3"),
        (lambda book, sheet: sheet.insert_rows(1), "the declared ones stand in row 2"),
        (lambda book, sheet: sheet.delete_rows(2, 5), "at least one record"),
        (set_cell("E1", "dose"), "one column 'dose', .* it has several"),
        (set_cell("B1", "Dose"), "it has none; the name of column 1 differs only by"),
    ],
)
def test_what_people_see_otherwise_is_refused_by_its_row_and_not_repeated(change, message, tmp_path):
    path = workbook(tmp_path / "t.xlsx", change)
    with pytest.raises(ValueError, match=message) as told:
        read_encoded(path, ENCODING)
    said = str(told.value).removeprefix(str(path))
    for cell in ("smith", "2020", "2.5", "007", "DIV", "N/A"):
        assert cell not in said


def test_merged_cells_elsewhere_and_hidden_columns_do_no_harm(tmp_path):
    def change(book, sheet):
        sheet.merge_cells("F3:G4")
        sheet.column_dimensions["A"].hidden = True

    assert len(read_encoded(workbook(tmp_path / "t.xlsx", change), ENCODING)) == 3


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04rest", b"\xd0\xcf\x11\xe0locked", b"age\n1\n"])
def test_what_is_no_workbook_is_refused(content, tmp_path):
    (tmp_path / "t.xlsx").write_bytes(content)
    with pytest.raises(ValueError, match="must be a whole workbook"):
        read_names(tmp_path / "t.xlsx")


def test_a_cut_workbook_is_refused(tmp_path):
    path = workbook(tmp_path / "t.xlsx")
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(tmp_path / "cut.xlsx", "w") as cut:
        for name in whole.namelist():
            cut.writestr(name, whole.read(name)[:200])
    with pytest.raises(ValueError, match="must be a whole workbook"):
        read_encoded(tmp_path / "cut.xlsx", ENCODING)


def test_a_record_is_no_line_of_names(tmp_path):
    path = workbook(tmp_path / "t.xlsx", names=["007", 1.5, "J", datetime.date(2020, 5, 4)])
    with pytest.raises(ValueError, match="must have names") as told:
        read_names(path)
    assert "007" not in str(told.value)


def test_without_openpyxl_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"pip install 'botorch-private\[excel\]'"):
        read_encoded(workbook_of_nothing(tmp_path), ENCODING, dialect=PLAIN)


def workbook_of_nothing(folder):
    (folder / "t.xlsx").write_bytes(b"PK")
    return folder / "t.xlsx"


def test_the_command_line_takes_a_sheet(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    workbook(tmp_path / "t.xlsx", lambda book, sheet: book.create_sheet("notes"))
    assert cli.main(["ranges", "template", "t.xlsx", "--sheet", "stays"]) == 0
    assert "[features.dose]" in capsys.readouterr().out
