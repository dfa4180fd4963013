"""Backups: a curator's folder in one file, of a moment, also while it is served; and back again.

A backup is a tar file. Its first entry, ``manifest.json``, names the others with their SHA-256. The
database is copied by SQLite's own backup, which reads one state of it whatever is written meanwhile.
The release and the records never change. What is not in a backup: sessions of the console, what is still
to be told by webhook or e-mail, and the lock.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import sqlite3
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from botorch_private._base.file_kind import HEAD, is_tar
from botorch_private._base.versioned import FileFormat
from botorch_private._base.whole_file import sync_folder
from botorch_private.curator.service.clock import stamp, system_time
from botorch_private.curator.service.folder import FOLDER_MODE, Folder
from botorch_private.curator.service.parts.facts import PartsFacts
from botorch_private.curator.service.parts.layout import (
    MANIFEST as MANIFEST_OF_PARTS,
)
from botorch_private.curator.service.parts.layout import (
    MAP,
    NOISE,
    PART_OF_FOLDER,
    RECORDS,
    RELEASE,
)
from botorch_private.curator.service.schema import FolderFacts
from botorch_private.curator.service.trail import note
from botorch_private.curator.service.writer import open_plainly
from botorch_private.exchange.release_digest import digest_of_file

_BACKUP = ("a backup of a curator's folder", "take another one")
FIRST_FORMAT = FileFormat("botorch-private backup", 1, *_BACKUP)  # of a release in one piece
FORMAT = FileFormat("botorch-private backup", 2, *_BACKUP)
MANIFEST = "manifest.json"
NEEDED = ("curator.db", "release.safetensors", "ledger.json")
NEEDED_IN_PARTS = ("curator.db", f"{RELEASE}/{MANIFEST_OF_PARTS}", "ledger.json")
NAMES = (*NEEDED, "person.txt", "records.npy", "objective.log")
_LARGEST_MANIFEST = 2**20
_CHUNK = 2**20
_MODE = 0o600


@dataclass(frozen=True)
class Backup:
    """What a backup is of.

    Args:
        time: When it was made, UTC, ISO 8601.
        identity: SHA-256 of the release.
        sha256: Of the file itself; empty where it was not asked for.
    """

    time: str
    identity: str
    sha256: str = ""


def back_up(folder: Folder, path: Path, *, replace: bool = False) -> Backup:
    """Write a backup, which only its owner can read. It appears whole or not at all.

    Args:
        folder: The folder, served or not.
        path: The file; on a disk with room for twice the folder.
        replace: Whether a file that is there is replaced.

    Raises:
        ValueError: If the folder is not a curator's, or damaged.
        FileExistsError: If there is a file that must not be replaced.
        OSError: If something cannot be read or written.
    """
    with tempfile.TemporaryDirectory(dir=path.absolute().parent, prefix=f".{path.name}.") as place:
        copies = Path(place)  # its mode is 0700
        now = stamp(system_time())
        if folder.coming_release.exists():
            folder.lock().release()  # finishes what was interrupted; refused while records are added
        with closing(folder.open_to_read()) as reading:
            identity, parts = reading.facts.identity, reading.facts.parts
            with closing(open_plainly(copies / "curator.db", "rwc")) as target:
                reading.copy_to(target)
        if parts is None and digest_of_file(folder.release) != identity:
            raise ValueError(f"{folder.release} is not the release that this folder was made with")
        if folder.objective_output.is_file():  # it may grow while it is read
            shutil.copyfile(folder.objective_output, copies / "objective.log")
        sources = {name: copies / name for name in NAMES if (copies / name).is_file()}
        for name in NAMES:
            if name not in sources and (folder.path / name).is_file():
                sources[name] = folder.path / name
        if parts is not None:
            sources |= {name: folder.path / name for name in parts.files}
        files = {name: _described(each) for name, each in sources.items()}
        if parts is not None:
            _require_parts(parts, files, folder.path)
        written_as = FIRST_FORMAT if parts is None else FORMAT
        manifest = written_as.dumps({"time": now, "identity": identity, "files": files})
        written = copies / "backup"
        with (
            open(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE), "wb") as file,
            tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar,
        ):
            _add(tar, MANIFEST, len(manifest), io.BytesIO(manifest))
            for name, source in sources.items():
                with source.open("rb") as content:
                    _add(tar, name, files[name]["size"], content)
            tar.close()
            file.flush()
            os.fsync(file.fileno())
        digest = _described(written)["sha256"]
        if not replace and path.exists():
            raise FileExistsError(f"path must be new, but there is something at {path}")
        os.replace(written, path)
        sync_folder(path.absolute().parent)
    return Backup(now, identity, digest)


def restore(path: Path, target: Path, *, end_tokens: bool = False) -> tuple[Backup, Folder]:
    """Make a folder of a backup. It appears whole or not at all, and says that it was put back.

    Modelers read that from ``/v1/release``, and the events have it. Nobody is logged in at the console.
    Where answers are noised, those that are measured count as read: whether one was read after the
    backup is not known, and another answer with the same noise would tell more than was promised.

    Args:
        path: The backup.
        target: The folder to make; there must be nothing yet.
        end_tokens: Make all tokens worthless, since ones that were revoked after the backup would be
            valid again.

    Raises:
        FileExistsError: If there is something at ``target``.
        ValueError: If it is no backup, damaged, or of another version.
        OSError: If something cannot be read or written.
    """
    if target.exists() or target.is_symlink():
        raise FileExistsError(f"target must be new, but there is something at {target}")
    parent = target.absolute().parent
    if not parent.is_dir():
        raise FileNotFoundError(f"target must be in a folder that exists, but there is no {parent}")
    place = Path(tempfile.mkdtemp(dir=parent, prefix=f".{target.name}."))
    try:
        os.chmod(place, FOLDER_MODE)
        backup = _unpacked(path, place)
        folder = Folder(place)
        with closing(folder.open(locked=True)) as store:
            store.require_sound()
            if not _is_release_of(folder, store.facts, backup.identity):
                raise FORMAT.refusal(path, "holds another release than its database is of")
            store.submit(lambda connection: _mark(connection, store, backup, end_tokens)).result()
        for each in place.rglob("*"):
            if each.is_dir():
                os.chmod(each, FOLDER_MODE)
                sync_folder(each)
            else:
                os.chmod(each, _MODE)
        sync_folder(place)
        os.rename(place, target)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    sync_folder(parent)
    return backup, Folder(target)


def _mark(connection: sqlite3.Connection, store: Any, backup: Backup, end_tokens: bool) -> None:
    now = store.clock()
    note(connection, now, "restored", detail=backup.time)
    if store.facts.is_noised:
        connection.execute("UPDATE query SET told = 1 WHERE state = 'measured'")
    connection.execute("DELETE FROM session")
    if end_tokens:
        valid = "revoked IS NULL"
        for found in connection.execute(f"SELECT id FROM token WHERE {valid}").fetchall():
            note(connection, now, "revoked", token=found["id"])
        connection.execute(f"UPDATE token SET revoked = ? WHERE {valid}", (now,))


def _unpacked(path: Path, place: Path) -> Backup:
    with path.open("rb") as file:
        head = file.read(HEAD)
    if not is_tar(head):
        raise FORMAT.unreadable(head, path)
    with path.open("rb") as file, _readable(path), tarfile.open(fileobj=file, mode="r:") as tar:
        first = tar.next()
        if first is None or first.name != MANIFEST or first.size > _LARGEST_MANIFEST:
            raise FORMAT.refusal(path, "is not one")
        found = FORMAT.loads(_content(tar, first).read(), path)
        files = found["files"]
        if not isinstance(files, dict) or not _are_of_a_folder(set(files)):
            raise FORMAT.refusal(path, "is not one")
        free = shutil.disk_usage(place).free
        if sum(int(each["size"]) for each in files.values()) > free:
            raise OSError("path must be on a disk with room for the folder, but it has not enough")
        missing = set(files)
        while (member := tar.next()) is not None:
            if member.name not in missing or not member.isreg():
                raise FORMAT.refusal(path, "holds what its first entry does not name")
            missing.remove(member.name)
            (place / member.name).parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            with _new_file(place / member.name) as copy:
                if _copied(_content(tar, member), copy) != files[member.name]["sha256"]:
                    raise FORMAT.refusal(path, "is damaged")
        if missing:
            raise FORMAT.refusal(path, "is cut short")
        return Backup(str(found["time"]), str(found["identity"]))


def _are_of_a_folder(names: set[str]) -> bool:
    """Whether these are files of a folder, none is elsewhere, and none that it needs is missing."""
    of_parts = {name for name in names if PART_OF_FOLDER.fullmatch(name)}
    needed = NEEDED_IN_PARTS if of_parts else NEEDED
    return set(needed) <= names <= {*NAMES, *of_parts}


def _is_release_of(folder: Folder, facts: FolderFacts, identity: str) -> bool:
    """Whether a folder that was unpacked has the release, and what goes with it, of its database."""
    if identity != facts.identity:
        return False
    if facts.parts is None:
        return folder.release.is_file() and digest_of_file(folder.release) == identity
    there = {
        each.relative_to(folder.path).as_posix(): _described(each)
        for name in (RELEASE, MAP, RECORDS, NOISE)
        for each in (folder.path / name).rglob("*")
        if each.is_file()
    }
    return there == _described_by(facts.parts)


def _require_parts(parts: PartsFacts, files: dict[str, dict[str, Any]], folder: Path) -> None:
    """Refuse a folder of which a file is not what it was made with."""
    for name, described in _described_by(parts).items():
        if files[name] != described:
            raise ValueError(f"{folder / name} is not the file that this folder was made with")


def _described_by(parts: PartsFacts) -> dict[str, dict[str, Any]]:
    return {name: {"size": size, "sha256": digest} for name, (size, digest) in parts.files.items()}


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what the reading of a tar file raises into a refusal."""
    try:
        yield
    except (tarfile.TarError, EOFError, KeyError, TypeError, UnicodeError):
        raise FORMAT.refusal(path, "is cut short or damaged") from None


@contextmanager
def _new_file(path: Path) -> Iterator[IO[bytes]]:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE), "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = tar.extractfile(member)
    if content is None:
        raise tarfile.TarError
    return content


def _add(tar: tarfile.TarFile, name: str, size: int, content: IO[bytes]) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = size, _MODE, int(time.time())
    tar.addfile(member, content)


def _described(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {"size": path.stat().st_size, "sha256": _copied(file)}


def _copied(source: IO[bytes], target: IO[bytes] | None = None) -> str:
    """Read all of a file, write it to another one, and return its SHA-256."""
    digest = hashlib.sha256()
    while chunk := source.read(_CHUNK):
        digest.update(chunk)
        if target is not None:
            target.write(chunk)
    return digest.hexdigest()
