"""All cells of a sheet of an Excel workbook as texts, as a .csv of it would have them."""

from __future__ import annotations

import zipfile
from datetime import date, datetime
from io import BytesIO
from typing import Any

from botorch_private._base.foreign import or_refuse
from botorch_private.curator.features.dialect import Dialect
from botorch_private.curator.features.identifiers import as_text
from botorch_private.curator.features.workbook import open_sheet

_CALLED = "the workbook"


def whole_sheet(content: bytes, tab: str | None, *, decimal: str, most: int) -> list[list[str]]:
    """Every cell of a sheet as a text: a number with all its digits, a day as YYYY-MM-DD.

    What a cell holds is taken, not what it shows, and of a formula its stored value. What would be read
    otherwise than people see it is refused: merged cells, hidden rows, a formula that nobody computed.

    Args:
        content: Of the workbook.
        tab: Name of the sheet; None: the only visible one.
        decimal: What stands before the decimals of a number.
        most: Bytes that it may have when it is unpacked.

    Raises:
        ImportError: If pandas or openpyxl is not installed.
        ValueError: If it is no workbook, too large, has no such sheet, or a cell would be read
            otherwise than it is seen: the message names the row.
    """
    _refuse_large(content, most)
    values = open_sheet(BytesIO(content), Dialect(sheet=tab), called=_CALLED)
    formulas = open_sheet(BytesIO(content), Dialect(sheet=tab), formulas=True, called=_CALLED)
    rows = [list(cells) for cells in values.iter_rows(values_only=True)]
    while rows and not any(map(_is_filled, rows[-1])):
        rows.pop()
    for area in values.merged_cells.ranges:
        if area.min_row <= len(rows):
            raise ValueError(
                f"the workbook must have no merged cells, got some in row {area.min_row}: unmerge them, "
                f"and write the value into each"
            )
    for row in range(1, len(rows) + 1):
        if values.row_dimensions[row].hidden:
            raise ValueError(
                f"the workbook must show all of its rows, but row {row} is hidden: show or delete it"
            )
    for row, (cells, written) in enumerate(
        zip(rows, formulas.iter_rows(max_row=len(rows)), strict=False), start=1
    ):
        if any(
            cell.data_type == "f" and not _is_filled(value)
            for cell, value in zip(written, cells, strict=False)
        ):
            raise ValueError(
                f"the workbook must hold values, got a formula that was never computed in row {row}: "
                f"open it in Excel and save it"
            )
    return [[_text(cell, decimal) for cell in cells] for cells in rows]


def _refuse_large(content: bytes, most: int) -> None:
    def size() -> int:
        with zipfile.ZipFile(BytesIO(content)) as packed:
            return sum(each.file_size for each in packed.infolist())

    damaged = ValueError("the workbook must be a whole .xlsx, but it is damaged, or something else")
    if or_refuse(size, lambda: damaged) > most:
        raise ValueError(f"the workbook must have at most {most // 2**20} MiB when it is unpacked")


def _is_filled(value: Any) -> bool:
    return value is not None and value != ""


def _text(value: Any, decimal: str) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime) and value == datetime(value.year, value.month, value.day):
        return value.date().isoformat()
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    text = as_text(value)
    if text is not None:
        return text
    return repr(value).replace(".", decimal) if isinstance(value, float) else str(value)
