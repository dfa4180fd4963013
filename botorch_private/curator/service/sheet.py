"""Sheet: the text of a sheet of measurements as rows, each read exactly or refused by its number.

No message holds a piece of a cell: a cell may be an identifier or a value.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from botorch_private.curator.service.circumstances import Circumstances, read_circumstances
from botorch_private.curator.service.typed_values import read_note, read_value

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t"}
MOST_ROWS = 100_000
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet would compute


@dataclass(frozen=True)
class SheetForm:
    """How a sheet is written.

    Args:
        identifier: Name of the column with what staff call a record.
        value: Name of the column with what was measured.
        decimal: Mark before decimals, "." or ",".
        unit: Unit of the values; empty: not said, so that of the folder.
        low: Smallest value that is plausible; None: that of the folder.
        high: Largest one; None: that of the folder.
        accepted: Whether values that are not plausible were looked at, and are right.
    """

    identifier: str = "identifier"
    value: str = "value"
    decimal: str = "."
    unit: str = ""
    low: float | None = None
    high: float | None = None
    accepted: bool = False


class SheetRow(NamedTuple):
    """A row that can be read.

    Attributes:
        row: Its number as a spreadsheet shows it: names of columns are row 1.
        identifier: Of the record.
        value: What was measured.
        circumstances: Where a cell is empty, it says nothing.
        reason: Why it corrects what is stored; may be empty.
    """

    row: int
    identifier: str
    value: float
    circumstances: Circumstances
    reason: str


class Refusal(NamedTuple):
    """A row that cannot be stored.

    Attributes:
        row: Its number.
        why: In words, without anything that stands in it.
    """

    row: int
    why: str


class Sheet(NamedTuple):
    """What was read.

    Attributes:
        rows: Those that can be read.
        refused: Those that cannot.
        empty: How many have an identifier and no value.
    """

    rows: list[SheetRow]
    refused: list[Refusal]
    empty: int


def decoded(content: bytes) -> str:
    """The text of a file.

    Raises:
        ValueError: If it is not text in UTF-8.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ValueError("the sheet must be a text in UTF-8: save it as 'CSV UTF-8'")
    return text


def read_sheet(text: str, form: SheetForm, *, unit: str = "", today: str = "") -> Sheet:
    """Read a sheet.

    Row 1 names its columns, in any order and in capitals or not: those of ``form``, and if there are
    any "date", "instrument", "comment", "reason" and "unit". Other columns are left alone. Of comma,
    semicolon and tab, the one that parts these names parts all cells.

    Args:
        text: Of the sheet.
        form: How it is written.
        unit: Of the folder: a unit that the sheet says must be this one.
        today: The latest day on which anything can have been measured, YYYY-MM-DD; empty: any.

    Raises:
        ValueError: If the columns cannot be found, or there are too many rows.
    """
    if form.unit and form.unit != unit:
        raise ValueError(_OTHER_UNIT)
    delimiter, places = _columns(text, form)
    rows: list[SheetRow] = []
    refused: list[Refusal] = []
    empty = 0
    width, last = max(places.values()) + 1, 1
    cells: list[str] = []
    reader = _numbered(text, delimiter)
    try:
        for last, cells in reader:
            if last == 1:
                width = len(cells)
            elif any(map(str.strip, cells)):
                found = _read_row(last, cells, width, places, form, unit, today)
                if isinstance(found, SheetRow):
                    rows.append(found)
                elif isinstance(found, Refusal):
                    refused.append(found)
                else:
                    empty += 1
    except csv.Error:
        refused.append(Refusal(last + 1, _QUOTE))
    return Sheet(rows, refused, empty)


_OTHER_UNIT = "unit must be that of the folder: convert the values, or correct the sheet"
_QUOTE = (
    "a quote opens or closes within a cell, or does not close: nothing from here on can be read. "
    "Inside a quoted cell a quote is written twice"
)


def _numbered(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    for row, cells in enumerate(
        csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), 1
    ):
        if row > MOST_ROWS:
            raise ValueError(f"the sheet must have at most {MOST_ROWS} rows")
        yield row, cells


def _columns(text: str, form: SheetForm) -> tuple[str, dict[str, int]]:
    """The mark between cells, and where the columns are."""
    wanted = {"identifier": form.identifier, "value": form.value}
    wanted |= {each: each for each in ("date", "instrument", "comment", "reason", "unit")}
    for delimiter in DELIMITERS.values():
        try:
            names = [each.strip().casefold() for each in next(_numbered(text, delimiter))[1]]
        except (StopIteration, csv.Error):
            continue
        places = {
            key: names.index(name.strip().casefold())
            for key, name in wanted.items()
            if name.strip().casefold() in names
        }
        if {"identifier", "value"} <= places.keys():
            twice = [wanted[key] for key in places if names.count(wanted[key].strip().casefold()) > 1]
            if twice:
                raise ValueError(f"the sheet must have one column {twice[0]!r}, but it has several")
            if places["identifier"] == places["value"]:
                break
            return delimiter, places
    raise ValueError(
        f"the sheet must name its columns in row 1, {form.identifier!r} and {form.value!r}, with a "
        f"comma, a semicolon or a tab between them"
    )


def _read_row(
    row: int,
    cells: list[str],
    width: int,
    places: dict[str, int],
    form: SheetForm,
    unit: str,
    today: str,
) -> SheetRow | Refusal | None:
    """A row, why it is refused, or None if it has no value."""
    if len(cells) > width and any(map(str.strip, cells[width:])):
        return Refusal(row, "it has more cells than row 1 has names: a comma within a cell makes two")
    if any("\n" in each or "\r" in each for each in cells):
        return Refusal(row, "a cell holds a line break: a quote may open there and close rows later")
    at = {key: cells[place].strip() if place < len(cells) else "" for key, place in places.items()}
    if not at["identifier"]:
        return Refusal(row, "it has no identifier")
    if not at["value"]:
        return None
    if at.get("unit") not in (None, "", unit):
        return Refusal(row, _OTHER_UNIT)
    try:
        value = _read_decimal(at["value"], form.decimal)
        said = read_circumstances(
            at.get("date") or None,
            plain(at.get("instrument", "")) or None,
            plain(at.get("comment", "")) or None,
            today,
        )
        reason = read_note(plain(at.get("reason", "")))
    except ValueError as error:
        return Refusal(row, str(error))
    return SheetRow(row, plain(at["identifier"]), value, said, reason)


def _read_decimal(text: str, decimal: str) -> float:
    other = "," if decimal == "." else "."
    if other in text:
        raise ValueError(
            f"The value has a {_MARKS[other]}, where a {_MARKS[decimal]} is declared before decimals, "
            f"and nothing between thousands."
        )
    return read_value(text.replace(",", "."))


_MARKS = {".": "point", ",": "comma"}


def plain(cell: str) -> str:
    """A cell without the apostrophe that `harmless` puts before it."""
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(FORMULA) else cell


def harmless(cell: str | None) -> str | None:
    """A cell that no spreadsheet computes: an apostrophe precedes what it would take for a formula."""
    return f"'{cell}" if cell and cell.startswith(FORMULA) else cell
