"""Dialect: how a table is written in its file, as its owner declares it; never guessed from it."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path

_MARKS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", ":": "colons", " ": "blanks"}
_CSV, _EXCEL = ".csv", ".xlsx"
ENDINGS = (_CSV, ".parquet", _EXCEL)


@dataclass(frozen=True)
class Dialect:
    """How a table is written in its file.

    Args:
        separator: What stands between two cells of a .csv, one character.
        decimal: What stands before the decimals of a number in a .csv, a point or a comma.
        encoding: How a .csv is stored as bytes, such as "utf-8" (with or without a byte order mark),
            "latin-1", "cp1252" or "utf-16".
        sheet: Name of the sheet of an .xlsx; None: its only visible one.

    Raises:
        ValueError: If one of them is unusable.
    """

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    sheet: str | None = None

    def __post_init__(self) -> None:
        if len(self.separator) != 1 or self.separator.isalnum() or self.separator in "\r\n\"'.+-\0":
            raise ValueError(
                "separator must be one character between cells, such as a comma, ';' or tab, and none "
                "that a number or a quoted text holds"
            )
        if self.decimal not in (".", ","):
            raise ValueError("decimal must be '.' or ','")
        if self.decimal == self.separator:
            raise ValueError(
                "decimal must be another mark than separator, but both are commas: say which one "
                "stands between cells, such as ';'"
            )
        try:
            text = codecs.lookup(self.encoding)._is_text_encoding
        except (LookupError, ValueError):
            text = False
        if not text:
            raise ValueError(
                "encoding must be a text encoding that Python knows, such as utf-8, latin-1, cp1252 or "
                "utf-16"
            )

    @property
    def marks(self) -> str:
        """What the separators are called."""
        return _MARKS.get(self.separator, "separators")

    @property
    def reading(self) -> str:
        """The encoding by which a file is opened: a byte order mark is no part of a name."""
        return "utf-8-sig" if codecs.lookup(self.encoding).name == "utf-8" else self.encoding

    @property
    def wide(self) -> bool:
        """Whether a character is stored as several bytes, some of which are NUL."""
        return "\0" in "a".encode(self.encoding).decode("latin-1")

    def require_for(self, path: Path) -> None:
        """Refuse what does not go with the kind of a file, by the ending of its name.

        Raises:
            ValueError: If it is no table, or something is declared that files of its kind do not have.
        """
        ending = path.suffix.lower()
        if ending not in ENDINGS:
            raise ValueError(f"path must end in .csv, .parquet or .xlsx, got {path}")
        plain = Dialect(sheet=self.sheet)
        for name in ("separator", "decimal", "encoding"):
            if ending != _CSV and getattr(self, name) != getattr(plain, name):
                raise ValueError(f"{name} must be left out for {path}: it is for .csv")
        if ending != _EXCEL and self.sheet is not None:
            raise ValueError(f"sheet must be left out for {path}: it is for .xlsx")


PLAIN = Dialect()
