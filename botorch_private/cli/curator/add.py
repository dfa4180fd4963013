"""botorch-private curator add: let further records join the table of a folder."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from botorch_private.cli.common import refusals
from botorch_private.cli.curator.agreement import add_agreement, agreed
from botorch_private.cli.curator.folder import add_folder_command, usable
from botorch_private.cli.streams import tell
from botorch_private.cli.table import add_dialect, dialect_of

_DESCRIPTION = (
    "Release the records at the end of a table, once, and append their rows to a folder's release. This "
    "spends their privacy, so it shows the guarantee and asks first. Rows, questions and answers so far "
    "stay as they are, and a search goes on with the longer release. Stop the server first. To which "
    "addition a row belongs is public: a record that joins alone is known by that."
)


def add(verbs: Any) -> None:
    """Add the command."""
    command = add_folder_command(verbs, "add", _add, "let further records join the table", _DESCRIPTION)
    option = command.add_argument
    option(
        "table",
        type=Path,
        metavar="TABLE",
        help="the table that was released, with the further records below it",
    )
    option(
        "--ranges",
        type=Path,
        required=True,
        metavar="TOML",
        help="declared ranges of the features, as they were for 'init'",
    )
    option(
        "--id", metavar="COLUMN", help="column with what staff call a record, if 'init' was given one"
    )
    option("--cells", type=Path, metavar="TOML", help="file of cells, if 'init' was given one")
    option(
        "--known",
        metavar="COLUMN",
        help="column with outcomes of the new records: of all where a column measures, else of those "
        "that are known already",
    )
    option(
        "--repeats",
        action="store_true",
        help="people of the table may be among the new records: everybody is charged for the new rows",
    )
    option(
        "--budget",
        type=int,
        metavar="T",
        help="most records that are measured from now on, in all (default: as many as before). The "
        "guarantee stays: it counts an answer about every record, whoever is asked for",
    )
    option(
        "--ledger",
        type=Path,
        help="ledger of this table (default: TABLE.ledger.json beside the table)",
    )
    add_agreement(command)
    add_dialect(command)


def _add(options: argparse.Namespace) -> int:
    from botorch_private.curator.ledger import BudgetError
    from botorch_private.curator.service.folder import Folder
    from botorch_private.curator.service.grow import grow
    from botorch_private.curator.service.question import ServiceError

    arguments = {"identifiers": "--id", "known": "--known"}
    with refusals(options, BudgetError, ServiceError, arguments=arguments), usable(options.folder):
        grown = grow(
            Folder(options.folder),
            options.table,
            ranges=options.ranges,
            dialect=dialect_of(options),
            agree=partial(agreed, options),
            identifiers=options.id,
            cells=options.cells,
            known=options.known,
            repeats=options.repeats,
            budget=options.budget,
            ledger=options.ledger,
        )
    if grown is None:
        tell("Nothing was released.")
        return 1
    tell(
        f"{options.folder} has {grown.rows} rows now, the first {grown.before} as before. Modelers are "
        f"told when the server is started again."
    )
    return 0
