"""botorch-private ranges: a file to declare features in, and what it amounts to."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from botorch_private.cli.common import fail, show_help


def add_ranges(commands: Any) -> None:
    """Add the commands about declared ranges to a parser's."""
    ranges = commands.add_parser(
        "ranges",
        help="declare the features of a table, without looking at its values",
        description=(
            "'template' starts a file of declared ranges from the names of a table's columns; 'check' "
            "says what a file amounts to. Neither looks at a value of the table."
        ),
    )
    ranges.set_defaults(action=show_help(ranges), parser=ranges)
    verbs = ranges.add_subparsers(dest="verb", metavar="COMMAND")
    template = verbs.add_parser(
        "template",
        help="start a file of ranges from the names of a table's columns",
        description=(
            "Print, or write, an entry for each column, to be filled in by hand. In a terminal it "
            "offers to ask for kinds and ranges. It reads the names of the columns and no value: a "
            "range that comes from the table would void the guarantee."
        ),
    )
    template.add_argument("table", type=Path, help="the records, .csv or .parquet")
    template.add_argument(
        "--output", type=Path, metavar="TOML", help="file to write (default: print it)"
    )
    template.set_defaults(action=_template, parser=template)
    check = verbs.add_parser(
        "check",
        help="what one unit of each feature is, and how many units wide each feature is",
        description="Show what declared ranges amount to; no table is needed.",
    )
    check.add_argument("ranges", type=Path, metavar="TOML", help="the file of declared ranges")
    check.set_defaults(action=_check, parser=check)


def _template(options: argparse.Namespace) -> int:
    from botorch_private._base.whole_file import require_folder, write_whole
    from botorch_private.curator.features.asking import ask
    from botorch_private.curator.features.tables import read_names
    from botorch_private.curator.features.template import template

    output: Path | None = options.output
    try:
        if output is not None:
            require_folder(output)
            if output.exists():
                raise FileExistsError(f"there is something at {output} already: name a new file")
        columns = read_names(options.table)
    except (OSError, ValueError, ImportError) as error:
        fail(options, error)
    declared = {}
    # Questions would mix with a template that is piped elsewhere.
    if sys.stdin.isatty() and sys.stdout.isatty():
        try:
            offer = f"Declare the {len(columns)} columns now, one by one? [y/N] "
            if input(offer).strip().lower() in ("y", "yes"):
                declared = ask(columns, input, print)
        except (EOFError, KeyboardInterrupt):
            fail(options, ValueError("stopped; nothing was written"))
    text = template(columns, declared)
    if output is None:
        print(text, end="")
        return 0
    write_whole(output, text.encode("utf-8"))
    left = [name for name in columns if name not in declared]
    print(f"Wrote {output}. " + ("Fill it in" if left else "Look it through") + ", then:")
    print(f"  botorch-private ranges check {output}")
    return 0


def _check(options: argparse.Namespace) -> int:
    from botorch_private.curator.features.described import describe
    from botorch_private.curator.features.ranges import load_encoding

    try:
        print(describe(load_encoding(options.ranges)))
    except (OSError, ValueError) as error:
        fail(options, error)
    return 0
