"""initialize: from a table and declared ranges to a curator's folder."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from botorch_private.curator.curator import Curator
from botorch_private.curator.features.ranges import load_encoding
from botorch_private.curator.features.tables import read_encoded, read_table, read_texts
from botorch_private.curator.ledger import Ledger
from botorch_private.curator.mechanisms import NoisyProjection, OutcomeMechanism
from botorch_private.curator.publish import planned_guarantee
from botorch_private.curator.service.make_folder import check_settings, make_folder
from botorch_private.curator.service.worker import load
from botorch_private.privacy.rounding import round_up
from botorch_private.privacy.spending import total


def initialize(options: argparse.Namespace, *, ask: Callable[[str], bool]) -> int:
    """Do what ``botorch-private curator init`` promises.

    Args:
        options: Its options.
        ask: Asks somebody who may spend privacy.

    Returns:
        The exit status.

    Raises:
        OSError: If a file is missing, or there is something at the folder's place.
        ValueError: If an option or the table is unusable; nothing is released then.
        BudgetError: If the ledger's budget does not allow for it; nothing is released then.
    """
    folder: Path = options.folder
    if folder.exists():
        raise FileExistsError(f"there is something at {folder} already: name a new folder")
    encoding = load_encoding(options.ranges)
    scaling = encoding.scaling
    mechanism = NoisyProjection(options.epsilon, options.delta, options.projection_dim)
    outcome_mechanism = _outcome_mechanism(options)
    objective, column = _objective(options.objective)
    released = {feature.name for feature in encoding.features}
    for option, name in (("--objective", column), ("--id", options.id)):
        if name in released:
            raise ValueError(
                f"{option} must be a column that is not released, but {options.ranges} declares "
                f"{name!r} as a feature: delete [features.{name}] there"
            )
    records = read_encoded(options.table, encoding)
    outcomes = None if column is None else read_table(options.table, [column])[:, 0]
    identifiers = None if options.id is None else read_texts(options.table, options.id)
    n = len(records)
    if options.budget is not None and options.budget > n:
        raise ValueError(f"--budget must be at most the {n} records, got {options.budget}")
    if options.shared_outcomes and (options.outcome_epsilon is None or options.budget is None):
        raise ValueError("--shared-outcomes needs --outcome-epsilon and --budget: answers then add up")
    if options.budget is not None and options.budget < 1:
        raise ValueError(f"--budget must be at least 1, got {options.budget}")
    plausible = None if options.plausible is None else tuple(options.plausible)
    check_settings(
        folder,
        n,
        identifiers=identifiers,
        objective=objective,
        known=outcomes is not None,
        time_limit=options.time_limit,
        plausible=plausible,
    )
    ledger = None if options.ledger is None else Ledger(path=options.ledger)
    promises = [planned_guarantee(n, scaling, mechanism, noised_outcomes=outcome_mechanism is not None)]
    if outcome_mechanism is not None:
        answers = options.budget if options.shared_outcomes else None
        promises.append(outcome_mechanism.guarantee(answers=answers))
    promised = total(promises)
    print(f"{n} records of {len(encoding.features)} features from {options.table}.\n\n{promised}")
    if ledger is not None and ledger.total is not None:
        spent = total([ledger.total, *promises])
        print(
            f"  By {options.ledger} these records were released before: all together, epsilon at one "
            f"unit is {round_up(spent.epsilon)} then, at delta {round_up(spent.delta, 2)}."
        )
    print()
    if not options.yes and not ask("Release them once with this guarantee?"):
        print("Nothing was released.")
        return 1
    curator = Curator(
        records,
        scaling,
        mechanism,
        # Nobody measures in this process: the server asks a person, or its own worker.
        outcomes if outcomes is not None else _nobody,
        outcome_mechanism=outcome_mechanism,
        shared_outcomes=options.shared_outcomes,
        max_queries=options.budget,
        ledger=ledger,
    )
    make_folder(
        folder,
        curator,
        identifiers=identifiers,
        objective=objective,
        time_limit=options.time_limit,
        outcome_name=options.outcome,
        outcome_unit=options.unit,
        plausible=plausible,
    )
    print(
        f"Made {folder}. Next:\n"
        f"  botorch-private curator token new {folder} --role modeler --name NAME\n"
        f"  botorch-private curator token new {folder} --role staff --name NAME\n"
        f"  botorch-private curator serve {folder}"
    )
    return 0


def _nobody(_: object) -> float:
    raise RuntimeError("the server measures, not the command that made its folder")


def _outcome_mechanism(options: argparse.Namespace) -> OutcomeMechanism | None:
    if (options.outcome_epsilon is None) != (options.outcome_range is None):
        raise ValueError("--outcome-epsilon and --outcome-range must be given together")
    if options.outcome_epsilon is None:
        if options.outcome_delta:
            raise ValueError("--outcome-delta needs --outcome-epsilon and --outcome-range")
        return None
    return OutcomeMechanism(options.outcome_epsilon, options.outcome_delta, tuple(options.outcome_range))


def _objective(text: str) -> tuple[str, str | None]:
    """What measures, and the column of the table if it is one."""
    if text == "person":
        return text, None
    kind, _, name = text.partition(":")
    if not name:
        raise ValueError(f"--objective must be person, column:NAME or module:function, got {text!r}")
    if kind == "column":
        return "column", name
    load(text)  # refuses a function that is none, before anything is spent
    return text, None
