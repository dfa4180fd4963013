"""Written sheet: rows as the text or the bytes of a .csv that no spreadsheet computes anything in."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from botorch_private.curator.features.dialect import PLAIN, Dialect
from botorch_private.curator.service.sheet_columns import harmless


def written_sheet(rows: Iterable[Sequence[Any]], dialect: Dialect = PLAIN) -> str:
    """Rows as CSV. Texts that a spreadsheet would take for a formula are preceded by an apostrophe.

    Args:
        rows: Cells: texts, numbers, or None where a cell is empty.
        dialect: How the text is written; how it is stored as bytes does not matter here.
    """

    def cell(value: Any) -> Any:
        if isinstance(value, float):
            return repr(value).replace(".", dialect.decimal)
        return harmless(value) if isinstance(value, str) else value

    text = io.StringIO()
    writer = csv.writer(text, delimiter=dialect.separator, lineterminator="\n")
    writer.writerows(map(cell, row) for row in rows)
    return text.getvalue()


def encoded(text: str, encoding: str) -> bytes:
    """A text as bytes.

    Raises:
        ValueError: If the encoding lacks one of its letters, which is not repeated.
    """
    content = None
    with contextlib.suppress(UnicodeError):
        content = text.encode(encoding)
    if content is None:  # not while it is handled: that error holds the text
        raise ValueError("encoding must have all letters of the sheet, as utf-8 has, but it lacks some")
    return content
