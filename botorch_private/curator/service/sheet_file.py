"""Sheet file: the bytes of a sheet of measurements, a text or an Excel workbook, as the text of a sheet.

How it is written is declared. It is guessed for a message alone.
"""

from __future__ import annotations

import csv
import io
from dataclasses import replace

from botorch_private.curator.features.dialect import PLAIN, Dialect
from botorch_private.curator.features.lookalikes import wide_encoding
from botorch_private.curator.features.whole_sheet import whole_sheet
from botorch_private.curator.service.sheet import SheetForm

_UTF8 = "utf-8"
_PACKED, _OLD_EXCEL = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
# How large a workbook may be when it is unpacked, in times of its limit and in bytes: openpyxl needs
# some ten times as much memory.
_LARGER, _LARGEST = 16, 2**28


def read_file(
    content: bytes, form: SheetForm, *, encoding: str = _UTF8, tab: str | None = None, most: int
) -> tuple[str, SheetForm]:
    """The text of a sheet, and how that is written.

    Args:
        content: Of the file.
        form: How it is declared to be written.
        encoding: How a text is stored as bytes.
        tab: Name of the sheet of a workbook; None: its only visible one.
        most: Bytes that it may have.

    Raises:
        ImportError: If it is a workbook, and pandas or openpyxl is not installed.
        ValueError: If something that is declared is unusable or not so, or it is too large.
    """
    separator = form.separator or (";" if form.decimal == "," else ",")
    dialect = Dialect(separator, form.decimal, encoding, tab)
    if not content:
        raise ValueError("the sheet must not be empty")
    if len(content) > most:
        raise ValueError(f"the sheet must have at most {most // 2**20} MiB")
    if content.startswith(_OLD_EXCEL):
        raise ValueError(
            "the sheet must be no workbook of old Excel or with a password: save it as .xlsx"
        )
    if not content.startswith(_PACKED):
        if tab is not None:
            raise ValueError("sheet must be left out for a text: only a workbook has several")
        return decoded(content, dialect), form
    for name, is_declared in (
        ("separator", form.separator),
        ("encoding", dialect.reading != "utf-8-sig"),
    ):
        if is_declared:
            raise ValueError(f"{name} must be left out for a workbook: it is for a text")
    text = io.StringIO()
    rows = whole_sheet(content, tab, decimal=form.decimal, most=min(_LARGER * most, _LARGEST))
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue(), replace(form, separator=",")


def decoded(content: bytes, dialect: Dialect = PLAIN) -> str:
    """The text of a file.

    Raises:
        ValueError: If it is not text in that encoding.
    """
    try:
        text = content.decode(dialect.reading).removeprefix("\ufeff")
    except UnicodeError:
        text = "\0"
    if "\0" not in text:
        return text
    wanted = "UTF-8" if dialect.reading == "utf-8-sig" else "the encoding that is declared"
    likely = wide_encoding(content)
    if not likely and b"\0" not in content:
        likely = "latin-1 or cp1252" if wanted == "UTF-8" else "another one"
    guess = f"it looks like {likely}: declare that encoding" if likely else "it holds other bytes"
    raise ValueError(f"the sheet must be a text in {wanted}, but {guess}, or save it as 'CSV UTF-8'")
