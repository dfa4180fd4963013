"""Refuse a release in parts that memory or disk has no room for, before anything is spent."""

from __future__ import annotations

import shutil
from pathlib import Path

from botorch_private._base.memory import in_words, require_memory
from botorch_private.curator.large.plan import Plan

_COPIES = 6  # of a file's numbers while it is read, scaled and noised (measured: 5)


def require_memory_of_tasks(plan: Plan, features: int) -> None:
    """Refuse files or buckets of which one needs more memory than there is."""
    rows = max((file.rows for file in plan.files), default=0)
    bucket = -(-plan.n // plan.buckets)
    require_memory(
        max(8 * _COPIES * rows * (features + plan.width), 8 * 3 * bucket * (plan.width + 1)),
        what=f"releasing {rows} records of one file",
        remedy="split the table into smaller files",
    )


def require_room(plan: Plan, target: Path) -> None:
    """Refuse a disk on which the release would end half done."""
    numbers = 8 * (plan.width + 1)
    need = 2 * plan.n * numbers  # scattered, and gathered beside that
    free = shutil.disk_usage(target.parent).free
    if need > free:
        raise OSError(
            f"target must be on a disk with room for {in_words(need)}, but {in_words(free)} are free"
        )
