"""A missing value counts as what its feature declares, through every door; else it is refused."""

import math

import numpy as np
import pytest
import torch

from botorch_private import Category, Encoding, Number, YesNo, load_encoding, load_ranges
from botorch_private.cli import main as cli
from botorch_private.curator.features.tables import read_encoded
from botorch_private.curator.features.written import ranges_text

pandas = pytest.importorskip("pandas")
DECLARED = Encoding(
    [
        Number("dose", 0.0, 10.0, missing=2.5),
        YesNo("smoker", missing=False),
        Category("ward", ("icu", "er", "other"), missing="other"),
    ]
)
STRICT = Encoding([Number("dose", 0.0, 10.0), YesNo("smoker"), Category("ward", ("icu", "er"))])
WHOLE = {"dose": [1.0, 2.5, 7.0], "smoker": ["yes", "no", "no"], "ward": ["icu", "er", "other"]}
EXPECTED = DECLARED.encode(pandas.DataFrame(WHOLE))


def holes(none):
    return {"dose": [1.0, none, 7.0], "smoker": ["yes", none, "no"], "ward": ["icu", "er", none]}


@pytest.mark.parametrize("none", [None, math.nan, np.nan, pandas.NA, pandas.NaT], ids=str)
@pytest.mark.parametrize("kind", [None, "object"])
def test_every_missing_value_of_pandas_counts_as_declared(none, kind):
    frame = pandas.DataFrame(holes(none), dtype=kind)
    assert torch.equal(DECLARED.encode(frame), EXPECTED)


@pytest.mark.parametrize("none", [None, math.nan])
def test_those_of_polars_and_pyarrow_as_well(none):
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    texts = {**holes(None), "dose": [1.0, none, 7.0]}
    assert torch.equal(DECLARED.encode(polars.DataFrame(texts)), EXPECTED)
    assert torch.equal(DECLARED.encode(pyarrow.table(texts)), EXPECTED)


def test_a_column_of_missing_values_alone_is_one_of_the_declared_value():
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    columns = {name: [None, None] for name in WHOLE}
    for table in (pandas.DataFrame(columns), polars.DataFrame(columns), pyarrow.table(columns)):
        found = DECLARED.decode(DECLARED.encode(table))
        assert found == {"dose": [2.5] * 2, "smoker": [False] * 2, "ward": ["other"] * 2}


def test_empty_cells_of_files_count_as_declared(tmp_path):
    (tmp_path / "t.csv").write_text("ward,dose,smoker\nicu,1,yes\ner,,\n,7,no\n")
    assert torch.equal(read_encoded(tmp_path / "t.csv", DECLARED), EXPECTED)
    pytest.importorskip("pyarrow")
    pandas.DataFrame(holes(None)).to_parquet(tmp_path / "t.parquet")
    assert torch.equal(read_encoded(tmp_path / "t.parquet", DECLARED), EXPECTED)


def test_without_a_declaration_a_missing_value_is_refused_everywhere(tmp_path):
    for name, values in holes(None).items():
        frame = pandas.DataFrame({**WHOLE, "ward": ["icu", "er", "er"], name: values})
        with pytest.raises(ValueError, match=r"finite, got NaN|no missing values"):
            STRICT.encode(frame)
        frame.to_csv(tmp_path / "t.csv", index=False)
        with pytest.raises(ValueError, match=f"no empty cells, got one in row ., column '{name}'"):
            read_encoded(tmp_path / "t.csv", STRICT)


@pytest.mark.parametrize("word", ["smith", "1,5"])
def test_what_is_not_missing_is_not_filled(word, tmp_path):
    (tmp_path / "t.csv").write_text(f'ward,dose,smoker\nicu,,yes\ner,"{word}",\n')
    with pytest.raises(ValueError, match=r"must hold numbers, got something else in row 3") as told:
        read_encoded(tmp_path / "t.csv", DECLARED)
    assert word not in str(told.value)
    with pytest.raises(ValueError, match="must hold numbers"):
        DECLARED.encode(pandas.DataFrame({**WHOLE, "dose": [1.0, None, word]}))


def test_integers_beside_missing_ones_stay_exact(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    wide = Encoding([Number("code", 0.0, 2.0**60, missing=0.0)])
    parquet.write_table(pyarrow.table({"code": [2**53 + 1, None]}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"exact in float64"):
        read_encoded(tmp_path / "t.parquet", wide)
    parquet.write_table(pyarrow.table({"code": [2**53 - 1, None]}), tmp_path / "t.parquet")
    assert read_encoded(tmp_path / "t.parquet", wide).tolist() == [[2.0**53 - 1], [0.0]]
    with pytest.raises(ValueError, match=r"exact in float64"):
        wide.encode(pandas.DataFrame({"code": [2**53 + 1, None]}, dtype=object))


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        (lambda: Number("a", 0.0, 1.0, missing=2.0), "within its range"),
        (lambda: Number("a", 0.0, 1.0, missing=math.nan), "within its range"),
        (lambda: YesNo("a", missing="no"), "True for yes or False for no"),
        (lambda: Category("a", ("x", "y"), missing="z"), "one of its categories"),
    ],
)
def test_a_declared_value_is_one_that_the_feature_can_have(feature, message):
    with pytest.raises(ValueError, match=message):
        feature()


RANGES = """\
[features.dose]
lower = 0
upper = 10
missing = 2.5

[features.smoker]
kind = "boolean"
missing = false

[features.ward]
kind = "category"
categories = ["icu", "er", "other"]
missing = "other"
"""


def test_a_file_of_ranges_says_it_and_keeps_it(tmp_path, capsys):
    file = tmp_path / "ranges.toml"
    file.write_text(RANGES)
    encoding = load_encoding(file)
    assert encoding.features == DECLARED.features
    file.write_text(ranges_text(encoding))
    assert load_encoding(file).features == DECLARED.features
    assert cli.main(["ranges", "check", str(file)]) == 0
    told = capsys.readouterr().out
    for words in ("dose counts as 2.5", "smoker counts as no", "ward counts as other"):
        assert f"A missing {words}." in told


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("missing = 2.5", 'missing = "2"', "missing must be a number"),
        ("missing = 2.5", "missing = 11", "within its range"),
        ("missing = false", "missing = 0", "True for yes or False for no"),
        ('missing = "other"', "missing = 3", "one of its categories"),
    ],
)
def test_what_cannot_be_is_said_with_the_feature(old, new, message, tmp_path):
    file = tmp_path / "ranges.toml"
    file.write_text(RANGES.replace(old, new))
    with pytest.raises(ValueError, match=f"feature '.*{message}"):
        load_encoding(file)


def test_ranges_alone_cannot_fill_in(tmp_path):
    file = tmp_path / "ranges.toml"
    file.write_text(RANGES.partition("[features.smoker]")[0])
    with pytest.raises(ValueError, match="read the file by load_encoding"):
        load_ranges(file)
