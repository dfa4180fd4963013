"""botorch-private ranges: a file to declare features in, and what it amounts to."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from botorch_private.cli.common import add_command, add_group, count, refusals, refuse_option
from botorch_private.cli.documents.output import add_json, put_document
from botorch_private.cli.history import add_history, history_settings, read_history
from botorch_private.cli.output import add_output, check_output, write_output
from botorch_private.cli.streams import put, tell
from botorch_private.cli.table import add_dialect, dialect_of


def add_ranges(commands: Any) -> None:
    """Add the commands about declared ranges to a parser's."""
    verbs = add_group(
        commands,
        "ranges",
        "declare the features of a table, without looking at its values",
        "'template' starts a file of declared ranges from the names of a table's columns; 'check' says "
        "what a file amounts to; 'choose' leaves features that matter, by records of other people. "
        "None takes a value of the table that is released.",
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
    template.add_argument(
        "table", type=Path, metavar="TABLE", help="the records, .csv, .parquet or .xlsx"
    )
    add_output(template, "file to write (default: print it)", metavar="TOML")
    add_dialect(template)
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
    add_json(check)
    choose = add_command(
        verbs,
        "choose",
        _choose,
        "leave the features that go with the outcome, from records of other people",
        "Choose some of the declared features from a history, such as last year's records, whose "
        "outcomes are known, and write a file of ranges with these alone. None of these people may be "
        "in the table that is released later. The choice is private for each of them: epsilon and delta "
        "are for any change of a whole record, outcome included: who has several is protected less. One "
        "unit of distance stays what it is.",
        epilog="  botorch-private ranges choose last.csv --ranges ranges.toml --outcome cost \\\n"
        "    --outcome-range 0 50000 --count 4 --epsilon 1 --output chosen.toml",
    )
    option = choose.add_argument
    add_history(choose)
    option("--count", type=count, required=True, metavar="N", help="how many features to leave")
    option(
        "--prior",
        type=Path,
        metavar="JSON",
        help="also write here what the history tells a modeler: length-scales and scatter to start from",
    )
    add_output(
        choose, "file to write (default: chosen.toml)", metavar="TOML", default=Path("chosen.toml")
    )


def _template(options: argparse.Namespace) -> int:
    from botorch_private.curator.features.tables import read_names
    from botorch_private.curator.features.template import template

    output: Path | None = options.output
    if output is not None:
        check_output(options, output)
    with refusals(options):
        columns = read_names(options.table, dialect=dialect_of(options))
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


def _choose(options: argparse.Namespace) -> int:
    from botorch_private.curator.features.written import ranges_text
    from botorch_private.curator.history.choose_features import choose_features

    output, prior = options.output, options.prior
    check_output(options, output)
    if prior is not None:
        if prior.resolve() == output.resolve():
            refuse_option(options, "--prior", "it must be another file than that of --output")
        check_output(options, prior, option="--prior")
    with refusals(options):
        encoding, records, outcomes = read_history(options)
        choice = choose_features(
            records, outcomes, encoding.scaling, options.count, **history_settings(options)
        )
        text = ranges_text(choice.encoding(encoding))
    if prior is not None:
        write_output(options, prior, choice.prior.to_bytes(), option="--prior")
    write_output(options, output, text.encode("utf-8"))
    tell(f"Wrote {output}, with {', '.join(choice.features)}: the most correlated first.")
    tell(choice.promise.said)
    tell(f"Next:\n  botorch-private curator init TABLE DIR --ranges {output} --epsilon 3")
    return 0


def _check(options: argparse.Namespace) -> int:
    from botorch_private.curator.features.described import describe
    from botorch_private.curator.features.ranges import load_encoding

    with refusals(options):
        encoding = load_encoding(options.ranges)
        if options.json:
            from botorch_private.cli.documents.ranges import RangesDocument

            put_document(options, RangesDocument.of(encoding))
            return 0
        print(describe(encoding))
    if encoding.scaling.history is not None:
        print(f"\n{encoding.scaling.history.said}")
    return 0
