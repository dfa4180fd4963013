"""release_parquet: release a table of many .parquet files, larger than memory, once and as a whole."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from botorch_private._base import validate
from botorch_private._base.engine import Engine, engine_of
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private._base.memory import in_words, require_memory
from botorch_private._base.progress import tqdm
from botorch_private._base.whole_file import sync_folder
from botorch_private.curator.cells.cells import Cells
from botorch_private.curator.features.encoding import Encoding
from botorch_private.curator.features.range_fit import FeatureFit, RangeFit
from botorch_private.curator.features.scaling import PublicScaling
from botorch_private.curator.large.gather import MAP, PART, bucket_folder, gather
from botorch_private.curator.large.plan import CHARGED, Plan, load_maps, save_maps
from botorch_private.curator.large.row_map import RowMap
from botorch_private.curator.large.scatter import Look, Work, check_file, scatter
from botorch_private.curator.large.source import Reader, source_files
from botorch_private.curator.ledger import Ledger
from botorch_private.curator.mechanisms.base import NO_MAPS, Mechanism, RowByRow
from botorch_private.curator.mechanisms.entropy import entropy_from
from botorch_private.curator.publish import (
    Domain,
    charged,
    check_ledger,
    check_parts,
    planned_guarantee,
    ranges_of,
    warn_of_delta,
)
from botorch_private.exchange.release import settings_text
from botorch_private.exchange.released_parts import Part, ReleasedParts
from botorch_private.privacy.guarantee import PrivacyGuarantee
from botorch_private.privacy.warnings import ClippedRecordsWarning

_BUCKET = 2**28  # bytes of rows, and of their records' numbers
_COPIES = 6  # of a file's numbers while it is read, scaled and noised (measured: 5)
_RELEASE, _MAP = "release", "map"
_DTYPES = ("float64", "float32")


@on_cpu_by_default
def release_parquet(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    target: str | os.PathLike[str],
    scaling: PublicScaling | Encoding | None,
    mechanism: Mechanism,
    *,
    outcome_guarantee: PrivacyGuarantee | None = None,
    ledger: Ledger | None = None,
    dtype: str = "float64",
    bucket_bytes: int = _BUCKET,
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

    Example:
        >>> import pandas
        >>> named = PublicScaling([0.0, 0.0], [1.0, 1.0], names=["age", "weight"])
        >>> pandas.DataFrame(records.numpy(), columns=named.names).to_parquet("stays.parquet")
        >>> parts = release_parquet("stays.parquet", "released", named, mechanism, progress=False)
        >>> parts.n, parts.guarantee.holds
        (60, True)
    """
    encoding = scaling if isinstance(scaling, Encoding) else None
    domain = _domain(scaling, encoding, mechanism)
    check_ledger(ledger)
    validate.one_of(_DTYPES, dtype=dtype)
    validate.count(bucket_bytes=bucket_bytes, minimum=2**10)
    validate.flag(progress=progress)
    entropy = entropy_from(generator)
    target = Path(os.path.abspath(target))
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"target must be in a folder that exists, but there is no {target.parent}"
        )
    _require_new(target)
    reader = Reader(_columns(domain, encoding), encoding)
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
        settings_text(_settings(mechanism, guarantee, outcome_guarantee, domain)),
        _ends(domain),
    )
    _require_memory(plan, domain.features)
    warn_of_delta(n, guarantee, outcome_guarantee, None if ledger is None else ledger.budget)
    folder = _beside(target, "work")
    with _alone(folder), engine_of(engine, address=address, workers=workers) as tasks:
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
        begun = _begun(folder, plan, ledger)
        if begun is None:
            _require_new(_beside(target, _MAP))
            looks = _check(tasks, plan, work, progress)
            _require_room(plan, target)
            if ledger is not None:
                ledger.require(*promises, start=0, stop=n)
            now = datetime.now(UTC).isoformat(timespec="microseconds")
            begun = replace(plan, begun=now, charges=ledger is not None, looks=looks)
            folder.mkdir(mode=0o700, exist_ok=True)
            os.chmod(folder, 0o700)
            begun.save(folder)
        # Looked up each time: a call may be killed between the entry and the note of it, and the ledger
        # of a later call may be another one, which has no entry of this release.
        if ledger is not None and not _entered(ledger, begun, guarantee):
            ledger.spend(*promises, start=0, stop=n, time=begun.begun)
        if begun.stage != CHARGED:
            with charged(ledger):
                save_maps(folder, mechanism.draw_maps(domain.features, entropy))
                begun = replace(begun, stage=CHARGED)
                begun.save(folder)
        with charged(ledger):
            work = replace(work, maps=load_maps(folder), looks=begun.looks)
            parts = _draw(tasks, plan, work, progress)
            return _finish(target, folder, plan, parts)


def _domain(scaling: Any, encoding: Encoding | None, mechanism: Mechanism) -> Domain:
    """What is declared of records; refuses what cannot be released in pieces."""
    declared = scaling
    if encoding is not None:
        declared = None if _of_cells(mechanism) else encoding.scaling
    domain = check_parts(declared, mechanism)
    if not isinstance(mechanism, RowByRow):
        raise ValueError(
            f"mechanism must release each record for itself, such as NoisyProjection or CellResponse, "
            f"got {type(mechanism).__name__}, which needs the whole table at once"
        )
    if encoding is not None and encoding.names != domain.names:
        raise ValueError("scaling must be the Encoding of the cells of mechanism, got other features")
    ranges = ranges_of(domain)
    if ranges is not None and not ranges.public:
        raise ValueError("scaling must be declared, got one that was learned from records")
    return domain


def _of_cells(mechanism: Any) -> bool:
    return getattr(mechanism, "cells", None) is not None


def _columns(domain: Domain, encoding: Encoding | None) -> tuple[str, ...]:
    """Names of the columns to read."""
    if encoding is not None:
        return tuple(each.name for each in encoding.features)
    if domain.names is None:
        raise ValueError("scaling must have names: they are the columns that are read from the files")
    return domain.names


def _settings(
    mechanism: Mechanism,
    guarantee: PrivacyGuarantee,
    outcome_guarantee: PrivacyGuarantee | None,
    domain: Domain,
) -> dict[str, Any]:
    cells = domain.space if isinstance(domain, Cells) else None
    d = domain.features
    return {
        "guarantee": guarantee,
        "outcome_guarantee": outcome_guarantee,
        "noise_variance": 0.0 if cells else float(mechanism.noise_variance(d)),
        "noise_dim": 1 if cells else int(mechanism.noise_dim(d)),
        "isotropic": bool(mechanism.isotropic),
        "cells": cells,
    }


def _require_memory(plan: Plan, features: int) -> None:
    rows = max((file.rows for file in plan.files), default=0)
    bucket = -(-plan.n // plan.buckets)
    require_memory(
        max(8 * _COPIES * rows * (features + plan.width), 8 * 3 * bucket * (plan.width + 1)),
        what=f"releasing {rows} records of one file",
        remedy="split the table into smaller files",
    )


def _require_room(plan: Plan, target: Path) -> None:
    """Refuse a disk on which the release would end half done."""
    numbers = 8 * (plan.width + 1)
    need = 2 * plan.n * numbers  # scattered, and gathered beside that
    free = shutil.disk_usage(target.parent).free
    if need > free:
        raise OSError(
            f"target must be on a disk with room for {in_words(need)}, but {in_words(free)} are free"
        )


def _seeds(generator: torch.Generator | None, count: int) -> tuple[int, ...] | None:
    if generator is None:
        return None
    return tuple(torch.randint(2**62, (count,), generator=generator).tolist())


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep a second call on the same target away."""
    lock = FileLock(f"{folder}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ValueError(
            f"target must be written by one call at a time: another one has {folder}"
        ) from None
    try:
        yield
    finally:
        if not folder.exists():  # nothing to go on with
            Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


def _require_new(path: Path) -> None:
    if os.path.lexists(path):  # a link that leads nowhere, too
        raise FileExistsError(f"target must be new, but there is something at {path}")


def _begun(folder: Path, plan: Plan, ledger: Ledger | None) -> Plan | None:
    """What an earlier call left, which must have been begun with the same arguments."""
    if not os.path.lexists(folder):
        return None
    if folder.is_symlink() or not folder.is_dir():
        raise FileExistsError(f"target must be new, but there is something at {folder}")
    found = Plan.load(folder)
    if found is None:
        if any(folder.glob("[!.]*")):
            raise FileExistsError(
                f"target must be new, but {folder} holds files of which nobody knows what they were "
                f"begun with: remove the folder to begin anew"
            )
        return None
    if found.digest != plan.digest:
        raise ValueError(
            f"{folder} holds a release that was begun with other files or settings: call again with "
            f"those, or remove the folder to begin anew, which is charged anew"
        )
    if found.charges and ledger is None:
        raise ValueError(f"ledger must be given again: {folder} holds a release that was begun with one")
    for left in folder.glob(".*"):  # of what was killed: never under its final name
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
    return found


def _entered(ledger: Ledger, plan: Plan, guarantee: PrivacyGuarantee) -> bool:
    """Whether a ledger has the entry of this release, and not of another one that promises the same."""
    return any(
        (entry.time, entry.guarantee, entry.start, entry.stop) == (plan.begun, guarantee, 0, plan.n)
        for entry in ledger.entries
    )


def _ends(domain: Domain) -> tuple[tuple[float, float], ...]:
    ranges = ranges_of(domain)
    if ranges is None:
        return ()
    return tuple(zip(ranges.lower.tolist(), ranges.upper.tolist(), strict=True))


def _check(tasks: Engine, plan: Plan, work: Work, progress: bool) -> tuple[str, ...]:
    """Look at all records, before anything is spent, and warn of clipping; digests of the files."""
    ranges = ranges_of(work.domain)
    arguments = [(file,) for file in plan.files]
    done = _shown(tasks.run(check_file, arguments, work), len(arguments), "check", progress)
    found: dict[int, Look] = dict(done)
    looks = [found[number] for number in range(len(arguments))]
    digests = tuple(look.digest for look in looks)
    if ranges is None or not looks:
        return digests
    totals = [
        [*map(sum, zip(*(getattr(look, side) for look in looks), strict=True))]
        for side in ("below", "above")
    ]
    names = ranges.names or tuple(f"column {i}" for i in range(ranges.features))
    fit = RangeFit(
        tuple(
            FeatureFit(
                name,
                plan.n,
                low,
                high,
                same=False,
                stand_in=False,
                ends=(),
                single=False,
                natural=True,
                number=True,
            )
            for name, low, high in zip(names, *totals, strict=True)
        )
    )
    if words := fit.clipping_words():
        warnings.warn(words, ClippedRecordsWarning, stacklevel=5)
    return digests


def _draw(tasks: Engine, plan: Plan, work: Work, progress: bool) -> list[Part]:
    files = [(number, file) for number, file in enumerate(plan.files)]
    for _ in _shown(tasks.run(scatter, files, work), len(files), "noise", progress):
        pass
    buckets = [(bucket, len(files)) for bucket in range(plan.buckets)]
    found: dict[int, Part | None] = {}
    for bucket, part in _shown(tasks.run(gather, buckets, work), len(buckets), "order", progress):
        found[bucket] = part
    return [part for _, part in sorted(found.items()) if part is not None]


def _finish(target: Path, folder: Path, plan: Plan, parts: list[Part]) -> ReleasedParts:
    """Put the parts together, and give the release its name last."""
    release, mapped = folder / _RELEASE, folder / _MAP
    for each in (release, mapped):
        each.mkdir(mode=0o700, exist_ok=True)
    made = ReleasedParts(release, tuple(parts), plan.width, plan.dtype, plan.settings)
    for number, part in enumerate(parts):
        bucket = bucket_folder(folder, int(part.name.split("-")[1].split(".")[0]))
        _move(bucket / PART, release / part.name)
        _move(bucket / MAP, mapped / RowMap.file_name(number))
    made = made.with_identity()
    made.save()
    RowMap(mapped, plan.files, made.starts, made.identity).save()
    beside = _beside(target, _MAP)
    if mapped.exists() and not beside.exists():
        os.rename(mapped, beside)
    os.rename(release, target)
    sync_folder(target.parent)
    shutil.rmtree(folder, ignore_errors=True)
    return ReleasedParts.load(target)


def _move(here: Path, there: Path) -> None:
    """Move a file, unless an earlier call did."""
    if here.exists():
        os.replace(here, there)


def _beside(target: Path, what: str) -> Path:
    return target.with_name(f"{target.name}.{what}")


def _shown(done: Any, total: int, what: str, progress: bool) -> Any:
    return tqdm(done, total=total, desc=what, disable=not progress, unit="file", leave=False, delay=1)
