"""botorch-private curator worklist: the records that are asked for, to be measured."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from botorch_private.cli.common import refuse_option
from botorch_private.cli.curator.folder import add_folder_command, opened
from botorch_private.cli.output import add_output, check_output, write_output
from botorch_private.cli.streams import tell
from botorch_private.cli.table import add_written, declared, dialect_of

if TYPE_CHECKING:
    from botorch_private.curator.service.agenda import Item
    from botorch_private.curator.service.store import Store

_DESCRIPTION = (
    "Show the records that are asked for and not measured yet, by their identifiers: for your "
    "laboratory's eyes only. With --output it writes a sheet with an empty column for each outcome, "
    "which 'import' takes once it is filled in. The console has the same as a page to print, with a "
    "box to sign."
)


def add(verbs: Any) -> None:
    """Add the command."""
    parser = add_folder_command(
        verbs,
        "worklist",
        _worklist,
        "the records that are asked for, as a table or a sheet",
        _DESCRIPTION,
    )
    parser.add_argument("--late", action="store_true", help="only those whose day is over")
    parser.add_argument(
        "--find",
        default="",
        metavar="TEXT",
        help="only identifiers that begin with it, in capitals or not",
    )
    add_written(parser)
    add_output(
        parser, "sheet to write, for your laboratory's eyes only (default: print a table)", metavar="CSV"
    )


def _worklist(options: argparse.Namespace) -> int:
    from botorch_private.curator.service.agenda import View, Wanted
    from botorch_private.curator.service.worklist import worklist_csv
    from botorch_private.curator.service.written_sheet import encoded

    written = declared(options)
    if options.output is not None:
        check_output(options, options.output, (".csv",))
    for name in written if options.output is None else ():
        refuse_option(options, f"--{name}", "needs --output: a table is printed else")
    with opened(options) as store:
        dialect = dialect_of(options)
        items = store.agenda.page(Wanted(View.LATE if options.late else View.OPEN, options.find), 0)
        if options.output is None:
            narrowed = options.late or options.find
            none = (
                "Nothing like that waits to be measured" if narrowed else "Nothing waits to be measured"
            )
            print(worklist_table(store, items) if items else f"{none}.\n", end="")
            return 0
        # By its mark spreadsheets know UTF-8.
        content = encoded(worklist_csv(store, items, dialect), written.get("encoding", "utf-8-sig"))
        write_output(options, options.output, content)
    tell(f"Wrote {options.output}: {len(items)} rows, for your laboratory's eyes only.")
    return 0


def worklist_table(store: Store, items: list[Item]) -> str:
    """Questions as a table for a terminal."""
    names = {token.id: token.name for token in store.tokens.all()}
    rows = [("question", "identifier", "asked", "due", "taken by", "note")]
    for query, identifier, arranged in items:
        due = f"{arranged.due} (late)" if arranged.is_late else arranged.due or ""
        by = names.get(arranged.taken_by or 0, "")
        rows.append((str(query.id), identifier, query.asked[:10], due, by, arranged.note))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join(lines) + "\n"
