"""Identifiers of records: no two look the same, whatever bytes they have, and no message holds one."""

import re
import unicodedata

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from botorch_private.curator.features.identifiers import _look_at_each, checked_identifiers, look
from botorch_private.curator.features.tables import read_identifiers

ALIKE = {
    "blank at the end": ("A1", "A1 "),
    "no-break space": ("A 1", "A\u00a01"),
    "runs of blanks": ("A 1", "A  1"),
    "a tab": ("A 1", "A\t1"),
    "a line end": ("A 1", "A\r\n1"),
    "zero width space": ("A1", "A\u200b1"),
    "byte order mark": ("A1", "\ufeffA1"),
    "soft hyphen": ("A1", "A\u00ad1"),
    "a control character": ("A1", "A\x071"),
    "variation selector": ("A1", "A\ufe0f1"),
    "a tag": ("A1", "A1\U000e0041"),
    "joiner within an accent": ("Zo\u00eb", "Zoe\u200d\u0308"),
    "accents stored in two ways": ("Zo\u00eb", "Zoe\u0308"),
    "wide letters": ("A1", "\uff21\uff11"),
    "a ligature": ("office", "o\ufb03ce"),
    "a Hangul filler": ("A1", "A\u31641"),
    "an empty braille cell": ("A 1", "A\u28001"),
    "a long dash": ("A-1", "A\u20131"),
    "a minus": ("A-1", "A\u22121"),
    "a curly apostrophe": ("O'Hara", "O\u2019Hara"),
    "a Cyrillic capital": ("A1", "\u04101"),
    "a Greek capital": ("B1", "\u03921"),
}


@pytest.mark.parametrize("pair", ALIKE.values(), ids=ALIKE)
def test_two_that_look_the_same_are_refused_by_their_rows(pair, tmp_path):
    for ending in ("csv", "parquet"):
        path = tmp_path / f"table.{ending}"
        frame = pandas.DataFrame({"id": ["first", pair[0], "between", pair[1]], "age": [1, 2, 3, 4]})
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
        with pytest.raises(ValueError, match="in row 3 and row 5 look the same") as refused:
            read_identifiers(path, "id")
        told = str(refused.value).replace(str(path), "")
        assert not any(text in told for text in pair)
    with pytest.raises(ValueError, match="in position 0 and position 1 look the same"):
        checked_identifiers(pair, source="identifiers", place="position")


def test_true_duplicates_name_their_rows_too(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("id,age\nP-77,1\nP-78,2\nP-77,3\n")
    with pytest.raises(ValueError, match="in row 2 and row 4 are the same") as refused:
        read_identifiers(path, "id")
    assert "P-77" not in str(refused.value)


@pytest.mark.parametrize("shown", [" ", "\u200b", "\ufeff\u00a0", "\u3164", "\u2800", "\x00"])
def test_one_that_shows_nothing_is_refused_by_its_row(shown, tmp_path):
    path = tmp_path / "table.parquet"
    pandas.DataFrame({"id": ["A", shown]}).to_parquet(path)
    with pytest.raises(ValueError, match="the one in row 3 shows nothing: give that record one"):
        read_identifiers(path, "id")


def test_an_empty_cell_gets_the_advice_to_name_the_record(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("id,age\nA,1\n,2\n")
    with pytest.raises(ValueError, match="no empty cells, got one in row 3, column 'id'") as refused:
        read_identifiers(path, "id")
    assert "fill in" not in str(refused.value)
    assert "give each record its own text" in str(refused.value)


def test_what_can_be_told_apart_is_kept_letter_by_letter(tmp_path):
    names = ["a1", "A1", "A 1", "A-1", "A_1", "001", "01", "1", "1.0", "NA", "Zoe", "Zo\u00eb", "\u00df"]
    assert checked_identifiers(names, source="identifiers", place="position") == names
    path = tmp_path / "table.csv"
    pandas.DataFrame({"id": names}).to_csv(path, index=False)
    assert read_identifiers(path, "id") == names


@given(st.text(), st.sampled_from([" ", "\u200b", "\u00ad", "\ufeff", "\ufe0f", "\n", "\u00a0"]))
def test_what_stands_invisible_at_an_end_changes_no_look(text, unseen):
    assert look(unseen + text) == look(text + unseen) == look(text)
    assert look(look(text)) == look(text)
    assert look(unicodedata.normalize("NFD", text)) == look(text)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["A", None], "must be texts or whole numbers, got something else in position 1"),
        (["A", float("nan")], "got something else in position 1"),
        ([True, False], "got something else in position 0"),
        ([b"A", b"B"], "got something else in position 0"),
        ([["A"], ["B"]], "got something else in position 0"),
        ("AB", "must be a sequence of texts, got str"),
        (pandas.DataFrame({"A": [1], "B": [2]}), "must be a sequence of texts, got DataFrame"),
        ([7, 7.0], "in position 0 and position 1 are the same"),
    ],
)
def test_what_names_no_record_is_refused(wrong, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        checked_identifiers(wrong, source="identifiers", place="position")


def test_columns_of_frames_and_arrays_are_taken():
    series = pandas.Series([7, 8])
    for column in (series, series.to_numpy(), (7, 8), range(7, 9)):
        assert checked_identifiers(column, source="identifiers", place="position") == ["7", "8"]


@given(st.text(st.characters(max_codepoint=0x7F), max_size=12))
def test_a_plain_identifier_looks_as_looking_at_each_character_says(text):
    assert look(text) == _look_at_each(text)
