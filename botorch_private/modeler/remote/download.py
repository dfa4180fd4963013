"""Get a release from a curator's server, checked, and kept where it is wanted."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from botorch_private._base.whole_file import require_folder
from botorch_private.exchange.release import Release
from botorch_private.modeler.remote.transport import RemoteError, Transport

_PATH = "/v1/release/file"


def download_release(
    transport: Transport, identity: str, path: Path | None, earlier: Mapping[str, int]
) -> Release:
    """Download a release; if a file already holds it, only ask whether it is still the same.

    Args:
        transport: Where to.
        identity: What its SHA-256 must be.
        path: File to keep it in, or None. A release that it holds is replaced if the server has another
            one by now.
        earlier: SHA-256 and number of rows of releases that this one grew from, as the server says.

    Raises:
        ValueError: If ``path`` holds something that is not a whole release.
        RemoteError: If what came is not the release that the server announced, or does not begin with
            the rows of the one that ``path`` holds, though the server says that it grew from that.
    """
    kept = None
    if path is not None:
        require_folder(path)
        kept = _kept(path)
    handle, name = tempfile.mkstemp(
        dir=None if path is None else path.absolute().parent, prefix=".release.", suffix=".part"
    )
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            new = transport.download(_PATH, file, etag=None if kept is None else kept.identity)
            file.flush()
            os.fsync(file.fileno())
        release = _loaded(temporary) if new else kept
        if release is None or release.identity != identity:
            raise RemoteError(
                "other_release",
                f"the release that came from {transport.url} must have the SHA-256 {identity}, but it "
                f"is damaged or another one: nothing was kept; try again, and tell the curator if it "
                f"stays so",
            )
        if kept is not None and kept.identity in earlier and not release.begins_with(kept):
            raise RemoteError(
                "other_release",
                f"the release at {transport.url} must begin with the rows of the one in {path}, from "
                f"which it grew, but it does not: the file was left as it is; tell the curator",
            )
        if new and path is not None:
            os.replace(temporary, path)
        return release
    finally:
        temporary.unlink(missing_ok=True)


def _kept(path: Path) -> Release | None:
    if not path.exists():
        return None
    try:
        return Release.load(path)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"release_path must be a new file or one that holds a release, but {path} does not "
            f"({error}): remove it, or name another file"
        ) from error


def _loaded(path: Path) -> Release | None:
    try:
        return Release.load(path)
    except ValueError:
        return None
