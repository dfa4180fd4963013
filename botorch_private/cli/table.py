"""The options of every command that reads or writes a table: how it is written in its file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from botorch_private.curator.features.dialect import Dialect

_TYPED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}


def add_dialect(
    parser: argparse.ArgumentParser, what: str = "table", separator: str = "a comma"
) -> None:
    """Add how a table is written to the options of a command.

    Args:
        parser: Of the command.
        what: What the table is called.
        separator: What stands between two cells where it is not declared.
    """
    option = parser.add_argument_group(
        f"how the {what} is written (declared, never guessed from it)"
    ).add_argument
    option(
        "--separator",
        metavar="MARK",
        help=f"what stands between two cells of a .csv: ';', tab, '|' (default: {separator})",
    )
    option("--decimal", metavar="MARK", help="decimal mark of a .csv: ',' (default: a point)")
    option(
        "--encoding",
        metavar="NAME",
        help="how a .csv is stored: latin-1, cp1252, utf-16 (default: UTF-8)",
    )
    option("--sheet", metavar="NAME", help="sheet of an .xlsx (default: its only visible one)")


def add_written(parser: argparse.ArgumentParser) -> None:
    """Add how a .csv is to be written to the options of a command."""
    option = parser.add_argument_group("how the .csv is written").add_argument
    option(
        "--separator",
        metavar="MARK",
        help="what stands between two cells: ';', tab, '|' (default: a comma)",
    )
    option("--decimal", metavar="MARK", help="decimal mark: ',' (default: a point)")
    option("--encoding", metavar="NAME", help="latin-1, cp1252, utf-16 (default: UTF-8)")


def dialect_of(options: argparse.Namespace) -> Dialect:
    """How the table of a command is written.

    Raises:
        ValueError: If an option is unusable.
    """
    from botorch_private.curator.features.dialect import Dialect

    return Dialect(**declared(options))


def declared(options: argparse.Namespace) -> dict[str, str]:
    """What is said of how a table is written, by name."""
    names = ("separator", "decimal", "encoding", "sheet")
    given = {name: getattr(options, name) for name in names if getattr(options, name, None) is not None}
    if "separator" in given:
        given["separator"] = _TYPED.get(given["separator"].lower(), given["separator"])
    return given
