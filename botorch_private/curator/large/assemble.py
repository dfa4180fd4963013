"""Put the parts of a release together, and give it its name last."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from botorch_private._base.whole_file import sync_folder
from botorch_private.curator.large.gather import MAP, PART, bucket_folder
from botorch_private.curator.large.plan import Plan
from botorch_private.curator.large.row_map import RowMap
from botorch_private.exchange.released_parts import Part, ReleasedParts

RELEASE, MAP_FOLDER = "release", "map"


def beside(target: Path, what: str) -> Path:
    """Where what goes with a release is, under the name of the release."""
    return target.with_name(f"{target.name}.{what}")


def assemble(target: Path, folder: Path, plan: Plan, parts: list[Part]) -> ReleasedParts:
    """Put the parts together, and give the release its name last."""
    release, mapped = folder / RELEASE, folder / MAP_FOLDER
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
    final = beside(target, MAP_FOLDER)
    if mapped.exists() and not final.exists():
        os.rename(mapped, final)
    os.rename(release, target)
    sync_folder(target.parent)
    shutil.rmtree(folder, ignore_errors=True)
    return ReleasedParts.load(target)


def _move(here: Path, there: Path) -> None:
    """Move a file, unless an earlier call did."""
    if here.exists():
        os.replace(here, there)
