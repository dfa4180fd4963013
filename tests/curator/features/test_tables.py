"""Tables from files: exact numbers, or a refusal that names row and column and echoes nothing."""

import bz2
import gzip
from importlib import import_module

import numpy as np
import pandas
import pytest
import torch
from helpers.missing import without
from hypothesis import given
from hypothesis import strategies as st

from botorch_private.curator.features.encoding import Encoding
from botorch_private.curator.features.kinds import Category, Number, YesNo
from botorch_private.curator.features.tables import read_encoded, read_names, read_table, read_texts

SECRET = "smith"


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a .csv and returns its path."""

    def written(text, encoding="utf-8"):
        path = tmp_path / "table.csv"
        path.write_text(text, encoding=encoding)
        return path

    return written


def test_declared_columns_are_taken_by_name_in_declared_order(write):
    path = write("name,age,extra,weight\nsmith,50,x,70.5\njones,60,,80\n")
    table = read_table(path, ["weight", "age"])
    assert table.dtype == torch.float64
    assert table.tolist() == [[70.5, 50], [80, 60]]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_digits_of_a_csv_are_read_exactly(tmp_path_factory, numbers):
    path = tmp_path_factory.mktemp("exact") / "table.csv"
    path.write_text("a\n" + "\n".join(repr(number) for number in numbers))
    np.testing.assert_array_equal(read_table(path, ["a"]).squeeze(-1).numpy(), numbers)


def test_a_parquet_file_is_read_as_a_csv_is(tmp_path):
    frame = pandas.DataFrame({"name": ["smith", "jones"], "age": [50, 60], "well": [True, False]})
    frame.to_parquet(tmp_path / "table.parquet")
    frame.to_csv(tmp_path / "table.csv", index=False)
    for name in ("table.parquet", "table.csv"):
        assert read_table(tmp_path / name, ["well", "age"]).tolist() == [[1, 50], [0, 60]]


def test_a_mark_at_the_start_quotes_and_windows_line_ends_are_read(write):
    path = write('"age","note"\r\n50,"a\r\nb"\r\n60,\r\n', encoding="utf-8-sig")
    assert read_table(path, ["age"]).tolist() == [[50], [60]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "age\nsmith\n",
            "must have one column 'weight', by the names in its first row, but it has none",
        ),
        (
            "age,weight,weight\n1,2,3\n",
            "must have one column 'weight', by the names in its first row, but",
        ),
        ("", "must have one column 'age'"),
        ("50,smith\n60,jones\n", "must have one column 'age'"),
        ("age;weight\n50;60\n", "looks separated by semicolons"),
        ("age,weight\n", "must hold at least one record, but it holds none"),
        ("age,weight\n1,2\n3,smith\n", "got something else in row 3, column 'weight'"),
        ("age,weight\n1,2\n,2\n,2\n", "no empty cells, got one in row 3, column 'age' (and 1 more"),
        ("age,weight\n1,2\n3\n", "as there are names in row 1, 2, got 1 in row 3"),
        ("age,weight\n1,2\n\n3,4\n", "no empty rows among its records, got one in row 3"),
        ("age,weight\n1,NA\n", "got one in row 2, column 'weight'"),
        ("age,weight\n1,inf\n", "got an infinite one in row 2, column 'weight'"),
        ("age,weight\n1,2,smith\n3,4,smith\n", "as there are names in row 1, 2, got 3 in row 2"),
        ("age,weight\n1,2\n3,4,smith\n", "as there are names in row 1, 2, got 3 in row 3"),
        ("age,weight\n1,5,70\n", "as there are names in row 1, 2, got 3 in row 2"),
        ("age,weight\n1,2024-01-01\n", "got something else in row 2, column 'weight'"),
        ('age,weight\n"1,5",2\n', "got something else in row 2, column 'age'"),
        (f"age,weight\n{2**53 + 1},2\n", "must be exact in float64"),
        (f"age,weight\n{10**40},2\n", "got something else in row 2, column 'age'"),
    ],
)
def test_what_cannot_be_used_is_refused_by_row_and_column_without_its_value(write, text, message):
    path = write(text)
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (the message is checked below)
        read_table(path, ["age", "weight"])
    assert message in str(refused.value)
    assert str(path) in str(refused.value)
    assert SECRET not in str(refused.value)
    assert "2024" not in str(refused.value)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1.0, None], "must have no empty cells, got one in row 3"),
        (["1", "smith"], "must hold numbers, got something else in row 3"),
        (["1", "2"], "must hold numbers, got something else in row 2"),
        (pandas.to_datetime(["2024-01-01", "2024-01-02"]), "got something else in row 2"),
        ([1.0, np.inf], "got an infinite one in row 3"),
    ],
)
def test_a_parquet_column_that_cannot_be_used_is_refused(tmp_path, column, message):
    path = tmp_path / "table.parquet"
    pandas.DataFrame({"age": column}).to_parquet(path)
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (the message is checked below)
        read_table(path, ["age"])
    assert message in str(refused.value)
    assert SECRET not in str(refused.value)


def test_files_that_are_no_tables_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_table(tmp_path / "none.csv", ["age"])
    with pytest.raises(ValueError, match=r"must end in \.csv, \.parquet or \.xlsx"):
        read_table(tmp_path / "table.xls", ["age"])
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfea\x00")
    with pytest.raises(ValueError, match="must be comma-separated UTF-8 text .* looks like UTF-16"):
        read_table(tmp_path / "bytes.csv", ["age"])
    (tmp_path / "bytes.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(ValueError, match="damaged or something else"):
        read_table(tmp_path / "bytes.parquet", ["age"])


KINDS = Encoding([Category("ward", ("01", "None")), Number("age", 0, 99), YesNo("well")])


def test_kinds_are_read_from_a_csv_letter_by_letter(write):
    path = write("name,well,ward,age\nsmith,TRUE,01,50\njones,no,None,60.5\n")
    assert read_encoded(path, KINDS).tolist() == [[1, 0, 50, 1], [0, 1, 60.5, 0]]


def test_kinds_are_read_from_a_parquet_file_as_well(tmp_path):
    frame = pandas.DataFrame({"age": [50, 60], "well": [True, False], "ward": ["01", "None"]})
    frame.to_parquet(tmp_path / "table.parquet")
    assert read_encoded(tmp_path / "table.parquet", KINDS).tolist() == [[1, 0, 50, 1], [0, 1, 60, 0]]


def test_rows_of_a_parquet_file_are_records_whatever_pandas_labelled_them(tmp_path):
    frame = pandas.DataFrame({"age": [50, 60, 70], "well": [True, False, True], "ward": ["01"] * 3})
    frame.index = pandas.Index(["a", "a", "b"], name="id")  # as after joining two tables
    frame.to_parquet(tmp_path / "table.parquet")
    rows = read_encoded(tmp_path / "table.parquet", KINDS)
    assert rows.tolist() == [[1, 0, 50, 1], [1, 0, 60, 0], [1, 0, 70, 1]]
    assert read_texts(tmp_path / "table.parquet", "id") == ["a", "a", "b"]


def test_texts_are_read_letter_by_letter(write):
    path = write("id,age\n001,1\nNA,2\nnull,3\n")
    assert read_texts(path, "id") == ["001", "NA", "null"]
    with pytest.raises(ValueError, match="must have no empty cells, got one in row 2, column 'id'"):
        read_texts(write("id,age\n,1\n"), "id")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ward,age,well\n1,50,yes\n", "declared categories, got something else in row 2, column 'ward'"),
        ("ward,age,well\n01,50,yes\nsmith,50,yes\n", "something else in row 3, column 'ward'"),
        ("ward,age,well\n01,50,yes\n,50,yes\n", "no empty cells, got one in row 3, column 'ward'"),
        ("ward,age,well\n01,50,smith\n", "must hold yes or no, true or false, or 1 or 0, got something"),
        ("ward,age,well\n01,50,NA\n", "something else in row 2, column 'well'"),
        ("ward,age,well\n01,,yes\n", "got one in row 2, column 'age'; rows are counted"),
        ("ward,age,well\n01,smith,yes\n", "must hold numbers, got something else in row 2"),
        ("ward,age\n01,50\n", "must have one column 'well'"),
        ("ward,age,well\n", "must hold at least one record"),
    ],
)
def test_kinds_that_cannot_be_used_are_refused_without_their_value(write, text, message):
    path = write(text)
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (the message is checked below)
        read_encoded(path, KINDS)
    assert message in str(refused.value)
    assert str(path) in str(refused.value)
    assert SECRET not in str(refused.value)


def test_an_empty_cell_is_refused_with_what_to_do_about_it(write):
    with pytest.raises(
        ValueError, match="column 'age'.*; drop such records before they are released, or"
    ):
        read_table(write("age,b\n1,2\n,3\n"), ["age"])


def test_names_of_columns_are_read_and_a_record_in_their_place_is_refused(write, tmp_path):
    assert read_names(write('age,"a,b",smith\n1,2,3\n', encoding="utf-8-sig")) == ["age", "a,b", SECRET]
    assert read_names(write(",age,b,,\n0,1,2,,\n")) == ["age", "b"]
    pandas.DataFrame({"age": [1], "b": [2]}).to_parquet(tmp_path / "table.parquet")
    assert read_names(tmp_path / "table.parquet") == ["age", "b"]
    for text, message in (
        ("smith,50\njones,60\n", "but number 2 has no letter"),
        ("smith,2024-01-01,age\n", "but number 2 has no letter"),
        ("smith,'1;2a',age\n", "but number 2 holds several cells"),
        (",,\n", "must have names in its first row, but it is empty"),
        ("age,smith,age\n", "but number 1 stands twice"),
        ("", "must have names in its first row, but it is empty"),
    ):
        with pytest.raises(ValueError, match=message) as refused:
            read_names(write(text))
        assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("missing", "name", "extra"), [("pandas", "t.csv", "frames"), ("pyarrow", "t.parquet", "parquet")]
)
def test_a_missing_reader_is_named_with_what_to_install(monkeypatch, tmp_path, missing, name, extra):
    (tmp_path / name).write_text("age\n1\n")
    without(missing, monkeypatch, read_table.__module__)
    with pytest.raises(ImportError, match=rf"pip install 'botorch-private\[{extra}\]'"):
        import_module(read_table.__module__).read_table(tmp_path / name, ["age"])


STRAY = [
    'age,weight,note\n10,1,a\n30,2,"5 mg tablet\n40,3,b\n50,4,2" scar\n60,5,c\n',
    'age,weight,note\n10,1,a\n30,2,"5 mg tablet\n40,3,b\n50,4,2"\n60,5,c\n',
    'age,weight,note\n10,1,a\n30,2,"5 mg tablet\n40,3,b\n50,4,c\n',
    'age,weight,note\n10,1,a\n30,2,"a \\" b"\n40,3,b\n',
    'age,weight,note\r10,1,a\r30,2,"5 mg tablet\r40,3,b\r50,4,2"\r60,5,c\r',
]


@pytest.mark.parametrize("text", STRAY, ids=["within", "at an end", "never", "backslash", "old Mac"])
def test_a_stray_quote_is_refused_by_its_row_also_in_a_column_that_is_not_declared(write, text):
    with pytest.raises(ValueError, match=r"must have quotes .*in row 3") as refused:
        read_table(write(text), ["age", "weight"])
    assert "tablet" not in str(refused.value)
    assert "scar" not in str(refused.value)


def test_quotes_that_are_right_are_read(write):
    text = 'age,weight,note\n1,2,"a ""b"" c, d"\n3,4,"two\nlines"\n5,6,\n'
    assert read_table(write(text), ["age", "weight"]).tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize("end", ["\n", "\n\n\n", ",,\n,,\n", "\r\n,,"])
def test_empty_rows_at_the_end_are_no_records(write, end):
    text = "age,weight,note\n1,2,a\n3,4,b" + ("\n" if end.startswith(",") else "") + end
    assert read_table(write(text), ["age", "weight"]).tolist() == [[1, 2], [3, 4]]
    assert read_texts(write(text), "note") == ["a", "b"]


def test_a_long_cell_of_another_column_is_no_reason_to_refuse(write):
    assert read_table(write(f"age,note\n1,{'x' * 200_000}\n"), ["age"]).tolist() == [[1]]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PK\x03\x04rest", "looks like an Excel workbook: give it the ending .xlsx"),
        ("age,weight\n1,2\n".encode("utf-16"), "looks like UTF-16: say --encoding utf-16"),
        (
            b"age\tweight\n1\t2\n",
            "looks separated by tabs: say --separator tab",
        ),
        (
            "age;größe\n1,5;2\n".encode("latin-1"),
            "by semicolons: say --separator ';' --decimal ',' --encoding latin-1",
        ),
        ("age,größe\n1,2\n".encode("latin-1"), "is not UTF-8: say --encoding latin-1"),
        (b"# export of 2026\nage,weight\n1,2\n", "begins with a comment"),
        (b"PAR1rest", "looks like a .parquet file"),
    ],
)
@pytest.mark.parametrize("read", [read_names, lambda path: read_table(path, ["age"])])
def test_what_another_kind_of_file_looks_like_is_said_with_what_to_type(tmp_path, content, said, read):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=said):
        read(path)


def test_a_near_miss_of_a_name_is_said(write):
    with pytest.raises(ValueError, match="it has none; the name of column 1 differs only by spaces"):
        read_table(write("age, Weight\n1,2\n"), ["age", "weight"])


def test_identifiers_of_a_parquet_file_are_texts_or_whole_numbers(tmp_path):
    path = tmp_path / "table.parquet"
    pandas.DataFrame({"id": [7.0, 1e15]}).to_parquet(path)
    assert read_texts(path, "id") == ["7", "1000000000000000"]
    for wrong in ([1.2e16, 1.0], [1.5, 2.0], [b"a", b"b"], [True, False]):
        pandas.DataFrame({"id": wrong}).to_parquet(path)
        with pytest.raises(ValueError, match="must hold texts or whole numbers"):
            read_texts(path, "id")


BODY = "age,weight\n1,2\n3,4\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (BODY.encode("utf-16-le"), "looks like UTF-16: say --encoding utf-16-le"),
        (BODY.encode("utf-16-be"), "looks like UTF-16: say --encoding utf-16-be"),
        (BODY.encode("utf-32"), "looks like UTF-32"),
        (gzip.compress(BODY.encode(), mtime=0), "looks compressed: unpack it"),
        (bz2.compress(BODY.encode()), "looks compressed: unpack it"),
        (b"<html><table><tr><td>age</td></tr></table>", "looks like a web page"),
        (b'[{"age": 1, "weight": 2}]', "looks like JSON: rewrite it once by pandas.read_json"),
        (b"age|weight\n1|2\n", r"looks separated by bars: say --separator '\|'"),
        (b"age weight\n1 2\n3 4\n", r"looks separated by blanks: .*sep=r'\\s\+'"),
        (b"sep=;\nage;weight\n1;2\n", r"begins with a line for Excel \(sep=\): delete that line"),
        (b"% export\nage,weight\n1,2\n", "begins with a comment: delete what stands above"),
        (
            ("age,weight,note\n" + "1,2,a\n" * 3000 + "1,2,größe\n").encode("latin-1"),
            "not UTF-8: .*latin-1",
        ),
        (("age;weight;no,te\n" + "1;2;a\n" * 3).encode(), "looks separated by semicolons"),
    ],
)
@pytest.mark.parametrize("read", [read_names, lambda path: read_table(path, ["age", "weight"])])
def test_further_kinds_of_files_are_told_by_both_commands(tmp_path, content, said, read):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=said):
        read(path)


@pytest.mark.parametrize(
    "above",
    [
        "Smith clinic\n",
        "Smith clinic,\n",
        "\n",
        ",\n",
        "Smith\n\nclinic\n",
        "sep=,\n",
        '# Smith, "2026"\n',
    ],
)
def test_what_stands_above_the_names_is_said_and_never_becomes_a_name(write, above):
    path = write(above + BODY)
    with pytest.raises(ValueError, match="delete (what stands above|that line)|a quote"):
        read_table(path, ["age", "weight"])
    with pytest.raises(ValueError, match="first row|comment|delete that line|quotes") as refused:
        read_names(path)
    assert "mith" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Smith,female,icu\nJones,male,er\nBrown,female,er\n", "stands below itself again, in row 3"),
        ("P-1,icu\nP-2, icu\n", "stands below itself again, in row 2"),
        ("age,weight\n1,2\nage,weight\n3,4\n", "stands below itself again, in row 3"),
        ("Smith,2024-01-01T10:00:00Z\nJones,2024-01-02T10:00:00Z\n", "number 2 is a value, not a name"),
        ("Smith,12:30 PM\n", "number 2 is a value, not a name"),
        ("Smith,1e5\n", "number 2 is a value, not a name"),
        ("Smith,True\n", "number 2 is a value, not a name"),
        ("Smith,NA\n", "number 2 is a value, not a name"),
        ("Smith|a,b\n", "number 1 holds several cells"),
        ("Smith\n1,2\n", "row 2 has more cells"),
    ],
)
def test_a_record_in_the_first_row_never_becomes_names(write, text, message):
    with pytest.raises(ValueError, match=message) as refused:
        read_names(write(text))
    assert "Smith" not in str(refused.value)
    assert "icu" not in str(refused.value)


def test_a_record_as_names_of_a_parquet_file_and_row_labels_never_become_names(tmp_path):
    path = tmp_path / "table.parquet"
    frame = pandas.DataFrame({"Smith": ["Jones", "Brown"], "icu": ["er", "icu"]}, index=[5, 9])
    frame.to_parquet(path)
    with pytest.raises(ValueError, match="one is a value of its own column") as refused:
        read_names(path)
    assert "Smith" not in str(refused.value)
    frame.rename(columns={"icu": "ward"}).to_parquet(path)
    assert read_names(path) == ["Smith", "ward"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age,weight\n1,2,5\n", "got 3 in row 2: a decimal comma, or a comma within a text"),
        ("age,weight\n1,2,\n", "got 3 in row 2: rows end with commas that the names do not have"),
        ('age,weight\n1,"2,5"\n', "something else in row 2, column 'weight'.*have a decimal point"),
        ('age,weight\n1,"2,500.5"\n', "have a decimal point and no other marks"),
        ("age,weight\n1,5%\n", "have a decimal point and no other marks"),
        ("age,weight\n1,1 000\n", "have a decimal point and no other marks"),
    ],
)
def test_what_a_comma_did_to_numbers_is_said(write, text, message):
    with pytest.raises(ValueError, match=message):
        read_table(write(text), ["age", "weight"])


def test_words_get_no_advice_about_commas(write):
    with pytest.raises(ValueError, match="something else in row 2") as refused:
        read_table(write("age,weight\n1,smith\n2,'5'\n"), ["age", "weight"])
    assert "decimal" not in str(refused.value)
