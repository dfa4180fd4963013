"""Data frames of pandas, polars and pyarrow as float64, exactly, or a refusal that says where.

What a refusal says: what was wanted, and positions. It never says what was found: in a file that was
read without its line of names, the names of columns are a record. A name is said where it was declared.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

from botorch_private._base.foreign import or_refuse

EXACT_IN_FLOAT64 = 2**53
MISSING_REMEDY = (
    "drop such records before they are released, or fill in a value that does not come from other "
    "records (no mean or neighbour of the table: that would leak them)"
)
OUTCOME_REMEDY = (
    "leave such records out, or have their outcomes measured, by a function or by staff: none may be "
    "filled in"
)
_ENCODE = "encode words as numbers first, or declare the column as a boolean or a category (Encoding)"
NEAR_MISS = "differs only by spaces, capitals or how accents are stored"
# Not of dates: they would become counts of nanoseconds.
_DATES = ("date", "time", "duration", "period", "interval")
_TO_NUMBERS = {"polars": ".cast(polars.Float64)", "pyarrow": '.cast("double")'}


def column_names(value: Any) -> list[Any] | None:
    """Names of the columns of a data frame; None where the value is not one."""
    library = _library(value)
    if library == "pyarrow":
        names = getattr(value, "column_names", None)
        return None if names is None else list(names)
    if library == "polars" or hasattr(value, "dtypes"):
        names = getattr(value, "columns", None)
        return None if names is None else list(names)
    return None


def require_columns(name: str, value: Any, wanted: Sequence[str] | None) -> None:
    """Refuse a data frame whose columns are not the declared ones, in the declared order.

    Columns that pandas numbered 0, 1, ..., d-1 by itself have no names, and are taken in their order.

    Raises:
        ValueError: If they are others, or if none were declared and all of them are numerals: such a
            line of names was a record.
    """
    no_query(name, value)
    found = column_names(value)
    if not found or _unnamed(found):
        return
    if wanted is None:
        if all(_is_numeral(each) for each in found):
            raise ValueError(
                f"{name} must have names of columns, or no names: here they are all numerals, as where "
                f"a file without a line of names was read (header=None); if they are names, declare them"
            )
        return
    names = list(wanted)
    if found == names:
        return
    if len(found) != len(names):
        problem = f"it has {len(found)} columns"
    elif set(found) == set(names):
        problem = f"they are in another order: take {name}[{names}]"
    else:
        place = next(i for i, (one, other) in enumerate(zip(found, names, strict=True)) if one != other)
        near = alike(found[place]) == alike(names[place])
        differs = NEAR_MISS if near else "is another"
        problem = f"the name of column {place} {differs}"
    raise ValueError(f"{name} must have the columns {names}, in this order, but {problem}")


def require_labels(name: str, value: Any, wanted: Any, of: str) -> None:
    """Refuse a pandas Series or frame whose row labels are not those of another one, in their order.

    Rows are taken by position. Where both have labels, the same position must be the same label.

    Args:
        name: Of the value in messages.
        value: Anything; what has no labels passes.
        wanted: What its labels are compared with, likewise.
        of: What to call that in messages.
    """
    here, there = row_labels(value), row_labels(wanted)
    if here is None or there is None or here.equals(there):
        return
    raise ValueError(
        f"{name} must have the row labels of {of}, in the same order, since rows are taken by position: "
        f"align them by .loc[{of}.index], or drop the labels by .to_numpy() if the order is right"
    )


def row_labels(value: Any) -> Any:
    """The index of a Series or frame of pandas, or of a kind made from them; None for anything else."""
    return value.index if hasattr(value, "iloc") and hasattr(value.index, "equals") else None


def numeric_frame(
    name: str,
    value: Any,
    declared: Sequence[str] | None = None,
    remedy: str = MISSING_REMEDY,
    *,
    missing_value: float | None = None,
) -> Any:
    """Turn a data frame into float64, exactly; anything else stays what it is.

    Yes/no columns become 0 and 1.

    Args:
        name: Of the value in messages.
        value: Anything.
        declared: Names that messages may say of its columns; None: positions alone.
        remedy: What to do about a missing value.
        missing_value: Declared number that a missing value counts as; None: it is refused.

    Raises:
        ValueError: If a column holds no numbers, a value is missing, or float64 would round it.
    """
    no_query(name, value)
    names = column_names(value)
    if names is None:
        return value
    read = _numbers if missing_value is None else _numbers_or_missing
    columns = [read(value, i) for i in range(len(names))]
    wrong = [i for i, column in enumerate(columns) if column is None]
    if wrong:
        called = [_called(i, declared) for i in wrong]
        kinds = [str(getattr(each, "dtype", getattr(each, "type", ""))) for each in _raw(value, wrong)]
        advice = _ENCODE
        if not all(kind.lower().startswith(_DATES) for kind in kinds):
            how = _TO_NUMBERS.get(_library(value), "pandas.to_numeric")
            advice += f"; numbers that are kept as objects or texts become numbers by {how}"
        raise ValueError(f"{name} must hold numbers, but column {', '.join(called)} does not: {advice}")
    table = np.zeros((len(value), len(columns)))
    missing = np.zeros(table.shape, dtype=bool)
    for i, (numbers, absent) in enumerate(filter(None, columns)):
        missing[:, i] = absent
        table[:, i] = np.where(absent, np.nan, numbers)
        # Column by column: beside a column of floats, integers would be rounded without a word.
        if numbers.dtype.kind in "iu":
            refuse_inexact(name, too_large(numbers) & ~absent, column=i, declared=declared)
    missing |= np.isnan(table)
    if missing_value is not None:
        return np.where(missing, missing_value, table)
    _refuse_missing(name, missing, declared, remedy)
    return table


def cells(value: Any, name: str) -> tuple[list[Any], np.ndarray]:
    """One column of a data frame as Python objects, and which of them are missing: NaN as well."""
    library = _library(value)
    column = value.column(name) if library == "pyarrow" else value[name]
    missing = column.isna() if hasattr(column, "isna") else column.is_null()
    found = or_refuse(
        lambda: column.to_pylist() if library == "pyarrow" else column.to_list(),
        lambda: ValueError(
            f"column {name!r} must hold texts, numbers or yes/no, but holds what Python has no value for"
        ),
    )
    nan = [isinstance(each, float) and each != each for each in found]
    return found, np.asarray(missing, dtype=bool) | np.array(nan, dtype=bool)


def miscounted(found: Sequence[Any], wanted: str) -> str:
    """Say that a wanted column is not there exactly once, and where one is spelled alike; else empty."""
    if found.count(wanted) == 1:
        return ""
    if wanted in found:
        return "it has several"
    places = [str(i) for i, each in enumerate(found) if alike(each) == alike(wanted)]
    near = f"; the name of column {', '.join(places)} {NEAR_MISS}" if places else ""
    return f"it has none{near}"


def no_query(name: str, value: Any) -> None:
    """Refuse a polars query that has not been run."""
    if _library(value) == "polars" and type(value).__name__ == "LazyFrame":
        raise ValueError(f"{name} must be a table, got a query of polars: run it by .collect()")


def refuse_inexact(
    name: str, inexact: np.ndarray, *, column: int | None = None, declared: Sequence[str] | None = None
) -> None:
    """Refuse integers that float64 would round; says where the first one is.

    Args:
        name: Of the table or vector.
        inexact: Which entries float64 would round; of one column where ``column`` is given.
        column: Which column they are of.
        declared: Names that the message may say.
    """
    if not inexact.any():
        return
    place = np.argwhere(inexact)[0]
    if column is None and len(place) > 1:
        column = int(place[1])
    where = f"row {place[0]}" if len(place) else "it"
    where += "" if column is None else f", column {_called(column, declared)}"
    raise ValueError(f"{name} must be exact in float64, got an integer of 2^53 or beyond in {where}")


def too_large(integers: np.ndarray) -> np.ndarray:
    """Which integers are of 2^53 or beyond, on either side."""
    return (integers >= EXACT_IN_FLOAT64) | (integers <= -EXACT_IN_FLOAT64)


def _numbers(frame: Any, position: int) -> tuple[np.ndarray, np.ndarray] | None:
    """As `_column`; None as well where the library itself cannot say numbers of such a column."""
    try:
        return or_refuse(lambda: _column(frame, position), _NoNumbers)
    except _NoNumbers:
        return None


def _numbers_or_missing(frame: Any, position: int) -> tuple[np.ndarray, np.ndarray] | None:
    """As `_numbers`, also of columns whose kind comes from their missing values alone."""
    (raw,) = _raw(frame, [position])
    missing = np.asarray(raw.isna() if hasattr(raw, "isna") else raw.is_null(), dtype=bool)
    if missing.all():
        return np.zeros(len(missing)), missing
    if _library(frame) != "pandas" or getattr(raw.dtype, "kind", "") != "O":
        return _numbers(frame, position)
    # pandas keeps numbers beside None or its own missing value as objects.
    told = _numbers(raw[~missing].infer_objects().to_frame(), 0)
    if told is None:
        return None
    numbers = np.zeros(len(missing), dtype=told[0].dtype)
    numbers[~missing] = told[0]
    return numbers, missing


class _NoNumbers(Exception):
    pass


def _column(frame: Any, position: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Numbers of a column, and which are missing; None where it does not hold numbers for float64."""
    (raw,) = _raw(frame, [position])
    library = _library(frame)
    if library == "pyarrow":
        kind = raw.type
        text = str(kind)
        if text != "bool" and not text.startswith(("int", "uint", "float", "double", "halffloat")):
            return None
        missing = np.asarray(raw.is_null(), dtype=bool)
        filled = raw.fill_null(False if text == "bool" else 0) if missing.any() else raw
        return np.asarray(filled), missing
    if library == "polars":
        kind = raw.dtype
        boolean = str(kind) == "Boolean"
        if not boolean and (not kind.is_numeric() or kind.is_decimal() or "128" in str(kind)):
            return None  # decimals and 128-bit integers do not fit float64
        missing = np.asarray(raw.is_null(), dtype=bool)
        return np.asarray(raw.fill_null(False if boolean else 0).to_numpy()), missing
    kind = raw.dtype
    if getattr(kind, "kind", "O") not in "iufb" or getattr(kind, "itemsize", 8) > 8:
        return None
    missing = np.asarray(raw.isna(), dtype=bool)
    if isinstance(kind, np.dtype):
        return np.asarray(raw), missing
    whole = raw.fillna(False if kind.kind == "b" else 0)  # nullable: integers stay exact
    return whole.to_numpy(dtype=bool if kind.kind == "b" else kind.numpy_dtype), missing


def _raw(frame: Any, positions: Sequence[int]) -> list[Any]:
    library = _library(frame)
    if library == "pyarrow":
        return [frame.column(i) for i in positions]
    if library == "polars":
        return [frame.to_series(i) for i in positions]
    return [frame.iloc[:, i] for i in positions]


def _library(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def _unnamed(found: Sequence[Any]) -> bool:
    numbered = all(isinstance(each, (int, np.integer)) and not isinstance(each, bool) for each in found)
    return numbered and list(found) == list(range(len(found)))


def _is_numeral(label: Any) -> bool:
    try:
        float(label)
    except (TypeError, ValueError):
        return False
    return True


def alike(label: Any) -> str:
    """What is compared to find near misses: without spaces, capitals and ways to store accents."""
    return "".join(unicodedata.normalize("NFKC", str(label)).split()).casefold()


def _called(column: int, declared: Sequence[str] | None) -> str:
    return f"{column} ({declared[column]})" if declared and column < len(declared) else str(column)


def _refuse_missing(name: str, missing: np.ndarray, declared: Sequence[str] | None, remedy: str) -> None:
    places = np.argwhere(missing)
    if len(places):
        row, column = (int(each) for each in places[0])
        others = len(places) - 1
        more = f" (and {others} more entries)" if others else ""
        raise ValueError(
            f"{name} must be finite, got NaN in row {row}, column {_called(column, declared)}{more}; "
            f"{remedy}"
        )
