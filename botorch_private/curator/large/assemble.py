"""Put the parts of a release together, and give it its name last."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

from botorch_private._base.whole_file import sync_folder
from botorch_private.curator.large.gather import MAP, PART, bucket_folder
from botorch_private.curator.large.plan import WHOLE, Plan
from botorch_private.curator.large.row_map import RowMap
from botorch_private.curator.large.unfinished import require_new, throw_away
from botorch_private.exchange.released_parts import Part, ReleasedParts

RELEASE, MAP_FOLDER = "release", "map"


def beside(target: Path, what: str) -> Path:
    """Where what goes with a release is, under the name of the release."""
    return target.with_name(f"{target.name}.{what}")


def assemble(folder: Path, begun: Plan, parts: list[Part]) -> Plan:
    """Put the parts and their maps together, whole and on the disk; the plan with that."""
    release, mapped = folder / RELEASE, folder / MAP_FOLDER
    for each in (release, mapped):
        each.mkdir(mode=0o700, exist_ok=True)
    for number, part in enumerate(parts):
        bucket = bucket_folder(begun.tasks(folder), int(part.name.split("-")[1].split(".")[0]))
        _move(bucket / PART, release / part.name)
        _move(bucket / MAP, mapped / RowMap.file_name(number))
    made = ReleasedParts(release, tuple(parts), begun.width, begun.dtype, begun.settings)
    made = made.with_identity()
    made.save()
    RowMap(mapped, begun.files, made.starts, made.identity).save()
    for each in (release, mapped, folder):
        sync_folder(each)
    begun = replace(begun, stage=WHOLE, identity=made.identity)
    begun.save(folder)
    return begun


def publish_parts(target: Path, folder: Path, begun: Plan) -> ReleasedParts:
    """Give a whole release its name, after its map, and remove the work; as often as it is called.

    From here on nothing is drawn any more, whatever of the work is there: a second noise of the same
    rows would be a second release.
    """
    release, mapped, map_of_target = folder / RELEASE, folder / MAP_FOLDER, beside(target, MAP_FOLDER)
    if mapped.exists():
        require_new(map_of_target)
        os.rename(mapped, map_of_target)
        sync_folder(target.parent)
    if release.exists():
        if RowMap.load(map_of_target).release != begun.identity:
            raise FileExistsError(f"target must be new, but there is something at {map_of_target}")
        require_new(target)
        os.rename(release, target)
        sync_folder(target.parent)
    elif not target.exists():
        raise FileExistsError(
            f"target must be new, but its release was made already, and is not at its place any more: "
            f"remove {folder} to begin anew, which is charged anew"
        )
    found = ReleasedParts.load(target)
    if found.identity != begun.identity:
        raise FileExistsError(f"target must be new, but there is something at {target}")
    _remove(folder)
    return found


def _remove(folder: Path) -> None:
    """Remove the work, and last what says that it is done: else a later call would draw again."""
    for each in folder.iterdir():
        if each.is_dir():
            throw_away(each)
    if not any(each.is_dir() for each in folder.iterdir()):
        shutil.rmtree(folder, ignore_errors=True)


def _move(here: Path, there: Path) -> None:
    """Move a file, unless an earlier call did."""
    if here.exists():
        os.replace(here, there)
