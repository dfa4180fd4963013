"""Encoding: declared kinds become columns, by a public map that keeps declared distances."""

import itertools
import math

import pandas
import polars
import pyarrow
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private import Curator, NoisyProjection, PublicScaling
from botorch_private.curator.features.encoding import Encoding
from botorch_private.curator.features.kinds import Category, Number, YesNo
from botorch_private.curator.publish import planned_guarantee
from botorch_private.privacy.rounding import round_down, round_up

properties = settings(derandomize=True, max_examples=50, deadline=None)
WARDS = ("surgery", "icu", "other")
SECRET = "smith"
FRAMES = [pandas.DataFrame, polars.DataFrame, pyarrow.table]


def declared(**lengthscales):
    return Encoding(
        [
            Number("age", 18.0, 100.0, lengthscales.get("age")),
            YesNo("diabetes", lengthscales.get("diabetes")),
            Category("ward", WARDS, lengthscales.get("ward")),
        ]
    )


def columns(age=(50.0, 60), diabetes=("yes", "no"), ward=("icu", "other")):
    return {
        "name": [SECRET] * len(age),
        "ward": list(ward),
        "diabetes": list(diabetes),
        "age": list(age),
    }


@pytest.mark.parametrize("frame", FRAMES)
def test_columns_are_taken_by_name_in_the_declared_order(frame):
    encoding = declared()
    assert encoding.names == ("age", "diabetes", "ward=surgery", "ward=icu", "ward=other")
    assert encoding.scaling.names == encoding.names
    rows = encoding.encode(frame(columns()))
    assert rows.dtype == torch.float64
    assert rows.tolist() == [[50, 1, 0, 1, 0], [60, 0, 0, 0, 1]]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    "cells", [("YES", "no"), ("true", "False"), ("1", "0"), (1, 0), (1.0, 0.0), (True, False)]
)
def test_every_spelling_of_yes_and_no_is_understood(frame, cells):
    rows = declared().encode(frame(columns(diabetes=cells)))
    assert rows[:, 1].tolist() == [1, 0]


@properties
@given(
    st.integers(2, 9),
    st.floats(0.1, 10),
    st.floats(0.1, 10),
    st.floats(1, 100),
)
def test_any_two_categories_are_the_stated_distance_apart_and_yes_from_no_as_well(m, wide, long, radius):
    names = tuple(f"c{i}" for i in range(m))
    encoding = Encoding(
        [Category("c", names, long), YesNo("b", wide), Number("a", 0, 1, 1.0)], radius=radius
    )
    frame = pandas.DataFrame({"c": names, "b": ["no"] * m, "a": [0.0] * m})
    scaled = encoding.scaling.transform(encoding.encode(frame))
    for i, j in itertools.combinations(range(m), 2):
        assert float((scaled[i] - scaled[j]).norm()) == pytest.approx(encoding.widths["c"])
    moved = encoding.scaling.transform(encoding.encode(frame.assign(b="yes")))
    assert float((moved[0] - scaled[0]).norm()) == pytest.approx(encoding.widths["b"])
    # A length-scale means the same for each kind: relative to a step, or to a unit of the number.
    assert encoding.widths["c"] / encoding.widths["b"] == pytest.approx(wide / long)
    assert encoding.widths["a"] / encoding.widths["b"] == pytest.approx(wide)


def test_without_lengthscales_every_step_is_as_wide_as_the_range_of_a_number():
    widths = declared().widths
    assert widths["diabetes"] == pytest.approx(widths["age"])
    assert widths["ward"] == pytest.approx(widths["age"])
    longer = declared(age=41.0, diabetes=0.5, ward=5.0).widths
    assert longer["ward"] == pytest.approx(longer["age"] / 10)


def test_the_diameter_is_reached_and_is_at_most_that_of_the_ball():
    encoding = declared()
    ends = columns(age=(0, 200), diabetes=("no", "yes"), ward=("icu", "other"))
    scaled = encoding.scaling.transform(encoding.encode(pandas.DataFrame(ends)))
    assert float((scaled[0] - scaled[1]).norm()) == pytest.approx(encoding.diameter)
    assert encoding.diameter <= 2 * encoding.scaling.radius
    assert float(scaled.norm(dim=1).max()) <= encoding.scaling.radius


def test_the_map_looks_at_one_record_at_a_time_and_learns_nothing():
    encoding = declared()
    both = encoding.encode(pandas.DataFrame(columns()))
    for i in range(2):
        one = pandas.DataFrame(columns()).iloc[[i]]
        assert torch.equal(encoding.encode(one), both[[i]])
    again = encoding.encode(pandas.DataFrame(columns(age=(50, 99), ward=("icu", "surgery"))))
    assert torch.equal(again[0], both[0])
    assert torch.equal(encoding.scaling.unit, declared().scaling.unit)


def test_decoding_names_the_nearest_values():
    encoding = declared()
    frame = pandas.DataFrame(columns())
    decoded = encoding.decode(encoding.encode(frame))
    assert decoded == {"age": [50, 60], "diabetes": [True, False], "ward": ["icu", "other"]}
    assert encoding.decode([[40.0, 0.7, 0.4, 0.1, -3.0]]) == {
        "age": [40],
        "diabetes": [True],
        "ward": ["surgery"],
    }
    with pytest.raises(ValueError, match="rows must have 5 columns, got 2"):
        encoding.decode([[1.0, 2.0]])


def test_numbers_alone_are_scaled_as_public_scaling_scales_them():
    encoding = Encoding([Number("a", -3.0, 0.1), Number("b", 0.0, 7.0)], radius=10)
    plain = PublicScaling([-3.0, 0.0], [0.1, 7.0], radius=10, names=["a", "b"])
    assert torch.equal(encoding.scaling.unit, plain.unit)
    assert encoding.steps == ()


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            {"ward": ("icu", SECRET)},
            "must hold one of the declared categories, got something else in row 1, column 'ward'",
        ),
        ({"ward": ("ICU", " icu")}, "in row 0, column 'ward' (and 1 more in this column)"),
        (
            {"diabetes": ("yes", SECRET)},
            "hold yes or no, true or false, or 1 or 0, got something else in row 1, column 'diabetes'",
        ),
        ({"diabetes": (1, 2)}, "got something else in row 1, column 'diabetes'"),
        ({"ward": (None, "icu")}, "must have no missing values, got one in row 0, column 'ward'; drop"),
        ({"diabetes": (None, True)}, "got one in row 0, column 'diabetes'; drop such records before"),
        ({"age": (None, 3.0)}, "got NaN in row 0, column 0 (age); drop such records before"),
        ({"age": (SECRET, "3")}, "must hold numbers, but column 0 (age) does not"),
    ],
)
def test_what_is_not_declared_is_refused_by_row_and_column_without_its_value(frame, cells, message):
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (the message is checked below)
        declared().encode(frame(columns(**cells)))
    assert message in str(refused.value)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("frame", FRAMES)
def test_a_missing_column_is_named(frame):
    table = columns()
    del table["ward"]
    with pytest.raises(ValueError, match="records must have one column 'ward', but it has none"):
        declared().encode(frame(table))
    with pytest.raises(
        ValueError, match="records must be a data frame with the declared columns, got list"
    ):
        declared().encode([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="records must have one column '0', but it has none"):
        Encoding([Number("0", 0, 1)]).encode(pandas.DataFrame([[1.0]]))
    assert Encoding([Category("ward", WARDS)]).encode(frame({"ward": []})).shape == (0, 3)
    twice = pandas.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    with pytest.raises(ValueError, match="records must have one column 'a', but it has several"):
        Encoding([Number("a", 0, 1)]).encode(twice)
    with pytest.raises(ValueError, match="records must be a table, got a query of polars"):
        declared().encode(polars.DataFrame(columns()).lazy())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Category("c", ("a",)), "categories of 'c' must be at least 2, got 1"),
        (lambda: Category("c", ("a", "a")), "must be different"),
        (lambda: Category("c", ("a", "")), "must be texts that are not empty"),
        (lambda: Category("c", ("a", 1)), "must be texts"),
        (lambda: Category("c", "ab"), "must be texts"),
        (
            lambda: Encoding([Number("c=a", 0, 1), Category("c", ("a", "b"))]),
            "two are named 'c=a'",
        ),
        (
            lambda: Encoding([Number("a", 0, 1, 2.0), YesNo("b")]),
            "feature 'b' must have a lengthscale, because 'a' has one",
        ),
    ],
)
def test_unusable_declarations_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_guarantee_of_a_release_is_that_of_the_declared_steps():
    encoding = declared()
    curator = Curator(
        encoding.encode(polars.DataFrame(columns())),
        encoding.scaling,
        NoisyProjection(epsilon=2.0),
        [1.0, 2.0],
    )
    assert curator.guarantee.names == encoding.names
    assert curator.guarantee.steps == encoding.steps == encoding.scaling.steps
    (step,) = [each for each in encoding.steps if each.name == "ward"]
    assert step.columns == ("ward=surgery", "ward=icu", "ward=other")
    assert step.width == pytest.approx(math.sqrt(2) / curator.guarantee.unit[2])
    assert step.width == pytest.approx(encoding.widths["ward"])
    assert curator.guarantee.at(step.width) == pytest.approx(2 * step.width, rel=0.01)


def test_a_printed_guarantee_shows_no_column_of_a_category_but_the_price_of_a_change():
    encoding = declared(age=41.0, diabetes=0.5, ward=1.0)
    guarantee = planned_guarantee(100, encoding.scaling, NoisyProjection(epsilon=2.0))
    text = str(guarantee)
    diabetes, ward = encoding.steps
    (age, *_) = encoding.scaling.unit.tolist()
    shares = [round_down(1 / step.width) for step in (diabetes, ward)]
    assert (
        f"One unit is: {round_down(age)} of age, or {shares[0]} of a change of diabetes, or {shares[1]} "
        f"of a change of ward." in text
    )
    assert "ward=" not in text
    for step in (diabetes, ward):
        epsilon = round_up(guarantee.at(step.width))
        assert (
            f"A change of {step.name}, from any value to any other, moves a record by "
            f"{round_up(step.width)} units, where epsilon is {epsilon}: that is not hidden." in text
        )
    alike = str(planned_guarantee(100, declared().scaling, NoisyProjection(epsilon=2.0)))
    assert "A change of diabetes or ward, from any value to any other, moves a record by 26.73" in alike


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    ("yes", "no", "cells", "codes"),
    [
        ("Y", "N", ["Y", "n", " y "], [1, 0, 1]),
        ("T", "F", ["F", "T", "T"], [0, 1, 1]),
        ("ja", "nein", ["JA", "nein", "ja"], [1, 0, 1]),
        ("1", "2", [1, 2, 2], [1, 0, 0]),
        ("1", "2", [1.0, 2.0, 2.0], [1, 0, 0]),
    ],
)
def test_declared_spellings_of_yes_and_no_are_taken(frame, yes, no, cells, codes):
    encoding = Encoding([YesNo("diabetes", yes=yes, no=no)])
    assert encoding.encode(frame({"diabetes": cells})).squeeze(-1).tolist() == codes


def test_spellings_that_were_not_declared_are_refused_with_what_to_declare():
    with pytest.raises(
        ValueError, match=r'declare how the table writes them \(yes = "Y" and no = "N"\)'
    ):
        Encoding([YesNo("diabetes")]).encode(pandas.DataFrame({"diabetes": ["Y", "N"]}))
    declared_ones = Encoding([YesNo("diabetes", yes="Y", no="N")])
    for cell in ("yes", "1", True, SECRET):
        with pytest.raises(
            ValueError, match="must hold 'Y' or 'N', got something else in row 1"
        ) as refused:
            declared_ones.encode(pandas.DataFrame({"diabetes": ["Y", cell]}))
        assert SECRET not in str(refused.value)


@pytest.mark.parametrize("cell", ["ICU", "icu ", " Icu", "\uff49cu"])
def test_a_near_miss_of_a_category_is_said_without_the_cell(cell):
    with pytest.raises(
        ValueError, match="got something else in row 1, column 'ward'.*only by spaces"
    ) as no:
        declared().encode(pandas.DataFrame(columns(ward=("icu", cell))))
    assert cell not in str(no.value).replace("'ward'", "")
    with pytest.raises(ValueError, match="or the declaration$"):
        declared().encode(pandas.DataFrame(columns(ward=("icu", SECRET))))
