"""The steps of a release in parts, each a task for each file or bucket, with a bar."""

from __future__ import annotations

from functools import reduce
from typing import Any

from botorch_private._base.engine import Engine
from botorch_private._base.progress import tqdm
from botorch_private.curator.features.column_look import merged
from botorch_private.curator.features.range_fit import RangeFit, fit_of_look
from botorch_private.curator.large.gather import gather
from botorch_private.curator.large.plan import Plan
from botorch_private.curator.large.scatter import Look, Work, check_file, scatter
from botorch_private.exchange.released_parts import Part


def check(
    tasks: Engine, plan: Plan, work: Work, progress: bool
) -> tuple[tuple[str, ...], RangeFit | None]:
    """Look at all records, before anything is spent: digests of the files, and how ranges fit."""
    arguments = [(file,) for file in plan.files]
    done = _shown(tasks.run(check_file, arguments, work), len(arguments), "check", progress)
    found: dict[int, Look] = dict(done)
    looks = [found[number] for number in range(len(arguments))]
    seen = [look.columns for look in looks if look.columns is not None]
    ranges, fit = work.ranges, None
    if ranges is not None and seen:
        fit = fit_of_look(reduce(merged, seen), ranges)
    return tuple(look.digest for look in looks), fit


def draw(tasks: Engine, plan: Plan, work: Work, progress: bool) -> list[Part]:
    """Noise the files, and put the buckets in order; the parts that came of them."""
    files = [(number, file) for number, file in enumerate(plan.files)]
    for _ in _shown(tasks.run(scatter, files, work), len(files), "noise", progress):
        pass
    buckets = [(bucket, len(files)) for bucket in range(plan.buckets)]
    found: dict[int, Part | None] = {}
    for bucket, part in _shown(tasks.run(gather, buckets, work), len(buckets), "order", progress):
        found[bucket] = part
    return [part for _, part in sorted(found.items()) if part is not None]


def _shown(done: Any, total: int, what: str, progress: bool) -> Any:
    return tqdm(done, total=total, desc=what, disable=not progress, unit="file", leave=False, delay=1)
