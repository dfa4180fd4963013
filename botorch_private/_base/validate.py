"""Checks at the door: every refusal names the argument, what is required, and what was found.

The functions take the argument by its name (``positive(epsilon=epsilon)``), so that a message and a
signature cannot drift apart. Values of records are never echoed; rows and columns are.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor

from botorch_private._base.foreign import or_refuse
from botorch_private._base.frames import (
    EXACT_IN_FLOAT64,
    MISSING_REMEDY,
    numeric_frame,
    refuse_inexact,
    too_large,
)
from botorch_private._base.frames import (
    column_names as names_of_columns,
)
from botorch_private._base.settings import (
    count,
    finite,
    flag,
    is_integer,
    non_negative,
    number,
    one_of,
    positive,
    probability,
    probability_or_zero,
    shown,
)

__all__ = [
    "count",
    "finite",
    "flag",
    "generator",
    "index",
    "matrix",
    "non_negative",
    "number",
    "one_of",
    "points",
    "positive",
    "probability",
    "probability_or_zero",
    "shown",
    "vector",
]


def generator(**values: Any) -> None:
    """Refuse each named value that is neither None nor a `torch.Generator`."""
    for name, value in values.items():
        if value is not None and not isinstance(value, torch.Generator):
            raise TypeError(f"{name} must be a torch.Generator or None, got {type(value).__name__}")


def index(n: int, **values: Any) -> int:
    """Return the one named value as an ``int`` in 0..n-1, or refuse it.

    Booleans and floats are refused: ``True`` is not row 1, and a float index is not exact.
    """
    ((name, value),) = values.items()
    if isinstance(value, (Tensor, np.ndarray)):
        array = np.asarray(value.detach().cpu()) if isinstance(value, Tensor) else value
        if array.size != 1 or not np.issubdtype(array.dtype, np.integer):
            raise ValueError(
                f"{name} must be one integer row index, got an array of shape {array.shape} "
                f"and {_dtype(array)}"
            )
        value = int(array.reshape(-1)[0])
    if not is_integer(value):  # which may be a cell of a table that was taken for rows
        raise ValueError(f"{name} must be an integer row index, got a {type(value).__name__}")
    if not 0 <= value < n:
        raise ValueError(f"{name} must be a row index in 0..{n - 1}, got {int(value)}")
    return int(value)


def matrix(
    *,
    columns: int | None = None,
    minimum_rows: int = 1,
    column_names: Sequence[str] | None = None,
    **values: Any,
) -> Tensor:
    """Return the one named table as a finite float64 tensor on the CPU, or refuse it.

    A float64 table is not copied: who keeps it must. Integers and shorter floats are widened, which
    is exact; yes/no values become 0 and 1; integers beyond 2^53 are refused, since float64 would round
    them. Where names of columns were declared, a message about one says its name.
    """
    ((name, value),) = values.items()
    return _finite_table(
        name, _to_float64(name, value, column_names), columns, minimum_rows, column_names
    )


def points(**values: Any) -> Tensor:
    """Return the one named tensor, as it is, if it is ``n x d``, floating-point and finite."""
    ((name, value),) = values.items()
    if not isinstance(value, Tensor) or not value.is_floating_point():
        kind = value.dtype if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(f"{name} must be an n x d floating-point tensor, got {kind}")
    return _finite_table(name, value, None, 1, remedy="leave such points out")


def _finite_table(
    name: str,
    table: Tensor,
    columns: int | None,
    minimum_rows: int,
    column_names: Sequence[str] | None = None,
    remedy: str = MISSING_REMEDY,
) -> Tensor:
    if table.ndim != 2:
        raise ValueError(f"{name} must have 2 dimensions (rows, columns), got shape {_shape(table)}")
    if columns is not None and table.shape[1] != columns:
        raise ValueError(f"{name} must have {columns} columns, got {table.shape[1]}")
    if table.shape[0] < minimum_rows:
        raise ValueError(f"{name} must have at least {minimum_rows} rows, got {table.shape[0]}")
    if table.shape[1] < 1:
        raise ValueError(f"{name} must have at least 1 column, got 0")
    if torch.isfinite(table.sum()):  # a missing or infinite value would spread to the sum
        return table
    bad = ~torch.isfinite(table)
    if bad.any():
        row, column = (int(i) for i in bad.nonzero()[0])
        called = f" ({column_names[column]})" if column_names else ""
        raise ValueError(
            f"{name} must be finite, got {_kind(table[row, column])} in row {row}, column {column}"
            f"{called}{_more(int(bad.sum()) - 1, 'entries')}; {remedy}"
        )
    return table


def vector(*, length: int | None = None, remedy: str = "", **values: Any) -> Tensor:
    """Return a copy of the one named vector as a finite float64 tensor on the CPU, or refuse it.

    A data frame of one column is one. ``remedy`` says what to do about a missing entry.
    """
    ((name, value),) = values.items()
    numbers = _to_float64(name, value, remedy=remedy or "give every entry")
    if numbers.ndim == 2 and numbers.shape[1] == 1 and names_of_columns(value) is not None:
        numbers = numbers[:, 0]  # a data frame of one column
    if numbers.ndim != 1:
        column = ": take [:, 0] of it" if numbers.ndim == 2 and numbers.shape[1] == 1 else ""
        raise ValueError(f"{name} must have 1 dimension, got shape {_shape(numbers)}{column}")
    if length is not None and numbers.shape[0] != length:
        raise ValueError(f"{name} must have {length} entries, got {numbers.shape[0]}")
    # A missing or infinite value would spread to the sum.
    bad = None if torch.isfinite(numbers.sum()) else ~torch.isfinite(numbers)
    if bad is not None and bad.any():
        first = int(bad.nonzero()[0])
        raise ValueError(
            f"{name} must be finite, got {_kind(numbers[first])} at position {first}"
            f"{_more(int(bad.sum()) - 1, 'positions')}" + (remedy and f"; {remedy}")
        )
    return numbers.clone()


def _to_float64(
    name: str, value: Any, declared: Sequence[str] | None = None, remedy: str = MISSING_REMEDY
) -> Tensor:
    if isinstance(value, Tensor):
        if value.is_nested or value.layout != torch.strided:
            raise ValueError(f"{name} must be a dense tensor, got a sparse or nested one: to_dense()")
        if value.is_complex():
            raise ValueError(f"{name} must be real numbers, got dtype {value.dtype}")
        widened = value.detach().to(device="cpu", dtype=torch.float64)
        if not value.is_floating_point():
            inexact = widened.abs() >= EXACT_IN_FLOAT64
            refuse_inexact(name, inexact.numpy(), declared=declared)
        return widened
    if np.ma.is_masked(value):
        raise ValueError(f"{name} must be complete, got masked entries; {remedy}")
    value = numeric_frame(name, value, declared, remedy)
    array = or_refuse(
        lambda: np.asarray(value), lambda: ValueError(f"{name} must be numbers in rows of equal length")
    )
    if array.dtype.kind not in "iufb" or array.dtype.itemsize > 8:
        found = _dtype(array)
        if array.dtype.kind == "O" and array.ndim:
            _refuse_none(name, array, remedy)
            found += ": numbers that are kept so become numbers by numpy.asarray(VALUE, dtype=float)"
        raise ValueError(f"{name} must be real numbers that fit float64, got {found}")
    if array.dtype.kind in "iu":
        refuse_inexact(name, too_large(array), declared=declared)
    elif array.dtype.kind == "f" and isinstance(value, (list, tuple)) and too_large(array).any():
        # Among floats, NumPy has rounded the integers of a list already.
        refuse_inexact(name, _rounded_integers(value, array), declared=declared)
    return torch.from_numpy(np.require(array, dtype=np.float64, requirements=["C", "W"]))


def _refuse_none(name: str, array: np.ndarray, remedy: str) -> None:
    """Refuse None, and the missing value of pandas, among objects."""
    missing = [i for i, each in enumerate(array.flat) if each is None or type(each).__name__ == "NAType"]
    if missing:
        place = [int(i) for i in np.unravel_index(missing[0], array.shape)]
        where = f"row {place[0]}, column {place[1]}" if len(place) == 2 else f"position {place[0]}"
        raise ValueError(f"{name} must be complete, got a missing entry in {where}; {remedy}")


def _rounded_integers(value: Any, array: np.ndarray) -> np.ndarray:
    """Which entries of a nested list are integers that its float array does not hold exactly."""
    kept = np.asarray(value, dtype=object)
    if kept.shape != array.shape:
        return np.zeros(array.shape, dtype=bool)
    whole = [isinstance(each, Integral) and abs(int(each)) >= EXACT_IN_FLOAT64 for each in kept.flat]
    return np.array(whole, dtype=bool).reshape(array.shape)


def _kind(number: Tensor) -> str:
    return "NaN" if torch.isnan(number) else "an infinity"


def _shape(table: Tensor) -> tuple[int, ...]:
    return tuple(table.shape)


def _more(others: int, what: str) -> str:
    return f" (and {others} more {what})" if others else ""


def _dtype(array: np.ndarray) -> str:
    """What an array holds: the dtype of texts says how long one is, that of records has names."""
    if array.dtype.names is not None:
        return "records with fields"
    return "texts" if array.dtype.kind in "US" else f"dtype {array.dtype}"
