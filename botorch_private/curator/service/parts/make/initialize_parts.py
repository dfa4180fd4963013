"""initialize_parts: from a table of many .parquet files to a curator's folder, larger than memory."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from botorch_private._base.engine import engine_of
from botorch_private.curator.cells.cells import Cells
from botorch_private.curator.features.persons import price_of_a_person
from botorch_private.curator.features.range_fit import RangeFit
from botorch_private.curator.features.ranges import load_encoding
from botorch_private.curator.large.release_parquet import BUCKET, release_in_parts
from botorch_private.curator.large.source import SourceFile
from botorch_private.curator.large.unfinished import alone
from botorch_private.curator.ledger import Ledger
from botorch_private.curator.mechanisms import Mechanism, OutcomeMechanism
from botorch_private.curator.publish import planned_guarantee
from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.initialize import (
    check_budget,
    measured_by_of,
    mechanism_of,
    promise_of_answers,
    refuse_released,
)
from botorch_private.curator.service.make_folder import check_settings
from botorch_private.curator.service.parts.layout import MANIFEST, RELEASE
from botorch_private.curator.service.parts.make.beside import Beside
from botorch_private.curator.service.parts.make.finish import finish_folder, size_of_folder
from botorch_private.curator.service.parts.make.making import Begun, Making
from botorch_private.curator.service.parts.make.reading_beside import read_beside
from botorch_private.curator.service.parts.make.source_of import files_of, ledger_place
from botorch_private.curator.service.promised import what_is_promised
from botorch_private.curator.table_ledger import ledger_of
from botorch_private.exchange.released_parts import ReleasedParts
from botorch_private.privacy.guarantee import PrivacyGuarantee


class _NotAgreedError(Exception):
    """Nobody agreed."""


def initialize_parts(
    table: Path,
    folder: Path,
    *,
    ranges: Path,
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
    engine: str = "process",
    address: str | None = None,
    workers: int | None = None,
    progress: bool = True,
    **settings: Any,
) -> Folder | None:
    """Release a table of .parquet files once, in parts, and make the folder that a server needs.

    As `initialize`, with the memory of one file and one part of the release for each worker. Until all
    is there, it lies in ``FOLDER.making``, for the curator alone. A call that was killed goes on when it
    is made again with the same arguments: nobody is asked again once the ledger is charged, and it is
    charged once.

    Args:
        table: A folder of .parquet files, one such file, or a pattern such as ``stays/*.parquet``.
        folder: As in `initialize`, and so are the others that are not here.
        ranges: Declared ranges.
        mechanism: How records are released, each for itself.
        agree: Is told what will be promised, and how the records lie in their ranges.
        outcome_names: Names of several outcomes.
        outcome_mechanism: Noise on the answers.
        shared_outcomes: Whether outcomes may depend on other records.
        budget: Largest number of different records that are measured.
        identifiers: Column with what staff call the records; None: their file, and their place in it.
        objective: Who measures.
        cells: File of cells.
        person: Column that tells people apart.
        known: Column with outcomes that are known already.
        ledger: File of what was spent on this table before; None: the one beside the folder of files.
        privacy_budget: Largest total on any record.
        engine: "process", or "ray": tasks on a cluster.
        address: Of a cluster that runs; None: one is started on this machine.
        workers: Tasks at a time; None: one a CPU.
        progress: Whether to show bars.
        **settings: Of `make_folder`.

    Returns:
        The folder; None if nobody agreed, and nothing was released.

    Raises:
        OSError: If a file is missing, the disk has no room, or there is something at the folder's place.
        ValueError: If an argument, a file or the ledger is unusable; nothing is released then.
        MemoryError: If one file or one part would need more memory than there is.
        BudgetError: If the ledger's budget does not allow for it; nobody is asked then.
    """
    if os.path.lexists(folder):
        raise FileExistsError(f"there is something at {folder} already: name a new folder")
    encoding = load_encoding(ranges)
    measured_by, columns = measured_by_of(objective, outcome_names)
    others = [("objective", column) for column in columns]
    others += [("identifiers", identifiers), ("person", person), ("known", known)]
    refuse_released(encoding, ranges, others)
    scaling, mechanism = mechanism_of(mechanism, encoding, ranges, cells)
    files = files_of(table)
    n, named = sum(file.rows for file in files), tuple(outcome_names or ())
    check_budget(budget, n, noised=outcome_mechanism is not None, shared=shared_outcomes)
    _refuse_known(known, measured_by, named)
    first = planned_guarantee(n, scaling, mechanism, noised_outcomes=outcome_mechanism is not None)
    answers = None
    if outcome_mechanism is not None:
        answers = promise_of_answers(outcome_mechanism, named, budget if shared_outcomes else None)
    width = 1 if scaling is None else first.projection_dim or encoding.scaling.features
    beside = Beside(
        identifiers=identifiers,
        outcomes=tuple(columns),
        known=known,
        person=person,
        plausible=settings.get("plausible") if known is not None else None,
        features=encoding if ":" in measured_by else None,
    )
    size = size_of_folder(n, width, beside, noised=max(1, len(named)) if answers is not None else 0)
    settings = {"objective": measured_by, **settings}
    making = Making(folder)
    checks = {"known": bool(columns), "outcome_names": named, "identifiers": None}
    with _alone(making):
        check_settings(folder, n, **checks, size=0 if making.path.exists() else size, **settings)
        begun = Begun.of(files, ranges, cells, first, answers, beside, measured_by)
        own = ledger_of(ledger_place(table), n, ledger)
        with making.begin(begun), engine_of(engine, address=address, workers=workers) as tasks:
            past = own.ledger or Ledger(path=making.own_ledger)
            seen = read_beside(tasks, files, beside, making, progress=progress)

            def ask(fit: RangeFit | None) -> Ledger:
                promises = [first] if answers is None else [first, answers]
                source = f"{len(encoding.features)} features from {len(files)} files of {table}"
                told = what_is_promised(
                    promises, own, privacy_budget, n=n, most=seen.most, source=source
                )
                if not agree(told.words, RangeFit(()) if fit is None else fit):
                    raise _NotAgreedError
                return past if privacy_budget is None else Ledger(privacy_budget, past.path)

            try:
                parts = _released(
                    making,
                    files,
                    encoding,
                    mechanism,
                    outcome_guarantee=answers,
                    outcome_names=named,
                    ledger=past,
                    agree=ask,
                    bucket_bytes=BUCKET,
                    engine=engine,
                    address=address,
                    workers=workers,
                    progress=progress,
                )
            except _NotAgreedError:
                return None
            spent = Ledger(path=past.path)
            assert spent.total is not None
            price = None if seen.most is None else price_of_a_person(spent.total, seen.most)
            return finish_folder(
                making,
                parts,
                files,
                spent,
                beside=beside,
                known=seen.known,
                price=price,
                outcome_names=named,
                outcome_mechanism=outcome_mechanism,
                budget=budget,
                progress=progress,
                **settings,
            )


def _released(
    making: Making, files: tuple[SourceFile, ...], *declared: Any, **options: Any
) -> ReleasedParts:
    """The release, made now or by an earlier call."""
    target = making.path / RELEASE
    if (target / MANIFEST).is_file():
        return ReleasedParts.load(target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is shown, and agreed to
        return release_in_parts(
            [file.path for file in files], target, *declared, dtype="float64", **options
        )


def _refuse_known(known: str | None, measured_by: str, names: tuple[str, ...]) -> None:
    if known is not None and names:
        raise ValueError("known must be None where records have several outcomes")
    if known is not None and measured_by == "column":
        raise ValueError("known must be None where a column has the outcomes of all records")


@contextmanager
def _alone(making: Making) -> Iterator[None]:
    """Keep a second call on the same folder away."""
    if not making.path.parent.is_dir():
        raise FileNotFoundError(
            f"path must be in a folder that exists, but there is no {making.path.parent}"
        )
    taken = "folder must be made by one command at a time: another one is at work on"
    with alone(making.path, taken):
        yield
