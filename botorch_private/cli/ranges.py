"""botorch-private ranges: a file to declare features in, and what it amounts to."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from botorch_private.cli.common import add_command, add_group, refusals
from botorch_private.cli.output import add_output, check_output, write_output
from botorch_private.cli.streams import put, tell


def add_ranges(commands: Any) -> None:
    """Add the commands about declared ranges to a parser's."""
    verbs = add_group(
        commands,
        "ranges",
        "declare the features of a table, without looking at its values",
        "'template' starts a file of declared ranges from the names of a table's columns; 'check' says "
        "what a file amounts to. Neither takes a value of the table.",
    )
    template = add_command(
        verbs,
        "template",
        _template,
        "start a file of ranges from the names of a table's columns",
        "Print, or write, an entry for each column, to be filled in by hand. In a terminal it offers to "
        "ask for kinds and ranges. It takes the names of the columns and no value: a range that comes "
        "from the table would void the guarantee.",
        epilog="  botorch-private ranges template table.csv --output ranges.toml",
    )
    template.add_argument("table", type=Path, metavar="TABLE", help="the records, .csv or .parquet")
    add_output(template, "file to write (default: print it)", metavar="TOML")
    check = add_command(
        verbs,
        "check",
        _check,
        "what one unit of each feature is, and how many units wide each feature is",
        "Show what declared ranges amount to; no table is needed. One unit is the distance that epsilon "
        "is for.",
        epilog="  botorch-private ranges check ranges.toml",
    )
    check.add_argument("ranges", type=Path, metavar="TOML", help="the file of declared ranges")


def _template(options: argparse.Namespace) -> int:
    from botorch_private.curator.features.tables import read_names
    from botorch_private.curator.features.template import template

    output: Path | None = options.output
    if output is not None:
        check_output(options, output)
    with refusals(options):
        columns = read_names(options.table)
        declared = _asked(columns)
        text = template(columns, declared)
        if output is None:
            put(text)
            return 0
    write_output(options, output, text.encode("utf-8"))
    left = [name for name in columns if name not in declared]
    next_step = "Fill it in" if left else "Look it through"
    tell(f"Wrote {output}. {next_step}, then:\n  botorch-private ranges check {output}")
    return 0


def _asked(columns: list[str]) -> dict[str, Any]:
    """What somebody declares of the columns, where somebody is there to be asked."""
    from botorch_private.curator.features.asking import ask

    # Questions would mix with a template that is piped elsewhere.
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return {}
    try:
        offer = f"Declare the {len(columns)} columns now, one by one? [y/N] "
        return ask(columns, input, print) if input(offer).strip().lower() in ("y", "yes") else {}
    except (EOFError, KeyboardInterrupt):
        raise ValueError("stopped; nothing was written") from None


def _check(options: argparse.Namespace) -> int:
    from botorch_private.curator.features.described import describe
    from botorch_private.curator.features.ranges import load_encoding

    with refusals(options):
        print(describe(load_encoding(options.ranges)))
    return 0
