"""The shape of a .csv: names in row 1, as many cells in every row, quotes that close where they should.

Nothing of what a file holds is repeated in a message: a first line without names is a record.
"""

from __future__ import annotations

import csv
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from botorch_private._base.frames import miscounted
from botorch_private.curator.features.dialect import PLAIN, Dialect
from botorch_private.curator.features.lookalikes import looks_binary, refuse_lookalikes

FIRST_ROW = 2
_FIRST_ROWS = 50
_LIMIT = threading.Lock()


def read_header(path: Path, dialect: Dialect = PLAIN) -> list[str]:
    """Names in the first row of a .csv file.

    Raises:
        ValueError: If it is empty, is another kind of file, or its first row is none of names: a title,
            or a record. The message says what it looks like, and what to do.
    """
    with _rows(path, dialect) as rows:
        names = next(rows, [])
        if not any(name.strip() for name in names):
            raise ValueError(f"{path} must have names in its first row, but it is empty")
        refuse_lookalikes(path, dialect, one_name=len(names) == 1 or names[0].startswith("#"))
        refuse_other_than_names(names, rows, path, dialect)
    return names


def refuse_other_than_names(
    names: list[str], rows: Iterator[list[str]], path: Path, dialect: Dialect
) -> None:
    """Refuse a title or a record in the first row: it would become public as names of columns."""
    wanted = f"{path} must have names of columns in its first row, but"
    title = "delete what stands above the names"
    shown = [name.strip() for name in names]
    nameless: set[int] = set()
    for row, cells in enumerate(rows, start=FIRST_ROW):
        if len(cells) > len(names):
            raise ValueError(
                f"{wanted} row {row} has more cells: {title}, or mend the {dialect.marks} there"
            )
        found = [cell.strip() for cell in cells]
        if any(cell and cell == name for name, cell in zip(shown, found, strict=False)):
            raise ValueError(
                f"{wanted} one of its texts stands below itself again, in row {row}: if row 1 is a "
                f"record, write a row of names above it"
            )
        nameless |= {i for i, cell in enumerate(found[: len(shown)]) if cell and not shown[i]}
    nameless -= {0}  # row numbers have no name, as pandas writes them
    if len(nameless) >= len(list(filter(None, shown))):
        raise ValueError(f"{wanted} most columns that hold something have none: {title}")


def count_records(path: Path, wanted: Sequence[str], dialect: Dialect = PLAIN) -> int:
    """Check every row of a file, and count its records.

    Empty rows at the end, also such of separators alone, are no records.

    Raises:
        ValueError: If a wanted column is missing or stands twice, a row has more or fewer cells than
            there are names (a decimal comma would shift its neighbours), or a quote opens where none
            closes: rows would be read as one cell, and be lost.
    """
    records = row = 0
    with _rows(path, dialect) as rows:
        names = next(rows, [])
        _refuse_names_below(names, rows, wanted, path, dialect)
        require_names(names, wanted, path, dialect)
        for row, cells in enumerate(rows, start=FIRST_ROW):
            if not any(cells):
                continue
            if len(cells) != len(names):
                raise ValueError(
                    f"{path} must have as many cells in each row as there are names in row 1, "
                    f"{len(names)}, got {len(cells)} in row {row}{_why(len(names), cells, dialect)}"
                )
            if row > FIRST_ROW + records:
                raise ValueError(
                    f"{path} must have no empty rows among its records, got one in row {row - 1}"
                )
            records += 1
            if any(_swallowed(cell, len(names), dialect) for cell in cells):
                raise ValueError(
                    f"{path} must have quotes that close in their own row: in row {row} one holds whole "
                    f"rows, which would be lost; remove it, or write it twice inside a quoted cell"
                )
    return records


def require_names(
    found: Sequence[str], wanted: Sequence[str], path: Path, dialect: Dialect = PLAIN
) -> None:
    """Refuse a table in which a wanted column is missing or stands twice."""
    for name in wanted:
        if problem := miscounted(found, name):
            if path.suffix.lower() == ".csv":
                refuse_lookalikes(path, dialect, one_name=len(found) < 2)
            raise ValueError(
                f"{path} must have one column {name!r}, by the names in its first row, but {problem}"
            )


def _refuse_names_below(
    names: Sequence[str],
    rows: Iterator[list[str]],
    wanted: Sequence[str],
    path: Path,
    dialect: Dialect,
) -> None:
    """Refuse a title above the names: all declared ones stand together in a later row."""
    if all(name in names for name in wanted):
        return
    for row, cells in enumerate(islice(rows, _FIRST_ROWS), start=FIRST_ROW):
        if all(name in cells for name in wanted):
            refuse_lookalikes(path, dialect)
            raise ValueError(
                f"{path} must have names in its first row, but the declared ones stand in row {row}: "
                f"delete what stands above"
            )


def _why(width: int, cells: list[str], dialect: Dialect) -> str:
    """What may have made more cells than there are names."""
    if len(cells) <= width:
        return ""
    if not any(cells[width:]):
        return f": rows end with {dialect.marks} that the names do not have, so write as many there"
    if dialect.separator == ",":
        return ": a decimal comma, or a comma within a text, makes two cells of one"
    return f": {dialect.marks} within a text make two cells of one"


def _swallowed(cell: str, width: int, dialect: Dialect) -> bool:
    """Whether a cell of several lines holds one that looks like a row."""
    if width < 2 or ("\n" not in cell and "\r" not in cell):
        return False
    return any(line.count(dialect.separator) >= width - 1 for line in cell.splitlines()[1:])


@contextmanager
def _rows(path: Path, dialect: Dialect) -> Iterator[Iterator[list[str]]]:
    """Rows of a file, as lists of cells; what goes wrong is told by its row."""
    if looks_binary(path) and not dialect.wide:
        refuse_lookalikes(path, dialect)
    with _LIMIT, path.open(encoding=dialect.reading, newline="") as file:
        before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # a long note is no reason to refuse
        try:
            yield _told(csv.reader(file, delimiter=dialect.separator, strict=True), path, dialect)
        finally:
            csv.field_size_limit(before)


def _told(rows: Iterator[list[str]], path: Path, dialect: Dialect) -> Iterator[list[str]]:
    row, problem = 1, ""
    text = "UTF-8 text" if dialect.reading == "utf-8-sig" else f"text in {dialect.encoding}"
    cells: list[str] = []
    while True:
        try:
            cells = next(rows)
        except StopIteration:
            return
        except UnicodeError:
            problem = f"must be {text}, but it is not"
        except csv.Error as error:
            problem = (
                f"must be {text}, but row {row} holds a NUL"
                if "NUL" in str(error)
                else f"must have quotes around whole cells alone, but one opens or closes within a "
                f"cell in row {row}: rows would be lost. Remove it; inside a quoted cell a quote is "
                f'written twice ("" and not \\")'
            )
        if problem:  # outside of the handlers: an error of decoding holds the bytes that it met
            refuse_lookalikes(path, dialect, undecodable=problem.endswith("it is not"))
            raise ValueError(f"{path} {problem}")
        yield cells
        row += 1
