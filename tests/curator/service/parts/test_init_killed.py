"""`curator init --output-parquet`, killed: nothing or a whole folder, one charge, the same command."""

import multiprocessing
import os
import shutil
import signal

import pytest
from helpers.forks import needs_fork

from botorch_private import Ledger, ReleasedParts, RowMap
from botorch_private.curator.service import writer
from botorch_private.curator.service.folder import Folder

STEPS = ("rename", "replace", "unlink", "mkdir", "fsync", "rmdir", "chmod", "link")
OPTIONS = ("--id", "patient", "--known", "seen", "--person", "who")
NOISED = ("--outcome-epsilon", "2", "--outcome-range", "0", "1000")


def killed_after(steps, work):
    """Do ``work`` in a copy of this process, which dies at that step; how many there were, else None."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def child():
        count = [0]

        def counting(step):
            def counted(*arguments, **options):
                count[0] += 1
                if count[0] == steps:
                    os.kill(os.getpid(), signal.SIGKILL)
                return step(*arguments, **options)

            return counted

        for name in STEPS:
            setattr(os, name, counting(getattr(os, name)))
        writer.connect = counting(writer.connect)
        work()
        sender.send(count[0])

    process = context.Process(target=child, daemon=True)
    process.start()
    sender.close()
    process.join()
    receiver_has_it = process.exitcode == 0
    found = receiver.recv() if receiver_has_it else None
    receiver.close()
    assert process.exitcode in (0, -signal.SIGKILL)
    return found


def require_nothing_or_whole(place, entries):
    ledger = place / "stays.ledger.json"
    charged = len(Ledger(path=ledger).entries) if ledger.exists() else 0
    assert charged in (0, entries)
    folder = place / "folder"
    if folder.exists():
        assert charged == entries
        require_whole(folder, entries)
    else:
        making = place / "folder.making"
        assert not making.exists() or making.stat().st_mode & 0o077 == 0


def require_whole(folder, entries):
    parts = ReleasedParts.load(folder / "release")
    assert parts.with_identity().identity == parts.identity
    places = RowMap.load(folder / "map")
    assert places.release == parts.identity
    assert sorted(places.permutation.tolist()) == list(range(90))
    store = Folder(folder).open()
    try:
        names = [store.behind.entry(row)[2] for row in range(90)]
        assert len(set(names)) == 90
        assert store.facts.identity == parts.identity
    finally:
        store.close()
    assert {each.name for each in folder.iterdir()} - {"begun.json", "noise"} == {
        *("curator.db", "ledger.json", "map", "person.txt", "records", "release")
    }
    assert len(Ledger(path=folder / "ledger.json").entries) == entries


@needs_fork
@pytest.mark.parametrize("share", [0.05, 0.35, 0.6, 0.8, 0.97])
def test_a_command_that_is_killed_is_finished_by_the_same_command(init, place, capsys, share):
    options, entries = (OPTIONS, 1) if share < 0.7 else ((*OPTIONS, *NOISED), 2)
    total = killed_after(0, lambda: init("folder", *options))
    shutil.rmtree(place / "folder")
    (place / "stays.ledger.json").unlink()
    assert killed_after(int(share * total), lambda: init("folder", *options)) is None
    require_nothing_or_whole(place, entries)
    if not (place / "folder").exists():
        assert init("folder", *options) == 0
    require_whole(place / "folder", entries)
    assert len(Ledger(path=place / "stays.ledger.json").entries) == entries
    assert not (place / "folder.making").exists()


@needs_fork
@pytest.mark.slow
def test_a_command_that_is_killed_at_every_step_is_finished_in_the_end(init, place):
    step, runs = 1, 0
    while killed_after(step, lambda: init("folder", *OPTIONS, *NOISED)) is None:
        require_nothing_or_whole(place, 2)
        step, runs = step + 7, runs + 1
        if (place / "folder").exists():
            break
    assert runs >= 8
    require_whole(place / "folder", 2)


@needs_fork
def test_another_command_after_the_charge_is_refused_and_one_before_it_begins_anew(init, place, capsys):
    work = "folder.making/release.work/plan.json"
    total = killed_after(0, lambda: init("folder", *OPTIONS))
    shutil.rmtree(place / "folder")
    (place / "stays.ledger.json").unlink()
    assert killed_after(int(0.5 * total), lambda: init("folder", *OPTIONS)) is None
    assert (place / work).exists()
    for other in (
        ("--id", "who"),
        OPTIONS[:4],
        (*OPTIONS, "--delta", "1e-6", "--noise", "gaussian"),
        (*OPTIONS, *NOISED),
    ):
        with pytest.raises(SystemExit):
            init("folder", *other)

        assert "begun with other files, columns or settings" in " ".join(capsys.readouterr().err.split())
    assert init("folder", *OPTIONS) == 0
    require_whole(place / "folder", 1)


def test_a_folder_of_somebody_elses_at_the_place_of_the_work_is_left_alone(init, place, capsys):
    (place / "folder.making").mkdir()
    (place / "folder.making" / "mine.txt").write_text("mine")
    with pytest.raises(SystemExit):
        init("folder")
    assert "must be free" in " ".join(capsys.readouterr().err.split())
    assert (place / "folder.making" / "mine.txt").read_text() == "mine"
