"""botorch-private curator export: questions and outcomes as CSV, or all events, for the curator."""

from __future__ import annotations

import argparse
from typing import Any

from botorch_private.cli.common import refuse_option
from botorch_private.cli.curator.folder import add_folder_command, opened_to_read
from botorch_private.cli.curator.verify import say
from botorch_private.cli.output import add_output, check_output, write_output
from botorch_private.cli.streams import put, tell, warn
from botorch_private.cli.table import add_written, declared, dialect_of

_DESCRIPTION = (
    "Print every question with the identifier of its record, its outcome and its answer, as CSV. "
    "--events prints all that happened instead: who asked, entered, corrected (with the value before "
    "and the reason), logged in or was refused, and when. Each event has a hash over the one before it, "
    "which 'curator verify' follows. Keep the last hash elsewhere: then nobody can make the trail anew."
)


def add(verbs: Any) -> None:
    """Add the command."""
    export = add_folder_command(
        verbs,
        "export",
        _export,
        "questions and outcomes with the identifiers of their records, as CSV",
        _DESCRIPTION,
    )
    export.add_argument(
        "--events",
        action="store_true",
        help="all that happened, each event with its hash, as JSON Lines",
    )
    add_output(export, "file to write, for your eyes only (default: print it)", metavar="FILE")
    add_written(export)


def _export(options: argparse.Namespace) -> int:
    from botorch_private.curator.service.exported import export_csv
    from botorch_private.curator.service.written_sheet import encoded

    if options.output is not None:
        check_output(options, options.output)
    if options.events:
        for name in declared(options):
            refuse_option(options, f"--{name}", "must be left out with --events: they are JSON Lines")
        return _export_events(options)
    if options.encoding is not None and options.output is None:
        refuse_option(options, "--encoding", "needs --output")
    with opened_to_read(options) as store:
        dialect = dialect_of(options)
        text = export_csv(store, dialect)
        content = encoded(text, dialect.encoding)
    if options.output is None:
        put(text)
        return 0
    write_output(options, options.output, content)
    tell(f"Wrote {options.output}: identifiers and outcomes, for the curator's eyes only.")
    return 0


def _export_events(options: argparse.Namespace) -> int:
    from botorch_private.curator.service.trail_check import check_database, require_chain
    from botorch_private.curator.service.trail_file import write_trail

    with opened_to_read(options) as store:
        require_chain(store)
        with store.one_moment():
            text, checked = write_trail(store), check_database(store)
    if options.output is None:
        put(text)
        if checked.problem:
            warn(f"The trail is broken: {checked.problem}.")
        return 1 if checked.problem else 0
    write_output(options, options.output, text.encode())
    tell(f"Wrote {options.output}: values, reasons and comments, for you and whoever audits.")
    return say(checked)
