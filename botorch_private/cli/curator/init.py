"""botorch-private curator init: release a table and make the folder that 'serve' needs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botorch_private.cli.common import add_command, refusals
from botorch_private.cli.curator.agreement import add_agreement, agreed
from botorch_private.cli.curator.outcomes import add_outcomes, outcomes_of
from botorch_private.cli.curator.parts import add_parts, way_of_reading
from botorch_private.cli.goal import add_goal, goal_of
from botorch_private.cli.streams import tell
from botorch_private.cli.table import add_dialect

if TYPE_CHECKING:
    from botorch_private.curator.cells.cells import Cells
    from botorch_private.curator.mechanisms import Mechanism
    from botorch_private.privacy.guarantee import PrivacyGuarantee

# Arguments of the library whose options have other names.
_ARGUMENTS = {
    "identifiers": "--id",
    "outcome_name": "--outcome",
    "outcome_names": "--outcome",
    "outcome_unit": "--unit",
    "plausible_low": "--plausible",
    "plausible_high": "--plausible",
    "max_queries": "--budget",
    "k": "--best",
}

_EPILOG = """\
A column of the table measures; staff measure, in the console; a function of the features measures:

  botorch-private curator init table.csv folder --ranges ranges.toml --epsilon 3 --budget 50 \\
    --objective column:cost
  botorch-private curator init table.csv folder --ranges ranges.toml --epsilon 3 --budget 50 \\
    --id patient --outcome 'length of stay' --unit days --plausible 0 120
  botorch-private curator init table.csv folder --ranges ranges.toml --epsilon 3 --budget 50 \\
    --objective laboratory:measure

A table of many .parquet files that need not fit into memory; killed, the same command goes on:

  botorch-private curator init stays/ folder --ranges ranges.toml --epsilon 3 --budget 50 \\
    --id patient --output-parquet --engine ray

Several outcomes of a record, each with a unit and ranges of its own:

  botorch-private curator init table.csv folder --ranges ranges.toml --epsilon 3 --budget 50 \\
    --outcome cost --unit EUR --plausible 0 5000 --outcome safety --plausible 0 1 \\
    --minimize --of cost --at-least safety=0.9
"""


def add(verbs: Any) -> None:
    """Add the command."""
    init = add_command(
        verbs,
        "init",
        _init,
        "release a table and make the folder that 'serve' needs",
        "Release the declared features of a table, once: this spends privacy, so it shows the "
        "guarantee and asks first. The folder holds the release, the ledger, a database with the "
        "order of its rows and, where a function measures, the records; nobody but you can enter.",
        epilog=_EPILOG,
    )
    option = init.add_argument
    option(
        "table",
        type=Path,
        metavar="TABLE",
        help="the records, .csv, .parquet or .xlsx; with --output-parquet a folder of .parquet files, "
        "one such file, or a pattern in quotes",
    )
    option("folder", type=Path, metavar="DIR", help="the folder to make")
    option(
        "--ranges",
        type=Path,
        required=True,
        metavar="TOML",
        help="declared ranges of the features, from 'ranges template'",
    )
    option(
        "--epsilon",
        type=float,
        required=True,
        metavar="E",
        help="epsilon for one unit of distance, > 0 ('ranges check' shows what a unit is); with "
        "--whole-record for any change of a whole record",
    )
    option(
        "--whole-record",
        action="store_true",
        help="protect whole records: --epsilon is for any change of one, yes/no and categories and all. "
        "Of each record only its cell is told, and often another one as a lie; cells are declared by "
        "edges in the file of --ranges ('cells suggest'), or by --cells",
    )
    option(
        "--cells",
        type=Path,
        metavar="TOML",
        help="with --whole-record: cells from a history of other people, by 'cells from-history'",
    )
    option(
        "--delta",
        type=float,
        default=0.0,
        metavar="D",
        help="delta in [0, 1), far below 1 / records; above 0, the noise is smaller from about 4 "
        "features on (default: 0)",
    )
    option(
        "--noise",
        choices=("auto", "laplace", "l2", "gaussian"),
        default="auto",
        help="law of the noise: 'laplace' is pure, 'l2' and 'gaussian' need --delta; 'auto' takes the "
        "smallest (default: auto)",
    )
    option(
        "--projection-dim",
        type=int,
        metavar="R",
        help="width of a released row (default: no projection)",
    )
    option("--budget", type=int, metavar="T", help="most records that are measured (default: no limit)")
    option("--id", metavar="COLUMN", help="column with what staff call a record (default: its number)")
    option(
        "--objective",
        default="person",
        metavar="WHO",
        help="who measures: 'person' (staff, in the console; the default), 'column:NAME' (a column of "
        "the table; 'column' with several outcomes, for those of their names), or 'module:function' (a "
        "function of a record's d raw features)",
    )
    option(
        "--known",
        metavar="COLUMN",
        help="column with outcomes that are known already, empty where they are not: nobody measures "
        "those, and questions about them are answered at once (the modeler sees that it took no time)",
    )
    option(
        "--time-limit",
        type=float,
        default=3600.0,
        metavar="SECONDS",
        help="seconds for one call of the function (default: 3600)",
    )
    add_outcomes(init)
    add_goal(init, "what a search is after, as modelers and staff are told", "the largest outcome")
    option(
        "--shared-outcomes",
        action="store_true",
        help="outcomes may depend on other records as well (a rank, a difference to a mean): noised "
        "answers then add up, as many as --budget allows",
    )
    option(
        "--person",
        metavar="COLUMN",
        help="column that tells people apart: says to you what the one with the most records pays",
    )
    option(
        "--ledger",
        type=Path,
        help="ledger of this table (default: TABLE.ledger.json beside the table, for all its releases)",
    )
    option(
        "--privacy-budget",
        type=float,
        nargs=2,
        metavar=("EPSILON", "DELTA"),
        help="largest epsilon, at one unit, and delta that all releases of this table and the noised "
        "answers may have together; for its first release (default: no limit)",
    )
    add_agreement(init)
    add_dialect(init)
    add_parts(init)


def _init(options: argparse.Namespace) -> int:
    from botorch_private.curator.ledger import BudgetError

    goal = goal_of(options)
    with refusals(options, BudgetError, arguments=_ARGUMENTS):
        way = way_of_reading(options)
        folder = way(
            options.table,
            options.folder,
            ranges=options.ranges,
            mechanism=_mechanism(options),
            cells=options.cells,
            agree=partial(agreed, options),
            **outcomes_of(options),
            shared_outcomes=options.shared_outcomes,
            budget=options.budget,
            identifiers=options.id,
            objective=options.objective,
            person=options.person,
            known=options.known,
            ledger=options.ledger,
            privacy_budget=_privacy_budget(options),
            time_limit=options.time_limit,
            goal=goal,
        )
    if folder is None:
        tell("Nothing was released.")
        return 1
    token = f"  botorch-private curator token new {options.folder} --role"
    staff = (
        ""
        if (options.objective or "").startswith("column:")
        else f"{token} staff --name NAME --output NAME.txt\n"
    )
    tell(
        f"Made {options.folder}. Next:\n"
        f"{token} modeler --output token.txt\n{staff}"
        f"  botorch-private curator serve {options.folder}"
    )
    return 0


def _privacy_budget(options: argparse.Namespace) -> PrivacyGuarantee | None:
    from botorch_private.privacy.guarantee import PrivacyGuarantee

    if options.privacy_budget is None:
        return None
    try:
        return PrivacyGuarantee.budget(*options.privacy_budget)
    except ValueError as error:
        raise ValueError(f"--privacy-budget: {error}") from error


def _mechanism(options: argparse.Namespace) -> Mechanism | Callable[[Cells], Mechanism]:
    """How records are released; for whole records, what makes it of cells that are read later."""
    from botorch_private.curator.cells.cell_response import CellResponse
    from botorch_private.curator.mechanisms import NoisyProjection

    if not options.whole_record:
        if options.cells is not None:
            raise ValueError("--cells needs --whole-record")
        return NoisyProjection(options.epsilon, options.delta, options.projection_dim, options.noise)
    noise = options.noise != "auto"
    for option, given in (
        ("--delta", options.delta),
        ("--projection-dim", options.projection_dim),
        ("--noise", noise),
    ):
        if given:
            raise ValueError(f"{option} must be left out with --whole-record: what is told is pure")
    return partial(CellResponse, options.epsilon)
