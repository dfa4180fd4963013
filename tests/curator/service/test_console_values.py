"""Numbers, times and plots of the console."""

import math
import re
import xml.etree.ElementTree as ET
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from botorch_private.curator.service.console.plot import HEIGHT, WIDTH, draw
from botorch_private.curator.service.console.shown import ago, number, when, with_unit
from botorch_private.curator.service.typed_values import read_day, read_reason, read_value

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite)
def test_a_shown_number_is_read_as_the_same_number(value):
    assert read_value(number(value)) == value


@given(st.text(max_size=20))
def test_what_is_read_is_what_python_reads_and_finite(text):
    try:
        value = read_value(text)
    except ValueError:
        pass
    else:
        assert math.isfinite(value)
        assert value == float(text.replace("\N{MINUS SIGN}", "-").replace(",", "."))
        assert "_" not in text


@pytest.mark.parametrize(
    "text",
    [
        "3,500",
        "1,234,5",
        ",",
        "1_000",
        "1 000",
        "0x10",
        "\N{ARABIC-INDIC DIGIT ONE}",
        "3.5.1",
        "--3",
        "e5",
        ".",
        "+",
    ],
)
def test_what_could_be_misread_is_refused(text):
    with pytest.raises(ValueError, match=r"^Type "):
        read_value(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3,5", 3.5),
        ("-3,25", -3.25),
        ("0,125", 0.125),
        ("1,2340", 1.234),
        (",5", 0.5),
        ("1,5e-3", 1.5e-3),
    ],
)
def test_a_comma_that_can_only_stand_before_decimals_does(text, value):
    assert read_value(text) == value


@given(finite)
def test_a_number_with_a_comma_is_read_as_that_number_or_not_at_all(value):
    text = number(value).replace(".", ",")
    if re.fullmatch(r"-?[1-9]\d*,\d{3}(e.*)?", text):
        with pytest.raises(ValueError, match="could mean either"):
            read_value(text)
    else:
        assert read_value(text) == value


def test_a_day_is_written_in_one_way():
    assert read_day("2027-03-31") == "2027-03-31"
    for text in ("31.03.2027", "2027-02-30", "20270331", "2027-W01-1", "2027-3-1", ""):
        with pytest.raises(ValueError, match="year, month and day"):
            read_day(text)


def test_minus_zero_is_zero():
    assert math.copysign(1.0, read_value("-0")) == 1.0
    assert number(-0.0 + 0.0) == "0"


def test_a_reason_is_one_line():
    assert read_reason(" a\r\n\tb\x00c ") == "a b c"


def test_units_and_times():
    assert with_unit(3.0, "") == "3"
    assert with_unit(3.25, "kg") == "3.25 kg"
    now = "2027-03-02T12:00:00.000000+00:00"
    assert ago("2027-03-02T11:59:30.000000+00:00", now) == "just now"
    assert ago("2027-03-02T11:59:00.000000+00:00", now) == "1 minute ago"
    assert ago("2027-03-02T09:00:00.000000+00:00", now) == "3 hours ago"
    assert ago("2027-02-20T12:00:00.000000+00:00", now) == "10 days ago"
    assert re.fullmatch(r"[123] Mar 2027, \d\d:\d\d \S+", when(now))


@given(st.lists(finite, min_size=1, max_size=30))
def test_a_plot_has_every_value_inside_and_higher_for_larger(values):
    best = list(accumulate(values, max))
    root = ET.fromstring(draw(values, best, 7))
    dots = [each for each in root if each.get("class") == "dot"]
    heights = [float(dot.get("cy")) for dot in dots]
    assert len(dots) == len(values)
    for dot, height in zip(dots, heights, strict=True):
        assert 0 < float(dot.get("cx")) < WIDTH
        assert 0 < height < HEIGHT
    order = sorted(range(len(values)), key=values.__getitem__)
    assert all(heights[i] >= heights[j] for i, j in pairwise(order))
    labels = [each.text for each in root if each.tag == "text"]
    assert "7" in labels
    assert not any(re.search("nan|inf|None", each) for each in labels)


@pytest.mark.parametrize(
    "values", [[5.0], [0.0, 0.0], [1e12, 1e12 + 0.5], [1e308, -1e308], [5e-324, 0.0]]
)
def test_a_plot_of_extreme_values_has_an_axis(values):
    root = ET.fromstring(draw(values, list(accumulate(values, max)), 1))
    assert sum(each.get("class") == "grid" for each in root) >= 1
