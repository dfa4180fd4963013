"""A table is read alike whatever dialect it is written in, once that is declared; never by a guess."""

import csv
import io

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private import Category, Curator, Encoding, NoisyProjection, Number, YesNo
from botorch_private.curator.features.dialect import Dialect
from botorch_private.curator.features.tables import (
    read_encoded,
    read_identifiers,
    read_names,
    read_table,
)

pytest.importorskip("pandas")
WARDS = ("größe", "a;b", "c,d", 'e"f', "g\th")
ENCODING = Encoding([Number("dose", -1e9, 1e9), YesNo("smoker"), Category("wárd", WARDS)])
NAMES = ["id", "dose", "smoker", "wárd"]
DIALECTS = [
    Dialect(";", ","),
    Dialect(";", ",", "cp1252"),
    Dialect("\t", ",", "latin-1"),
    Dialect("|", ".", "utf-16"),
    Dialect(",", ".", "utf-8-sig"),
    Dialect("\t", ".", "utf-16-le"),
]
RECORDS = st.lists(
    st.tuples(
        st.one_of(st.floats(-1e9, 1e9), st.integers(-(10**6), 10**6)),
        st.booleans(),
        st.sampled_from(WARDS),
    ),
    min_size=2,
    max_size=8,
)


def write(path, records, dialect):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=dialect.separator, lineterminator="\r\n")
    writer.writerow(NAMES)
    for i, (dose, smoker, ward) in enumerate(records):
        number = repr(dose).replace(".", dialect.decimal)
        writer.writerow([f"p{i}", number, "yes" if smoker else "no", ward])
    path.write_bytes(text.getvalue().encode(dialect.encoding))
    return path


def released(records):
    """Release records by a seed: two tables that are read alike make the same release."""
    generator = torch.Generator().manual_seed(3)
    outcomes = [0.0] * len(records)
    curator = Curator(records, ENCODING.scaling, NoisyProjection(3.0), outcomes, generator=generator)
    return curator.release.identity


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dialect", DIALECTS, ids=str)
@settings(max_examples=8, deadline=None)
@given(records=RECORDS)
def test_a_table_in_any_dialect_makes_the_release_of_the_plain_one(tmp_path_factory, dialect, records):
    folder = tmp_path_factory.mktemp("tables")
    plain = write(folder / "plain.csv", records, Dialect())
    other = write(folder / "other.csv", records, dialect)
    expected = read_encoded(plain, ENCODING)
    assert expected[:, 0].tolist() == [float(dose) for dose, _, _ in records]
    found = read_encoded(other, ENCODING, dialect=dialect)
    assert torch.equal(found, expected)
    assert released(found) == released(expected)
    assert read_names(other, dialect=dialect) == NAMES
    assert read_identifiers(other, "id", dialect=dialect) == [f"p{i}" for i in range(len(records))]


@pytest.mark.parametrize("dialect", DIALECTS[:4], ids=str)
def test_nothing_is_guessed_the_message_says_what_to_type_and_no_cell(tmp_path, dialect):
    path = write(tmp_path / "t.csv", [(1.5, True, "größe"), (2.5, False, "c,d")], dialect)
    with pytest.raises(ValueError, match=r"say --|looks like UTF-16") as told:
        read_encoded(path, ENCODING)
    typed = str(told.value).split("say ")[1]
    words = {";": "--separator ';'", "\t": "--separator tab", "|": ""}
    assert words[dialect.separator] in typed
    assert ("--decimal ','" in typed) == (dialect.decimal == ",")
    assert "größe" not in str(told.value)
    assert "1,5" not in str(told.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"separator": ";;"}, "separator must be one character"),
        ({"separator": "1"}, "separator must be one character"),
        ({"separator": "."}, "separator must be one character"),
        ({"separator": '"'}, "separator must be one character"),
        ({"decimal": ","}, "decimal must be another mark than separator"),
        ({"decimal": ";"}, "decimal must be '.' or ','"),
        ({"encoding": "klingon"}, "encoding must be a text encoding"),
        ({"encoding": "base64"}, "encoding must be a text encoding"),
        ({"encoding": "utf-8\0"}, "encoding must be a text encoding"),
    ],
)
def test_a_dialect_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Dialect(**arguments)


@pytest.mark.parametrize(
    ("name", "dialect", "message"),
    [
        ("t.parquet", Dialect(";"), "separator must be left out for"),
        ("t.xlsx", Dialect(encoding="latin-1"), "encoding must be left out for"),
        ("t.csv", Dialect(sheet="one"), "sheet must be left out for"),
        ("t.ods", Dialect(), "path must end in .csv, .parquet or .xlsx"),
    ],
)
def test_what_a_kind_of_file_does_not_have_is_refused(name, dialect, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / name, ["dose"], dialect=dialect)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dose;note\n1.5;a\n", "must hold numbers.*row 2.*no mark but --decimal"),
        ("dose;note\n1.234,5;a\n", "must hold numbers.*row 2.*no mark but --decimal"),
        ("dose;note\n1;a;b\n", "as there are names in row 1, 2, got 3 in row 2: semicolons within"),
        ("dose,note\n1,5;a\n", "looks separated by commas: say --separator ','"),
        ('dose;note\n1;"a\n2;b\nc"\n', "quotes that close in their own row"),
    ],
)
def test_a_table_in_another_dialect_than_the_declared_one_is_refused(text, message, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "t.csv", ["dose"], dialect=Dialect(";", ","))


def test_bytes_that_the_declared_encoding_does_not_have_are_said_and_not_shown(tmp_path):
    (tmp_path / "t.csv").write_bytes("dose,note\n1,größe\n".encode("latin-1"))
    with pytest.raises(ValueError, match="must be text in ascii, but it is not"):
        read_table(tmp_path / "t.csv", ["dose"], dialect=Dialect(encoding="ascii"))
    (tmp_path / "t.csv").write_text("größe,note\n1,a\n", encoding="utf-8")
    with pytest.raises(ValueError, match="looks like UTF-8: leave --encoding out"):
        read_table(tmp_path / "t.csv", ["größe"], dialect=Dialect(encoding="latin-1"))
