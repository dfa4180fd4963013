"""Declared columns of a .csv, .parquet or .xlsx file, as numbers or as texts, or a clear refusal.

Rows are counted as a spreadsheet shows them: the names stand in row 1, the first record in row 2.
Cell values are never echoed, and neither are the names that a file has: without a line of names they
would be a record.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.file_name import utf8_name
from botorch_private._base.foreign import or_refuse
from botorch_private._base.frames import MISSING_REMEDY
from botorch_private.curator.features.csv_shape import (
    FIRST_ROW,
    count_records,
    read_header,
    require_names,
)
from botorch_private.curator.features.dialect import PLAIN, Dialect
from botorch_private.curator.features.encoding import Encoding
from botorch_private.curator.features.identifiers import as_text, checked_identifiers
from botorch_private.curator.features.kinds import Number
from botorch_private.curator.features.lookalikes import refuse_lookalikes
from botorch_private.curator.features.workbook import sheet_columns, sheet_names

_NUMBERS = "iufb"
_VALUES = {"yes", "true", "false", "na", "n/a", "nan", "null", "none", "inf", "-inf"}
_DATE_OR_NUMBER = re.compile(r"\d{1,4}[-./:]\d{1,2}([-./:t ]|$)|[+-]?\d+(\.\d*)?e[+-]?\d+$")
_ROW_LABELS = re.compile(r"__index_level_\d+__")


def read_table(
    path: str | os.PathLike[str],
    columns: Sequence[str],
    *,
    remedy: str = MISSING_REMEDY,
    dialect: Dialect = PLAIN,
) -> Tensor:
    """Read the named columns of a table, in this order; other columns are ignored.

    Args:
        path: A .csv file (names in its first row), a .parquet file or a workbook (.xlsx). Yes/no
            columns (true and false) count as 1 and 0.
        columns: Names of the declared features.
        remedy: What to do about an empty cell.
        dialect: How it is written.

    Returns:
        ``n x d`` float64 tensor, ``n >= 1``, all finite. The digits of a .csv are read exactly.

    Raises:
        FileNotFoundError: If there is no such file.
        ImportError: If pandas, or pyarrow for .parquet, is not installed.
        ValueError: If the file is damaged, a column is missing or stands twice, or a cell is empty,
            not a number or infinite: the message names row and column.
    """
    path, wanted = Path(path), list(columns)
    frame = _numbers(path, wanted, dialect, remedy)
    try:
        return validate.matrix(records=frame[wanted])
    except ValueError as error:  # of our own
        raise ValueError(f"{path}: {error}") from None


def read_known(path: str | os.PathLike[str], column: str, *, dialect: Dialect = PLAIN) -> Tensor:
    """Read a column of numbers that may have empty cells, such as outcomes that are known already.

    Args:
        path: As in `read_table`.
        column: Its name.
        dialect: How the table is written.

    Returns:
        ``n`` float64 numbers; NaN where a cell is empty.

    Raises:
        FileNotFoundError: If there is no such file.
        ImportError: As in `read_table`.
        ValueError: As in `read_table`, but for empty cells.
    """
    path = Path(path)
    cells = _load(path, [column], dialect)[column]
    missing = cells.isna().to_numpy()
    _refuse_bad_cells(cells.where(~missing, 0).infer_objects(), column, path, dialect)
    numbers = np.full(len(cells), np.nan)
    numbers[~missing] = cells[~missing].to_numpy(dtype=np.float64)
    return torch.from_numpy(numbers)


def read_encoded(
    path: str | os.PathLike[str],
    encoding: Encoding,
    *,
    dialect: Dialect = PLAIN,
    filled: dict[str, np.ndarray] | None = None,
) -> Tensor:
    """Read the declared features of a table, as the numbers that ``encoding.scaling`` scales.

    Args:
        path: As in `read_table`. A category is compared letter by letter, so that "01" is not "1"; an
            empty cell is missing, and nothing else is; among numbers also what pandas takes for missing,
            such as NA. It is refused, unless the feature says what it counts as.
        encoding: The declared features.
        dialect: How the table is written.
        filled: Gets, for each feature that says what a missing value counts as, which of the ``n``
            records lack one. It depends on the records: for the curator's eyes only.

    Returns:
        ``n x d'`` float64 tensor; its columns are ``encoding.names``.

    Raises:
        FileNotFoundError: If there is no such file.
        ImportError: As in `read_table`.
        ValueError: As in `read_table`, or if a value is not one of the declared ones.
    """
    path = Path(path)
    numbers = [each.name for each in encoding.features if isinstance(each, Number)]
    texts = [each.name for each in encoding.features if not isinstance(each, Number)]
    may_lack = [each.name for each in encoding.features if each.missing is not None]
    frame = _numbers(path, numbers, dialect, filled=may_lack) if numbers else None
    if texts:
        words = _load(path, texts, dialect, texts=True)
        for name in texts:
            if name not in may_lack:
                _refuse_empty_cells(words[name], name, path)
        frame = words if frame is None else frame.join(words)
    if filled is not None and frame is not None:
        filled.update({name: frame[name].isna().to_numpy() for name in may_lack})
    return encoding.encode(frame, source=str(path), first_row=FIRST_ROW)


def read_names(path: str | os.PathLike[str], *, dialect: Dialect = PLAIN) -> list[str]:
    """Read the names of all columns of a table, and nothing else of it.

    They become public. So the rows are looked through for signs that the first one is a title or a
    record; what comes of it is a refusal or nothing.

    Raises:
        FileNotFoundError: If there is no such file.
        ImportError: If pyarrow is needed for .parquet and is not installed.
        ValueError: If the file is damaged, or a name has no letter, holds a separator, or stands twice:
            a first row without names would be a record. Columns without a name are left out.
    """
    path = _existing(Path(path), dialect)
    ending = path.suffix.lower()
    if ending == ".parquet":
        found = _parquet_header(path)
    else:
        found = sheet_names(path, dialect) if ending == ".xlsx" else read_header(path, dialect)
    names = [name for name in found if name.strip()]
    if not names:
        raise ValueError(f"{path} must have names in its first row, but it is empty")
    for position, name in enumerate(names, start=1):
        problem = _no_name(name) or ("stands twice" if names.count(name) > 1 else "")
        if problem:
            if ending == ".csv":
                refuse_lookalikes(path, dialect, one_name=len(names) < 2)
            raise ValueError(
                f"{path} must have names of columns in its first row, but number {position} {problem}"
            )
    return names


def _no_name(name: str) -> str:
    """Why a text is no name of a column: a first row without names would be a record."""
    text = name.strip().lower()
    if not any(letter.isalpha() for letter in text):
        return "has no letter"
    if any(mark in text for mark in ";\t\n|"):
        return "holds several cells"
    if text in _VALUES or _DATE_OR_NUMBER.match(text):
        return "is a value, not a name"
    return ""


def _numbers(
    path: Path,
    wanted: list[str],
    dialect: Dialect,
    remedy: str = MISSING_REMEDY,
    filled: Collection[str] = (),
) -> Any:
    """Columns of numbers; those of ``filled`` may have missing ones."""
    frame = _load(path, wanted, dialect)
    for name in wanted:
        if name not in filled:
            _refuse_empty_cells(frame[name], name, path, remedy)
        _refuse_bad_cells(frame[name], name, path, dialect)
    return frame


def read_texts(path: str | os.PathLike[str], column: str, *, dialect: Dialect = PLAIN) -> list[str]:
    """Read a column as texts, such as the names of records; what looks like a number keeps its zeros.

    Nothing but an empty cell is missing.

    Args:
        path: As in `read_table`.
        column: Its name.
        dialect: How the table is written.

    Raises:
        FileNotFoundError: If there is no such file.
        ImportError: As in `read_table`.
        ValueError: If the file is damaged, the column is missing or stands twice, or a cell is empty.
    """
    path = Path(path)
    cells = _load(path, [column], dialect, texts=True)[column]
    _refuse_empty_cells(cells, column, path, "give each record its own text there")
    texts = [as_text(cell) for cell in cells.tolist()]
    wrong = np.array([text is None for text in texts])
    if wrong.any():
        raise ValueError(
            f"{path} must hold texts or whole numbers, got something else {_place(wrong, column)}"
        )
    return [text for text in texts if text is not None]


def read_identifiers(
    path: str | os.PathLike[str], column: str, *, dialect: Dialect = PLAIN
) -> list[str]:
    """Read what staff call the records: `read_texts`, no two of which may look the same.

    Raises:
        FileNotFoundError: As in `read_texts`.
        ImportError: As in `read_texts`.
        ValueError: As in `read_texts`, or if one shows nothing or two look the same: the message names
            both rows, and none of the texts.
    """
    source = f"{path}: identifiers (column {column!r})"
    texts = read_texts(path, column, dialect=dialect)
    return checked_identifiers(texts, source=source, place="row", first=FIRST_ROW)


def _existing(path: Path, dialect: Dialect) -> Path:
    dialect.require_for(path)
    if not path.is_file():
        raise FileNotFoundError(f"path must be a table, but there is no file {path}")
    return path


def _load(path: Path, wanted: list[str], dialect: Dialect, *, texts: bool = False) -> Any:
    _existing(path, dialect)
    # Among texts nothing but an empty cell is missing: "NA" may be somebody's name.
    as_texts = {"dtype": str, "keep_default_na": False, "na_values": [""]} if texts else {}
    ending = path.suffix.lower()
    if ending == ".xlsx":
        frame = sheet_columns(path, wanted, dialect, texts=texts)
    elif ending == ".csv":
        frame = _read_csv(path, wanted, dialect, **as_texts)
    else:
        frame = _read_parquet(path, wanted)
    if len(frame) == 0:
        raise ValueError(f"{path} must hold at least one record, but it holds none")
    return frame


def _read_csv(path: Path, wanted: list[str], dialect: Dialect, **options: Any) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("tables need pandas: pip install 'botorch-private[frames]'") from error
    records = count_records(path, wanted, dialect)
    return or_refuse(
        lambda: pandas.read_csv(
            path,
            sep=dialect.separator,
            decimal=dialect.decimal,
            encoding=dialect.reading,
            usecols=wanted,
            index_col=False,
            nrows=records,
            skip_blank_lines=False,  # so that rows are counted as a spreadsheet does
            low_memory=False,
            **options,
            **_exact_digits(pandas.__version__),
        ),
        lambda: ValueError(f"{path} must be a table of text, but it cannot be read"),
    )


def _exact_digits(version: str) -> dict[str, Any]:
    """Option that has every digit count: from pandas 3.1 on it is the default, and deprecated."""
    major, minor = (int(part) for part in version.split(".")[:2])
    return {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}


def _read_parquet(path: Path, wanted: list[str]) -> Any:
    require_names(_parquet_names(path), wanted, path)
    from pyarrow import parquet

    with utf8_name(path) as name:
        table = or_refuse(lambda: parquet.read_table(name, columns=wanted), lambda: _damaged(path))
    # Without what pandas noted in the file: labels of rows, which may be repeated or hide a column.
    return or_refuse(
        lambda: _as_frame(table),
        lambda: ValueError(
            f"{path} must hold numbers, texts and yes/no in its declared columns, but one holds what "
            f"pandas cannot: {', '.join(map(repr, wanted))}"
        ),
    )


def _as_frame(table: Any) -> Any:
    """A table of pyarrow in pandas; integers beside missing ones stay exact."""
    import pandas

    frame = table.to_pandas(ignore_metadata=True)
    exact = {"int64": "Int64", "uint64": "UInt64"}
    for name in table.column_names:
        kind = exact.get(str(table.column(name).type))
        if kind is not None and table.column(name).null_count:
            frame[name] = pandas.array(table.column(name).to_pylist(), dtype=kind)
    return frame


def _parquet_names(path: Path) -> list[str]:
    try:
        import pandas  # noqa: F401 (said here, before any work)
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            ".parquet tables need pandas and pyarrow: pip install 'botorch-private[parquet]', or save "
            "the table as .csv"
        ) from error
    with utf8_name(path) as name:
        return or_refuse(lambda: parquet.read_schema(name).names, lambda: _damaged(path))


def _parquet_header(path: Path) -> list[str]:
    """Names for people: without row labels of pandas, and refused where one is a text of its column."""
    names = [name for name in _parquet_names(path) if not _ROW_LABELS.fullmatch(name)]
    with utf8_name(path) as file:
        for name in names:
            if names.count(name) == 1 and _holds_its_name(file, name, path):
                raise ValueError(
                    f"{path} must have names of columns, but one is a value of its own column: "
                    f"if they are a record, read the table without a row of names (header=None)"
                )
    return names


def _holds_its_name(file: str, name: str, path: Path) -> bool:
    from pyarrow import parquet

    def found() -> bool:
        column = parquet.read_table(file, columns=[name]).column(0)
        texts = str(column.type).startswith(("string", "large_string", "dictionary"))
        return texts and bool((column.to_pandas().astype(str) == name).any())

    return or_refuse(found, lambda: _damaged(path))


def _damaged(path: Path) -> ValueError:
    return ValueError(f"{path} must be a whole .parquet file, but it is damaged or something else")


def _refuse_bad_cells(cells: Any, name: str, path: Path, dialect: Dialect) -> None:
    """Refuse the first cell of a column that is a word, or infinite; a missing one is neither."""
    missing = cells.isna().to_numpy()
    if missing.all():
        return
    if getattr(cells.dtype, "kind", "O") not in _NUMBERS:
        problem = f"{path} must hold numbers, got something else "
        where = or_refuse(  # bytes that are no text are read as neither
            lambda: _words(cells, name, missing, dialect),
            lambda: ValueError(f"{problem}in column {name!r}"),
        )
        raise ValueError(problem + where)
    infinite = np.isinf(cells.to_numpy(dtype=np.float64, na_value=np.nan))
    if infinite.any():
        raise ValueError(
            f"{path} must hold finite numbers, got an infinite one {_place(infinite, name)}"
        )


def _words(cells: Any, name: str, missing: np.ndarray, dialect: Dialect) -> str:
    """Where a column holds no numbers, and maybe why."""
    import pandas

    # As texts: a date or a duration would turn into a count of nanoseconds, and pandas refuses a list.
    numbers: Any = pandas.to_numeric(cells.astype(str), errors="coerce")
    words = numbers.isna().to_numpy() & ~missing
    if not words.any():
        words = ~missing  # numbers of a kind that float64 does not hold
    return f"{_place(words, name)}{_marks(cells[words], dialect)}"


def _marks(words: Any, dialect: Dialect) -> str:
    """What to do where the only thing wrong with numbers is how they are written."""
    import pandas

    plain = words.astype(str).str.replace(r"[,\s%\u2019']", "", regex=True)
    if dialect.decimal == ",":
        plain = plain.str.replace(".", "", regex=False)
    numbers: Any = pandas.to_numeric(plain, errors="coerce")
    if numbers.isna().any():
        return ""
    if dialect.decimal == ",":
        return "; they look like numbers with points, blanks or signs: no mark but --decimal is read"
    return (
        "; they look like numbers with commas, blanks or signs: numbers have a decimal point and no "
        "other marks (say --decimal ',' if theirs is a comma; pandas.read_csv reads thousands=',')"
    )


def _refuse_empty_cells(cells: Any, name: str, path: Path, remedy: str = MISSING_REMEDY) -> None:
    missing = cells.isna().to_numpy()
    if missing.any():
        raise ValueError(f"{path} must have no empty cells, got one {_place(missing, name)}; {remedy}")


def _place(bad: np.ndarray, name: str) -> str:
    others = int(bad.sum()) - 1
    more = f" (and {others} more in this column)" if others else ""
    return (
        f"in row {int(np.flatnonzero(bad)[0]) + FIRST_ROW}, column {name!r}{more}; rows are counted as "
        f"in a spreadsheet, with the names in row 1"
    )
