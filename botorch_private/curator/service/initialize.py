"""initialize: from a table and declared ranges to a curator's folder."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from botorch_private._base.frames import OUTCOME_REMEDY
from botorch_private.curator.cells.cells import Cells
from botorch_private.curator.cells.cells_file import load_cells
from botorch_private.curator.curator import Curator
from botorch_private.curator.features.dialect import PLAIN, Dialect
from botorch_private.curator.features.encoding import Encoding
from botorch_private.curator.features.persons import most_records
from botorch_private.curator.features.range_fit import RangeFit, fit_of
from botorch_private.curator.features.ranges import load_encoding
from botorch_private.curator.features.tables import (
    read_encoded,
    read_identifiers,
    read_known,
    read_table,
)
from botorch_private.curator.ledger import Ledger
from botorch_private.curator.mechanisms import Mechanism, OutcomeMechanism
from botorch_private.curator.objective import refuse_uncallable
from botorch_private.curator.publish import Domain, planned_guarantee, require_memory_to_publish
from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.make_folder import (
    check_settings,
    folder_size,
    known_outcomes,
    make_folder,
)
from botorch_private.curator.service.promised import what_is_promised
from botorch_private.curator.service.worker import load
from botorch_private.curator.table_ledger import ledger_of
from botorch_private.exchange.named_outcomes import require_names
from botorch_private.exchange.release import LABEL_COLUMNS
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.spending import total
from botorch_private.privacy.warnings import ClippedRecordsWarning, PrivacyLeakWarning


def initialize(
    table: Path,
    folder: Path,
    *,
    ranges: Path,
    dialect: Dialect = PLAIN,
    mechanism: Mechanism | Callable[[Cells], Mechanism],
    agree: Callable[[str, RangeFit], bool],
    outcome_names: Sequence[str] | None = None,
    outcome_mechanism: OutcomeMechanism | Mapping[str, OutcomeMechanism] | None = None,
    shared_outcomes: bool = False,
    budget: int | None = None,
    identifiers: str | None = None,
    objective: str = "person",
    cells: Path | None = None,
    person: str | None = None,
    known: str | None = None,
    ledger: Path | None = None,
    privacy_budget: PrivacyGuarantee | None = None,
    **settings: Any,
) -> Folder | None:
    """Release a table once, and make the folder that a server needs.

    Args:
        table: The records, .csv, .parquet or .xlsx.
        folder: Folder to make; there must be nothing yet.
        ranges: Declared ranges of the features, TOML.
        dialect: How the table is written.
        mechanism: How records are released; or what makes a mechanism of cells, for a release that
            protects whole records.
        agree: Is told what will be promised and how the records lie in their ranges; says whether that
            privacy may be spent. What it is told second depends on the records: for the curator alone.
        outcome_names: Names of the outcomes, where records have several; declared, and never taken from
            the table. None: a record has one outcome.
        outcome_mechanism: How answers are noised, with ``outcome_names`` a dict of those; None: they are
            not.
        shared_outcomes: Whether outcomes may depend on other records, so that answers add up.
        budget: Largest number of different records that are measured; None: no limit.
        identifiers: Column with what staff call the records; None: "record 1" and so on.
        objective: "person", "column:NAME", or "module:function"; with ``outcome_names`` "column" for the
            columns that are called as the outcomes are.
        cells: File of cells, for a mechanism of cells; None: the edges in ``ranges``.
        person: Column that tells people apart, to say what the one with the most records pays: to
            ``agree`` and in the folder only. None: it is not said.
        known: Column with outcomes that are known already, empty where they are not; nobody measures
            those. None: none is known.
        ledger: File of what was spent on this table before; None: the one beside the table
            (`table_ledger`).
        privacy_budget: Largest total on any record, over all releases of this table; a ledger keeps the
            one that it was begun with. None: that one, or no limit.
        **settings: Of `make_folder`: ``time_limit``, ``outcome_name``, ``outcome_unit``, ``plausible``,
            ``goal``.

    Returns:
        The folder; None if nobody agreed, and nothing was released.

    Raises:
        OSError: If a file is missing, or there is something at the folder's place.
        ValueError: If an argument, the table or its ledger is unusable; nothing is released then.
        BudgetError: If the ledger's budget does not allow for it; nobody is asked then.
    """
    if folder.exists():
        raise FileExistsError(f"there is something at {folder} already: name a new folder")
    encoding = load_encoding(ranges)
    measured_by, columns = measured_by_of(objective, outcome_names)
    others = [("objective", column) for column in columns]
    others += [("identifiers", identifiers), ("person", person), ("known", known)]
    refuse_released(encoding, ranges, others)
    scaling, mechanism = mechanism_of(mechanism, encoding, ranges, cells)
    filled: dict[str, np.ndarray] = {}
    records = read_encoded(table, encoding, dialect=dialect, filled=filled)
    outcomes = names = None
    if columns:
        outcomes = read_table(table, columns, remedy=OUTCOME_REMEDY, dialect=dialect)
        outcomes = outcomes[:, 0] if outcome_names is None else outcomes
    if identifiers is not None:
        names = read_identifiers(table, identifiers, dialect=dialect)
    n = len(records)
    if n < 2:
        raise ValueError(f"{table} must hold at least 2 records, got {n}")
    check_budget(budget, n, noised=outcome_mechanism is not None, shared=shared_outcomes)
    settings = {"identifiers": names, "objective": measured_by, **settings}
    some = None if known is None else read_known(table, known, dialect=dialect)
    first = planned_guarantee(n, scaling, mechanism, noised_outcomes=outcome_mechanism is not None)
    d = encoding.scaling.features
    width = LABEL_COLUMNS if scaling is None else first.projection_dim or d
    # The file is in memory, too, before it is written.
    require_memory_to_publish(n, d, mechanism, beside=2 * 8 * n * width)
    size = folder_size((n, width), d, measured_by)
    named = tuple(outcome_names or ())
    check_settings(folder, n, known=outcomes is not None, size=size, outcome_names=named, **settings)
    if some is not None:
        known_outcomes(some, n, measured_by, settings.get("plausible"), named)
    own = ledger_of(table, n, ledger)
    past = own.ledger
    most = None if person is None else most_records(table, person, dialect=dialect)
    promises = [first]
    if outcome_mechanism is not None:
        promises.append(
            promise_of_answers(outcome_mechanism, named, budget if shared_outcomes else None)
        )
    told = what_is_promised(
        promises,
        own,
        privacy_budget,
        n=n,
        most=most,
        source=f"{len(encoding.features)} features from {table}",
    )
    if not agree(told.words, fit_of(records, encoding.scaling).with_filled(filled)):
        return None
    if privacy_budget is not None:
        past = Ledger(privacy_budget, None if past is None else past.path)
    with warnings.catch_warnings():
        for told_already in (ClippedRecordsWarning, PrivacyLeakWarning):
            warnings.simplefilter("ignore", told_already)
        curator = Curator(
            records,
            scaling,
            mechanism,
            # Nobody measures in this process: the server asks a person, or its own worker.
            _known(outcomes, named) if outcomes is not None else _nobody,
            outcome_names=outcome_names,
            outcome_mechanism=outcome_mechanism,
            shared_outcomes=shared_outcomes,
            max_queries=budget,
            ledger=past,
        )
    return make_folder(folder, curator, person=told.price, known=some, **settings)


def cells_of(encoding: Encoding, ranges: Path, path: Path | None) -> Cells:
    """Cells of the declared features: by their edges, or by a file of their own."""
    if path is None:
        return Cells.of_encoding(encoding, source=f"{ranges}: ")
    found = load_cells(path)
    if found.score is None:
        raise ValueError(
            f"cells must be a file of 'cells from-history', and {path} is none: edges belong into "
            f"{ranges}"
        )
    if found.names is not None and found.names != encoding.names:
        raise ValueError(
            f"cells must be of the features of {ranges}, in their order, and those of {path} are others"
        )
    if found.features != len(encoding.names):
        raise ValueError(f"cells must be of the {len(encoding.names)} columns of {ranges}, got others")
    return found


def mechanism_of(
    mechanism: Mechanism | Callable[[Cells], Mechanism],
    encoding: Encoding,
    ranges: Path,
    cells: Path | None,
) -> tuple[Domain | None, Mechanism]:
    """How records are scaled and released: scaling is None for a mechanism of cells."""
    if not isinstance(mechanism, Mechanism):
        return None, mechanism(cells_of(encoding, ranges, cells))
    if cells is not None:
        raise ValueError("cells must be None for a mechanism that adds noise")
    return encoding.scaling, mechanism


def refuse_released(encoding: Encoding, ranges: Path, others: Sequence[tuple[str, str | None]]) -> None:
    """Refuse a column that is read for something else, by its argument, where it is released."""
    released = {feature.name for feature in encoding.features}
    for argument, name in others:
        if name in released:
            raise ValueError(
                f"{argument} must be a column that is not released, but {ranges} declares {name!r} as a "
                f"feature: delete [features.{name}] there"
            )


def check_budget(budget: int | None, n: int, *, noised: bool, shared: bool) -> None:
    """Refuse a limit of measurements that does not fit the table or the answers."""
    if budget is not None and not 1 <= budget <= n:
        raise ValueError(f"budget must be at least 1 and at most the {n} records, got {budget}")
    if shared and (not noised or budget is None):
        raise ValueError("shared_outcomes needs noise on the answers and a budget: answers then add up")


def _nobody(_: object) -> float:
    raise RuntimeError("the server measures, not the command that made its folder")


def _known(outcomes: Any, names: tuple[str, ...]) -> Any:
    """Known outcomes as a `Curator` takes them."""
    return {name: outcomes[:, i] for i, name in enumerate(names)} if names else outcomes


def promise_of_answers(
    mechanism: OutcomeMechanism | Mapping[str, OutcomeMechanism],
    names: tuple[str, ...],
    answers: int | None,
) -> PrivacyGuarantee:
    """What noised answers promise: of several outcomes all together, as a `Curator` enters it."""
    if not names:
        if isinstance(mechanism, Mapping):
            raise ValueError("outcome_mechanism must be one where a record has one outcome, got several")
        return mechanism.guarantee(answers=answers)
    if not isinstance(mechanism, Mapping):
        raise ValueError(f"outcome_mechanism must be a dict with one for each of {', '.join(names)}")
    require_names(names, outcome_mechanism=mechanism)
    return total([mechanism[name].guarantee(answers=answers).naming(name) for name in names])


def measured_by_of(text: str, names: Sequence[str] | None) -> tuple[str, list[str]]:
    """What measures, and the columns of the table if it is those."""
    kind, _, name = text.partition(":")
    if names is not None and kind == "column":
        if name:
            raise ValueError(
                "objective must be column alone with several outcomes, for the columns of their names"
            )
        return kind, list(names)
    if text != "person" and not name:
        raise ValueError(f"objective must be person, column:NAME or module:function, got {text!r}")
    if kind == "column":
        return kind, [name]
    if name:
        refuse_uncallable(load(text))  # before anything is spent
    return text, []
