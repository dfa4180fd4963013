"""grow: let further records join the table of a curator's folder, and their rows its release.

A process may die at any point. What is spent is entered first. The longer release is then written beside
the one that is served, and one transaction appends the records and says that the longer release is the
folder's: before it the folder is the old one, after it the new one. `Folder.lock` puts the release file
into its place, or away, whenever that was not done.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
from torch import Tensor

from botorch_private._base.frames import OUTCOME_REMEDY
from botorch_private._base.memory import in_words
from botorch_private._base.whole_file import sync_folder, write_whole
from botorch_private.curator.features.csv_shape import FIRST_ROW
from botorch_private.curator.features.dialect import PLAIN, Dialect
from botorch_private.curator.features.identifiers import checked_identifiers
from botorch_private.curator.features.range_fit import RangeFit, fit_of
from botorch_private.curator.features.ranges import load_encoding
from botorch_private.curator.features.tables import (
    read_encoded,
    read_identifiers,
    read_known,
    read_table,
)
from botorch_private.curator.further_rows import published_to_grow
from botorch_private.curator.ledger import Ledger
from botorch_private.curator.mechanisms.entropy import entropy_from
from botorch_private.curator.mechanisms.noise import sample_on_grid
from botorch_private.curator.publish import Domain, guarantee_of_more, publish_more, ranges_of
from botorch_private.curator.repeats import refuse_repeats
from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.initialize import cells_of
from botorch_private.curator.service.make_folder import folder_size, known_outcomes
from botorch_private.curator.service.store import Store
from botorch_private.curator.table_ledger import ledger_to_grow
from botorch_private.exchange.release import Release
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.noise_law import NoiseLaw
from botorch_private.privacy.spending import total


class Grown(NamedTuple):
    """What became of a folder.

    Attributes:
        before: Rows of its release before.
        rows: Rows now.
    """

    before: int
    rows: int


def grow(
    folder: Folder,
    table: Path,
    *,
    ranges: Path,
    agree: Callable[[str, RangeFit], bool],
    dialect: Dialect = PLAIN,
    identifiers: str | None = None,
    cells: Path | None = None,
    known: str | None = None,
    repeats: bool = False,
    budget: int | None = None,
    ledger: Path | None = None,
) -> Grown | None:
    """Append the records at the end of a table to a folder that no server uses now.

    Rows, questions and answers so far stay as they are. The new rows come after them, in a random order
    among themselves, with noise of their own; so are answers about them. The new records are charged for
    their own rows alone, and nobody else is; unless ``repeats``: then everybody is.

    Args:
        folder: The folder.
        table: The table that was released, with the further records below it, .csv, .parquet or .xlsx.
        ranges: Declared ranges of the features, as they were when the folder was made.
        agree: As in `initialize`; what it is told second is about the new records.
        dialect: How the table is written.
        identifiers: Column with what staff call the records; None: "record 1" and so on.
        cells: File of cells, where the folder was made with one.
        known: Column with outcomes: all of them where a column measures; else those that are known
            already, empty where they are not. Only those of the new records are read.
        repeats: Whether the new records may be of people who are in the table already.
        budget: Largest number of different records that are measured from now on, in all; None: as many
            as before.
        ledger: File of what was spent on this table; None: the one beside the table.

    Returns:
        What became of it; None if nobody agreed, and nothing was released.

    Raises:
        OSError: If a file is missing or the disk is full.
        ValueError: If a server uses the folder, its release cannot grow, or the first records of the
            table, the ranges or the ledger are not those of the folder; nothing is released then.
        BudgetError: If the ledger's budget does not allow for it; nobody is asked then.
    """
    folder.refuse_strangers()
    with folder.lock(), closing(folder.open(locked=True)) as store:
        facts, n = store.facts, store.facts.n
        if facts.parts is not None:
            raise ValueError("folder must be of a release in one piece: one in parts cannot grow yet")
        if facts.outcomes:
            raise ValueError("folder must be one of a single outcome: others cannot grow yet")
        release = Release.load(folder.release)
        if release.identity != facts.identity:
            raise ValueError(f"{folder.release} is not the release that this folder was made with")
        encoding = load_encoding(ranges)
        scaling: Domain = encoding.scaling
        if release.cells is not None:
            scaling = cells_of(encoding, ranges, cells)
        elif cells is not None:
            raise ValueError("cells must be None for a release of noisy records")
        filled: dict[str, np.ndarray] = {}
        records = read_encoded(table, encoding, dialect=dialect, filled=filled)
        m = len(records) - n
        if m < 1:
            raise ValueError(
                f"{table} must hold the {n} records that were released and further ones below them, got "
                f"{len(records)}: nothing to add"
            )
        limit = _raised(facts.max_queries, budget, len(records))
        names = _names(store, table, identifiers, len(records), dialect)
        outcomes = _outcomes(store, table, known, m, dialect)
        published = published_to_grow(release, records[:n], scaling, store.order())
        kept = _kept_records(folder, records[:n])
        joining = records[n:]
        if not repeats:
            refuse_repeats(joining, records[:n], ranges_of(scaling), first_row=FIRST_ROW + n)
        _refuse_full_disk(folder, release, records, kept=kept)
        spent_in = ledger_to_grow(table, n, named=ledger, own=folder.ledger)
        promises = [guarantee_of_more(release, m, repeats=repeats)]
        answers = release.outcome_guarantee
        if answers is not None:
            promises.append(answers)
        spent_in.require(*promises, start=n, stop=n + m, everybody=repeats)
        words = _words(table, n, m, promises, spent_in, repeats=repeats)
        if limit != facts.max_queries:
            words += f"\n\nRecords that may be measured: {limit} in all, {facts.max_queries} so far."
        lacking = {name: lacks[n:] for name, lacks in filled.items()}
        if not agree(words, fit_of(joining, encoding.scaling).with_filled(lacking)):
            return None
        noise = _grid_noise(answers, m)  # may fail: before it is spent
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it was shown, and agreed to
            published = publish_more(published, joining, repeats=repeats, ledger=spent_in)
        if spent_in.path != folder.ledger.resolve():
            spent_in.copy(folder.ledger)
        spent = spent_in.total
        assert spent is not None
        published.release.save(folder.coming_release)
        if kept:
            _keep_records(folder, records)
        order = published.permutation[n:].tolist()
        rows = [
            (n + i, record, names[record], outcomes[record - n], noise[record - n])
            for i, record in enumerate(order)
        ]
        now = replace(
            facts,
            n=n + m,
            max_queries=limit,
            identity=published.release.identity,
            guarantee=json.loads(spent.to_json()),
            guarantee_words=str(spent),
        )
        store.grow(now, rows).result()
        os.replace(folder.coming_release, folder.release)
        sync_folder(folder.path)
    return Grown(n, n + m)


def _words(
    table: Path,
    n: int,
    m: int,
    promises: list[PrivacyGuarantee],
    ledger: Ledger,
    *,
    repeats: bool,
) -> str:
    before = ledger.total
    if repeats and before is not None:
        words = [
            f"{m} records of {table} join {n} that were released. Somebody may be among both: everybody "
            f"is charged for the new rows. What all have spent then:",
            str(total([before, *promises])),
        ]
    else:
        words = [
            f"{m} records of {table} join {n} that were released. What they spend, and nobody else:",
            str(total(promises)),
        ]
    words.append(f"It will be entered in {ledger.path}.")
    if ledger.budget is not None:
        words.append(str(ledger.budget))
    return "\n\n".join(words)


def _raised(before: int | None, now: int | None, rows: int) -> int | None:
    """The budget of measurements of a folder that grows.

    The guarantee is the same with a larger one, since it counts one answer about every record, whoever
    is asked for. Answers that add up, as many as the budget, keep a folder from growing.
    """
    if now is None:
        return before
    if before is None:
        raise ValueError("budget must be left out: this folder has no limit of measurements")
    if not before <= now <= rows:
        raise ValueError(
            f"budget must be at least the {before} measurements of before, and at most the {rows} "
            f"records, got {now}"
        )
    return now


def _names(store: Store, table: Path, column: str | None, count: int, dialect: Dialect) -> list[str]:
    """Identifiers of all records: those of the first ones must be as they were."""
    before = store.names_of_records()
    if column is None:
        names = [f"record {i + 1}" for i in range(count)]
        if before != names[: len(before)]:
            raise ValueError(
                "identifiers must be given: records of this folder are called by a column of the table"
            )
        return names
    names = checked_identifiers(
        read_identifiers(table, column, dialect=dialect), source="identifiers", place="row"
    )
    if before != names[: len(before)]:
        raise ValueError(
            f"the first {len(before)} records of {table} must be those that were released, in their "
            f"order, but their identifiers are others"
        )
    return names


def _outcomes(
    store: Store, table: Path, column: str | None, m: int, dialect: Dialect
) -> list[float | None]:
    """Outcomes of the ``m`` new records, None where one is not known."""
    if store.facts.objective == "column":
        if column is None:
            raise ValueError("known must be given: in this folder a column of the table measures")
        return read_table(table, [column], remedy=OUTCOME_REMEDY, dialect=dialect)[-m:, 0].tolist()
    if column is None:
        return [None] * m
    found = read_known(table, column, dialect=dialect)[-m:]
    if not found.isnan().all():
        known_outcomes(found, len(found), store.facts.objective, store.facts.plausible)
    return [None if math.isnan(each) else each for each in found.tolist()]


def _grid_noise(answers: PrivacyGuarantee | None, m: int) -> list[int | None]:
    """Noise of the answers about the new records, in steps of their grid."""
    if answers is None:
        return [None] * m
    law = answers.law
    assert isinstance(law, NoiseLaw)  # answers that add up are refused by `publish_more`
    return sample_on_grid(law, m, entropy_from(None))[:, 0].tolist()


def _kept_records(folder: Folder, first: Tensor) -> bool:
    """Whether the folder keeps raw features; those of the first records must be the same."""
    if not folder.records.exists():
        return False
    kept = np.load(folder.records, mmap_mode="r", allow_pickle=False)
    if not np.array_equal(kept[: len(first)], first.numpy()):  # it is longer after a crash
        raise ValueError(
            f"the first {len(first)} records of the table must be those that were released, but their "
            f"features are not those of {folder.records}"
        )
    return True


def _keep_records(folder: Folder, records: Tensor) -> None:
    content = BytesIO()
    np.save(content, records.numpy(), allow_pickle=False)
    write_whole(folder.records, content.getvalue())


def _refuse_full_disk(folder: Folder, release: Release, records: Tensor, *, kept: bool) -> None:
    size = folder_size((len(records), release.candidates.shape[1]), records.shape[1], ":" * kept)
    free = shutil.disk_usage(folder.path).free
    if size > free:
        raise OSError(
            f"folder must be on a disk with room for {in_words(size)}, but {in_words(free)} are free"
        )
