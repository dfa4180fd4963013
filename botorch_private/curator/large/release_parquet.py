"""release_parquet: release a table of many .parquet files, larger than memory, once and as a whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import torch

from botorch_private._base import validate
from botorch_private._base.engine import engine_of
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.curator.cells.cells import Cells
from botorch_private.curator.features.encoding import Encoding
from botorch_private.curator.features.range_fit import RangeFit, warn_of_range_fit
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.curator.large.assemble import MAP_FOLDER, assemble, beside, publish_parts
from botorch_private.curator.large.declared import columns_of, domain_of, ends_of, public_settings
from botorch_private.curator.large.plan import CHARGED, CHECKED, WHOLE, Plan, load_maps, save_maps
from botorch_private.curator.large.room import require_memory_of_tasks, require_room
from botorch_private.curator.large.scatter import Work
from botorch_private.curator.large.source import Reader, source_files
from botorch_private.curator.large.steps import check, draw
from botorch_private.curator.large.unfinished import (
    alone,
    begin,
    begun_before,
    entered,
    going_on,
    make_tasks_folder,
    require_new,
)
from botorch_private.curator.ledger import Ledger
from botorch_private.curator.mechanisms.base import NO_MAPS, Mechanism, RowByRow
from botorch_private.curator.mechanisms.entropy import entropy_from
from botorch_private.curator.publish import check_ledger, planned_guarantee, warn_of_delta
from botorch_private.exchange.named_outcomes import outcome_names as checked_names
from botorch_private.exchange.release import settings_text
from botorch_private.exchange.released_parts import ReleasedParts
from botorch_private.privacy.guarantee import PrivacyGuarantee

BUCKET = 2**28  # bytes of rows, and of their records' numbers
_DTYPES = ("float64", "float32")


def release_parquet(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    target: str | os.PathLike[str],
    scaling: PublicScaling | Encoding | None,
    mechanism: Mechanism,
    *,
    outcome_guarantee: PrivacyGuarantee | None = None,
    outcome_names: Sequence[str] = (),
    ledger: Ledger | None = None,
    dtype: str = "float64",
    bucket_bytes: int = BUCKET,
    engine: str = "process",
    address: str | None = None,
    workers: int | None = None,
    progress: bool = True,
    generator: torch.Generator | None = None,
) -> ReleasedParts:
    """Release a table in .parquet files, with the memory of one file and one bucket for each worker.

    Every record is looked at first. Then the ledger is charged, once. Then each file is noised, and each
    of its rows thrown into a bucket at random; then each bucket is put into a random order and written.
    The order of all rows is uniform, exactly: a row's place says nothing of its file. The release
    appears at ``target`` by one rename, whole or not at all.

    A call that was killed goes on where it was when it is made again, with the same arguments: what has
    its noise keeps it, and the ledger is not charged twice. Until then ``TARGET.work`` holds what is
    half done. It is for the curator alone, as ``TARGET.map`` is, which says whose row each one is
    (`RowMap`).

    Args:
        source: A folder of .parquet files, taken by name; or several files. Where workers are on other
            machines, they must see the same files.
        target: Folder to make: a manifest, and the parts (`ReleasedParts`).
        scaling: Declared ranges with names of features, or an `Encoding`; with a `CellResponse`, None,
            or the `Encoding` that its cells were made of.
        mechanism: How rows are released, each for itself: `NoisyProjection` or `CellResponse`.
        outcome_guarantee: What is promised about the answers to come; None: they are as they are.
        outcome_names: Names of the outcomes, where a record has several.
        ledger: Where the release is entered before anything is drawn.
        dtype: "float64", or "float32": rounded after the noise, which costs no privacy.
        bucket_bytes: Size of a bucket in memory.
        engine: "process", or "ray": tasks on a cluster (an extra).
        address: Of a cluster that runs; None: one is started on this machine.
        workers: Tasks at a time; None: one a CPU.
        progress: Whether to show a bar.
        generator: None: operating-system entropy. A generator voids the guarantee.

    Raises:
        FileExistsError: If there is something at ``target``.
        ValueError: If an argument, a file or a record is unusable; nothing is spent or written then.
        MemoryError: If one file or one bucket would need more memory than there is.
        OSError: If the disk has no room for it; nothing is spent then.
        BudgetError: If the ledger's budget does not allow for it; nothing is drawn then.

    Warns:
        ClippedRecordsWarning: If many records lie outside of a declared range; before the release.
        PrivacyLeakWarning: If ranges seem to come from the table, or delta is large for it: likewise.

    Example:
        >>> import pandas
        >>> named = PublicScaling([0.0, 0.0], [1.0, 1.0], names=["age", "weight"])
        >>> pandas.DataFrame(records.numpy(), columns=named.names).to_parquet("stays.parquet")
        >>> parts = release_parquet("stays.parquet", "released", named, mechanism, progress=False)
        >>> parts.n, parts.guarantee.holds
        (60, True)
    """
    return release_in_parts(
        source,
        target,
        scaling,
        mechanism,
        outcome_guarantee=outcome_guarantee,
        outcome_names=outcome_names,
        ledger=ledger,
        dtype=dtype,
        bucket_bytes=bucket_bytes,
        engine=engine,
        address=address,
        workers=workers,
        progress=progress,
        generator=generator,
    )


@on_cpu_by_default
def release_in_parts(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    target: str | os.PathLike[str],
    scaling: PublicScaling | Encoding | None,
    mechanism: Mechanism,
    *,
    outcome_guarantee: PrivacyGuarantee | None,
    outcome_names: Sequence[str],
    ledger: Ledger | None,
    agree: Callable[[RangeFit | None], Ledger] | None = None,
    dtype: str,
    bucket_bytes: int,
    engine: str,
    address: str | None,
    workers: int | None,
    progress: bool,
    generator: torch.Generator | None = None,
) -> ReleasedParts:
    """As `release_parquet`, and somebody is asked before anything is spent.

    ``agree`` is told how the records lie in their ranges, once all of them were looked at, and returns
    the ledger to charge, or raises: nothing is spent or written then. It is not asked where a call goes
    on. None: warnings say it.
    """
    encoding = scaling if isinstance(scaling, Encoding) else None
    domain = domain_of(scaling, encoding, mechanism)
    check_ledger(ledger)
    if outcome_names:
        outcome_names = checked_names(outcome_names=outcome_names)
    validate.one_of(_DTYPES, dtype=dtype)
    validate.count(bucket_bytes=bucket_bytes, minimum=2**10)
    validate.flag(progress=progress)
    entropy = entropy_from(generator)
    target = Path(os.path.abspath(target))
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"target must be in a folder that exists, but there is no {target.parent}"
        )
    folder = beside(target, "work")
    if not os.path.lexists(folder):
        require_new(target)
    reader = Reader(columns_of(domain, encoding), encoding)
    files = source_files(source)
    n = sum(file.rows for file in files)
    guarantee = planned_guarantee(
        n, domain, mechanism, seeded=entropy.seeded, noised_outcomes=outcome_guarantee is not None
    )
    labels = isinstance(domain, Cells)
    width = 1 if labels else guarantee.projection_dim or domain.features
    plan = Plan(
        files,
        reader.columns,
        max(1, -(-n * (8 * width + 8) // bucket_bytes)),
        width,
        "int16" if labels else dtype,
        settings_text(public_settings(mechanism, guarantee, outcome_guarantee, outcome_names, domain)),
        ends_of(domain),
    )
    require_memory_of_tasks(plan, domain.features)
    warn = getattr(mechanism, "warn", None)
    if warn is not None:
        warn(n, domain.features, stacklevel=5)
    budget = None if ledger is None else ledger.budget
    warn_of_delta(n, guarantee, outcome_guarantee, budget, stacklevel=5)
    with alone(folder), engine_of(engine, address=address, workers=workers) as tasks:
        seeds = _seeds(generator, len(files) + plan.buckets)
        assert isinstance(mechanism, RowByRow)
        work = Work(
            folder,
            reader,
            domain,
            mechanism,
            NO_MAPS,
            plan.buckets,
            width,
            plan.dtype,
            seeds,
        )
        promises = (guarantee,) if outcome_guarantee is None else (guarantee, outcome_guarantee)
        begun = begun_before(folder, plan, ledger)
        if begun is None or begun.stage != WHOLE:
            require_new(target)
        if begun is None:
            require_new(beside(target, MAP_FOLDER))
            looks, fit = check(tasks, plan, work, progress)
            require_room(plan, target)
            if agree is not None:
                ledger = agree(fit)
            elif fit is not None:
                warn_of_range_fit(fit, stacklevel=4)
            if ledger is not None:
                ledger.require(*promises, start=0, stop=n)
            now = datetime.now(UTC).isoformat(timespec="microseconds")
            begun = replace(plan, begun=now, charges=ledger is not None, looks=looks)
            begin(folder)
            begun.save(folder)
        # Looked up each time: a call may be killed between the entry and the note of it, and the ledger
        # of a later call may be another one, which has no entry of this release.
        if ledger is not None and not entered(ledger, begun, guarantee):
            ledger.spend(*promises, start=0, stop=n, time=begun.begun)
        with going_on(ledger):
            if begun.stage == CHECKED:
                maps = save_maps(folder, mechanism.draw_maps(domain.features, entropy))
                begun = replace(begun, stage=CHARGED, maps=maps)
                begun.save(folder)
            if begun.stage == CHARGED:
                work = replace(
                    work,
                    folder=begun.tasks(folder),
                    maps=load_maps(folder, begun.maps),
                    looks=begun.looks,
                )
                make_tasks_folder(work.folder)
                begun = assemble(folder, begun, draw(tasks, plan, work, progress))
            return publish_parts(target, folder, begun)


def _seeds(generator: torch.Generator | None, count: int) -> tuple[int, ...] | None:
    if generator is None:
        return None
    return tuple(torch.randint(2**62, (count,), generator=generator).tolist())
