"""Columns of a sheet of an Excel workbook (.xlsx), or a clear refusal.

What a cell holds is taken, not what it shows: 0.05 where it shows 5 %. A formula is its stored value.
What would be read otherwise than people see it is refused: merged cells, hidden rows, errors, a formula
that was never computed, a number that is stored as text. Rows are counted as Excel does, and no cell is
repeated in a message.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from botorch_private._base.foreign import or_refuse
from botorch_private.curator.features.csv_shape import (
    FIRST_ROW,
    refuse_other_than_names,
    require_names,
)
from botorch_private.curator.features.dialect import Dialect
from botorch_private.curator.features.identifiers import as_text

_FIRST_ROWS = 50


def sheet_names(path: Path, dialect: Dialect) -> list[str]:
    """Names in the first row of a sheet.

    Raises:
        ImportError: If pandas or openpyxl is not installed.
        ValueError: If it is no workbook, or its first row is none of names.
    """
    sheet = open_sheet(path, dialect)
    rows = _texts(sheet)
    names = _cut(next(rows, []))
    if not any(names):
        raise ValueError(f"{path} must have names in its first row, but it is empty")
    refuse_other_than_names(names, (row[: len(names)] for row in rows), path, dialect)
    return names


def sheet_columns(path: Path, wanted: Sequence[str], dialect: Dialect, *, texts: bool) -> Any:
    """A data frame of pandas with the wanted columns of a sheet; empty cells are missing.

    Args:
        path: The workbook.
        wanted: Names of columns.
        dialect: Which sheet.
        texts: Whether cells stay what they are; else the columns are to hold numbers.

    Raises:
        ImportError: If pandas or openpyxl is not installed.
        ValueError: If a column is missing or stands twice, or a cell would be read otherwise than it is
            seen: the message names the row.
    """
    import pandas

    sheet = open_sheet(path, dialect)
    names = _cut(next(_texts(sheet), []))
    if not all(name in names for name in wanted):
        for row, cells in enumerate(islice(_texts(sheet), 1, _FIRST_ROWS), start=FIRST_ROW):
            if all(name in cells for name in wanted):
                raise ValueError(
                    f"{path} must have names in its first row, but the declared ones stand in row "
                    f"{row}: delete what stands above"
                )
    require_names(names, wanted, path, dialect)
    places = [names.index(name) for name in wanted]
    rows = list(sheet.iter_rows(min_row=FIRST_ROW))
    while rows and all(_value(cell) is None for cell in rows[-1]):
        rows.pop()
    for row, cells in enumerate(rows, start=FIRST_ROW):
        if all(_value(cell) is None for cell in cells):
            raise ValueError(f"{path} must have no empty rows among its records, got one in row {row}")
    _refuse_unseen(sheet, places, FIRST_ROW + len(rows), path)
    found = {
        name: [
            _checked(cells, place, row, name, path, texts) for row, cells in enumerate(rows, FIRST_ROW)
        ]
        for name, place in zip(wanted, places, strict=True)
    }
    _refuse_uncomputed(path, dialect, found, dict(zip(wanted, places, strict=True)))
    return pandas.DataFrame(
        {name: pandas.Series(cells, dtype=object).infer_objects() for name, cells in found.items()}
    )


def open_sheet(
    path: Path | BinaryIO, dialect: Dialect, *, formulas: bool = False, called: str = ""
) -> Any:
    """A sheet of openpyxl.

    Args:
        path: The workbook.
        dialect: Which sheet.
        formulas: Whether cells are formulas as they are written, instead of their stored values.
        called: What the workbook is called in messages; empty: its path.

    Raises:
        ImportError: If pandas or openpyxl is not installed.
        ValueError: If it is no workbook, or has no such sheet.
    """
    shown = called or path
    try:
        import pandas  # noqa: F401 (said here, before any work)
        from openpyxl import load_workbook
    except ImportError as error:
        raise ImportError(
            ".xlsx tables need pandas and openpyxl: pip install 'botorch-private[excel]', or save the "
            "table as .csv"
        ) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and the like; they may quote a cell
        book = or_refuse(
            lambda: load_workbook(path, data_only=not formulas),
            lambda: ValueError(
                f"{shown} must be a whole workbook (.xlsx), but it is damaged, locked by a password, or "
                f"something else"
            ),
        )
    if dialect.sheet is not None:
        named = [each for each in book.worksheets if each.title == dialect.sheet]
        if not named:
            raise ValueError(f"sheet must be one of {shown}, but it has none of that name")
        return named[0]
    seen = [each for each in book.worksheets if each.sheet_state == "visible"]
    if len(seen) != 1:
        raise ValueError(
            f"sheet must be named for {shown}, which has {len(seen)} visible ones: say --sheet NAME"
        )
    return seen[0]


def _texts(sheet: Any) -> Iterator[list[str]]:
    """Rows as texts; what is no text and no whole number is none."""
    for cells in sheet.iter_rows(values_only=True):
        yield ["" if cell is None else as_text(cell) or "" for cell in cells]


def _cut(names: list[str]) -> list[str]:
    """Names without the empty ones at the end."""
    while names and not names[-1].strip():
        names = names[:-1]
    return names


def _value(cell: Any) -> Any:
    return None if cell.value == "" else cell.value


def _checked(cells: Sequence[Any], place: int, row: int, name: str, path: Path, texts: bool) -> Any:
    cell = cells[place]
    value = _value(cell)
    where = f"row {row}, column {name!r}"
    if cell.data_type == "e":
        raise ValueError(f"{path} must hold values, got an error of Excel in {where}: correct the cell")
    if isinstance(value, str) and not texts and _is_number(value):
        raise ValueError(
            f"{path} must hold numbers, got one that is stored as text in {where}: convert the column "
            f"to numbers in Excel"
        )
    return value


def _is_number(text: str) -> bool:
    try:
        float(text.strip().replace(",", ".", 1))
    except ValueError:
        return False
    return True


def _refuse_unseen(sheet: Any, places: Sequence[int], end: int, path: Path) -> None:
    """Refuse merged cells, whose value stands in one of them alone, and rows that people do not see."""
    columns = {place + 1 for place in places}
    for area in sheet.merged_cells.ranges:
        inside = area.min_row < end and columns & set(range(area.min_col, area.max_col + 1))
        if inside or area.min_row == 1:
            raise ValueError(
                f"{path} must have no merged cells among its names and declared columns, got some in "
                f"row {area.min_row}: unmerge them, and write the value into each"
            )
    hidden = [row for row in range(FIRST_ROW, end) if sheet.row_dimensions[row].hidden]
    if hidden:
        raise ValueError(
            f"{path} must show all of its records, but row {hidden[0]} is hidden (and "
            f"{len(hidden) - 1} more): hidden rows would be released too; show or delete them"
        )


def _refuse_uncomputed(
    path: Path, dialect: Dialect, found: dict[str, list[Any]], places: dict[str, int]
) -> None:
    """Refuse formulas without a stored value: they look empty here, and are not in Excel."""
    empty = [(i, name) for name, cells in found.items() for i, cell in enumerate(cells) if cell is None]
    if not empty:
        return
    sheet = open_sheet(path, dialect, formulas=True)
    for i, name in empty:
        if sheet.cell(i + FIRST_ROW, places[name] + 1).data_type == "f":
            raise ValueError(
                f"{path} must hold values, got a formula that was never computed in row "
                f"{i + FIRST_ROW}, column {name!r}: open the workbook in Excel and save it"
            )
