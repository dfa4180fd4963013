"""What an earlier call left of a release in parts, and who may go on with it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from botorch_private._base.whole_file import sync_folder
from botorch_private.curator.large.plan import CHECKED, PLAN, Plan
from botorch_private.curator.ledger import Ledger
from botorch_private.privacy.guarantee import PrivacyGuarantee


def require_new(path: Path) -> None:
    """Refuse a place where there is something."""
    if os.path.lexists(path):  # a link that leads nowhere, too
        raise FileExistsError(f"target must be new, but there is something at {path}")


@contextmanager
def alone(
    folder: Path, taken: str = "target must be written by one call at a time: another one has"
) -> Iterator[None]:
    """Keep a second call on the same folder away; ``taken`` is what such a one is told."""
    lock = FileLock(f"{folder}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ValueError(f"{taken} {folder}") from None
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
    _require_own(folder)
    found = Plan.load(folder)
    if found is None:
        if not all(each.name.startswith(f".{PLAN}.") for each in folder.iterdir()):
            raise FileExistsError(
                f"target must be new, but {folder} holds files of which nobody knows what they were "
                f"begun with: remove the folder to begin anew"
            )
        return None
    if found.charges and ledger is None:
        raise ValueError(f"ledger must be given again: {folder} holds a release that was begun with one")
    if found.digest != plan.digest:
        if found.stage == CHECKED and not (ledger and _promised_at(ledger, found)):
            return None  # it was looked at only: nothing was spent, and nothing drawn
        raise ValueError(
            f"{folder} holds a release that was begun with other files or settings: call again with "
            f"those, or remove the folder to begin anew, which is charged anew"
        )
    return found


def begin(folder: Path) -> None:
    """Make a new folder for the work, readable by the curator alone, and wait for the disk."""
    if folder.exists():  # nothing in it was spent on
        throw_away(folder)
    folder.mkdir(mode=0o700)
    os.chmod(folder, 0o700)
    sync_folder(folder.parent)


def make_tasks_folder(folder: Path) -> None:
    """Where tasks leave what they did; without what those of a killed call left half done there."""
    folder.mkdir(mode=0o700, exist_ok=True)
    for left in folder.glob(".*"):  # never under its final name
        throw_away(left)
    sync_folder(folder.parent)


def throw_away(folder: Path) -> None:
    """Remove a folder, into which a worker of a killed call may still write: it loses its way first."""
    gone = folder.with_name(f".{folder.name}.gone")
    shutil.rmtree(gone, ignore_errors=True)
    try:
        os.rename(folder, gone)
    except OSError:
        gone = folder
    shutil.rmtree(gone, ignore_errors=True)


def entered(ledger: Ledger, plan: Plan, guarantee: PrivacyGuarantee) -> bool:
    """Whether a ledger has the entry of this release, and not of another one that promises the same."""
    return guarantee in _promised_at(ledger, plan)


@contextmanager
def going_on(ledger: Ledger | None) -> Iterator[None]:
    """Say of what fails once a release has begun that the same call goes on with it."""
    try:
        yield
    except MemoryError as error:  # it mostly comes without a word
        raise MemoryError(f"memory ran out while rows were drawn. {_again(ledger)}") from error
    except BaseException as error:
        error.add_note(f"This happened while rows were drawn. {_again(ledger)}")
        raise


def _again(ledger: Ledger | None) -> str:
    charged = "" if ledger is None else "The release is in the ledger, and is not entered again. "
    return f"{charged}Make the same call again, when the cause is gone: it goes on where it was."


def _promised_at(ledger: Ledger, plan: Plan) -> list[PrivacyGuarantee]:
    """Guarantees that a ledger has of the moment at which a release was begun."""
    return [
        entry.guarantee
        for entry in ledger.entries
        if (entry.time, entry.start, entry.stop) == (plan.begun, 0, plan.n)
    ]


def _require_own(folder: Path) -> None:
    """Refuse a folder of somebody else, who could read what is drawn, or have put something there."""
    if hasattr(os, "geteuid") and folder.stat().st_uid != os.geteuid():
        raise PermissionError(f"target must be new, but {folder} belongs to another user")
    os.chmod(folder, 0o700)
