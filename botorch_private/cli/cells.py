"""botorch-private cells: what a release that protects whole records tells of a record."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from botorch_private.cli.common import add_command, add_group, refusals
from botorch_private.cli.history import add_history, history_settings, read_history
from botorch_private.cli.output import add_output, check_output, write_output
from botorch_private.cli.streams import tell


def add_cells(commands: Any) -> None:
    """Add the commands about cells to a parser's."""
    verbs = add_group(
        commands,
        "cells",
        "declare cells, for a release that protects whole records",
        "A release of cells tells of each record only which cell it is in, and often it lies: so it "
        "protects "
        "a whole record, whatever changes in it. 'suggest' proposes how many cells and where they end, "
        "'from-history' learns cells from records of other people, 'check' says what a file amounts to. "
        "Then: curator init --whole-record.",
    )
    suggest = add_command(
        verbs,
        "suggest",
        _suggest,
        "how many cells, and where they end, by epsilon and declared ranges alone",
        "Propose a number of cells for an epsilon of a whole record and, with --ranges, edges for each "
        "declared number. No table is looked at: edges that come from the table would void the "
        "guarantee.",
    )
    suggest.add_argument("epsilon", type=float, help="epsilon for any change of a whole record, > 0")
    suggest.add_argument("--ranges", type=Path, metavar="TOML", help="declared ranges (ranges.toml)")
    learn = add_command(
        verbs,
        "from-history",
        _learn,
        "learn cells from records of other people whose outcomes are known",
        "Learn a score from a history, such as last year's records, and cut it into cells. None of "
        "these people may be in the table that is released later. The score is private for each of "
        "them: epsilon and delta are for any change of a whole record, outcome included: who has "
        "several is protected less.",
    )
    option = learn.add_argument
    add_history(learn)
    option(
        "--cuts",
        type=float,
        nargs="+",
        metavar="SHARE",
        help="shares of the history below each cut, rising (default: 0.97, which makes two cells)",
    )
    add_output(learn, "file to write (default: cells.toml)", metavar="TOML", default=Path("cells.toml"))
    check = add_command(verbs, "check", _check, "what declared cells amount to; no table is needed")
    check.add_argument("cells", type=Path, metavar="TOML", help="file of cells, or of ranges with edges")
    check.add_argument(
        "--epsilon", type=float, help="also say how often a label is true at this epsilon"
    )


def _suggest(options: argparse.Namespace) -> int:
    from botorch_private.curator.cells.suggest_cells import suggest_cells, suggested_count
    from botorch_private.curator.features.ranges import load_encoding
    from botorch_private.curator.features.template import key

    with refusals(options):
        count = suggested_count(options.epsilon)
        encoding = None
        if options.ranges is not None:
            encoding = suggest_cells(options.epsilon, load_encoding(options.ranges))
    print(f"About {count} cells at epsilon {options.epsilon:g} for a whole record.")
    if encoding is None:
        print("With --ranges TOML, edges between cells are proposed for each declared number.")
        return 0
    print(f"In {options.ranges}, add each line of edges below the upper end of its feature:\n")
    for feature in encoding.features:
        if edges := getattr(feature, "edges", ()):
            numbers = ", ".join(f"{edge:.6g}" for edge in edges)
            print(f"# to [features.{key(feature.name)}]:\nedges = [{numbers}]\n")
    print("Round the numbers as you like, by what the features mean. Never look them up in the table.")
    return 0


def _learn(options: argparse.Namespace) -> int:
    from botorch_private.curator.cells.cells import Cells
    from botorch_private.curator.cells.cells_file import cells_text

    check_output(options, options.output)
    with refusals(options):
        encoding, records, outcomes = read_history(options)
        cells = Cells.from_history(
            records,
            outcomes,
            encoding.scaling,
            cuts=options.cuts or [0.97],
            **history_settings(options),
        )
    assert cells.score is not None
    write_output(options, options.output, cells_text(cells.score).encode("utf-8"))
    tell(f"Wrote {options.output}: {cells.count} cells.")
    tell(cells.score.promise.said)
    tell(
        f"Next:\n  botorch-private curator init TABLE DIR --ranges {options.ranges} --whole-record "
        f"--cells {options.output} --epsilon 3"
    )
    return 0


def _check(options: argparse.Namespace) -> int:
    from botorch_private.curator.cells.cells_file import load_cells
    from botorch_private.privacy.response_law import ResponseLaw

    with refusals(options):
        cells = load_cells(options.cells)
        law = None if options.epsilon is None else ResponseLaw.at_most(options.epsilon, cells.count)
    grid = " x ".join(map(str, cells.space.shape))
    print(f"{cells.count} cells" + (f" ({grid})" if len(cells.space.shape) > 1 else "") + ".")
    for name, length, ordered in zip(
        cells.space.names or (), cells.space.shape, cells.space.ordered, strict=False
    ):
        print(f"  {name}: {length}, {'in order' if ordered else 'without order'}")
    if cells.score is not None:
        print(cells.score.promise.said)
    if law is not None:
        print(
            f"At epsilon {options.epsilon:g} for a whole record, {100 * law.p:.1f} % of labels are true."
        )
    return 0
