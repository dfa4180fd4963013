"""The text of a sheet: each row is read exactly, or refused by its number alone."""

import csv
import io

import pytest
from helpers.planted import NUMBER, TEXT
from hypothesis import given
from hypothesis import strategies as st

from botorch_private.curator.service.circumstances import UNSAID, Circumstances
from botorch_private.curator.service.sheet import SheetForm, SheetRow, read_sheet
from botorch_private.curator.service.sheet_columns import DELIMITERS, harmless, plain
from botorch_private.curator.service.sheet_file import decoded

cells = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Zs", "Zl", "Zp")), min_size=1, max_size=12
)
values = st.floats(allow_nan=False, allow_infinity=False)


def written(rows, delimiter=",", names=("identifier", "value", "date", "comment")):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\r\n")
    writer.writerows([names, *rows])
    return text.getvalue()


def only_refusal(text, **options):
    (refusal,) = read_sheet(text, SheetForm(), **options).refused
    return refusal


@given(st.lists(st.tuples(cells, values), max_size=20), st.sampled_from(list(DELIMITERS.values())))
def test_what_was_written_is_read_whatever_parts_the_cells(rows, delimiter):
    text = written([(harmless(name), repr(value), "", "") for name, value in rows], delimiter)
    sheet = read_sheet(text, SheetForm())
    assert sheet == (
        [SheetRow(i, name, value, UNSAID, "") for i, (name, value) in enumerate(rows, start=2)],
        [],
        0,
    )


@given(st.text(max_size=20))
def test_an_apostrophe_before_a_formula_is_taken_away_again(text):
    assert plain(harmless(text)) == text or text.startswith("'")
    assert not harmless(text).startswith(("=", "+", "-", "@"))


@given(values)
def test_a_decimal_comma_is_read_where_it_is_declared_and_nowhere_else(value):
    text = f"identifier;value\na;{repr(value).replace('.', ',')}\n"
    assert read_sheet(text, SheetForm(decimal=",")).rows == [SheetRow(2, "a", value, UNSAID, "")]
    pointed = "." in repr(value)
    assert len(read_sheet(text, SheetForm()).refused) == pointed
    refused = read_sheet(f"identifier;value\na;{value!r}\n", SheetForm(decimal=",")).refused
    assert len(refused) == pointed


def test_columns_are_found_in_any_order_and_others_left_alone():
    text = "Comment\tother\tVALUE\t Date\tIdentifier\nfine\t9\t3.5\t2027-03-01\tA1\n\tx\t\t\tA2\n"
    assert read_sheet(text, SheetForm()) == (
        [SheetRow(2, "A1", 3.5, Circumstances("2027-03-01", None, "fine"), "")],
        [],
        1,
    )
    form = SheetForm("sample", "result")
    assert read_sheet("result,sample,value\n1,a,2\n", form).rows == [SheetRow(2, "a", 1.0, UNSAID, "")]


def test_empty_rows_count_as_a_spreadsheet_counts_them():
    sheet = read_sheet("identifier,value\n\n,,\nA1,1\n\nA2,x\n", SheetForm())
    assert [row.row for row in sheet.rows] == [4]
    assert [each.row for each in sheet.refused] == [6]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("A1,1,2,3,4", "more cells than row 1 has names"),
        ("A1,4,5,,", "more cells than row 1 has names"),
        (",1", "no identifier"),
        ("A1,many", "the number alone"),
        ("A1,nan", "finite"),
        ("A1,1e999", "too large"),
        ('A1,"1,5"', "a comma, where a point is declared"),
        ("A1,1,31.03.2027", "year, month and day"),
        ("A1,1,2027-03-02", "in the future"),
        ("A1,1,,grams", "unit must be that of the folder"),
        ('A1,"1\n2"', "a line break"),
        ('A1,"1" 2', "a quote opens or closes"),
    ],
)
def test_a_row_that_cannot_be_read_is_refused_by_its_number(row, why):
    text = f"identifier,value,date,unit\nA0,1\n{row}\n"
    refusal = only_refusal(text, unit="days", today="2027-03-01")
    assert refusal.row == 3
    assert why in refusal.why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "must name its columns in row 1"),
        ("A1,1\nA2,2\n", "must name its columns in row 1"),
        ("identifier,value,value\n", "one column 'value'"),
        ('identifier,"value\n', "must name its columns"),
    ],
)
def test_a_sheet_without_its_columns_is_refused_as_a_whole(text, why):
    with pytest.raises(ValueError, match=why):
        read_sheet(text, SheetForm())


def test_a_sheet_of_too_many_rows_is_refused(monkeypatch):
    monkeypatch.setattr("botorch_private.curator.service.sheet.MOST_ROWS", 3)
    assert len(read_sheet("identifier,value\na,1\nb,1\n", SheetForm()).rows) == 2
    with pytest.raises(ValueError, match="at most 3 rows"):
        read_sheet("identifier,value\na,1\nb,1\nc,1\n", SheetForm())


def test_another_unit_than_the_folders_is_refused():
    with pytest.raises(ValueError, match="unit must be that of the folder"):
        read_sheet("identifier,value\n", SheetForm(unit="mg"), unit="g")
    assert read_sheet("identifier,value\na,1\n", SheetForm(unit="g"), unit="g").rows


@pytest.mark.parametrize(
    "content", [b"identifier,value\na\xe9,1\n", "identifier,value\n".encode("utf-16")]
)
def test_another_encoding_is_refused_with_what_to_do(content):
    with pytest.raises(ValueError, match="save it as 'CSV UTF-8'"):
        decoded(content)


def test_a_byte_order_mark_is_no_part_of_a_name():
    assert read_sheet(decoded("identifier,value\na,1\n".encode("utf-8-sig")), SheetForm()).rows


@given(
    st.lists(
        st.sampled_from([TEXT, str(NUMBER), '"', ",", ";", "\n", "\r", "identifier", "value", "\t"])
    )
)
def test_no_message_holds_what_stands_in_a_sheet(pieces):
    text = "".join(pieces)
    for whole in (text, f"identifier,value,date,comment,unit\n{text}"):
        try:
            said = [each.why for each in read_sheet(whole, SheetForm(), unit="days").refused]
        except ValueError as error:
            said = [str(error)]
        assert not any(TEXT in each or str(NUMBER) in each for each in said)
