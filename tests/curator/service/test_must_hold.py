"""What must hold when somebody meddles with the folder of a running server: real processes.

The table in docs/guide/two_machines.md says the same.
"""

import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing

import httpx2
import pytest
from helpers.patience import wait_until
from helpers.remote_server import SERVE, Server, make_curator

from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.trail_check import check_database

LINE = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (warning|error|critical): ")


class Clinic:
    """A served folder with values, a backup of it, and a client for each role."""

    def __init__(self, place):
        self.place = place
        self.server = Server(place / "clinic", make_curator(known=False)).start()
        self.folder = self.server.folder
        for row in range(5):
            self.ask(row)
            self.measure(row + 1, row + 0.5)
        self.backup = place / "backup.db"
        with (
            closing(sqlite3.connect(self.folder.database)) as source,
            closing(sqlite3.connect(self.backup)) as target,
        ):
            source.backup(target)
        for row in range(5, 20):
            self.ask(row)
            self.measure(row + 1, row + 0.5)

    def request(self, method, path, *, staff=False, **more):
        token = self.server.staff_token if staff else self.server.token
        headers = {"Authorization": f"Bearer {token}", **more.pop("headers", {})}
        url = self.server.url + path
        return httpx2.request(method, url, headers=headers, trust_env=False, timeout=20, **more)

    def ask(self, row):
        key = {"Idempotency-Key": f"key-of-{row:04d}"}
        return self.request("POST", "/v1/queries", json={"row": row}, headers=key)

    def measure(self, number, value):
        path = f"/v1/staff/queries/{number}/measurement"
        return self.request("PUT", path, staff=True, json={"value": value})

    def log(self):
        return self.server.log.read_text()

    def start(self, folder=None):
        """Start it once more; the end of it is refused, and what it says then."""
        self.server.log.write_text("")
        if folder is not None:
            self.server.folder = Folder(folder)
        try:
            self.server.start()
        except AssertionError:
            self.server.process.wait()
            assert self.server.process.returncode == 1
            self.server.process.stdout.close()
            self.server.process = None
            (line,) = self.log().splitlines()
            return line
        return ""

    def values(self):
        found = self.request("GET", "/v1/queries").json()["queries"]
        return {each["row"]: each["value"] for each in found}


@pytest.fixture
def clinic(tmp_path):
    clinic = Clinic(tmp_path)
    yield clinic
    clinic.server.kill()


def files(clinic):
    return [clinic.folder.database.with_name(f"curator.db{end}") for end in ("", "-wal", "-shm")]


def cut(path, size):
    with path.open("r+b") as file:
        file.truncate(size)


def remove_all(clinic):
    for path in files(clinic):
        path.unlink()


def remove_log(clinic):
    for path in files(clinic)[1:]:
        path.unlink()


def copy_over(clinic):
    shutil.copyfile(clinic.backup, clinic.folder.database)


def copy_over_with_its_time(clinic):
    copy_over(clinic)
    shutil.copystat(clinic.backup, clinic.folder.database)


def move_over(clinic):
    os.replace(clinic.backup, clinic.folder.database)


ALL = {row: row + 0.5 for row in range(20)}
OLD = {row: row + 0.5 for row in range(5)}
# What is done -> which values there are after a new start; a text: what its refusal says.
CASES = {
    "removed": (remove_all, "DIR must be one that"),
    "removed but its log": (lambda c: c.folder.database.unlink(), "DIR must be one that"),
    "moved away": (
        lambda c: c.folder.database.rename(c.folder.path / "x.db"),
        "DIR must be one that",
    ),
    "log removed": (remove_log, ALL),
    "log cut": (lambda c: cut(files(c)[1], 0), None),
    "shared memory removed": (lambda c: files(c)[2].unlink(), ALL),
    "folder removed": (lambda c: shutil.rmtree(c.folder.path), "there is no folder"),
    "folder moved": (lambda c: c.folder.path.rename(c.place / "other"), ALL),
    "emptied": (lambda c: cut(c.folder.database, 0), "not a curator's database"),
    "cut": (lambda c: cut(c.folder.database, 9000), "damaged"),
    "backup copied over": (copy_over, OLD),
    "backup copied over with its time": (copy_over_with_its_time, OLD),
    "backup moved over": (move_over, OLD),
    "release removed": (lambda c: c.folder.release.unlink(), "DIR must be one that"),
    "release cut": (lambda c: cut(c.folder.release, 600), "is not the release that this folder"),
    "lock removed": (lambda c: c.folder.lock_file.unlink(), ALL),
}
REQUESTS = [
    ("POST", "/v1/queries", {"json": {"row": 30}, "headers": {"Idempotency-Key": "another-key"}}),
    ("GET", "/v1/queries/1", {}),
    ("GET", "/v1/queries", {}),
    ("GET", "/v1/release", {}),
    ("GET", "/v1/release/file", {}),
    ("PUT", "/v1/staff/queries/1/measurement", {"json": {"value": 0.5}, "staff": True}),
    ("GET", "/v1/staff/queries", {"staff": True}),
    ("GET", "/v1/health", {}),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_nothing_is_acknowledged_from_files_that_are_not_there_any_more(clinic, case):
    do, after = CASES[case]
    assert clinic.request("GET", "/v1/health").json() == {"status": "ok"}
    waiting = clinic.ask(21).json()["id"]
    ended = []
    path = f"/v1/queries/{waiting}"
    poll = threading.Thread(
        target=lambda: ended.append(clinic.request("GET", path, params={"wait": 25}).status_code)
    )
    poll.start()
    time.sleep(0.3)
    begin = time.monotonic()
    do(clinic)
    for method, path, more in REQUESTS:
        answer = clinic.request(method, path, **more)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "lost"), path
        assert str(clinic.place) not in answer.text
        assert "curator.db" not in answer.text
    page = clinic.request("GET", "/console/login")
    assert (page.status_code, "has lost its files" in page.text) == (503, True)
    poll.join(timeout=10)
    assert ended == [503]
    assert time.monotonic() - begin < 10
    lines = clinic.log().splitlines()
    assert all(map(LINE.match, lines))
    assert sum("under the running server: nothing is stored" in line for line in lines) == 1
    time.sleep(0.7)
    clinic.server.stop()
    said = clinic.start(clinic.place / "other" if case == "folder moved" else None)
    if after is None:  # what was in the log alone is gone with it; what is there is sound
        assert clinic.values().items() <= {**ALL, 21: None}.items()
    elif isinstance(after, str):
        assert after in said
    else:
        assert said == ""
        values = clinic.values()
        assert {row: values[row] for row in after} == after
        assert (21 in values) == (after is ALL)
        assert clinic.request("GET", "/v1/health").json() == {"status": "ok"}
        assert clinic.ask(33).status_code == 201


@pytest.mark.slow
def test_a_log_that_was_removed_is_saved_before_the_power_fails(clinic):
    remove_log(clinic)
    assert clinic.ask(33).status_code == 503
    time.sleep(1.2)
    clinic.server.kill()
    assert clinic.start() == ""
    values = clinic.values()
    assert {row: values[row] for row in ALL} == ALL


@pytest.mark.slow
@pytest.mark.parametrize("over", [copy_over, move_over])
@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_backup_put_over_a_busy_server_ends_acknowledging_and_stays_sound(clinic, over, end):
    answers = []
    stop = threading.Event()

    def ask_on():
        while not stop.is_set():
            answer = clinic.ask(20 + len(answers) % 20)
            answers.append((time.monotonic(), answer.status_code))

    asking = threading.Thread(target=ask_on)
    asking.start()
    wait_until(lambda: len(answers) > 50)
    over(clinic)
    done = time.monotonic()
    time.sleep(1.5)
    stop.set()
    asking.join()
    # One request may have been answered before the copy began, and reached us after it.
    late = [status for time_of, status in answers if time_of > done][1:]
    assert late
    assert set(late) == {503}
    getattr(clinic.server, end)()
    assert clinic.start() == ""
    assert clinic.values() == OLD
    with closing(sqlite3.connect(clinic.folder.database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.slow
def test_a_folder_that_was_restored_while_nothing_ran_is_served(clinic):
    clinic.server.stop()
    shutil.copyfile(clinic.backup, clinic.folder.database)
    assert clinic.start() == ""
    assert clinic.values() == OLD


@pytest.mark.slow
def test_a_full_disk_is_told_by_health_and_ends_with_it(clinic):
    clinic.server.stop()

    def little_space():
        # A file may have so many bytes: the log of the database, for one.
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))

    process = subprocess.Popen(
        [*SERVE, str(clinic.folder.path), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=little_space,
    )
    try:
        clinic.server.url = process.stdout.readline().strip()
        statuses = [clinic.ask(20 + i % 20).status_code for i in range(60)]
        for i in range(400):
            if statuses[-1] == 503:
                break
            headers = {"Idempotency-Key": f"another-key-{i:05d}"}
            row = {"row": 20 + i % 20}
            statuses.append(clinic.request("POST", "/v1/queries", json=row, headers=headers).status_code)
        assert statuses[-1] == 503
        for _ in range(10):  # what health writes is smaller, and may fit in once or twice
            time.sleep(2.1)
            health = clinic.request("GET", "/v1/health")
            if health.status_code == 503:
                break
        assert (health.status_code, health.json()["error"]["message"]) == (503, "nothing can be stored")
        assert clinic.request("GET", "/v1/queries/1").json()["value"] == 0.5  # what is there is answered
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (2**40, resource.RLIM_INFINITY))
        assert clinic.ask(39).status_code in (200, 201)
        time.sleep(2.1)
        assert clinic.request("GET", "/v1/health").status_code == 200
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
        process.stdout.close()
        process.stderr.close()


CLOCK = """
import sys
from datetime import timedelta
from pathlib import Path
from botorch_private.curator.service import clock
true_time, offset = clock.system_time, Path(sys.argv.pop(1))
clock.system_time = lambda: true_time() + timedelta(days=float(offset.read_text()))
from botorch_private.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_clock_that_was_ahead_is_said_and_mended_and_revives_nothing(tmp_path):
    """Ahead by three years while it is served, and back: said, mended by a person, nothing revived."""
    offset = tmp_path / "offset"
    offset.write_text("0")
    server = Server(tmp_path / "clinic", make_curator(known=False))
    folder = str(server.folder.path)

    def run(*arguments):
        command = [sys.executable, "-W", "ignore", "-c", CLOCK, str(offset), "curator", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    def status_of(token):
        headers = {"Authorization": f"Bearer {token}"}
        return httpx2.get(f"{url}/v1/release", headers=headers, trust_env=False).status_code

    new = ("token", "new", folder, "--role", "modeler", "--expires")
    short, revoked = run(*new, "90d").stdout.strip(), run(*new, "9999d").stdout.strip()
    assert run("token", "revoke", folder, "4").returncode == 0
    serve = [sys.executable, "-W", "ignore", "-c", CLOCK, str(offset), "curator", "serve", folder]
    process = subprocess.Popen(
        [*serve, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        url = process.stdout.readline().strip()
        assert [status_of(short), status_of(revoked)] == [200, 401]
        offset.write_text("1095")
        assert status_of(short) == 401
        made = run(*new, "90d").stdout.strip()  # by the wrong clock
        assert status_of(made) == 200
        offset.write_text("0")
        assert [status_of(short), status_of(revoked), status_of(made)] == [401, 401, 200]
        time.sleep(1.2)
        process.terminate()
        assert process.wait(timeout=20) == 0
        (line,) = process.stderr.read().splitlines()
        assert LINE.match(line)
        assert re.search(r"is 1,09\d days ahead of this machine's clock", line)
    finally:
        process.kill()
        process.communicate()
    refused = run(*new, "90d")
    assert (refused.returncode, refused.stdout) == (1, "")  # never one that is dead at once
    assert "days ahead of this machine's clock" in refused.stderr
    assert "expires must be after the latest time in the folder" in refused.stderr
    seen = run("clock", folder)
    assert (seen.returncode, "run this again with --accept" in seen.stdout) == (0, True)
    with closing(server.folder.open()) as store:
        assert store.clock.ahead().days >= 1094  # to look changes nothing
    mended = run("clock", folder, "--accept")
    assert mended.returncode == 0, mended.stderr
    assert "Tokens that were made meanwhile, whose time is counted from now: 5" in mended.stdout
    assert "There is nothing to mend." in run("clock", folder).stdout
    fresh = run(*new, "90d")
    assert fresh.stderr.count("\n") == 1
    with closing(server.folder.open()) as store:
        find = store.tokens.find
        assert [find(each) for each in (short, revoked)] == [None, None]
        assert find(fresh.stdout.strip()).expires[:10] == find(made).expires[:10]
        events = store.events()
        (mended,) = [event["id"] for event in events if event["kind"] == "clock"]
        # Events before stay as the wrong clock wrote them: what was written is never changed.
        for times in ([e["time"] for e in events if (e["id"] < mended) == old] for old in (True, False)):
            assert times == sorted(times)
        assert max(e["time"] for e in events)[:4] > events[-1]["time"][:4]
        assert check_database(store).problem == ""
        assert store.clock.ahead().total_seconds() == 0
