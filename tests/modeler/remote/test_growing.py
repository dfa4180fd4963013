"""A table grows by `curator add` while a search of another machine waits: no answer is mixed up."""

import os
import signal
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.patience import wait_until
from helpers.remote_server import Server
from helpers.searches import Optimizer

from botorch_private import RemoteCurator
from botorch_private.cli.main import main
from botorch_private.curator.service.folder import Folder
from botorch_private.modeler.state import ModelerState

N, M = 9, 3
COSTS = {f"S-{i:02d}": 1.5 + 0.25 * i for i in range(N + M)}


def write_table(path, count):
    lines = [f"S-{i:02d},{20 + (13 * i) % 71},{45 + (29 * i) % 83}" for i in range(count)]
    path.write_text("\n".join(["stay,age,weight", *lines]) + "\n", encoding="utf-8")


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ranges.toml").write_text(
        "[features.age]\nlower = 18\nupper = 100\n[features.weight]\nlower = 30\nupper = 200\n",
        encoding="utf-8",
    )
    write_table(Path("stays.csv"), N)

    def make(path, _):
        init = ("stays.csv", str(path), "--ranges", "ranges.toml", "--id", "stay", "--epsilon", "20")
        assert main(["curator", "init", *init, "--outcome", "cost", "--yes"]) == 0
        return Folder(path)

    made = Server(tmp_path / "clinic", SimpleNamespace(outcomes=None), make)
    yield made.start()
    made.kill()


@pytest.fixture(scope="module")
def optimizer(tmp_path_factory):
    made = Optimizer(tmp_path_factory.mktemp("optimizer"))
    yield made
    made.close()


def grow(server):
    """What an operator does: stop, add, start."""
    server.stop()
    write_table(Path("stays.csv"), N + M)
    added = (str(server.folder.path), "stays.csv", "--ranges", "ranges.toml", "--id", "stay", "--yes")
    assert main(["curator", "add", *added]) == 0
    server.start()


def measure_open(server):
    """Measure what waits, as the laboratory does: by identifier."""
    for each in server.questions():
        if each["state"] == "pending":
            server.measure(each["id"], COSTS[each["identifier"]])


def assert_right(server, history):
    """Each answer is that of the record behind its row."""
    with closing(server.folder.open_to_read()) as reading:
        assert history == [(row, COSTS[reading.identifier(row)]) for row, _ in history]


def searched(optimizer, server, rounds, *more):
    Path("token.txt").write_text(server.token, encoding="utf-8")
    files = {"--token-file": "token.txt", "--state": "run.json", "--release": "release.safetensors"}
    fixed = [word for option, name in files.items() for word in (option, Path(name).resolve())]
    optimizer.start(server.url, *fixed, "--rounds", rounds, "--pending", 2, "--seed", 5, *more)


@pytest.mark.slow
def test_a_search_goes_on_through_the_growth_and_then_finds_the_new_rows(server, optimizer):
    searched(optimizer, server, 4)
    wait_until(lambda: len(server.questions()) == 2)
    server.measure(1, COSTS[server.questions()[0]["identifier"]])
    wait_until(lambda: len(server.questions()) == 3)
    grow(server)
    while len(ModelerState.load(Path("run.json")).history) < 4:
        measure_open(server)
    assert optimizer.wait() == 0
    said = optimizer.output.read_text()
    assert "Traceback" not in said
    assert "Best of 4: row" in said
    assert f"Records joined the curator's table meanwhile: {M} further rows" in said
    state = ModelerState.load(Path("run.json"))
    assert_right(server, state.history)
    assert state.rows[0] == N
    # killed in the middle with the longer release, and gone on with
    searched(optimizer, server, N + M)
    wait_until(lambda: len(server.questions()) == 6)
    os.kill(optimizer.child, signal.SIGKILL)
    assert optimizer.wait() == -signal.SIGKILL
    assert f"{M} of {N + M} rows are new, and searched" in optimizer.output.read_text()
    searched(optimizer, server, N + M)
    while len(ModelerState.load(Path("run.json")).history) < N + M:
        measure_open(server)
    assert optimizer.wait() == 0
    said = optimizer.output.read_text()
    assert "joined" not in said  # it knows them
    history = ModelerState.load(Path("run.json")).history
    assert sorted(row for row, _ in history) == list(range(N + M))
    assert len(server.questions()) == N + M  # none was asked twice
    assert_right(server, history)


@pytest.mark.slow
def test_a_client_of_before_keeps_its_questions_and_a_new_one_has_the_new_rows(server):
    with RemoteCurator(server.url, server.token) as old:
        first = old.release
        old.submit(3)
        old.submit(8)
        assert old.joined == 0
        grow(server)
        assert old.joined == M
        with pytest.raises(ValueError, match=rf"index must be a row index in 0\.\.{N - 1}"):
            old.submit(N + 1)
        with RemoteCurator(server.url, server.token) as new:
            assert new.joined == 0
            assert new.release.begins_with(first)
            assert new.earlier == {first.identity: N}
            numbers = [new.submit(row) for row in (3, 8, N + 1)]
            assert numbers == [1, 2, 3]  # the same questions
            measure_open(server)
            assert_right(server, [tuple(each) for each in new.poll()])
        assert_right(server, [tuple(each) for each in old.poll()])
        assert old.pending == []
