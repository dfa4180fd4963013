"""botorch-private curator init: release a table and make the folder that 'serve' needs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botorch_private.cli.common import add_command, refusals

if TYPE_CHECKING:
    from botorch_private.curator.mechanisms import OutcomeMechanism
    from botorch_private.privacy.guarantee import PrivacyGuarantee


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
    )
    bounds: dict[str, Any] = {"type": float, "nargs": 2, "metavar": ("LOW", "HIGH")}
    option = init.add_argument
    option("table", type=Path, help="the records, .csv or .parquet")
    option("folder", type=Path, metavar="DIR", help="the folder to make")
    option("--ranges", type=Path, required=True, help="declared ranges of the features (ranges.toml)")
    option("--epsilon", type=float, required=True, help="epsilon for one unit of distance, > 0")
    option("--delta", type=float, default=0.0, help="delta in [0, 1) (default: 0, pure)")
    option("--projection-dim", type=int, help="width of a released row (default: no projection)")
    option("--budget", type=int, metavar="T", help="most records that are measured (default: no limit)")
    option("--id", metavar="COLUMN", help="column with what staff call a record")
    option(
        "--objective",
        default="person",
        help="who measures: 'person' (staff, in the console; the default), 'column:NAME' (a column of "
        "the table), or 'module:function' (a function of a record's d raw features)",
    )
    option(
        "--time-limit",
        type=float,
        default=3600.0,
        help="seconds for one call of the function (default: 3600)",
    )
    option("--outcome", default="outcome", help="what is measured, for people")
    option("--unit", default="", help="its unit, for people")
    option("--plausible", **bounds, help="values outside this range must be confirmed by staff")
    option("--outcome-epsilon", type=float, help="epsilon of noise on the answers (default: no noise)")
    option("--outcome-delta", type=float, default=0.0, help="its delta in [0, 1)")
    option(
        "--outcome-range", **bounds, help="public range that outcomes are clipped to before the noise"
    )
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
    option("--yes", action="store_true", help="do not ask")


def _init(options: argparse.Namespace) -> int:
    from botorch_private.curator.ledger import BudgetError
    from botorch_private.curator.mechanisms import NoisyProjection
    from botorch_private.curator.service.initialize import initialize

    def agree(words: str) -> bool:
        print(f"{words}\n")
        return options.yes or _ask("Release them once with this guarantee?")

    with refusals(options, BudgetError):
        folder = initialize(
            options.table,
            options.folder,
            ranges=options.ranges,
            mechanism=NoisyProjection(options.epsilon, options.delta, options.projection_dim),
            agree=agree,
            outcome_mechanism=_outcome_mechanism(options),
            shared_outcomes=options.shared_outcomes,
            budget=options.budget,
            identifiers=options.id,
            objective=options.objective,
            person=options.person,
            ledger=options.ledger,
            privacy_budget=_privacy_budget(options),
            time_limit=options.time_limit,
            outcome_name=options.outcome,
            outcome_unit=options.unit,
            plausible=None if options.plausible is None else tuple(options.plausible),
        )
    if folder is None:
        print("Nothing was released.")
        return 1
    print(
        f"Made {options.folder}. Next:\n"
        f"  botorch-private curator token new {options.folder} --role modeler --name NAME\n"
        f"  botorch-private curator token new {options.folder} --role staff --name NAME\n"
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


def _ask(question: str) -> bool:
    if not sys.stdin.isatty():
        raise ValueError("nobody is there to be asked: say --yes if you agree")
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except (EOFError, KeyboardInterrupt):  # no answer is no
        print()
        return False


def _outcome_mechanism(options: argparse.Namespace) -> OutcomeMechanism | None:
    from botorch_private.curator.mechanisms import OutcomeMechanism

    epsilon, bound = options.outcome_epsilon, options.outcome_range
    if (epsilon is None) != (bound is None):
        raise ValueError("--outcome-epsilon and --outcome-range must be given together")
    if epsilon is None:
        if options.outcome_delta:
            raise ValueError("--outcome-delta needs --outcome-epsilon and --outcome-range")
        return None
    return OutcomeMechanism(epsilon, options.outcome_delta, tuple(bound))
