"""A sheet as people have it: `;`, decimal commas, Latin-1, UTF-16, Excel; never guessed."""

import csv
import io
import zipfile
from contextlib import closing
from datetime import date, datetime

import pytest
from helpers.planted import NUMBER, TEXT, found_in
from helpers.staff_browser import console_folder, logged_in
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private.cli.main import main
from botorch_private.curator.features.dialect import Dialect
from botorch_private.curator.service.sheet import SheetForm, read_sheet
from botorch_private.curator.service.sheet_columns import DELIMITERS, harmless
from botorch_private.curator.service.sheet_file import read_file
from botorch_private.curator.service.written_sheet import encoded, written_sheet

NAMES = ["Müller-1", "Größe", "x;y", "a\tb", "-5", "=1+1", "p|q", "é"]
MOST = 2**20


def read(content, form=None, **options):
    text, form = read_file(content, form or SheetForm(), most=MOST, **options)
    return read_sheet(text, form)


def workbook(*rows, change=lambda sheet: None, more=()):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("pandas")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    change(book.active)
    for title in more:
        book.create_sheet(title)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


words = st.text(st.characters(codec="latin-1", exclude_categories=("Cc", "Zs")), min_size=1, max_size=9)


@given(
    st.lists(st.tuples(words, st.floats(allow_nan=False, allow_infinity=False)), max_size=8),
    st.sampled_from([*DELIMITERS.values()]),
    st.sampled_from(".,"),
    st.sampled_from(["utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-16-le"]),
    st.booleans(),
)
@settings(max_examples=50, deadline=None)
def test_what_is_written_in_a_dialect_is_read_in_it(rows, separator, decimal, encoding, said):
    """The slow, obvious twin: the same rows as they were before anybody wrote them."""
    if separator == decimal:
        separator = ";"
    dialect = Dialect(separator, decimal, encoding)
    content = encoded(written_sheet([("identifier", "value"), *rows], dialect), encoding)
    form = SheetForm(decimal=decimal, separator=separator if said else "")
    found = read(content, form, encoding=encoding)
    assert found.refused == []
    assert [(each.identifier, each.value) for each in found.rows] == [
        (name.removeprefix("\ufeff"), value + 0.0) for name, value in rows
    ]


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        ("identifier,value\né,1\n".encode("latin-1"), {}, "it looks like latin-1 or cp1252"),
        ("identifier,value\n".encode("utf-16"), {}, "it looks like utf-16: declare that encoding"),
        ("identifier,value\n".encode("utf-16-be"), {}, "it looks like utf-16-be"),
        ("identifier,value\n".encode("utf-32"), {}, "it looks like utf-32"),
        (b"a\0\0\0b", {}, "save it as 'CSV UTF-8'"),
        (b"identifier,value\n", {"encoding": "utf-16"}, "in the encoding that is declared"),
        (b"identifier,value\n", {"encoding": "rot13"}, "encoding must be a text encoding"),
        (b"identifier,value\n", {"tab": "Values"}, "sheet must be left out for a text"),
        (b"", {}, "must not be empty"),
        (b"\xd0\xcf\x11\xe0rest", {}, "save it as .xlsx"),
        (b"PK\x03\x04rest", {}, "a whole .xlsx, but it is damaged"),
        (b"x" * (MOST + 1), {}, "at most 1 MiB"),
        (b"PK\x03\x04rest", {"form": SheetForm(separator=";")}, "separator must be left out for"),
        (b"PK\x03\x04rest", {"encoding": "latin-1"}, "encoding must be left out for a workbook"),
        (b"identifier,value\n", {"form": SheetForm(separator=",", decimal=",")}, "decimal must be"),
        (b"identifier,value\n", {"form": SheetForm(separator=";")}, "but there it is a comma"),
        (b"identifier value\n", {"form": SheetForm(separator=";")}, "that is declared$"),
    ],
)  # fmt: skip
def test_what_is_not_as_it_is_declared_is_refused_with_what_it_looks_like(content, options, words):
    with pytest.raises(ValueError, match=words):
        read(content, **options)


def test_a_workbook_is_read_as_its_cells_are_and_by_its_rows():
    content = workbook(
        ("Identifier", "value", "date", "comment"),
        ("a", 3.5, date(2020, 1, 2), "fine"),
        (7, 2, datetime(2020, 1, 3), None),
        (None, None, None, None),
        ("b", "4.25", "2020-01-04", "note"),
        ("c", None, None, None),
        ("d", True, None, None),
        ("e", 1, datetime(2020, 1, 3, 8), None),
        ("f", 1e-300, None, None),
    )
    found = read(content)
    assert [(each.row, each.identifier, each.value, each.circumstances.day) for each in found.rows] == [
        (2, "a", 3.5, "2020-01-02"),
        (3, "7", 2.0, "2020-01-03"),
        (5, "b", 4.25, "2020-01-04"),
        (9, "f", 1e-300, None),
    ]
    assert [each.row for each in found.refused] == [7, 8]
    assert found.empty == 1
    commas = read(content, SheetForm(decimal=","))  # numbers are what they are, and texts as declared
    assert [each.row for each in commas.rows] == [2, 3, 9]


def test_a_workbook_that_people_see_otherwise_is_refused():
    rows = (("identifier", "value"), ("a", 1), ("b", 2))

    def hide(sheet):
        sheet.row_dimensions[3].hidden = True

    for content, words in (
        (
            workbook(*rows, change=lambda sheet: sheet.merge_cells("B2:B3")),
            "merged cells, got some in row 2",
        ),
        (workbook(*rows, change=hide), "row 3 is hidden"),
        (workbook(*rows, ("c", "=1+1")), "never computed in row 4"),
        (workbook(*rows, more=["other"]), "which has 2 visible ones"),
    ):
        with pytest.raises(ValueError, match=words):
            read(content)
    assert len(read(workbook(*rows, more=["other"]), tab="Sheet").rows) == 2
    with pytest.raises(ValueError, match="it has none of that name"):
        read(workbook(*rows), tab="other")


def test_a_workbook_that_is_large_when_it_is_unpacked_is_refused_before_it_is():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/worksheets/sheet1.xml", b"0" * (17 * MOST))
    assert len(content.getvalue()) < MOST / 4
    with pytest.raises(ValueError, match="at most 16 MiB when it is unpacked"):
        read(content.getvalue())


def test_a_letter_that_an_encoding_lacks_is_not_repeated():
    with pytest.raises(ValueError, match="encoding must have all letters") as refused:
        encoded("Ω-7", "latin-1")
    assert refused.value.__context__ is None
    assert "7" not in str(refused.value)


@given(
    st.lists(st.sampled_from([TEXT.encode(), str(NUMBER).encode(), b"\xff", b"\0", b'"', b";", b"\n"]))
)
def test_no_message_holds_what_stands_in_a_file(pieces):
    content = b"".join(pieces)
    for encoding in ("utf-8", "latin-1", "utf-16"):
        try:
            said = [each.why for each in read(content, encoding=encoding).refused]
        except ValueError as error:
            said = [str(error)]
        assert not any(map(found_in, said))


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = console_folder(tmp_path / "clinic", identifiers=NAMES)
    with closing(folder.open()) as store:
        store.tokens.make("modeler", "m").result()
        for row in range(len(NAMES)):
            store.ask(f"key-{row:08d}", row, 1).result()
    return folder


DIALECT = ["--separator", ";", "--decimal", ",", "--encoding", "cp1252"]


def run(capsys, *arguments):
    try:
        code = main(["curator", *arguments])
    except SystemExit as stopped:
        code = stopped.code
    said = capsys.readouterr()
    return code, said.out + said.err


def test_a_day_in_a_dialect_from_the_worklist_to_the_export(clinic, capsys, tmp_path):
    assert run(capsys, "worklist", "clinic", "--output", "work.csv", *DIALECT)[0] == 0
    text = (tmp_path / "work.csv").read_bytes().decode("cp1252")
    rows = list(csv.DictReader(io.StringIO(text), delimiter=";"))
    for i, row in enumerate(rows):
        row["value"] = f"{i},5"
    filled = io.StringIO()
    writer = csv.DictWriter(filled, rows[0], delimiter=";")
    writer.writeheader()
    writer.writerows(rows)
    (tmp_path / "values.csv").write_bytes(filled.getvalue().encode("cp1252"))
    code, said = run(capsys, "import", "clinic", "values.csv")
    assert (code, "looks like latin-1 or cp1252" in said) == (1, True)
    code, said = run(capsys, "import", "clinic", "values.csv", "--encoding", "cp1252")
    assert (code, "row 2: The value has a comma" in said) == (1, True)
    assert run(capsys, "import", "clinic", "values.csv", *DIALECT)[1].startswith("Stored values: 8\n")
    assert run(capsys, "export", "clinic", "--output", "all.csv", *DIALECT)[0] == 0
    exported = (tmp_path / "all.csv").read_bytes().decode("cp1252")
    found = list(csv.DictReader(io.StringIO(exported), delimiter=";"))
    assert [each["outcome"] for each in found] == [f"{i},5" for i in range(8)]
    assert [each["question"] for each in found] == [str(i) for i in range(1, 9)]
    # What is exported may be sent again.
    again = ["import", "clinic", "all.csv", "--value", "outcome", *DIALECT]
    assert "Stored before, and the same: 8" in run(capsys, *again)[1]


def test_options_that_say_nothing_are_refused(clinic, capsys):
    for arguments, words in (
        (["worklist", "clinic", "--separator", ";"], "argument --separator: needs --output"),
        (["export", "clinic", "--encoding", "utf-16"], "argument --encoding: needs --output"),
        (["export", "clinic", "--events", "--decimal", ","], "argument --decimal: must be left out"),
        (
            ["worklist", "clinic", "--output", "w.csv", "--encoding", "ascii"],
            "--encoding must have all let",
        ),
        (["export", "clinic", "--separator", "ab"], "--separator must be one character"),
    ):
        code, said = run(capsys, *arguments)
        assert code in (1, 2)
        assert words in said


def test_a_workbook_is_imported_by_the_command(clinic, capsys, tmp_path):
    with closing(clinic.open()) as store:
        names = [store.identifier(row) for row in range(8)]
    (tmp_path / "v.xlsx").write_bytes(
        workbook(("identifier", "value"), *zip(map(harmless, names), range(8), strict=True))
    )
    assert run(capsys, "import", "clinic", "v.xlsx")[1].startswith("Stored values: 8\n")


def test_the_console_takes_what_is_declared_in_its_form(serve, tmp_path):
    service = serve(folder=console_folder(tmp_path / "folder", identifiers=NAMES))
    for row in range(3):
        service.ask(row)
    browser = logged_in(service)
    names = [service.store.identifier(row) for row in range(3)]
    content = written_sheet(
        [("identifier", "value"), *((each, 1.5) for each in names)], Dialect(";", ",")
    )
    wide = content.encode("utf-16")
    page = browser.upload(wide)
    assert "it looks like utf-16: declare that encoding" in page.text
    page = browser.upload(wide, encoding="utf-16", separator="tab", decimal=",")
    assert "but there it is a semicolon" in page.text
    assert '<option value="tab" selected>' in page.html
    page = browser.upload(wide, encoding="utf-16", separator="semicolon", decimal=",")
    assert "New values 3" in page.text
    browser.send("/console/sheet/store")
    assert [query.outcome for query in service.store.queries()] == [1.5] * 3
    pages = browser.upload(workbook(("identifier", "value"), *((harmless(each), 1.5) for each in names)))
    assert "Stored before, and the same 3" in pages.text
    sheet = browser.client.get("/console/worklist.csv?separator=semicolon").content.decode("utf-8-sig")
    assert sheet.startswith("question;identifier;")
