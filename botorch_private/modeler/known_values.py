"""Values that were measured before, in a file: rows of a release, and their outcomes."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from botorch_private._base.foreign import or_refuse

_ROWS = ("row", "index")  # the second as `History.to_frame` writes it
_WHOLE = re.compile(r"\d{1,18}")
_LINE = tuple[int, list[str]]  # its number and its cells


def read_known_values(path: Path, rows: int | None = None) -> list[tuple[int, float]]:
    """Read a .csv file with the columns ``row`` (or ``index``) and ``value``.

    Where it has a column ``round``, its lines are taken in that order, and otherwise as they lie.
    Further columns do not count, and neither do empty lines. The same value again changes nothing.

    Args:
        path: The file: comma-separated, UTF-8, names in its first line.
        rows: How many rows the release has; None: any row will do.

    Returns:
        Pairs of row and value, each row once.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is no such file, or a line has no row, an unknown row, no finite number, or
            another value for a row than a line before: with its number, and nothing of its text.
    """
    if not path.is_file():
        raise FileNotFoundError(f"path must be a file of known values, but there is no file {path}")
    lines = or_refuse(
        lambda: list(_lines(path)),
        lambda: ValueError(f"path must be comma-separated text in UTF-8, but {path} cannot be read"),
    )
    row_at, value_at, round_at = _columns(lines, path)
    found: list[tuple[int, int, int, float]] = []
    for number, cells in lines[1:]:
        row = _whole(cells, row_at)
        if row is None:
            raise _refusal(path, number, "has no row: a whole number from 0 on")
        if rows is not None and row >= rows:
            raise _refusal(
                path, number, f"has a row outside of the release, which has rows 0..{rows - 1}"
            )
        value = _number(cells, value_at)
        if value is None:
            raise _refusal(path, number, "has no finite value: a number with a decimal point")
        turn = 0 if round_at is None else _whole(cells, round_at)
        if turn is None:
            raise _refusal(path, number, "has no round: a whole number")
        found.append((turn, number, row, value))
    known: dict[int, tuple[int, float]] = {}
    for _, number, row, value in sorted(found):
        first, earlier = known.setdefault(row, (number, value))
        if earlier != value:
            lines_of = " and ".join(map(str, sorted((first, number))))
            raise ValueError(
                f"path must have one value for each row, but {path} has two for row {row}, in lines "
                f"{lines_of}"
            )
    return [(row, value) for row, (_, value) in known.items()]


def _lines(path: Path) -> Iterator[_LINE]:
    """Lines that are not empty, with their numbers in the file."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True)
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells


def _columns(lines: Sequence[_LINE], path: Path) -> tuple[int, int, int | None]:
    """Where rows, values and rounds stand."""
    names = [name.strip().lower() for name in lines[0][1]] if lines else []
    rows = [place for place, name in enumerate(names) if name in _ROWS]
    values = [place for place, name in enumerate(names) if name == "value"]
    if len(rows) != 1 or len(values) != 1:
        raise ValueError(
            f"path must have the columns row (or index) and value in its first line, once each and "
            f"separated by commas, but {path} has not"
        )
    return rows[0], values[0], names.index("round") if "round" in names else None


def _whole(cells: list[str], place: int) -> int | None:
    text = cells[place].strip() if place < len(cells) else ""
    return int(text) if _WHOLE.fullmatch(text) and text.isascii() else None


def _number(cells: list[str], place: int) -> float | None:
    text = cells[place].strip() if place < len(cells) else ""
    try:
        value = float(text if text.isascii() and "_" not in text else "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _refusal(path: Path, number: int, why: str) -> ValueError:
    return ValueError(
        f"path must have a row and its value in each line, but line {number} of {path} {why}"
    )
