"""The options of every command that reads a table: how it is written in its file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from botorch_private.curator.features.dialect import Dialect

_TYPED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}


def add_dialect(parser: argparse.ArgumentParser) -> None:
    """Add how a table is written to the options of a command."""
    option = parser.add_argument_group(
        "how the table is written (declared, never guessed from it)"
    ).add_argument
    option(
        "--separator",
        metavar="MARK",
        help="what stands between two cells of a .csv: ';', tab, '|' (default: a comma)",
    )
    option("--decimal", metavar="MARK", help="decimal mark of a .csv: ',' (default: a point)")
    option(
        "--encoding",
        metavar="NAME",
        help="how a .csv is stored: latin-1, cp1252, utf-16 (default: UTF-8)",
    )
    option("--sheet", metavar="NAME", help="sheet of an .xlsx (default: its only visible one)")


def dialect_of(options: argparse.Namespace) -> Dialect:
    """How the table of a command is written.

    Raises:
        ValueError: If an option is unusable.
    """
    from botorch_private.curator.features.dialect import Dialect

    names = ("separator", "decimal", "encoding", "sheet")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if "separator" in given:
        given["separator"] = _TYPED.get(given["separator"].lower(), given["separator"])
    return Dialect(**given)
