"""The steps of a release in parts, each a task for each file or bucket, with a bar."""

from __future__ import annotations

import warnings
from typing import Any

from botorch_private._base.engine import Engine
from botorch_private._base.progress import tqdm
from botorch_private.curator.features.range_fit import FeatureFit, RangeFit
from botorch_private.curator.large.gather import gather
from botorch_private.curator.large.plan import Plan
from botorch_private.curator.large.scatter import Look, Work, check_file, scatter
from botorch_private.curator.publish import ranges_of
from botorch_private.exchange.released_parts import Part
from botorch_private.privacy.warnings import ClippedRecordsWarning


def check(tasks: Engine, plan: Plan, work: Work, progress: bool) -> tuple[str, ...]:
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
