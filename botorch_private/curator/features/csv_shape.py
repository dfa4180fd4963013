"""The shape of a .csv: names in row 1, as many cells in every row, quotes that close where they should.

Nothing of what a file holds is repeated in a message: a first line without names is a record.
"""

from __future__ import annotations

import csv
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from botorch_private._base.frames import miscounted

FIRST_ROW = 2
_HEAD = 4096
_LIMIT = threading.Lock()


def read_header(path: Path) -> list[str]:
    """Names in the first row of a comma-separated, UTF-8 file.

    Raises:
        ValueError: If it is empty, or another kind of file: the message says what it looks like, and
            what to type.
    """
    with _rows(path) as rows:
        names = next(rows, [])
    if not names:
        raise ValueError(f"{path} must have names in its first row, but it is empty")
    if len(names) == 1:
        refuse_lookalikes(path)
    return names


def count_records(path: Path, wanted: Sequence[str]) -> int:
    """Check every row of a file, and count its records.

    Empty rows at the end, also such of commas alone, are no records.

    Raises:
        ValueError: If a wanted column is missing or stands twice, a row has more or fewer cells than
            there are names (a decimal comma would shift its neighbours), or a quote opens where none
            closes: rows would be read as one cell, and be lost.
    """
    records = row = 0
    with _rows(path) as rows:
        names = next(rows, [])
        require_names(names, wanted, path)
        for row, cells in enumerate(rows, start=FIRST_ROW):
            if not any(cells):
                continue
            if len(cells) != len(names):
                raise ValueError(
                    f"{path} must have as many cells in each row as there are names in row 1, "
                    f"{len(names)}, got {len(cells)} in row {row}"
                )
            if row > FIRST_ROW + records:
                raise ValueError(
                    f"{path} must have no empty rows among its records, got one in row {row - 1}"
                )
            records += 1
            if any(("\n" in cell or "\r" in cell) and _swallowed(cell, len(names)) for cell in cells):
                raise ValueError(
                    f"{path} must have quotes that close in their own row: in row {row} one holds whole "
                    f"rows, which would be lost; remove it, or write it twice inside a quoted cell"
                )
    return records


def require_names(found: Sequence[str], wanted: Sequence[str], path: Path) -> None:
    """Refuse a table in which a wanted column is missing or stands twice."""
    for name in wanted:
        if problem := miscounted(found, name):
            if len(found) < 2 and path.suffix.lower() == ".csv":
                refuse_lookalikes(path)
            raise ValueError(
                f"{path} must have one column {name!r}, by the names in its first row, but {problem}"
            )


def refuse_lookalikes(path: Path) -> None:
    """Refuse what is separated otherwise, or is no text, and say what it looks like and what to type.

    Raises:
        ValueError: If it looks like something else.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    problem = _looks_like(head)
    if problem:
        raise ValueError(
            f"{path} must be comma-separated UTF-8 text with names in row 1, but it {problem}"
        )


def _looks_like(head: bytes) -> str:
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        return "looks like an Excel workbook: save it as 'CSV UTF-8 (comma delimited)'"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "looks like UTF-16: " + _rewrite("encoding='utf-16'")
    if head.startswith(b"PAR1"):
        return "looks like a .parquet file: give it that ending"
    line = head.splitlines()[0] if head else b""
    if line.startswith(b"#"):
        return "begins with a comment (#): delete what stands above the names"
    try:
        head[: head.rfind(b"\n") + 1 or None].decode("utf-8")
        encoding = ""
    except UnicodeDecodeError:
        encoding = ", encoding='latin-1'"
    for mark, name, option in (
        (b";", "semicolons", "sep=';', decimal=','"),
        (b"\t", "tabs", r"sep='\t'"),
    ):
        if line.count(mark) > line.count(b","):
            return f"looks separated by {name}: {_rewrite(option + encoding)}"
    return f"is not UTF-8: {_rewrite(encoding[2:])}" if encoding else ""


def _rewrite(options: str) -> str:
    return f"rewrite it once by pandas.read_csv(FILE, {options}).to_csv(NEW, index=False)"


def _swallowed(cell: str, width: int) -> bool:
    """Whether a cell of several lines holds one that looks like a row."""
    return width > 1 and any(line.count(",") >= width - 1 for line in cell.splitlines()[1:])


@contextmanager
def _rows(path: Path) -> Iterator[Iterator[list[str]]]:
    """Rows of a file, as lists of cells; what goes wrong is told by its row."""
    with _LIMIT, path.open(encoding="utf-8-sig", newline="") as file:
        before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # a long note is no reason to refuse
        try:
            yield _told(csv.reader(file, strict=True), path)
        except UnicodeDecodeError:
            refuse_lookalikes(path)
            raise ValueError(f"{path} must be UTF-8 text, but it is not") from None
        finally:
            csv.field_size_limit(before)


def _told(rows: Iterator[list[str]], path: Path) -> Iterator[list[str]]:
    row = 1
    while True:
        try:
            yield next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            refuse_lookalikes(path)
            if "NUL" in str(error):
                raise ValueError(f"{path} must be UTF-8 text, but row {row} holds a NUL") from None
            raise ValueError(
                f"{path} must have quotes around whole cells alone, but one opens or closes within a "
                f"cell in row {row}: rows would be lost. Remove it; inside a quoted cell a quote is "
                f'written twice ("" and not \\")'
            ) from None
        row += 1
