"""Data frames of three libraries: the same numbers, the same refusals, and no word of what they hold."""

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import torch

from botorch_private import (
    Curator,
    Encoding,
    NoisyProjection,
    Number,
    PrivateProjectionTransform,
    PublicScaling,
)
from botorch_private._base import frames, validate

LIBRARIES = {
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "pyarrow": pyarrow.table,
    "batch": lambda table: pyarrow.table(table).to_batches()[0],
}
MARK = "Anna Muster 41731905"
SCALING = PublicScaling([0.0, 0.0], [100.0, 200.0], names=["age", "weight"])


@pytest.fixture(params=LIBRARIES.values(), ids=LIBRARIES)
def frame(request):
    """Return what makes a data frame of a dictionary."""
    return request.param


def refused(call, table):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (callers check the message)
        call(table)
    return str(caught.value)


DOORS = {
    "transform": SCALING.transform,
    "clipped": SCALING.clipped,
    "curator": lambda table: Curator(table, SCALING, NoisyProjection(1.0), [1.0, 2.0]),
    "input transform": lambda table: PrivateProjectionTransform(table, SCALING, NoisyProjection(1.0)),
    "add": lambda table: Curator(
        [[1.0, 2.0], [3.0, 4.0]], SCALING, NoisyProjection(1.0), lambda record: 0.0
    ).add(table),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize(
    "table",
    [
        {MARK: [1.0, 2.0], "41": [3.0, 4.0]},
        {MARK: [1.0, 2.0], "41": [3.0, 4.0], "70.25": [5.0, 6.0]},
        {"weight": [1.0, 2.0], "age": [3.0, 4.0]},
        {"age": [1.0, 2.0], "weight": [MARK, MARK]},
        {"age": [1.0, 2.0], "weight": [417319.5, None]},
        {"age": [417319.5, 2.0], "weight": [2**53 + 1, 1]},
    ],
    ids=["a record for names", "longer", "another order", "words", "missing", "inexact"],
)
def test_a_refusal_says_what_was_wanted_and_nothing_that_was_found(frame, door, table):
    message = refused(door, frame(table))
    assert "records must" in message
    for part in ("Anna", "Muster", "41", "70.25"):
        assert part not in message


def test_a_right_table_of_every_library_gives_the_same_numbers(frame):
    table = frame({"age": [1, 2], "weight": [0.5, 1.5]})
    assert torch.equal(SCALING.check(table), torch.tensor([[1, 0.5], [2, 1.5]]).double())
    flags = frame({"age": [True, False], "weight": [1.0, 2.0]})
    assert SCALING.check(flags)[:, 0].tolist() == [1, 0]
    assert validate.vector(outcomes=frame({"cost": [1.0, 2.0]})).tolist() == [1, 2]


def test_missing_values_are_found_in_integers_floats_and_booleans(frame):
    for column in ([1, None], [1.0, None], [True, None], [1.0, float("nan")]):
        table = {"age": [1.0, 2.0], "weight": column}
        if frame is pandas.DataFrame and column[0] is True:
            table["weight"] = pandas.array(column, dtype="boolean")
        message = refused(SCALING.check, frame(table))
        assert "got NaN in row 1, column 1 (weight)" in message


@pytest.mark.parametrize("numerals", [("400", "800"), ("1", "0"), ("0", "1")])
def test_names_that_are_numerals_are_names_like_any_others(frame, numerals):
    scaling = PublicScaling([0.0, 0.0], [1.0, 9.0], names=numerals)
    table = {numerals[0]: [0.5, 1.0], numerals[1]: [5.0, 6.0]}
    assert scaling.check(frame(table)).tolist() == [[0.5, 5], [1, 6]]
    message = refused(scaling.check, frame(dict(reversed(table.items()))))
    assert "in another order" in message


def test_a_line_of_names_that_was_a_record_is_refused(frame):
    plain = PublicScaling([0.0, 0.0], [100.0, 200.0])
    message = refused(plain.check, frame({"41": [1.0], "70.25": [2.0]}))
    assert "all numerals" in message
    assert plain.check(frame({"age": [1.0], "weight": [2.0]})).tolist() == [[1, 2]]


def test_columns_that_pandas_numbered_have_no_names():
    rows = [[1.0, 2.0], [3.0, 4.0]]
    assert SCALING.check(pandas.DataFrame(rows)).tolist() == rows
    for labels in ([1, 0], [1, 2], [0.0, 1.5]):
        assert "in this order" in refused(SCALING.check, pandas.DataFrame(rows, columns=labels))


@pytest.mark.parametrize("near", ["Weight", "weight ", "\uff57eight"])
def test_a_near_miss_is_said(frame, near):
    table = frame({"age": [1.0], near: [2.0]})
    assert "column 1 differs only by spaces" in refused(SCALING.check, table)
    encoding = Encoding([Number("age", 0, 100), Number("weight", 0, 200)])
    assert "the name of column 1 differs only by spaces" in refused(encoding.encode, table)


PEOPLE = pandas.DataFrame({"age": [1.0, 2.0, 3.0], "weight": [4.0, 5.0, 6.0]}, index=["p1", "p2", "p3"])
OUTCOMES = pandas.Series({"p3": 300.0, "p1": 100.0, "p2": 200.0})


def test_outcomes_of_other_rows_are_refused():
    mechanism = NoisyProjection(1.0)
    for wrong in (OUTCOMES, OUTCOMES.to_frame(), OUTCOMES.reset_index(drop=True), OUTCOMES[:2]):
        message = refused(lambda y: Curator(PEOPLE, SCALING, mechanism, y), wrong)
        assert "objective must have the row labels of records" in message
        assert "p1" not in message
    right = OUTCOMES.loc[PEOPLE.index]
    for good in (right, right.to_frame(), right.to_numpy(), right.tolist()):
        assert Curator(PEOPLE, SCALING, mechanism, good).outcomes.tolist() == [100, 200, 300]
    curator = Curator(PEOPLE, SCALING, mechanism, right)
    more = PEOPLE.rename(index=lambda label: f"{label} again") + 0.5
    message = refused(lambda y: curator.add(more, y), OUTCOMES)
    assert "outcomes must have the row labels of records" in message
    assert Curator(PEOPLE.to_numpy(), SCALING, mechanism, OUTCOMES).outcomes.tolist() == [300, 100, 200]


class Places(pandas.DataFrame):
    """A frame that another library made from that of pandas."""

    __module__ = "elsewhere"


def test_labels_count_in_frames_that_are_made_from_those_of_pandas_and_where_one_is_missing():
    people = Places(PEOPLE)
    message = refused(lambda y: Curator(people, SCALING, NoisyProjection(1.0), y), OUTCOMES)
    assert "objective must have the row labels of records" in message
    holes = PEOPLE.set_axis(["p1", None, "p3"])
    outcomes = pandas.Series([1.0, 2.0, 3.0], index=holes.index)
    assert Curator(holes, SCALING, NoisyProjection(1.0), outcomes).outcomes.tolist() == [1, 2, 3]


@pytest.mark.parametrize("declared", [("age", "weight"), None])
@pytest.mark.parametrize("name", ["lower", "upper", "lengthscale"])
def test_ranges_that_are_labelled_by_other_features_are_refused(name, declared):
    names = ["age", "weight"]
    ranges = {
        "lower": pandas.Series([0.0, 1.0], index=names),
        "upper": pandas.Series([100.0, 200.0], index=names),
        "lengthscale": pandas.Series([10.0, 20.0], index=names),
    }
    scaling = PublicScaling(**ranges, names=names)
    assert scaling.upper.tolist() == [100, 200]
    ranges[name] = ranges[name][::-1]
    message = refused(lambda given: PublicScaling(**given, names=declared), ranges)
    assert "labels" in message or "labelled" in message


def test_integers_beside_floats_in_lists_are_not_rounded_in_silence():
    with pytest.raises(ValueError, match=r"integer of 2\^53 or beyond in row 1, column 0"):
        validate.matrix(records=[[1, 0.5], [2**53 + 1, 0.5]])
    with pytest.raises(ValueError, match=r"integer of 2\^53 or beyond in row 1, column 1 \(weight\)"):
        SCALING.check([[1, 2], [3, 2**53]])
    with pytest.raises(ValueError, match=r"integer of 2\^53 or beyond in row 2$"):
        validate.vector(outcomes=[1.0, 2.0, -(2**60)])
    assert validate.matrix(records=[[1e300, 0.5]]).tolist() == [[1e300, 0.5]]


def test_names_of_columns_of_what_is_no_frame():
    for value in ([[1.0]], np.zeros((1, 1)), torch.zeros(1, 1), 3, "text", pandas.Series([1.0])):
        assert frames.column_names(value) is None
