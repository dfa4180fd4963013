"""botorch-private curator export: queries and outcomes as CSV, or all events; for the curator alone."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from botorch_private.cli.curator.folder import add_folder_command, opened_to_read
from botorch_private.cli.curator.verify import say
from botorch_private.cli.output import add_output, check_output, write_output
from botorch_private.cli.streams import put, tell, warn

if TYPE_CHECKING:
    from botorch_private.curator.service.question import Outcome
    from botorch_private.curator.service.reading import Reading

_DESCRIPTION = (
    "Print every query with the identifier of its record, its outcome and its answer, as CSV. --events "
    "prints all that happened instead: who asked, entered, corrected (with the value before and the "
    "reason), logged in or was refused, and when. Each event has a hash over the one before it, which "
    "'curator verify' follows. Keep the last hash elsewhere: then nobody can make the trail anew."
)
_COLUMNS = ("state", "outcome", "answer", "revision", "asked", "settled")


def add(verbs: Any) -> None:
    """Add the command."""
    export = add_folder_command(
        verbs,
        "export",
        _export,
        "queries and outcomes with the identifiers of their records, as CSV",
        _DESCRIPTION,
    )
    export.add_argument(
        "--events",
        action="store_true",
        help="all that happened, each event with its hash, as JSON Lines",
    )
    add_output(export, "file to write, for your eyes only (default: print it)", metavar="FILE")


def _export(options: argparse.Namespace) -> int:
    if options.output is not None:
        check_output(options, options.output)
    if options.events:
        return _export_events(options)
    with opened_to_read(options) as store:
        text = export_csv(store)
    if options.output is None:
        put(text)
        return 0
    write_output(options, options.output, text.encode())
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


def export_csv(store: Reading) -> str:
    """Every query with its record's identifier, its outcome, and what the modeler was told.

    Texts that a spreadsheet would take for a formula are preceded by an apostrophe.
    """
    from botorch_private.curator.service.sheet_columns import harmless

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [each.name for each in store.facts.outcomes]
    heads = [f"{column} {name}" for column in ("outcome", "answer") for name in names]
    heads = [_COLUMNS[0], *map(harmless, heads), *_COLUMNS[3:]] if names else list(_COLUMNS)
    writer.writerow(("query", "row", "identifier", *heads, "reason", "date", "instrument", "comment"))
    for query in store.queries():
        state, outcome, answer, *others = (getattr(query, name) for name in _COLUMNS)
        values = [*_numbers(outcome, names), *_numbers(answer, names)]
        identifier = harmless(store.identifier(query.row))
        said = (harmless(each) for each in query.circumstances)
        cells = (query.id, query.row, identifier, state, *values, *others)
        writer.writerow((*cells, harmless(query.reason), *said))
    return text.getvalue()


def _numbers(value: Outcome | None, names: Sequence[str]) -> list[float | None]:
    """A cell, or one for each name."""
    if isinstance(value, dict):
        return [value[name] for name in names]
    return [value] * max(1, len(names))
