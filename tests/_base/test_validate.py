from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private._base import validate
from botorch_private._base.frames import OUTCOME_REMEDY

properties = settings(derandomize=True, max_examples=60, deadline=None)

SECRET = 123456.78125
HUGE = 10**400  # no float can hold it
NO_REAL_NUMBERS = [None, "1", b"1", True, np.True_, 1j, [1.0], Decimal(1), torch.tensor(1.0), HUGE]
NOT_FINITE = [float("nan"), float("inf"), float("-inf")]


@pytest.mark.parametrize("value", [1e-300, 1, 0.5, np.float32(2), np.int64(3), Fraction(1, 3)])
def test_positive_accepts_every_real_number_type(value):
    validate.positive(epsilon=value)
    validate.non_negative(epsilon=value)
    validate.finite(epsilon=value)


@pytest.mark.parametrize("value", [*NO_REAL_NUMBERS, *NOT_FINITE, -1.0, -1])
def test_positive_and_non_negative_name_argument_and_requirement(value):
    with pytest.raises(ValueError, match=r"^epsilon must be a finite number > 0, got "):
        validate.positive(epsilon=value)
    with pytest.raises(ValueError, match=r"^beta must be a finite number >= 0, got "):
        validate.non_negative(beta=value)


@pytest.mark.parametrize("value", [*NO_REAL_NUMBERS, *NOT_FINITE])
def test_finite_names_argument_and_requirement(value):
    with pytest.raises(ValueError, match=r"^value must be a finite number, got "):
        validate.finite(value=value)


def test_zero_is_non_negative_but_not_positive():
    validate.non_negative(beta=0)
    with pytest.raises(ValueError, match=r"^epsilon must be a finite number > 0, got 0$"):
        validate.positive(epsilon=0)


@pytest.mark.parametrize("value", [*NO_REAL_NUMBERS, *NOT_FINITE, -0.1, 1, 1.0, 2])
def test_probabilities_name_argument_and_requirement(value):
    with pytest.raises(ValueError, match=r"^p must be a number in \(0, 1\), got "):
        validate.probability(p=value)
    with pytest.raises(ValueError, match=r"^delta must be a number in \[0, 1\), got "):
        validate.probability_or_zero(delta=value)


def test_zero_is_a_delta_but_no_probability():
    validate.probability_or_zero(delta=0)
    with pytest.raises(ValueError, match=r"^p must be a number in \(0, 1\), got 0$"):
        validate.probability(p=0)


@pytest.mark.parametrize("value", [*NO_REAL_NUMBERS[:-1], *NOT_FINITE, 1.0, 0, -1])
def test_count_names_argument_and_requirement(value):
    with pytest.raises(ValueError, match=r"^rounds must be an integer >= 1, got "):
        validate.count(rounds=value)


def test_count_accepts_numpy_integers_and_states_its_minimum():
    validate.count(n=np.int32(2), minimum=2)
    with pytest.raises(ValueError, match=r"^n must be an integer >= 2, got 1$"):
        validate.count(n=1, minimum=2)


def test_one_of_lists_the_options():
    validate.one_of(("auto", "laplace"), noise="laplace")
    with pytest.raises(ValueError, match=r"^noise must be one of 'auto', 'laplace', got 'cauchy'$"):
        validate.one_of(("auto", "laplace"), noise="cauchy")


@properties
@given(st.integers(1, 50), st.integers(-100, 100))
def test_an_index_is_accepted_exactly_in_0_to_n_minus_1(n, value):
    forms = [value, np.int64(value), np.array(value), np.array([value]), torch.tensor([[value]])]
    for form in forms:
        if 0 <= value < n:
            row = validate.index(n, index=form)
            assert row == value
            assert type(row) is int
        else:
            with pytest.raises(
                ValueError, match=rf"^index must be a row index in 0..{n - 1}, got {value}$"
            ):
                validate.index(n, index=form)


@pytest.mark.parametrize(
    "value", [1.0, "1", None, True, np.True_, np.float64(1), [1], (1,), 1j, Decimal(1), slice(1)]
)
def test_an_index_of_another_type_is_refused(value):
    with pytest.raises(ValueError, match=r"^index must be an integer row index, got "):
        validate.index(5, index=value)


@pytest.mark.parametrize(
    "value", [torch.tensor(1.0), torch.tensor([1, 2]), torch.tensor(True), np.array([]), np.array(1.0)]
)
def test_an_array_index_must_be_one_integer(value):
    with pytest.raises(ValueError, match=r"^index must be one integer row index, got an array of shape"):
        validate.index(5, index=value)


EXACT = np.array([[0, 1], [2, 3], [4, 5]])


@pytest.mark.parametrize(
    "table",
    [
        EXACT.tolist(),
        EXACT.astype(np.uint8),
        EXACT.astype(np.uint64),
        EXACT.astype(np.float16),
        EXACT.astype(">f4"),
        np.asfortranarray(EXACT),
        np.repeat(EXACT, 2, axis=0)[::2],
        torch.from_numpy(EXACT),
        torch.from_numpy(EXACT).half(),
        torch.from_numpy(EXACT).bfloat16(),
        torch.from_numpy(EXACT).float().requires_grad_(),
        pd.DataFrame(EXACT, columns=["a", "b"]),
        pd.DataFrame({"a": EXACT[:, 0].astype(np.float32), "b": EXACT[:, 1]}),
        np.ma.array(EXACT, mask=False),
        pa.table({"a": EXACT[:, 0], "b": EXACT[:, 1]}),
        pa.table({"a": EXACT[:, 0], "b": EXACT[:, 1]}).to_batches()[0],
    ],
    ids=lambda table: f"{type(table).__name__}-{getattr(table, 'dtype', '')}",
)
def test_a_table_of_any_real_type_becomes_float64_exactly(table):
    converted = validate.matrix(records=table)
    assert converted.dtype == torch.float64
    assert not converted.requires_grad
    assert torch.equal(converted, torch.from_numpy(EXACT).double())


@properties
@given(st.floats(width=16, allow_nan=False, allow_infinity=False))
def test_shorter_floats_are_widened_without_rounding(value):
    for table in (np.float16([[value]]), np.float32([[value]]), torch.tensor([[value]]).half()):
        assert validate.matrix(records=table).item() == value


@pytest.mark.parametrize(
    ("table", "found"),
    [
        ([[1j]], "dtype complex128"),
        (torch.tensor([[1j]]), "dtype torch.complex64"),
        ([["1", "2"]], "texts$"),
        ([[{}, 1.0]], "dtype object: numbers that are kept so become numbers by numpy.asarray"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "dtype datetime64"),
        pytest.param(
            np.longdouble([[1.0]]),
            "dtype float",
            marks=pytest.mark.skipif(
                np.longdouble(1).itemsize <= 8, reason="long double is float64 here"
            ),
        ),
    ],
)
def test_a_table_of_another_type_is_refused_with_its_dtype(table, found):
    with pytest.raises(ValueError, match=rf"^records must be real numbers.*got {found}"):
        validate.matrix(records=table)


@pytest.mark.parametrize("integer", [2**53, 2**53 + 1, -(2**53), 2**62])
@pytest.mark.parametrize("make", [np.array, torch.tensor])
def test_integers_that_float64_would_round_are_refused(make, integer):
    assert validate.matrix(records=make([[2**53 - 1]])).item() == 2**53 - 1
    with pytest.raises(
        ValueError,
        match=r"^records must be exact in float64, got an integer of 2\^53 or beyond in row 0, column 1",
    ):
        validate.matrix(records=make([[1, integer]]))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([1.0, 2.0], r"must have 2 dimensions \(rows, columns\), got shape \(2,\)"),
        (3.0, r"must have 2 dimensions .* got shape \(\)"),
        (np.zeros((2, 2, 2)), r"must have 2 dimensions .* got shape \(2, 2, 2\)"),
        (np.zeros((2, 3)), "must have 2 columns, got 3"),
        (np.zeros((0, 2)), "must have at least 1 rows, got 0"),
        ([[1.0, 2.0], [3.0]], "must be numbers in rows of equal length"),
    ],
)
def test_a_table_of_another_shape_is_refused_with_its_shape(table, message):
    with pytest.raises(ValueError, match=f"^records {message}"):
        validate.matrix(records=table, columns=2)


def test_a_table_without_columns_is_refused():
    with pytest.raises(ValueError, match=r"^records must have at least 1 column, got 0$"):
        validate.matrix(records=np.zeros((3, 0)))


@pytest.mark.parametrize(
    ("value", "word"), [("nan", "NaN"), ("inf", "an infinity"), ("-inf", "an infinity")]
)
def test_a_missing_value_is_named_by_row_and_column_and_no_record_is_echoed(value, word):
    table = torch.full((4, 3), SECRET, dtype=torch.float64)
    table[2, 1] = float(value)
    with pytest.raises(
        ValueError, match=f"^records must be finite, got {word} in row 2, column 1;"
    ) as caught:
        validate.matrix(records=table)
    assert "1234" not in str(caught.value)
    table[3, 0] = table[3, 2] = float("nan")
    with pytest.raises(ValueError, match=r"in row 2, column 1 \(and 2 more entries\)"):
        validate.matrix(records=table)


def test_masked_entries_count_as_missing():
    table = np.ma.array([[SECRET, 1.0]], mask=[[True, False]])
    with pytest.raises(ValueError, match=r"^records must be complete, got masked entries") as caught:
        validate.matrix(records=table)
    assert "1234" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([[1.0]], r"must have 1 dimension, got shape \(1, 1\)"),
        ([1.0, 2.0], "must have 3 entries, got 2"),
        ([1.0, float("nan"), 2.0], "must be finite, got NaN at position 1$"),
        (
            [float("inf"), 1.0, float("nan")],
            r"must be finite, got an infinity at position 0 \(and 1 more positions\)",
        ),
        ("abc", "must be real numbers"),
    ],
)
def test_a_bad_vector_is_refused_by_position(value, message):
    with pytest.raises(ValueError, match=f"^values {message}"):
        validate.vector(values=value, length=3)


@pytest.mark.parametrize("make", [np.array, lambda x: torch.tensor(x, dtype=torch.float64)])
def test_a_vector_does_not_follow_later_changes_of_its_argument(make):
    mine = make([1.0, 2.0])
    kept = validate.vector(values=mine)
    mine[0] = 9.0
    assert kept.tolist() == [1.0, 2.0]


def test_a_missing_value_of_a_nullable_data_frame_is_refused():
    frame = pd.DataFrame({"age": [1, None]}, dtype="Int64")  # NaN or dtype object, as pandas decides
    with pytest.raises(ValueError, match=r"^records must be (finite, got NaN in row 1|real numbers)"):
        validate.matrix(records=frame)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("0.1", "got '0.1'"),
        (-2, "got -2"),
        (None, "got None"),
        ("Anna", "got a text"),
        ("1" * 40, "got a text"),
        ([41.0, 70.25], "got a list"),
        ({"Anna": 1}, "got a dict"),
        (np.array([[41.0, 70.25]]), r"got a ndarray of shape \(1, 2\)"),
        (pd.DataFrame({"Anna": [1]}), r"got a DataFrame of shape \(1, 1\)"),
    ],
)
def test_a_setting_is_shown_where_it_is_one_number_and_by_its_kind_where_it_may_be_a_table(value, shown):
    with pytest.raises(ValueError, match=f"{shown}$"):
        validate.positive(epsilon=value)


def test_a_tensor_that_is_not_dense_is_refused_by_name():
    with pytest.raises(ValueError, match="records must be a dense tensor"):
        validate.matrix(records=torch.eye(2).to_sparse())


def test_names_of_fields_are_not_repeated():
    value = np.zeros(3, dtype=[("Anna Muster", "f8")])
    for refused in (lambda: validate.vector(x=value), lambda: validate.index(3, x=value)):
        with pytest.raises(ValueError, match="records with fields") as caught:
            refused()
        assert "Anna" not in str(caught.value)


@pytest.mark.parametrize("value", [0, "yes", None, [True], pd.DataFrame({"Anna": [True]})])
def test_a_flag_is_true_or_false_and_nothing_else(value):
    validate.flag(x=True, y=np.bool_(False))
    with pytest.raises(ValueError, match="^x must be True or False, got "):
        validate.flag(x=value)


@pytest.mark.parametrize("beside", [[0.5, 1.5], [True, False], [1, 2]])
def test_integers_of_a_data_frame_are_never_rounded_whatever_stands_beside_them(beside):
    frame = pd.DataFrame({"identity": [2**53 + 1, 1], "other": beside})
    with pytest.raises(
        ValueError,
        match=r"^records must be exact in float64, got an integer of 2\^53 or beyond in row 0, column 0",
    ):
        validate.matrix(records=frame)
    nullable = frame.astype({"identity": "Int64"})
    with pytest.raises(
        ValueError,
        match=r"^records must be exact in float64, got an integer of 2\^53 or beyond in row 0, column 0",
    ):
        validate.matrix(records=nullable)


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ([[1.0, 2.0], [3.0, None]], "row 1, column 1"),
        (np.array([[1, pd.NA]], dtype=object), "row 0, col"),
    ],
)
def test_none_among_numbers_is_a_missing_entry_with_its_place(value, where):
    with pytest.raises(ValueError, match=f"^records must be complete, got a missing entry in {where}"):
        validate.matrix(records=value)


@pytest.mark.parametrize(
    "value",
    [
        [1.0, None],
        [1.0, float("nan")],
        np.ma.array([1.0, 2.0], mask=[0, 1]),
        pd.Series([1.0, None]),
        pd.Series([1, None], dtype="Int64"),
        pd.DataFrame({"y": [1.0, None]}),
        pd.DataFrame({"y": [1, None]}, dtype=object),
        pl.Series([1.0, None]),
        pl.DataFrame({"y": [1.0, None]}),
        pa.array([1.0, None]),
        pa.table({"y": [1.0, None]}),
    ],
    ids=lambda value: type(value).__module__ + type(value).__name__,
)
def test_a_missing_outcome_never_gets_the_advice_to_fill_one_in(value):
    with pytest.raises(ValueError, match=r"^objective must ") as refused:
        validate.vector(objective=value, remedy=OUTCOME_REMEDY)
    assert "fill in" not in str(refused.value)
    assert "kept as objects" in str(refused.value) or "have their outcomes measured" in str(
        refused.value
    )


def test_one_column_is_told_how_to_become_a_vector():
    for value in (np.ones((3, 1)), torch.ones(3, 1), [[1.0], [2.0]]):
        with pytest.raises(
            ValueError, match=r"must have 1 dimension, got shape \(\d, 1\): take \[:, 0\]"
        ):
            validate.vector(objective=value)
    for frame in (pd.DataFrame, pl.DataFrame, pa.table):
        assert validate.vector(objective=frame({"y": [1.0, 2.0]})).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("column", "advice"),
    [
        (pd.Series([1, 2], dtype=object), "pandas.to_numeric"),
        (pd.Series(["1", "2"]), "pandas.to_numeric"),
        (pd.Series(["1", "2"], dtype="string"), "pandas.to_numeric"),
        (pd.Series([1, 2], dtype="category"), "pandas.to_numeric"),
        (pl.Series(["1", "2"]), r"\.cast\(polars.Float64\)"),
        (pa.array(["1", "2"]), r"\.cast\(.double.\)"),
    ],
)
def test_numbers_of_another_kind_are_told_how_to_become_numbers(column, advice):
    frame = pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame
    frame = pa.table if isinstance(column, pa.Array) else frame
    with pytest.raises(ValueError, match=f"become numbers by {advice}"):
        validate.matrix(records=frame({"a": column}))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": pd.to_datetime(["2024-01-01"])}),
        pd.DataFrame({"a": pd.to_timedelta([1])}),
        pl.DataFrame({"a": [date(2024, 1, 1)]}),
        pa.table({"a": [date(2024, 1, 1)]}),
    ],
)
def test_dates_are_not_told_to_become_counts(frame):
    with pytest.raises(ValueError, match="must hold numbers") as refused:
        validate.matrix(records=frame)
    assert "become numbers" not in str(refused.value)
