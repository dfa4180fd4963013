"""Data frames of polars are taken where those of pandas are, exactly, or refused by column."""

import datetime
import warnings
from decimal import Decimal

import numpy as np
import pandas
import polars
import pytest
import torch

from botorch_private import Curator, NoisyProjection, PrivateProjectionTransform, PublicScaling
from botorch_private._base import validate

SCALING = PublicScaling([0, 0], [10, 10], names=["age", "dose"])
KINDS = [polars.Int8, polars.UInt64, polars.Float32, polars.Float64]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_polars_frame_is_scaled_as_one_of_pandas_is(kind):
    table = {"age": [1, 2, 3], "dose": [0.5, 1.5, 2.5]}
    frame = polars.DataFrame(table, schema_overrides={"age": kind})
    assert torch.equal(SCALING.transform(frame), SCALING.transform(pandas.DataFrame(table)))
    assert torch.equal(SCALING.check(frame), torch.tensor([[1, 0.5], [2, 1.5], [3, 2.5]]).double())


def test_curator_and_transform_take_polars_frames_and_outcomes():
    frame = polars.DataFrame({"age": [1, 2, 3], "dose": [0.5, 1.5, 2.5]})
    curator = Curator(frame, SCALING, NoisyProjection(2.0), polars.Series([1.0, 2.0, 3.0]))
    assert sorted(curator.query(i).value for i in range(3)) == [1, 2, 3]
    transform = PrivateProjectionTransform(frame, scaling=SCALING, mechanism=NoisyProjection(2.0))
    assert transform(torch.tensor([[2.0, 1.5]]).double()).shape == (1, 2)


def test_names_of_columns_are_checked():
    with pytest.raises(
        ValueError,
        match=r"the columns \['age', 'dose'\], in this order, but they are in another order: take rec",
    ):
        SCALING.check(polars.DataFrame({"dose": [1.0], "age": [1.0]}))


@pytest.mark.parametrize("column", [[1, None, None], [1.0, None, None], [1.0, float("nan"), None]])
def test_a_missing_value_is_named_by_row_and_column_with_a_remedy(column):
    frame = polars.DataFrame({"age": [1, 2, 3], "dose": column})
    with pytest.raises(
        ValueError,
        match=r"got NaN in row 1, column 1 \(dose\) \(and 1 more entries\); drop such records before "
        r"they are released, or fill in a value that does not come from other records",
    ):
        SCALING.check(frame)
    with pytest.raises(ValueError, match=r"got an infinity in row 0, column 1 \(dose\); drop"):
        SCALING.check(polars.DataFrame({"age": [1], "dose": [float("inf")]}))


@pytest.mark.parametrize(
    "column",
    [
        ["1", "smith"],
        [Decimal(1), Decimal(2)],
        [datetime.date(2024, 1, 1)] * 2,
        [[1.0], [2.0]],
        [None, None],
        polars.Series([1, 2], dtype=polars.Int128),
        polars.Series(["a", "b"], dtype=polars.Categorical),
    ],
    ids=lambda column: str(polars.Series(column).dtype),
)
def test_what_is_no_number_is_refused_by_column_with_a_remedy(column):
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (the message is checked below)
        SCALING.check(polars.DataFrame({"age": [1, 2], "dose": column}))
    assert "column 1 (dose) does not: encode words as numbers first, or declare" in str(refused.value)
    assert "smith" not in str(refused.value)


@pytest.mark.parametrize("beside", [[0.5, 1.5], [1, 2]])
def test_integers_that_float64_would_round_are_refused(beside):
    frame = polars.DataFrame({"age": [2**53 + 1, 1], "dose": beside})
    with pytest.raises(
        ValueError,
        match=r"must be exact in float64, got an integer of 2\^53 or beyond in row 0, column 0 \(age\)",
    ):
        SCALING.check(frame)


def test_a_query_that_was_not_run_is_refused_without_running_it():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"records must be a table, got a query of polars: run it"):
            SCALING.check(polars.DataFrame({"age": [1], "dose": [2]}).lazy())


def test_frames_without_rows_are_refused():
    with pytest.raises(ValueError, match="records must have at least 1 rows, got 0"):
        SCALING.check(
            polars.DataFrame({"age": [], "dose": []}, schema_overrides={"age": float, "dose": float})
        )
    with pytest.raises(ValueError, match="records must have at least 1 rows, got 0"):
        validate.matrix(records=polars.DataFrame())


def test_a_tensor_with_a_missing_value_is_refused_by_the_name_of_the_column():
    for table in (np.array([[1.0, np.nan]]), torch.tensor([[1.0, float("nan")]])):
        with pytest.raises(ValueError, match=r"got NaN in row 0, column 1 \(dose\); drop such records"):
            SCALING.check(table)
