"""Sheet: the text of a sheet of measurements as rows, each read exactly or refused by its number.

No message holds a piece of a cell: a cell may be an identifier or a value.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from botorch_private.curator.service.circumstances import Circumstances, read_circumstances
from botorch_private.curator.service.outcomes import OutcomeFacts
from botorch_private.curator.service.question import Outcome
from botorch_private.curator.service.sheet_columns import Columns, find_columns, plain
from botorch_private.curator.service.typed_values import read_note, read_value

MOST_ROWS = 100_000
UNASKED = ("refuse", "keep", "tell")  # see `keep_row`


@dataclass(frozen=True)
class SheetForm:
    """How a sheet is written.

    Args:
        identifier: Name of the column with what staff call a record.
        value: Name of the column with what was measured, where records have one outcome.
        decimal: Mark before decimals, "." or ",".
        unit: Unit of the values; empty: not said, so that of the folder.
        low: Smallest value that is plausible; None: that of the folder.
        high: Largest one; None: that of the folder.
        accepted: Whether values that are not plausible were looked at, and are right.
        unasked: What becomes of values whose records nobody asks for, one of `UNASKED`.
        separator: What stands between two cells; empty: whichever of `DELIMITERS` parts the names of
            row 1.
    """

    identifier: str = "identifier"
    value: str = "value"
    decimal: str = "."
    unit: str = ""
    low: float | None = None
    high: float | None = None
    accepted: bool = False
    unasked: str = "refuse"
    separator: str = ""


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
    value: Outcome
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
        empty: How many have an identifier and no value at all.
    """

    rows: list[SheetRow]
    refused: list[Refusal]
    empty: int


def read_sheet(
    text: str,
    form: SheetForm,
    *,
    unit: str = "",
    outcomes: Sequence[OutcomeFacts] = (),
    today: str = "",
) -> Sheet:
    """Read a sheet.

    Row 1 names its columns, in any order and in capitals or not: those of ``form``, and if there are
    any "date", "instrument", "comment" and "reason". Of one outcome there may be "unit", and other
    columns are left alone; several have a column each, with its unit behind the name or not, and a row
    has a number for each or for none. What parts the names of row 1 parts all cells.

    Args:
        text: Of the sheet.
        form: How it is written.
        unit: Of the folder: a unit that the sheet says must be this one.
        outcomes: Of the folder, where records have several; empty: they have one.
        today: The latest day on which anything can have been measured, YYYY-MM-DD; empty: any.

    Raises:
        ValueError: If the columns cannot be found, or there are too many rows.
    """
    if outcomes:
        _refuse_form_of_one(form)
    elif form.unit and form.unit != unit:
        raise ValueError(_OTHER_UNIT)
    columns = find_columns(
        lambda delimiter: _first_row(text, delimiter),
        form.identifier,
        form.value,
        outcomes,
        form.separator,
    )
    rows: list[SheetRow] = []
    refused: list[Refusal] = []
    empty, last = 0, 1
    cells: list[str] = []
    try:
        for last, cells in _numbered(text, columns.delimiter):
            if last > 1 and any(map(str.strip, cells)):
                found = _read_row(last, cells, columns, form, unit, outcomes, today)
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


def _first_row(text: str, delimiter: str) -> list[str] | None:
    try:
        return next(_numbered(text, delimiter))[1]
    except (StopIteration, csv.Error):
        return None


def _refuse_form_of_one(form: SheetForm) -> None:
    """Refuse what can be said of a sheet alone whose records have one outcome."""
    if form.value != SheetForm.value:
        raise ValueError("value must be left out where records have several outcomes: " + _NAMED)
    if form.unit:
        raise ValueError("unit must be left out where records have several outcomes: " + _NAMED)
    if form.low is not None or form.high is not None:
        raise ValueError(
            "plausible must be left out where records have several outcomes: each has its own range"
        )


_NAMED = "each has a column with its name, and if you like with its unit, such as 'cost (EUR)'"


def _read_row(
    row: int,
    cells: list[str],
    columns: Columns,
    form: SheetForm,
    unit: str,
    outcomes: Sequence[OutcomeFacts],
    today: str,
) -> SheetRow | Refusal | None:
    """A row, why it is refused, or None if it has no value."""
    if len(cells) > columns.width:  # also empty ones: an unquoted "4,5" may be what moved them there
        return Refusal(row, "it has more cells than row 1 has names: a comma within a cell makes two")
    if any("\n" in each or "\r" in each for each in cells):
        return Refusal(row, "a cell holds a line break: a quote may open there and close rows later")

    def cell(place: int) -> str:
        return cells[place].strip() if place < len(cells) else ""

    at = {name: cell(place) for name, place in columns.others.items()}
    identifier, values = cell(columns.identifier), [cell(place) for place in columns.values]
    if not identifier:
        return Refusal(row, "it has no identifier")
    if not any(values):
        return None
    if at.get("unit") not in (None, "", unit):
        return Refusal(row, _OTHER_UNIT)
    try:
        value = _read_outcome(values, form.decimal, outcomes)
        said = read_circumstances(
            at.get("date") or None,
            plain(at.get("instrument", "")) or None,
            plain(at.get("comment", "")) or None,
            today,
        )
        reason = read_note(plain(at.get("reason", "")))
    except ValueError as error:
        return Refusal(row, str(error))
    return SheetRow(row, plain(identifier), value, said, reason)


def _read_outcome(texts: list[str], decimal: str, outcomes: Sequence[OutcomeFacts]) -> Outcome:
    if not outcomes:
        return _read_decimal(texts[0], decimal)
    empty = [each.name for each, text in zip(outcomes, texts, strict=True) if not text]
    if empty:
        raise ValueError(
            f"it has no value of {', '.join(empty)}: all outcomes of a record are stored together, so "
            f"fill in all or none"
        )
    value = {}
    for each, text in zip(outcomes, texts, strict=True):
        try:
            value[each.name] = _read_decimal(text, decimal)
        except ValueError as error:
            raise ValueError(f"{each.name}: {error}") from None
    return value


def _read_decimal(text: str, decimal: str) -> float:
    other = "," if decimal == "." else "."
    if other in text:
        raise ValueError(
            f"The value has a {_MARKS[other]}, where a {_MARKS[decimal]} is declared before decimals, "
            f"and nothing between thousands."
        )
    return read_value(text.replace(",", "."))


_MARKS = {".": "point", ",": "comma"}
