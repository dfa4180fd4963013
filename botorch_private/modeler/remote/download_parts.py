"""Get a release in parts from a curator's server: part by part, each checked, only what is not there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from botorch_private._base.memory import in_words
from botorch_private._base.progress import tqdm
from botorch_private._base.whole_file import require_folder, sync_folder
from botorch_private.exchange.release_digest import sha256_of_file
from botorch_private.exchange.released_parts import MANIFEST, Part, ReleasedParts
from botorch_private.modeler.remote.transport import RemoteError, Transport

_MANIFEST_PATH, _PART_PATH = "/v1/release/manifest", "/v1/release/parts"
_COMING, _LOCK = ".manifest.coming", ".lock"
_LARGEST_MANIFEST = 2**26


def download_parts(
    transport: Transport, identity: str, rows: int, size: int, folder: Path, *, progress: bool = True
) -> ReleasedParts:
    """Download a release in parts into a folder, with the memory of one part.

    A part that is there with the SHA-256 of the manifest is not asked for again, and one that came in
    part goes on where it stopped. The manifest gets its name last, once all rows together have the
    identity that the server announced.

    Args:
        transport: Where to.
        identity: What the SHA-256 of all rows must be.
        rows: How many there must be.
        size: Bytes of all parts, as the server says.
        folder: Folder to keep it in; one that is there must be empty, or hold this release or what came
            of it.
        progress: Whether to show a bar.

    Raises:
        ValueError: If ``folder`` is a file, or holds another release or something else.
        OSError: If the disk has no room.
        RemoteError: If what came is not the release that the server announced.
    """
    require_folder(folder)
    _require_own(folder, identity)
    folder.mkdir(mode=0o700, exist_ok=True)
    with FileLock(folder / _LOCK):
        coming = folder / _COMING
        found = _manifest(transport, coming, identity, rows)
        kept = [part for part in found.parts if _is_there(folder, part)]
        missing = [part for part in found.parts if part not in kept]
        _require_room(folder, size, found, kept)
        bar = tqdm(
            total=size,
            initial=sum((folder / part.name).stat().st_size for part in kept),
            desc="release",
            unit="B",
            unit_scale=True,
            disable=not progress,
            leave=False,
            delay=1,
        )
        with bar:
            for number, part in enumerate(found.parts):
                if part in missing:
                    _fetch(transport, folder, number, part, found, bar.update)
        is_new = not _same(folder / MANIFEST, coming)
        if (missing or is_new) and not _is_whole(found, identity):
            raise _other(transport, identity)
        os.replace(coming, folder / MANIFEST)
        sync_folder(folder)
        return ReleasedParts.load(folder)


def _manifest(transport: Transport, coming: Path, identity: str, rows: int) -> ReleasedParts:
    with coming.open("wb") as file:
        transport.download_rest(_MANIFEST_PATH, file, etag="", most=_LARGEST_MANIFEST)
    try:
        found = ReleasedParts.load(coming)
    except ValueError:
        found = None
    if found is None or (found.identity, found.n) != (identity, rows):
        coming.unlink()
        raise _other(transport, identity)
    return found


def _fetch(
    transport: Transport,
    folder: Path,
    number: int,
    part: Part,
    release: ReleasedParts,
    arrived: Callable[[int], object],
) -> None:
    """Bring one part, going on with what there is of it; from its start where that was wrong."""
    draft = folder / f".{part.name}.coming"
    for _ in range(2):
        begun = draft.exists() and draft.stat().st_size > 0
        with draft.open("ab") as file:
            transport.download_rest(
                f"{_PART_PATH}/{number}",
                file,
                etag=part.sha256,
                most=release.largest_file(part),
                arrived=arrived,
            )
            file.flush()
            os.fsync(file.fileno())
        if sha256_of_file(draft) == part.sha256:
            os.replace(draft, folder / part.name)
            return
        draft.unlink()
        if not begun:
            break
    raise _other(transport, release.identity)


def may_hold_parts(folder: Path) -> bool:
    """Whether a folder can hold a release in parts: it is empty, or began to hold one."""
    names = {each.name for each in folder.iterdir()}
    return names <= {_LOCK} or not names.isdisjoint({MANIFEST, _COMING})


def _require_own(folder: Path, identity: str) -> None:
    """Refuse a place that holds something else than this release or what came of it."""
    if not folder.exists():
        return
    if not folder.is_dir():
        problem = "is a file"
    elif all(each.name == _LOCK for each in folder.iterdir()):
        return
    else:
        known = [folder / name for name in (MANIFEST, _COMING) if (folder / name).is_file()]
        if known and all(_is_of(path, identity) for path in known):
            return
        problem = "holds another release or something else"
    raise ValueError(
        f"release_path must be a new folder, or one that holds the curator's release, which is in "
        f"parts, but {folder} {problem}: name another one"
    )


def _is_of(manifest: Path, identity: str) -> bool:
    try:
        return ReleasedParts.load(manifest).identity == identity
    except ValueError:  # cut short, where it was still coming
        return manifest.name == _COMING


def _is_there(folder: Path, part: Part) -> bool:
    path = folder / part.name
    return path.is_file() and sha256_of_file(path) == part.sha256


def _require_room(folder: Path, size: int, found: ReleasedParts, kept: list[Part]) -> None:
    there = [folder / part.name for part in kept]
    there += [folder / f".{part.name}.coming" for part in found.parts]
    need = size - sum(path.stat().st_size for path in there if path.is_file())
    free = shutil.disk_usage(folder).free
    if need > free:
        raise OSError(
            f"release_path must be on a disk with room for {in_words(need)}, but {in_words(free)} are "
            f"free at {folder}"
        )


def _is_whole(found: ReleasedParts, identity: str) -> bool:
    try:
        return found.with_identity().identity == identity
    except ValueError:  # parts that are not as their manifest says
        return False


def _same(one: Path, other: Path) -> bool:
    return one.is_file() and one.read_bytes() == other.read_bytes()


def _other(transport: Transport, identity: str) -> RemoteError:
    return RemoteError(
        "other_release",
        f"the release that came from {transport.url} must have the SHA-256 {identity}, but it is "
        f"damaged or another one: what is wrong was not kept; try again, and tell the curator if it "
        f"stays so",
    )
