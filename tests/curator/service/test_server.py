"""Real server processes and the command line: making, serving, stopping, TLS, locks, measuring."""

import io
import os
import re
import signal
import ssl
import stat
import subprocess
import sys
import threading
from concurrent.futures import Future
from contextlib import chdir, closing, contextmanager, redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from typing import NamedTuple

import httpx2
import pytest
import torch
import trustme
from helpers.patience import wait_until

from botorch_private import Curator, Ledger, NoisyProjection, PublicScaling, Release
from botorch_private._base.loopback import is_loopback
from botorch_private.cli.curator.token import expiry
from botorch_private.cli.main import main
from botorch_private.curator.service.folder import Folder
from botorch_private.curator.service.make_folder import make_folder
from botorch_private.curator.service.measuring import Measuring
from botorch_private.curator.service.question import StorageError
from botorch_private.curator.service.worker import FAILED

COMMAND = [sys.executable, "-W", "ignore", "-m", "botorch_private.cli.main", "curator"]
INIT = ["init", "table.csv", "clinic", "--ranges", "ranges.toml", "--epsilon", "3"]
N = 12
RANGES = "[features.age]\nlower = 18\nupper = 100\n\n[features.pressure]\nlower = 60\nupper = 200\n"
ROWS = [(f"P-{i:03d}", 20 + 5 * i, 70 + 9 * i, 0.25 * i) for i in range(N)]
OBJECTIVES = """
import os, time
def total(record):
    return float(record[0] + record[1])
def failing(record):
    raise RuntimeError(f"no value for {record.tolist()}")
def fragile(record):
    if os.path.exists("broken"):
        os._exit(3)
    print("noise on the output")
    os.system("echo noise of a child")
    return float(record[0])
def slow(record):
    time.sleep(60)
not_callable = 3
"""


class Done(NamedTuple):
    """What a command left."""

    returncode: int
    stdout: str
    stderr: str


def curator(*arguments, cwd):
    """Run a command to its end, in this process: importing PyTorch anew takes seconds."""
    sys.modules.pop("lab", None)
    out, err = io.StringIO(), io.StringIO()
    with (
        chdir(cwd),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr("sys.stdin", io.StringIO())
        patch.setattr("sys.path", list(sys.path))
        try:
            code = main(["curator", *map(str, arguments)])
        except SystemExit as stop:
            code = stop.code
    return Done(code, out.getvalue(), err.getvalue())


@contextmanager
def served(folder, *arguments, cwd, verify=True):
    """A server process, and clients for its two roles."""
    with closing(Folder(folder).open()) as store:
        tokens = {role: store.tokens.make(role, role).result() for role in ("modeler", "staff")}
    process = subprocess.Popen(
        [*COMMAND, "serve", str(folder), "--port", "0", *map(str, arguments)],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    clients = []
    try:
        address = process.stdout.readline().strip()
        assert address, process.stderr.read()
        for token in tokens.values():
            headers = {"Authorization": f"Bearer {token}"}
            options = {"headers": headers, "verify": verify, "trust_env": False, "timeout": 30}
            clients.append(httpx2.Client(base_url=address, **options))
        yield process, address, *clients
    finally:
        for client in clients:
            client.close()
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


@pytest.fixture
def place(tmp_path):
    """A working folder with a table, ranges and objectives."""
    lines = ["id,age,pressure,cost,same", *(",".join(map(str, [*row, "x"])) for row in ROWS)]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "ranges.toml").write_text(RANGES)
    (tmp_path / "lab.py").write_text(OBJECTIVES)
    return tmp_path


def initialize(place, *more, name="clinic"):
    done = curator(*(name if each == "clinic" else each for each in INIT), "--yes", *more, cwd=place)
    assert done.returncode == 0, done.stderr
    return place / name


def ask(modeler, row):
    response = modeler.post(
        "/v1/queries", json={"row": row}, headers={"Idempotency-Key": f"row-{row:08d}"}
    )
    assert response.status_code in (200, 201), response.text
    return response.json()


def settled(modeler, number):
    path = f"/v1/queries/{number}"
    wait_until(lambda: modeler.get(path).json()["state"] != "pending", seconds=60)
    return modeler.get(path).json()


def failed(staff):
    """The one question, once its measurement has failed."""

    def only():
        (query,) = staff.get("/v1/staff/queries").json()["queries"]
        return query

    wait_until(lambda: only()["state"] == "failed", seconds=60)
    return only()


# --- init ---


def test_init_shows_the_guarantee_and_makes_a_closed_folder(place):
    folder = initialize(place, "--budget", "5", "--id", "id")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {
        "curator.db": 0o600,
        "ledger.json": 0o600,
        "release.safetensors": 0o600,
    }
    release = Release.load(folder / "release.safetensors")
    assert release.guarantee.holds
    with closing(Folder(folder).open()) as store:
        names = [store.identifier(row) for row in range(N)]
        assert sorted(names) == [row[0] for row in ROWS]
        assert [int(name[2:]) for name in names] == [store.record(row) for row in range(N)]
        assert store.facts.max_queries == 5


def test_init_asks_before_it_spends_privacy(place):
    done = curator(*INIT, cwd=place)
    assert done.returncode == 1
    assert "HOLDS" in done.stdout
    assert "nobody is there to be asked: say --yes if you agree" in done.stderr
    assert not (place / "clinic").exists()


def test_init_promises_release_and_answers_together(place):
    folder = initialize(
        place, "--outcome-epsilon", "5", "--outcome-range", "0", "10", "--objective", "column:cost"
    )
    status = curator("status", folder, cwd=place)
    assert "composition of 1 release and an answer about each outcome: HOLDS" in status.stdout
    assert "Measurements left: no limit" in status.stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--epsilon", "0"], "epsilon must be a finite number > 0, got 0"),
        (["--ranges", "no.toml"], "there is no file no.toml"),
        (["--id", "name"], "must have one column 'name'"),
        (["--budget", "13"], "budget must be at least 1 and at most the 12 records, got 13"),
        (["--budget", "0"], "budget must be at least 1 and at most the 12 records, got 0"),
        (["--objective", "nothing"], "objective must be person, column:NAME or module:function"),
        (["--objective", "lab:absent"], "lab has no absent"),
        (["--objective", "column:age"], "objective must be a column that is not released, but"),
        (["--id", "age"], "declares 'age' as a feature: delete [features.age] there"),
        (["--objective", "lab:not_callable"], "lab has no not_callable"),
        (["--objective", "nolab:f"], "No module named 'nolab'"),
        (["--objective", "column:nocolumn"], "must have one column 'nocolumn'"),
        (["--outcome-epsilon", "3"], "--outcome-epsilon and --outcome-range must be given together"),
        (
            ["--outcome-epsilon", "3", "--outcome-range", "5", "1"],
            "--outcome-range must be a smallest and a larger",
        ),
        (["--plausible", "5", "1"], "plausible must be a smallest and a larger value"),
        (["--time-limit", "0", "--objective", "lab:total"], "--time-limit must be a finite number > 0"),
        (["--shared-outcomes"], "--shared-outcomes needs noise on the answers and a budget"),
        (["--projection-dim", "1"], "--delta must be > 0 for --projection-dim 1 < d=2"),
        (["--id", "same"], "those in row 2 and row 3 are the same: whoever measures could take one"),
        (["--outcome-delta", "1e-5"], "--outcome-delta needs --outcome-epsilon and --outcome-range"),
    ],
)
def test_unusable_options_are_refused_and_nothing_is_made_or_spent(place, change, message):
    done = curator(*INIT, "--yes", "--ledger", "table.ledger.json", *change, cwd=place)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(place.glob("*clinic*"))
    assert not (place / "table.ledger.json").exists()


def test_a_folder_is_not_made_twice(place):
    initialize(place)
    again = curator(*INIT, "--yes", cwd=place)
    assert again.returncode == 1
    assert "there is something at clinic already" in again.stderr


def test_shared_outcomes_add_up_over_the_budget(place):
    noised = ["--outcome-epsilon", "2", "--outcome-range", "0", "10", "--shared-outcomes"]
    folder = initialize(place, "--budget", "3", *noised)
    status = curator("status", folder, cwd=place).stdout
    assert "composition of 1 release and 3 answers: HOLDS" in status
    assert "epsilon = 9," in status
    assert "the outcomes of all records may differ" in status


def test_init_asks_with_all_that_was_spent(place):
    initialize(place, "--ledger", "table.ledger.json", name="one")
    done = curator(*INIT, "--ledger", "table.ledger.json", cwd=place)
    assert "were released before: all together, epsilon at one unit is 6 then" in done.stdout
    initialize(place, "--ledger", "table.ledger.json", name="two")
    assert Ledger(path=place / "table.ledger.json").total.epsilon == pytest.approx(6.0)
    assert Ledger(path=place / "two" / "ledger.json").total.epsilon == pytest.approx(6.0)


# --- serve ---


def test_a_column_is_answered_and_exported(place):
    folder = initialize(place, "--objective", "column:cost", "--id", "id")
    with served(folder, cwd=place) as (process, _, modeler, staff):
        answers = {row: ask(modeler, row)["value"] for row in range(N)}
        assert modeler.get("/v1/staff/queries").status_code == 403
        assert staff.get("/v1/release").status_code == 403
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
        assert process.stderr.read() == ""
    assert sorted(answers.values()) == [row[3] for row in ROWS]
    exported = curator("export", folder, cwd=place).stdout.splitlines()
    assert exported[0].startswith("question,row,identifier,state,outcome,answer")
    costs = {row[0]: row[3] for row in ROWS}
    for line in exported[1:]:
        _, row, identifier, state, outcome, answer, *_ = line.split(",")
        assert (state, float(outcome)) == ("measured", costs[identifier])
        assert float(answer) == answers[int(row)]
    done = curator("export", folder, "--output", "out.csv", cwd=place)
    assert "for the curator's eyes only" in done.stdout
    assert (place / "out.csv").read_text().splitlines() == exported


def test_a_second_server_of_one_folder_refuses(place):
    folder = initialize(place)
    with served(folder, cwd=place):
        second = curator("serve", folder, "--port", "0", cwd=place)
        assert second.returncode == 1
        assert "another one serves" in second.stderr
    with served(folder, cwd=place) as (_, _, modeler, _):  # the lock went with the process
        assert modeler.get("/v1/release").status_code == 200


def test_a_taken_address_is_refused(place):
    one, two = initialize(place, name="one"), initialize(place, name="two")
    with served(one, cwd=place) as (_, address, _, _):
        port = address.rpartition(":")[2]
        done = curator("serve", two, "--port", port, cwd=place)
        assert done.returncode == 1
        assert re.search(rf"cannot listen at 127.0.0.1 port {port}: .*in use", done.stderr)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_plain_text_where_others_can_listen_is_refused(place, host):
    done = curator("serve", initialize(place), "--host", host, cwd=place)
    assert done.returncode == 1
    assert (
        "can be reached from other machines, and without TLS everybody on the way reads" in done.stderr
    )


def test_plain_text_is_possible_for_who_says_so(place):
    arguments = ("--host", "0.0.0.0", "--insecure-http")
    with served(initialize(place), *arguments, cwd=place) as (_, address, _, _):
        assert address.startswith("http://0.0.0.0:")


def test_addresses_of_this_machine_alone_are_known():
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "example.org", "10.0.0.1", "")))


def test_tls_with_a_certificate(place):
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(str(place / "ca.pem"))
    certificate.private_key_pem.write_to_path(str(place / "key.pem"))
    for i, part in enumerate(certificate.cert_chain_pems):
        part.write_to_path(str(place / "cert.pem"), append=i > 0)
    folder = initialize(place)
    arguments = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"]
    trusted = ssl.create_default_context(cafile=str(place / "ca.pem"))
    with served(folder, *arguments, cwd=place, verify=trusted) as (_, address, modeler, _):
        assert address.startswith("https://")
        assert modeler.get("/v1/release").status_code == 200
        with pytest.raises(httpx2.ConnectError):
            httpx2.get(f"{address}/v1/health", trust_env=False)  # an unknown authority
    for part, message in (
        (["--tls-cert", "cert.pem"], "--tls-cert and --tls-key must be given together"),
        (["--tls-cert", "no.pem", "--tls-key", "key.pem"], "--tls-cert must be a file"),
    ):
        done = curator("serve", folder, *part, cwd=place)
        assert done.returncode == 1
        assert message in done.stderr


def test_folders_that_are_none_or_open_to_others_are_refused(place):
    (place / "empty").mkdir(mode=0o700)
    folder = initialize(place)
    folder.chmod(0o755)
    for name, message in (
        ("absent", "there is no folder absent"),
        ("empty", "DIR must be one that 'botorch-private curator init' made"),
        ("clinic", "DIR must be closed to others, since records lie in it: chmod 700"),
    ):
        done = curator("serve", name, "--port", "0", cwd=place)
        assert done.returncode == 1
        assert message in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_refused(place):
    folder = initialize(place)
    folder.chmod(0o500)
    try:
        done = curator("serve", folder, "--port", "0", cwd=place)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
    finally:
        folder.chmod(0o700)


# --- measuring by a program ---


def test_a_function_measures_one_question_after_another(place):
    folder = initialize(place, "--objective", "lab:total", "--id", "id")
    totals = {row[0]: row[1] + row[2] for row in ROWS}
    with served(folder, cwd=place) as (_, _, modeler, staff):
        numbers = [ask(modeler, row)["id"] for row in range(5)]
        values = [settled(modeler, number)["value"] for number in numbers]
        found = {query["id"]: query for query in staff.get("/v1/staff/queries").json()["queries"]}
        assert values == [totals[found[number]["identifier"]] for number in numbers]


@pytest.mark.slow
def test_a_failure_is_stored_and_told_to_the_curator_alone(place):
    folder = initialize(place, "--objective", "lab:failing")
    with served(folder, cwd=place) as (process, _, modeler, staff):
        number = ask(modeler, 3)["id"]
        query = failed(staff)
        assert query["reason"] == FAILED  # it names the file, and repeats nothing of a record
        told = folder / "objective.log"
        assert "no value for [" in told.read_text()
        assert stat.S_IMODE(told.stat().st_mode) == 0o600
        seen = modeler.get(f"/v1/queries/{number}")
        assert seen.json()["state"] == "pending"
        assert "no value" not in seen.text
        assert staff.post(f"/v1/staff/queries/{number}/retry").status_code == 200
        process.terminate()
        process.wait()
        logged = process.stderr.read()
        assert "no value for" not in logged
        assert "failed; see the console" in logged


@pytest.mark.slow
def test_a_program_that_dies_fails_and_is_started_again(place):
    folder = initialize(place, "--objective", "lab:fragile")
    (place / "broken").touch()
    with served(folder, cwd=place) as (_, _, modeler, staff):
        number = ask(modeler, 3)["id"]
        query = failed(staff)
        assert query["reason"] == "the objective's process ended"
        (place / "broken").unlink()
        assert curator("retry", folder, cwd=place).returncode == 0  # beside the running server
        assert settled(modeler, number)["state"] == "measured"
    printed = folder / "objective.log"
    assert "noise of a child" in printed.read_text()
    assert stat.S_IMODE(printed.stat().st_mode) == 0o600


def test_a_server_that_is_told_to_stop_lets_waiting_requests_go_and_ends_its_program(place):
    folder = initialize(place, "--objective", "lab:slow")
    with served(folder, cwd=place) as (process, _, modeler, _):
        number = ask(modeler, 3)["id"]
        threading.Timer(1.0, process.terminate).start()
        seen = modeler.get(f"/v1/queries/{number}", params={"wait": 25})
        assert (seen.status_code, seen.json()["state"]) == (200, "pending")
        assert process.wait(timeout=30) == 0
        assert "Traceback" not in process.stderr.read()
    with closing(Folder(folder).open()) as store:
        assert store.query(number).state == "failed"  # not left as if somebody still measured it


class Flaky:
    """A store whose disk refuses for a while."""

    def __init__(self, store, refusals):
        self._store, self._refusals = store, refusals

    def __getattr__(self, name):
        return getattr(self._store, name)

    def measure(self, *arguments):
        self._refusals -= 1
        if self._refusals >= 0:
            future = Future()
            future.set_exception(StorageError("nothing was stored"))
            return future
        return self._store.measure(*arguments)


@pytest.mark.parametrize("failing", [False, True])
def test_a_measured_value_waits_for_the_disk_and_a_strange_error_for_nobody(tmp_path, failing):
    folder = make_folder(tmp_path / "x", a_curator(), objective="module:function")
    store = folder.open()
    store.tokens.make("modeler", "m").result()
    calls = []

    def program(record):
        calls.append(record)
        if failing and len(calls) == 1:
            raise OSError("too many open files")
        return 1.5

    program.stop = lambda: None
    measuring = Measuring(Flaky(store, 3), program, folder.records)
    try:
        for row in (3, 4):
            store.ask(f"key-of-{row:04d}", row, 1).result()
        measuring.start()
        expected = ["failed", "measured"] if failing else ["measured", "measured"]
        wait_until(lambda: [query.state for query in store.queries()] == expected)
        assert len(calls) == 2
    finally:
        measuring.stop()
        store.close()


@pytest.mark.slow
def test_what_takes_too_long_fails_and_what_was_interrupted_too(place):
    folder = initialize(place, "--objective", "lab:slow", "--time-limit", "0.5", "--budget", "3")
    with served(folder, cwd=place) as (_, _, modeler, staff):
        ask(modeler, 3)
        query = failed(staff)
        assert query["reason"] == "the objective took more than 0.5 s"
    with closing(Folder(folder).open()) as store:
        store.retry(1, None).result()
        store.begin().result()  # as if the server had been killed now
    with served(folder, cwd=place) as (_, _, _, staff):
        (query,) = staff.get("/v1/staff/queries").json()["queries"]
        assert query["state"] == "failed"
        assert "it may have been measured, or not" in query["reason"]
    status = curator("status", folder, cwd=place).stdout
    assert "Queries: 1 failed" in status
    assert "may have been measured" not in status  # why is in the export
    assert "may have been measured" in curator("export", folder, cwd=place).stdout
    assert "Measurements left: 2 of 3" in status
    done = curator("retry", folder, cwd=place)
    assert "Queries that will be measured again: 1" in done.stdout


# --- make_folder and tokens ---


def a_curator(**options):
    records = torch.rand(N, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return Curator(
        records,
        PublicScaling([0.0] * 2, [1.0] * 2),
        NoisyProjection(3.0),
        options.pop("objective", lambda record: 1.0),
        **options,
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"identifiers": ["a"]}, "identifiers must have 12 entries, got 1"),
        ({"identifiers": ["a"] * N}, "those in position 0 and position 1 are the same"),
        ({"identifiers": ["a", "a "]}, "those in position 0 and position 1 look the same"),
        ({"objective": "x"}, "objective must be person, column or module:function, got another text"),
        ({"objective": "column"}, "objective must be 'column' where the curator knows the outcomes"),
        ({"plausible": (1.0, 1.0)}, "plausible must be a smallest and a larger value"),
        ({"plausible": (0.0, float("nan"))}, "plausible_high must be a finite number"),
        ({"time_limit": -1}, "time_limit must be a finite number > 0"),
    ],
)
def test_a_folder_with_unusable_settings_is_not_made(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        make_folder(tmp_path / "x", a_curator(), **change)
    assert list(tmp_path.iterdir()) == []


def test_a_curator_that_answered_already_makes_no_folder(tmp_path):
    curator = a_curator()
    curator.query(0)
    with pytest.raises(ValueError, match="must not have answered anything yet, but it gave 1 answers"):
        make_folder(tmp_path / "x", curator)
    with pytest.raises(FileNotFoundError, match="path must be in a folder that exists"):
        make_folder(tmp_path / "no" / "x", a_curator())
    make_folder(tmp_path / "x", a_curator())
    with pytest.raises(FileExistsError, match="there is something at"):
        make_folder(tmp_path / "x", a_curator())


def test_tokens_are_made_listed_and_revoked(place):
    folder = initialize(place)
    new = ("token", "new", folder, "--role", "modeler")
    made = curator(*new, "--name", "B. Optimizer", "--expires", "90d", cwd=place)
    assert re.fullmatch(r"bop_[\w-]{43}\n", made.stdout)
    assert "It is shown once" in made.stderr
    listed = curator("token", "list", folder, cwd=place).stdout
    assert re.search(r"1  modeler  until 20\d\d-\d\d-\d\d +B. Optimizer", listed)
    assert made.stdout.strip() not in listed
    assert listed.split()[:4] == ["number", "role", "state", "name"]
    assert curator("token", "revoke", folder, "1", cwd=place).returncode == 0
    assert "revoked" in curator("token", "list", folder, cwd=place).stdout
    assert curator("token", "revoke", folder, "7", cwd=place).returncode == 1
    for bad in ("yesterday", "2020-01-01", "0d", "-3d"):
        done = curator(*new, f"--expires={bad}", cwd=place)
        assert done.returncode == 1
        assert "argument --expires: must be" in done.stderr


def test_expiry_dates_are_their_ends():
    now = datetime(2026, 11, 28, 12, tzinfo=UTC)
    assert expiry("2026-11-28", now) == "2026-11-29T00:00:00.000000+00:00"
    assert expiry("1d", now) == "2026-11-29T12:00:00.000000+00:00"
    for bad in ("2026-11-27", "0d", "", "1w", "2026-13-01", "99999999d"):
        with pytest.raises(ValueError, match="must be"):
            expiry(bad, now)


@pytest.mark.parametrize("arguments", [[], ["token"]])
def test_without_a_command_there_is_help(place, arguments):
    done = curator(*arguments, cwd=place)
    assert done.returncode == 2
    assert "usage: " in done.stdout
