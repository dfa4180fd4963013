"""Backups: of one moment, whole or not at all, closed to others; and what a restore says of itself."""

import hashlib
import io
import os
import random
import signal
import stat
import subprocess
import sys
import tarfile
import threading
import time
from contextlib import closing

import pytest
from helpers.remote_server import Server, make_curator
from helpers.staff_browser import IDENTIFIERS, console_folder

from botorch_private import RemoteCurator
from botorch_private.cli.main import main
from botorch_private.curator.service.backup import FORMAT, back_up, restore
from botorch_private.curator.service.console.sessions import Sessions
from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.known import KnownOutcome


def contents(folder):
    """All that a folder holds of questions, records and tokens, but for the events of a restore."""
    with closing(folder.open_to_read()) as reading:
        return (
            reading.facts,
            reading.queries(),
            [reading.identifier(row) for row in range(reading.facts.n)],
            [tuple(each) for each in reading.events() if each["kind"] != "restored"],
            reading._all("SELECT * FROM token ORDER BY id"),
        )


@pytest.fixture
def used(service):
    """A service with an answer, an open question and a refusal."""
    for row in range(3):
        service.ask(row)
    service.measure(1, 3.5)
    service.put(3, "withdrawal", reason="left")
    return service


def test_a_folder_comes_back_as_it_was(used, tmp_path):
    made = back_up(used.folder, tmp_path / "clinic.backup")
    used.ask(5)
    backup, folder = restore(tmp_path / "clinic.backup", tmp_path / "again")
    assert (backup.time, backup.identity) == (made.time, made.identity)
    facts, questions, *rest = contents(folder)
    before, earlier, *others = contents(used.folder)
    assert facts == before
    assert questions == earlier[:3]
    assert rest[0] == others[0]
    assert rest[1] == others[1][: len(rest[1])]
    assert [tuple(each) for each in rest[2]] == [tuple(each) for each in others[2]]
    for name in ("release.safetensors", "ledger.json"):
        assert (folder.path / name).read_bytes() == (used.folder.path / name).read_bytes()


def test_a_restore_logs_everybody_out(used, tmp_path):
    cookie = Sessions(used.store).begin(used.store.tokens.find(used.staff["Authorization"].split()[1]))
    assert Sessions(used.store).find(cookie) is not None  # on the disk by now
    back_up(used.folder, tmp_path / "clinic.backup")
    _, folder = restore(tmp_path / "clinic.backup", tmp_path / "again")
    with closing(folder.open()) as store:
        assert len(Sessions(store)) == 0
        assert Sessions(store).find(cookie) is None


def test_the_checksum_is_that_of_the_file(used, tmp_path, capsys):
    path = tmp_path / "clinic.backup"
    assert main(["curator", "backup", str(used.folder.path), str(path)]) == 0
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert capsys.readouterr().out.splitlines()[-1] == f"{digest}  {path}"


def test_backup_and_folder_are_closed_to_others(used, tmp_path):
    old = os.umask(0)
    try:
        back_up(used.folder, tmp_path / "clinic.backup")
        _, folder = restore(tmp_path / "clinic.backup", tmp_path / "again")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "clinic.backup").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in folder.path.iterdir()} == {0o600}
    assert sorted(each.name for each in tmp_path.iterdir() if each.name.startswith(".")) == []


def test_nothing_is_replaced_unless_that_is_said(used, tmp_path, capsys):
    path = tmp_path / "clinic.backup"
    path.write_text("something else")
    command = ["curator", "backup", str(used.folder.path), str(path)]
    with pytest.raises(SystemExit) as stop:
        main(command)
    assert stop.value.code == 2
    assert path.read_text() == "something else"
    assert main([*command, "--force"]) == 0
    with pytest.raises(SystemExit) as stop:
        main(["curator", "restore", str(path), str(used.folder.path)])
    assert stop.value.code == 1
    assert "must be new" in capsys.readouterr().err


def test_a_file_that_appears_meanwhile_is_not_replaced(used, tmp_path):
    path = tmp_path / "clinic.backup"
    path.write_text("something else")
    with pytest.raises(FileExistsError):
        back_up(used.folder, path)
    assert path.read_text() == "something else"
    assert list(tmp_path.glob(".*")) == []


# --- damage, and other files ---


def rebuilt(path, change):
    """A backup whose entries were changed by somebody who knows the format."""
    with tarfile.open(path) as tar:
        entries = {each.name: tar.extractfile(each).read() for each in tar}
    members = change(entries) or entries
    with tarfile.open(path, "w") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


def with_manifest(entries, **changes):
    values = FORMAT.loads(entries["manifest.json"], None)
    return {**entries, "manifest.json": FORMAT.dumps({**values, **changes})}


def flipped(entries, name):
    content = bytearray(entries[name])
    content[len(content) // 2] ^= 1
    return {**entries, name: bytes(content)}


def described(content):
    return {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def renamed(entries, old, new):
    files = FORMAT.loads(entries["manifest.json"], None)["files"]
    files[new] = described(entries[old])
    return {**with_manifest(entries, files=files), new: entries[old]}


CHANGES = {
    "database": lambda entries: flipped(entries, "curator.db"),
    "release": lambda entries: flipped(entries, "release.safetensors"),
    "manifest": lambda entries: {**entries, "manifest.json": entries["manifest.json"][:-9]},
    "missing": lambda entries: {k: v for k, v in entries.items() if k != "ledger.json"},
    "more": lambda entries: {**entries, "more.txt": b"x"},
    "outside": lambda entries: renamed(entries, "ledger.json", "../outside"),
    "absolute": lambda entries: renamed(entries, "ledger.json", "/tmp/outside-of-it"),
    "identity": lambda entries: with_manifest(entries, identity="0" * 64),
    "order": lambda entries: dict(reversed(entries.items())),
    "newer": lambda entries: {
        **entries,
        "manifest.json": entries["manifest.json"].replace(b'version": 1', b'version": 9'),
    },
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_backup_that_was_changed_makes_no_folder(used, tmp_path, change):
    path, place = tmp_path / "clinic.backup", tmp_path / "place"
    place.mkdir()
    back_up(used.folder, path)
    rebuilt(path, CHANGES[change])
    with pytest.raises(ValueError, match="path must be a backup of a curator's folder, but"):
        restore(path, place / "again")
    assert list(place.iterdir()) == []
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("size", [0, 3, 600, 20_000, -1, -600])
def test_a_backup_that_was_cut_makes_no_folder(used, tmp_path, size):
    path, place = tmp_path / "clinic.backup", tmp_path / "place"
    place.mkdir()
    back_up(used.folder, path)
    content = path.read_bytes()
    end = content.rstrip(b"\0")  # a tar file ends with empty blocks
    path.write_bytes(end[:size])
    with pytest.raises(ValueError, match="path must be a backup of a curator's folder, but"):
        restore(path, place / "again")
    assert list(place.iterdir()) == []


def test_links_and_devices_are_refused(used, tmp_path):
    path = tmp_path / "clinic.backup"
    back_up(used.folder, path)
    with tarfile.open(path) as tar:
        entries = [(each, tar.extractfile(each).read()) for each in tar]
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE):
        with tarfile.open(path, "w") as tar:
            for member, content in entries:
                if member.name == "ledger.json":
                    member.type, member.linkname, member.size = kind, "/etc/passwd", 0
                    content = b""
                tar.addfile(member, io.BytesIO(content))
        with pytest.raises(ValueError, match="but .* (holds what|is damaged|is cut)"):
            restore(path, tmp_path / "again")
        assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_what_is_none_ends_in_one_line(tmp_path, capsys, command):
    (tmp_path / "file").write_text("MARKER")
    (tmp_path / "folder").mkdir()
    first = "folder" if command == "backup" else "file"
    with pytest.raises(SystemExit) as stop:
        main(["curator", command, str(tmp_path / first), str(tmp_path / "new")])
    assert stop.value.code == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "MARKER" not in error
    assert not (tmp_path / "new").exists()


# --- what is told ---


def test_a_restored_folder_says_so_to_all(used, tmp_path, serve, capsys):
    assert used.get("/v1/release").json()["restored"] is None
    made = back_up(used.folder, tmp_path / "clinic.backup")
    again = tmp_path / "again"
    assert main(["curator", "restore", str(tmp_path / "clinic.backup"), str(again)]) == 0
    shown = capsys.readouterr()
    assert "Tokens that were revoked after that time are valid again" in shown.err
    assert not any(each in shown.out + shown.err for each in IDENTIFIERS)
    service = serve(folder=Folder(again))
    assert service.get("/v1/release").json()["restored"] == made.time
    assert main(["curator", "status", str(again)]) == 0
    assert f"Put back from a backup of {made.time[:10]}" in capsys.readouterr().out
    assert service.get("/v1/queries/1").json()["state"] == "measured"


def test_tokens_can_all_be_ended(used, tmp_path, serve):
    back_up(used.folder, tmp_path / "clinic.backup")
    _, folder = restore(tmp_path / "clinic.backup", tmp_path / "again", end_tokens=True)
    service = serve(folder=folder)
    assert service.client.get("/v1/release", headers=used.modeler).status_code == 401
    assert service.get("/v1/release").status_code == 200  # a new one
    kinds = [each["kind"] for each in service.store.events()]
    assert kinds.count("revoked") == 2


def test_a_noised_answer_that_may_have_been_read_is_not_corrected(serve, tmp_path, capsys):
    service = serve(noised=True)
    number = service.ask(0).json()["id"]
    service.measure(number, 4.0)  # nobody has read it
    back_up(service.folder, tmp_path / "clinic.backup")
    assert service.get(f"/v1/queries/{number}").json()["state"] == "measured"  # somebody has
    assert main(["curator", "restore", str(tmp_path / "clinic.backup"), str(tmp_path / "again")]) == 0
    assert "must be entered again as it was" in capsys.readouterr().err
    again = serve(folder=Folder(tmp_path / "again"))
    answer = again.put(number, "correction", value=5.0, reason="typing")
    assert answer.json()["error"]["code"] == "told"


def test_what_may_answer_otherwise_after_a_restore_is_said(serve, tmp_path, capsys):
    """A known value that was replaced, and read, after the backup is the one of before again."""
    service = serve(noised=True)
    name = service.store.identifier(0)
    service.store.know([KnownOutcome(1, name, 4.0)], None).result()
    back_up(service.folder, tmp_path / "clinic.backup")
    service.store.know([KnownOutcome(1, name, 7.0)], None, replace=True).result()
    read = service.ask(0).json()["value"]
    assert main(["curator", "restore", str(tmp_path / "clinic.backup"), str(tmp_path / "again")]) == 0
    warned = capsys.readouterr().err
    assert "entered or replaced after that time must be entered again as it was, before" in warned
    assert "corrected after that time, do not serve" in warned
    again = serve(folder=Folder(tmp_path / "again"))
    again.store.know([KnownOutcome(1, name, 7.0)], None, replace=True).result()
    assert again.ask(0).json()["value"] == read


def test_an_interrupted_restore_leaves_nothing(used, tmp_path, monkeypatch):
    back_up(used.folder, tmp_path / "clinic.backup")
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.setattr(Folder, "open", lambda self, **options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        restore(tmp_path / "clinic.backup", place / "again")
    assert list(place.iterdir()) == []


# --- while a server works ---


@pytest.mark.slow
def test_a_busy_server_is_copied_at_one_moment_again_and_again(tmp_path):
    """In each of 30 backups is every answer that was acknowledged before it, and no half of one."""
    names = [f"r{i}" for i in range(600)]
    folder = console_folder(tmp_path / "folder", identifiers=names, max_queries=600)
    store = folder.open()
    token = store.tokens.find(store.tokens.make("modeler", "m").result()).id
    acknowledged, stop = [0], threading.Event()

    def work():
        for row in range(600):
            number = store.ask(f"key-of-row-{row}", row, token).result().query.id
            store.measure(number, float(row), None).result()
            acknowledged[0] = row + 1
            if stop.is_set():
                return

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for i in range(30):
            before = acknowledged[0]
            back_up(folder, tmp_path / f"{i}.backup")
            after = acknowledged[0]
            _, again = restore(tmp_path / f"{i}.backup", tmp_path / f"again{i}")
            with closing(again.open_to_read()) as reading:
                reading.require_sound()
                found = [each for each in reading.queries() if each.state == "measured"]
                assert before <= len(found) <= after + 1
                assert [each.outcome for each in found] == [float(each.row) for each in found]
    finally:
        stop.set()
        worker.join()
        store.in_place.check()  # the copying was no change
        store.close()


@pytest.mark.slow
def test_a_modeler_is_told_and_goes_on(tmp_path, caplog):
    server = Server(tmp_path / "folder", make_curator(known=False))
    server.start()
    try:
        with RemoteCurator(server.url, server.token) as curator:
            assert curator.restored is None
            curator.submit(4)
            path = tmp_path / "clinic.backup"
            made = back_up(server.folder, path)
            curator.submit(9)
            server.stop()
            os.rename(server.folder.path, tmp_path / "broken")
            restore(path, server.folder.path)
            server.start()
            server.measure(1, 4.5)
            assert curator.query(4) == (4, 4.5)
        with RemoteCurator(server.url, server.token) as curator:
            assert curator.restored == made.time
            assert curator.submit(9) == 2
    finally:
        server.kill()
    assert f"put its folder back from a backup of {made.time}" in caplog.text


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs kill")
def test_over_200_kills_a_backup_or_a_folder_is_whole_or_not_there(used, tmp_path):
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from botorch_private.curator.service.backup import back_up, restore\n"
        "from botorch_private.curator.service.folder import Folder\n"
        "for line in iter(sys.stdin.readline, ''):\n"
        "    folder, file, again = map(Path, line.split())\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        back_up(Folder(folder), file)\n"
        "        restore(file, again)\n"
        "        os._exit(0)\n"
        "    print(child, flush=True)\n"
        "    sys.stdin.readline()\n"  # until then its number stays its own, ended or not
        "    os.waitpid(child, 0)\n"
        "    print('ended', flush=True)\n"
    )
    chance, files, folders, longest = random.Random(0), 0, 0, 0.0
    place = tmp_path / "place"
    place.mkdir()
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as launcher:
        for i in range(-3, 200):
            file, again = place / f"{i}.backup", place / f"again{i}"
            launcher.stdin.write(f"{used.folder.path} {file} {again}\n")
            launcher.stdin.flush()
            child, began = int(launcher.stdout.readline()), time.monotonic()
            if i >= 0:  # those before tell how long it takes
                time.sleep(chance.uniform(0.0, longest))
                os.kill(child, signal.SIGKILL)
            launcher.stdin.write("\n")
            launcher.stdin.flush()
            assert launcher.stdout.readline() == "ended\n"
            if i < 0:
                longest = max(longest, time.monotonic() - began)
                continue
            if file.exists():
                files += 1
                restore(file, place / f"checked{i}")
            if again.exists():
                folders += 1
                with closing(Folder(again).open()) as store:
                    store.require_sound()
                    assert store.restored() is not None
        launcher.stdin.close()
    assert 10 < files < 195
    assert folders < files
