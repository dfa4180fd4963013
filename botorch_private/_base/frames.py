"""Data frames of pandas and polars as float64, exactly, or a refusal that names the column."""

from __future__ import annotations

from typing import Any

import numpy as np

EXACT_IN_FLOAT64 = 2**53
MISSING_REMEDY = (
    "drop such records before they are released, or fill in a value that does not come from other "
    "records (no mean or neighbour of the table: that would leak them)"
)
_ENCODE = "encode words as numbers first, or declare the column as a boolean or a category (Encoding)"


def numeric_frame(name: str, value: Any) -> Any:
    """Turn a data frame into float64, exactly; anything else stays what it is.

    Raises:
        ValueError: If a column holds no numbers, a value is missing, or float64 would round it.
    """
    no_query(name, value)
    if not hasattr(value, "dtypes") or not hasattr(value, "columns"):
        return value
    return _polars(name, value) if _from_polars(value) else _pandas(name, value)


def no_query(name: str, value: Any) -> None:
    """Refuse a polars query that has not been run."""
    if _from_polars(value) and type(value).__name__ == "LazyFrame":
        raise ValueError(f"{name} must be a table, got a query of polars: run it by .collect()")


def refuse_inexact(name: str, inexact: bool) -> None:
    """Refuse integers that float64 would round."""
    if inexact:
        raise ValueError(f"{name} must be exact in float64, got integers of 2^53 or beyond")


def _pandas(name: str, frame: Any) -> np.ndarray:
    kinds = [getattr(kind, "kind", "O") for kind in frame.dtypes]
    wide = [getattr(kind, "itemsize", 8) > 8 for kind in frame.dtypes]
    _refuse_words(
        name,
        [
            str(column)
            for column, kind, too_wide in zip(frame.columns, kinds, wide, strict=True)
            if kind not in "iufb" or too_wide
        ],
    )
    _refuse_missing(name, np.asarray(frame.isna()), frame.columns)
    widened = np.asarray(frame, dtype=np.float64)
    # Column by column: beside a column of floats, integers would be rounded without a word.
    whole = widened[:, [kind in "iu" for kind in kinds]]
    refuse_inexact(name, bool((np.abs(whole) >= EXACT_IN_FLOAT64).any()))
    return widened


def _polars(name: str, frame: Any) -> np.ndarray:
    # A boolean is no number to polars. Decimals and 128-bit integers do not fit float64.
    numbers = [
        kind.is_numeric() and not kind.is_decimal() and "128" not in str(kind) for kind in frame.dtypes
    ]
    _refuse_words(
        name,
        [column for column, number in zip(frame.columns, numbers, strict=True) if not number],
    )
    columns = frame.get_columns()
    missing = [np.asarray(column.is_null() | column.is_nan(), dtype=bool) for column in columns]
    _refuse_missing(name, _beside(missing, len(frame)), frame.columns)
    for column in columns:
        if column.dtype.is_integer():
            numbers_of = column.to_numpy().astype(np.float64)
            refuse_inexact(name, bool((np.abs(numbers_of) >= EXACT_IN_FLOAT64).any()))
    return _beside([column.to_numpy().astype(np.float64) for column in columns], len(frame))


def _beside(columns: list[np.ndarray], rows: int) -> np.ndarray:
    return np.ascontiguousarray(np.stack(columns, axis=1)) if columns else np.zeros((rows, 0))


def _from_polars(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "polars"


def _refuse_words(name: str, wrong: list[str]) -> None:
    if wrong:
        raise ValueError(f"{name} must hold numbers, but columns {wrong} do not: {_ENCODE}")


def _refuse_missing(name: str, missing: np.ndarray, columns: Any) -> None:
    places = np.argwhere(missing)
    if len(places):
        row, column = places[0]
        others = len(places) - 1
        more = f" (and {others} more entries)" if others else ""
        raise ValueError(
            f"{name} must be finite, got NaN in row {row}, column {column} ({columns[int(column)]})"
            f"{more}; {MISSING_REMEDY}"
        )
