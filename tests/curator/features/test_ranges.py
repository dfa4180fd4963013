"""Ranges that a curator writes by hand."""

import pytest
import torch

from botorch_private import PublicScaling
from botorch_private.curator.features.kinds import Category, Number, YesNo
from botorch_private.curator.features.ranges import load_encoding, load_ranges

GOOD = """
radius = 10
[features.weight]
lower = 0
upper = 200.5
[features.age]
lower = 18
upper = 100
"""


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file of ranges and returns its path."""

    def written(text):
        path = tmp_path / "ranges.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return written


def test_the_scaling_is_the_declared_one_in_the_order_of_the_file(write):
    scaling = load_ranges(write(GOOD))
    expected = PublicScaling([0, 18], [200.5, 100], radius=10, names=["weight", "age"])
    assert scaling.names == ("weight", "age")
    assert scaling.public
    assert scaling.radius == 10
    assert torch.equal(scaling.unit, expected.unit)


def test_radius_is_optional_and_lengthscales_count(write):
    text = (
        "[features.a]\nlower=0\nupper=1\nlengthscale=2\n"
        "[features.'b c']\nlower=0\nupper=1\nlengthscale=1"
    )
    scaling = load_ranges(write(text))
    assert scaling.radius == PublicScaling([0], [1]).radius
    assert float(scaling.unit[0] / scaling.unit[1]) == pytest.approx(2)
    assert scaling.names == ("a", "b c")


KINDS = """
[features.age]
kind = "number"
lower = 18
upper = 100
[features.diabetes]
kind = "boolean"
[features.ward]
kind = "category"
categories = ["surgery", "icu"]
"""


def test_kinds_are_read_in_the_order_of_the_file(write):
    encoding = load_encoding(write(KINDS))
    assert encoding.features == (
        Number("age", 18, 100),
        YesNo("diabetes"),
        Category("ward", ("surgery", "icu")),
    )
    assert encoding.scaling.radius == PublicScaling([0], [1]).radius
    weighted = load_encoding(write("radius = 7\n[features.b]\nkind='boolean'\nlengthscale=3"))
    assert weighted.features == (YesNo("b", 3),)
    assert weighted.scaling.radius == 7


def test_a_file_with_kinds_is_refused_where_only_numbers_are_understood(write):
    with pytest.raises(ValueError, match="feature 'diabetes' must be a number here, got a boolean"):
        load_ranges(write(KINDS))
    assert torch.equal(load_encoding(write(GOOD)).scaling.unit, load_ranges(write(GOOD)).unit)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind = 'word'", "feature 'a': kind must be one of number, boolean, category, got 'word'"),
        ("kind = 3", "feature 'a': kind must be one of number, boolean, category, got 3"),
        ("kind = ['number']", "feature 'a': kind must be one of number, boolean, category, got a list"),
        ("", "must have the key lower, but it is missing; delete the feature if it is not to be"),
        ("kind = 'boolean'\nlower = 0", "no keys but kind, yes, no, lengthscale, missing, got 'lower'"),
        ("kind = 'boolean'\nlengthscale = -1", "feature 'a': lengthscale must be > 0, got -1"),
        ("kind = 'category'", "feature 'a' must have the key categories, but it is missing"),
        (
            "lower=0\nupper=1\ncategories=['a', 'b']",
            "no keys but lower, upper, edges, scale, lengthscale, missing, got",
        ),
        ("kind = 'category'\ncategories = 'ab'", "categories must be a list of texts, got 'ab'"),
        ("kind = 'category'\ncategories = [1, 2]", "must be texts that are not empty"),
        ("kind = 'category'\ncategories = ['x']", "categories of 'a' must be at least 2, got 1"),
        ("kind = 'category'\ncategories = ['x', 'x']", "must be different, but one stands twice"),
        ("kind = 'boolean'\n[features.b]\nkind='boolean'\nlengthscale=1", "feature 'a' must have a len"),
    ],
)
def test_kinds_that_are_wrong_are_said_with_file_feature_and_key(write, text, message):
    path = write(f"[features.a]\n{text}")
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (the message is checked below)
        load_encoding(path)
    assert message in str(refused.value)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("radius = ", "must be TOML, but it cannot be read"),
        ("", "must declare features, such as [features.age], but it has none"),
        ("features = 3", "must declare features"),
        (
            "radios = 3\n[features.a]\nlower=0\nupper=1",
            "no keys but radius, history, features, got 'radios'",
        ),
        ("radius = -1\n[features.a]\nlower=0\nupper=1", "radius must be > 0, got -1"),
        ("radius = true\n[features.a]\nlower=0\nupper=1", "radius must be a number, got True"),
        ("radius = 1e9\n[features.a]\nlower=0\nupper=1", "radius must be at most 10000"),
        ("[features]\na = 3", "feature 'a' must be a table with lower and upper, got 3"),
        ("[features.a]\nlower=0", "feature 'a' must have the key upper, but it is missing"),
        ("[features.a]\nupper=0", "feature 'a' must have the key lower, but it is missing"),
        ("[features.a]\nlower='0'\nupper=1", "feature 'a': lower must be a number, got '0'"),
        ("[features.a]\nlower=[0]\nupper=1", "feature 'a': lower must be a number, got a list"),
        ("[features.a]\nlower=0\nupper=inf", "feature 'a': upper must be a finite number, got inf"),
        ("[features.a]\nlower=nan\nupper=1", "feature 'a': lower must be a finite number, got nan"),
        ("[features.a]\nlower=2\nupper=1", "feature 'a': lower must be below upper, got 2 and 1"),
        ("[features.a]\nlower=1\nupper=1", "feature 'a': lower must be below upper, got 1 and 1"),
        (
            "[features.a]\nlower=0\nupper=1\nstep=1",
            "no keys but lower, upper, edges, scale, lengthscale, missing, got 'step'",
        ),
        ("[features.a]\nlower=0\nupper=1\nlengthscale=0", "feature 'a': lengthscale must be > 0, got 0"),
        (
            "[features.a]\nlower=0\nupper=1\nlengthscale=1\n[features.b]\nlower=0\nupper=1",
            "feature 'b' must have a lengthscale, because 'a' has one",
        ),
    ],
)
def test_what_is_wrong_is_said_with_file_feature_and_key(write, text, message):
    path = write(text)
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (the message is checked below)
        load_ranges(path)
    assert message in str(refused.value)
    assert str(path) in str(refused.value)


def test_no_file_and_no_text_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        load_ranges(tmp_path / "none.toml")
    path = tmp_path / "bytes.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="must be TOML"):
        load_ranges(path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_file_is_read_in_whatever_way_an_editor_saved_it(tmp_path, encoding, end):
    path = tmp_path / "ranges.toml"
    path.write_bytes(GOOD.replace("\n", end).replace("weight", '"größe"').encode(encoding))
    assert load_ranges(path).names == ("größe", "age")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16-le", "utf-16-be"])
def test_another_encoding_is_named(tmp_path, encoding):
    path = tmp_path / "ranges.toml"
    path.write_bytes(GOOD.replace("weight", '"größe"').encode(encoding))
    with pytest.raises(ValueError, match="must be TOML in UTF-8, .*: save it as UTF-8"):
        load_ranges(path)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("lower = 18,5", "numbers have a decimal point"),
        ("lower = -18,5  # years", "numbers have a decimal point"),
        ("lower = 1,200", "numbers have a decimal point"),
        (
            "lower = '18,5'\nupper = 100",
            "got '18,5' (a number stands without quotes, with a decimal point)",
        ),
        ("lower = .5", "0.5, not .5"),
        ("lower = 5.", "0.5, not .5"),
        ("lower = 018", "18, not 018"),
        ("lower = 18;", "without a semicolon"),
        ("lower = 1/2", "0.5, not 1/2"),
        ("lower: 18", "an equals sign"),
        ("kind = \u201cboolean\u201d", "straight ones"),
        ("[features.blood pressure]", "stand in quotes"),
        ("[features.größe]", "stand in quotes"),
    ],
)
def test_a_slip_of_the_pen_is_named_with_its_line(write, line, hint):
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (the message is checked below)
        load_encoding(write(f"[features.a]\n{line}\n"))
    assert hint in str(refused.value)
    assert "at line 2" in str(refused.value) or "feature 'a'" in str(refused.value)


def test_other_spellings_of_yes_and_no_are_declared(write):
    text = "[features.a]\nkind='boolean'\nyes='Y'\nno='N'\n[features.b]\nkind='boolean'\nyes=1\nno=2\n"
    encoding = load_encoding(write(text))
    assert encoding.features == (YesNo("a", yes="Y", no="N"), YesNo("b", yes="1", no="2"))
    for wrong, message in (
        ("yes='Y'", "feature 'a': yes and no of 'a' must be two different texts"),
        ("yes='Y'\nno='y '", "must be two different texts"),
        ("yes=''\nno='n'", "must be two different texts"),
        ("yes=true\nno=false", "must be two different texts"),
    ):
        with pytest.raises(ValueError, match=message):
            load_encoding(write(f"[features.a]\nkind='boolean'\n{wrong}\n"))
    with pytest.raises(
        ValueError, match="no keys but lower, upper, edges, scale, lengthscale, missing, got 'yes'"
    ):
        load_encoding(write("[features.a]\nlower=0\nupper=1\nyes='Y'\n"))
