"""A disk or a process that fails at any point leaves nothing, or a release that is whole; once."""

import errno
import io
import json
import multiprocessing
import os
import re
import shutil
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from filelock import FileLock
from helpers.forks import in_forked_workers, needs_fork
from pyarrow import parquet

from botorch_private import (
    Ledger,
    NoisyProjection,
    PublicScaling,
    ReleasedParts,
    RowMap,
    release_parquet,
)
from botorch_private.curator.large import assemble as assembling
from botorch_private.curator.large import release_parquet as driver
from botorch_private.curator.large import steps, unfinished
from botorch_private.curator.large.finished import make_once
from botorch_private.curator.large.scatter import ROWS
from botorch_private.curator.large.source import Reader

resource = pytest.importorskip("resource")
SCALING = PublicScaling([-1.0, -1.0], [11.0, 2.0], names=["age", "dose"])
N = 60
needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="names of open files")
CHANGES = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod"}
_RANDOM = re.compile(r"\.[a-z0-9_]{8}(?=/|$)")


class Place:
    """A table in two files, and where its release goes."""

    def __init__(self, folder):
        self.folder, self.out, self.work = folder, folder / "out", folder / "out.work"
        self.pieces = {}

    def call(self, **options):
        return release_parquet(
            self.folder / "stays",
            self.out,
            SCALING,
            NoisyProjection(3.0, projection_dim=2),
            ledger=Ledger(path=self.folder / "ledger.json"),
            bucket_bytes=2**10,
            progress=False,
            **options,
        )

    def require_nothing_or_whole(self):
        """No name of a release is there before all of it is; and no row gets a second noise."""
        if self.out.exists():
            self.require_whole()
        for rows in self.work.glob(f"drawn-*/piece-*/{ROWS}"):
            assert self.pieces.setdefault(rows.parent.name, rows.read_bytes()) == rows.read_bytes()

    def require_whole(self):
        parts, places = ReleasedParts.load(self.out), RowMap.load(f"{self.out}.map")
        rows = parts.whole()
        assert rows.identity == parts.identity == places.release
        assert torch.equal(places.permutation.sort().values, torch.arange(N))
        assert len(Ledger(path=self.folder / "ledger.json").entries) == 1
        released = {row.tobytes() for row in rows.candidates.numpy()}
        for piece in self.pieces.values():
            assert {row.tobytes() for row in np.load(io.BytesIO(piece))} <= released

    def require_tidy(self):
        self.require_whole()
        names = sorted(each.name for each in self.folder.iterdir() if "ledger" not in each.name)
        assert names == ["out", "out.map", "stays"]


@pytest.fixture
def place(tmp_path):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"age": generator.uniform(0, 10, N), "dose": generator.uniform(0, 1, N)})
    (tmp_path / "stays").mkdir()
    frame[:40].to_parquet(tmp_path / "stays" / "a.parquet")
    frame[40:].to_parquet(tmp_path / "stays" / "b.parquet")
    return Place(tmp_path)


def watch(folder, at_site):
    """Tell ``at_site`` of each change of a file in a folder, before it is made, from now to the end.

    A hook of the interpreter sees where they come from, whichever function it is; what it raises stands
    for the failure. It cannot be taken away again: for processes that end.
    """
    root = str(folder)

    def told(event, path):
        if path.startswith(root) and not path.endswith(".lock"):
            at_site(f"{event} {_RANDOM.sub('', path.removeprefix(root))}")

    def hook(event, arguments):
        writes = event != "open" or arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if event in CHANGES and writes and isinstance(arguments[0], str | os.PathLike):
            told(event, str(arguments[0]))

    fsync, write_table = os.fsync, parquet.write_table

    def watched_fsync(handle):
        told("fsync", os.readlink(f"/proc/self/fd/{handle}"))
        fsync(handle)

    def watched_write(table, path, **options):
        told("write", str(path))
        write_table(table, path, **options)

    os.fsync, parquet.write_table = watched_fsync, watched_write
    sys.addaudithook(hook)


@needs_fork
@needs_proc
def test_a_disk_that_is_full_wherever_it_is_written_to(place):
    """Each place where something is written fails once, in one release."""

    def work():
        failed = set()

        def fail_once(site):
            if armed and site not in failed and not site.startswith(("os.rmdir", "os.remove")):
                failed.add(site)
                raise OSError(errno.ENOSPC, "No space left on device")

        armed = []
        watch(place.folder, fail_once)
        while place.work.exists() or not place.out.exists():
            armed.append(1)
            with suppress(OSError):
                place.call()
            armed.clear()
            place.require_nothing_or_whole()
        place.require_tidy()
        return len(failed)

    assert in_forked_workers(work, workers=1)[0] > 70


@needs_fork
def test_a_file_that_cannot_be_written_whole(place):
    def work():
        stopped = 0
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        for limit in (0, 100, 200, 400, 600, 800, 1000, 1200, 1500, 2000, 3000, 4000):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
            with suppress(OSError):
                place.call()
                stopped -= 1
            stopped += 1
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
            place.require_nothing_or_whole()
            if place.out.exists():
                break
        place.require_tidy()
        return stopped

    assert in_forked_workers(work, workers=1)[0] > 6


@needs_fork
@needs_proc
@pytest.mark.slow
def test_a_driver_that_is_killed_wherever_it_gives_a_name(place):
    """One process after another is killed before a rename where none was killed before."""
    killed = []

    def work(sender):
        def die_once(site):
            if site.startswith(("os.rename", "os.mkdir")) and site not in killed:
                sender.send(site)
                os._exit(9)

        torch.set_num_threads(1)
        watch(place.folder, die_once)
        place.call()
        os._exit(0)

    status = 9
    while status:
        receiver, sender = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.get_context("fork").Process(target=work, args=(sender,), daemon=True)
        child.start()
        child.join(60)
        status = child.exitcode
        assert status in (0, 9)
        if status:
            killed.append(receiver.recv())
        place.require_nothing_or_whole()
    assert len(killed) > 15
    if place.work.exists():
        place.call()
    place.require_tidy()


def test_what_is_given_a_name_is_on_the_disk_before(place, monkeypatch):
    """Files, and the folders that hold their names: else a power failure leaves a name of nothing."""
    synced, named = set(), []
    fsync, rename, replace_file = os.fsync, os.rename, os.replace

    def inode(path):
        return os.stat(path).st_ino

    def noted_fsync(handle):
        fsync(handle)
        synced.add(os.fstat(handle).st_ino)

    def giving(give):
        def renamed(here, there):
            here, there = Path(here), Path(there)
            if there.suffix != ".gone":
                for each in (here, *here.rglob("*")):
                    assert inode(each) in synced, each
                if there in (place.folder / "ledger.json", place.out):  # the work, the map
                    assert inode(place.folder) in synced
                if there.name == "plan.json" and (place.work / "release").exists():
                    assert inode(place.work) in synced
                if there.name.startswith("piece"):
                    assert inode(place.work) in synced
                named.append(there)
            give(here, there)
            synced.difference_update({inode(here.parent), inode(there.parent)})

        return renamed

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "rename", giving(rename))
    monkeypatch.setattr(os, "replace", giving(replace_file))
    place.call()
    assert named[-2:] == [Path(f"{place.out}.map"), place.out]
    assert sum(each.name == "plan.json" for each in named) == 3
    assert inode(place.folder) in synced


@pytest.mark.parametrize("reads", [3, 4])
def test_a_disk_that_cannot_be_read(place, monkeypatch, reads):
    """After all was looked at once, and charged."""
    read, done = Reader.read, []

    def failing(self, file):
        done.append(file)
        if len(done) == reads:
            raise OSError(errno.EIO, "Input/output error")
        return read(self, file)

    monkeypatch.setattr(Reader, "read", failing)
    with pytest.raises(OSError, match="Input/output") as caught:
        place.call()
    assert "goes on where it was" in caught.value.__notes__[0]
    assert "not entered again" in caught.value.__notes__[0]
    place.require_nothing_or_whole()
    place.call()
    place.require_tidy()


def test_a_piece_that_was_cut_off_is_no_release(place, monkeypatch):
    """Whatever a disk does to what lay there: an error, and no release."""
    with monkeypatch.context() as patched:
        patched.setattr(steps, "gather", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            place.call()
    rows = next(place.work.glob(f"drawn-*/piece-*/{ROWS}"))
    rows.write_bytes(rows.read_bytes()[:-8])
    with pytest.raises(ValueError, match=r"mmap length is greater|cannot reshape|could not"):
        place.call()
    assert not place.out.exists()


def test_maps_that_are_not_those_of_the_release_are_refused(place, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(steps, "scatter", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            place.call()
    file = place.work / "after.npy"
    file.write_bytes(file.read_bytes()[:-8] + bytes(8))
    with pytest.raises(ValueError, match="of other maps"):
        place.call()
    file.unlink()
    with pytest.raises(ValueError, match="of other maps"):
        place.call()


# --- the ledger ---


def test_a_ledger_that_cannot_be_written_is_said_before_anything_is_drawn(place, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(
            Ledger, "_write", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full"))
        )
        with pytest.raises(OSError, match="full"):
            place.call()
    assert [each.name for each in place.work.iterdir()] == ["plan.json"]
    place.call()
    place.require_tidy()


def test_a_ledger_that_is_locked_is_waited_for(place):
    lock = FileLock(f"{place.folder / 'ledger.json'}.lock")
    Ledger(path=place.folder / "ledger.json")
    with lock:
        later = threading.Thread(target=place.call)
        later.start()
        later.join(0.5)
        assert later.is_alive()
        assert not place.out.exists()
    later.join(60)
    place.require_tidy()


# --- two at once ---


def test_two_calls_on_one_target_do_not_meet(place):
    with unfinished.alone(place.work), pytest.raises(ValueError, match="one call at a time"):
        place.call()
    place.call()
    place.require_tidy()


def test_a_target_that_came_meanwhile_is_not_charged_again(place, monkeypatch):
    alone = driver.alone

    @contextmanager
    def late(folder):
        monkeypatch.setattr(driver, "alone", alone)
        place.call()
        with alone(folder):
            yield

    monkeypatch.setattr(driver, "alone", late)
    with pytest.raises(FileExistsError, match="something at"):
        place.call()
    place.require_tidy()


def test_a_worker_of_a_killed_call_cannot_finish_what_is_thrown_away(tmp_path, monkeypatch):
    """It may still write when the call that comes after begins, and while a folder is removed."""

    def late(folder):
        (folder / "rows").write_bytes(b"1")
        with monkeypatch.context() as slow:
            slow.setattr(unfinished.shutil, "rmtree", lambda *_, **__: None)
            unfinished.throw_away(folder)
        (folder / "records").write_bytes(b"2")

    with pytest.raises(FileNotFoundError):
        make_once(tmp_path / "piece", late)
    assert not (tmp_path / "piece").exists()


def test_a_folder_of_somebody_else_is_not_worked_in(place, monkeypatch):
    place.work.mkdir(mode=0o777)
    monkeypatch.setattr(os, "geteuid", lambda: place.work.stat().st_uid + 1)
    with pytest.raises(PermissionError, match="another user"):
        place.call()
    assert list(place.work.iterdir()) == []


def test_a_folder_that_was_open_to_others_is_not_worked_in(place, monkeypatch):
    """Whoever opened it before could go on reading it."""
    place.work.mkdir()
    before, seen = os.open(place.work, os.O_RDONLY), []

    def scatter(*arguments, original=steps.scatter):
        seen.append(place.work.stat())
        return original(*arguments)

    monkeypatch.setattr(steps, "scatter", scatter)
    place.call()
    assert {each.st_mode & 0o777 for each in seen} == {0o700}
    assert os.fstat(before).st_ino not in {each.st_ino for each in seen}
    os.close(before)


# --- once it is whole ---


def until_whole(place, monkeypatch):
    """A call that is killed when all is whole, and only the work is to be removed."""
    with monkeypatch.context() as patched:
        patched.setattr(assembling, "_remove", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            place.call()
    place.require_whole()


def test_the_same_call_says_what_was_released_and_removes_the_work(place, monkeypatch):
    until_whole(place, monkeypatch)
    identity = ReleasedParts.load(place.out).identity
    assert place.call().identity == identity
    place.require_tidy()


@pytest.mark.parametrize("removed", ["drawn-*", "nothing"])
def test_no_row_gets_a_second_noise_once_its_release_was_handed_over(place, monkeypatch, removed):
    until_whole(place, monkeypatch)
    place.out.rename(place.folder / "handed-over")
    for each in place.work.glob(removed):
        shutil.rmtree(each)
    with pytest.raises(FileExistsError, match="was made already"):
        place.call()
    assert not place.out.exists()
    assert not list(place.work.glob("release"))


def test_a_map_of_another_release_is_not_taken_for_its_own(place, monkeypatch):
    rename = os.rename
    with monkeypatch.context() as patched:
        patched.setattr(
            os,
            "rename",
            lambda a, b: rename(a, b) if b != place.out else (_ for _ in ()).throw(KeyboardInterrupt),
        )
        with pytest.raises(KeyboardInterrupt):
            place.call()
    file = Path(f"{place.out}.map") / "map.json"
    content = json.loads(file.read_text())
    there = RowMap.load(file.parent)
    replace(there, release="0" * 64).save()
    with pytest.raises(FileExistsError, match="something at"):
        place.call()
    assert not place.out.exists()
    there.save()
    assert json.loads(file.read_text()) == content
    place.call()
    place.require_tidy()


def test_what_was_only_looked_at_may_begin_anew_with_other_settings(place, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "spend", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            place.call()
    place.call(dtype="float32")
    place.require_tidy()
