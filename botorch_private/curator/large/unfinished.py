"""What an earlier call left of a release in parts, and who may go on with it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from botorch_private.curator.large.plan import Plan
from botorch_private.curator.ledger import Ledger
from botorch_private.privacy.guarantee import PrivacyGuarantee


def require_new(path: Path) -> None:
    """Refuse a place where there is something."""
    if os.path.lexists(path):  # a link that leads nowhere, too
        raise FileExistsError(f"target must be new, but there is something at {path}")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
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


def begun_before(folder: Path, plan: Plan, ledger: Ledger | None) -> Plan | None:
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


def entered(ledger: Ledger, plan: Plan, guarantee: PrivacyGuarantee) -> bool:
    """Whether a ledger has the entry of this release, and not of another one that promises the same."""
    return any(
        (entry.time, entry.guarantee, entry.start, entry.stop) == (plan.begun, guarantee, 0, plan.n)
        for entry in ledger.entries
    )
