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
        ("kind = 'boolean'\nlower = 0", "no keys but kind, lengthscale, got 'lower'"),
        ("kind = 'boolean'\nlengthscale = -1", "feature 'a': lengthscale must be > 0, got -1"),
        ("kind = 'category'", "feature 'a' must have the key categories, but it is missing"),
        ("lower=0\nupper=1\ncategories=['a', 'b']", "no keys but lower, upper, lengthscale, got 'categ"),
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
        ("radios = 3\n[features.a]\nlower=0\nupper=1", "no keys but radius, features, got 'radios'"),
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
            "[features.a]\nlower=0\nupper=1\nscale=1",
            "no keys but lower, upper, lengthscale, got 'scale'",
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
