"""The README's six commands, and the guide's lines for two machines, run as they stand there."""

import os
import re
import shlex
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from helpers.remote_server import Server, make_curator

import botorch_private

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TWO_MACHINES = (ROOT / "docs" / "guide" / "two_machines.md").read_text(encoding="utf-8")
RUN = [sys.executable, "-W", "ignore", "-m", "botorch_private"]
ENVIRONMENT = {
    **os.environ,
    "MPLBACKEND": "agg",
    "PYTHONPATH": str(Path(botorch_private.__file__).parents[1]),
}


def commands():
    """Arguments of each command in the marked block, and where its output goes."""
    block = re.search(r"<!-- these commands are run by .*?-->\n```\n(.*?)```", README, re.DOTALL)[1]
    for line in block.splitlines():
        if line and not line.startswith("#"):
            command, _, output = line.partition(" > ")
            program, *arguments = shlex.split(command)
            assert program == "botorch-private"
            yield arguments, output


@pytest.fixture
def place(tmp_path):
    """A folder with a table of the README's columns."""
    numbers = torch.rand(60, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    lines = ["age,pressure,cost"]
    for age, pressure in (torch.tensor([18.0, 60.0]) + numbers * torch.tensor([82.0, 140.0])).tolist():
        lines.append(f"{age},{pressure},{age / 20 + pressure / 100}")
    (tmp_path / "stays.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.fixture
def run(place):
    """Run a command in that folder, and return what it says."""

    def run(arguments, output=""):
        done = subprocess.run(
            [*RUN, *arguments], cwd=place, capture_output=True, text=True, timeout=240, env=ENVIRONMENT
        )
        assert done.returncode == 0, done.stderr
        if output:
            (place / output).write_text(done.stdout)
        return done.stdout

    return run


@contextmanager
def serving(arguments, place):
    """Yield the address of a server."""
    command = [*RUN, *arguments, "--port", "0"]
    with subprocess.Popen(
        command, cwd=place, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as server:
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


@pytest.mark.slow
def test_six_commands_from_a_csv_file_to_a_search(place, run):
    template, check, init, token, serve, optimize = commands()

    run(*template)
    ranges = place / "ranges.toml"
    started = re.findall(r"^\[features\.(\w+)\]$", ranges.read_text(), re.MULTILINE)
    assert started == ["age", "pressure", "cost"]
    ranges.write_text(re.search(r"```toml\n(.*?)```", README, re.DOTALL)[1])  # filled in by hand

    shown = run(*check)
    for unit in re.search(r"one unit is ([\d.]+) years of age, or ([\d.]+) of", README).groups():
        assert unit in shown
    assert "HOLDS" in run([*init[0], "--yes"])
    run(*token)
    with serving(serve[0], place) as address:
        assert "http://127.0.0.1:8400" in optimize[0]
        shown = run([address if "8400" in each else each for each in optimize[0]])
    assert (place / "best.png").stat().st_size > 5000
    assert re.search(r"[Bb]est", shown)
    status = run(["curator", "status", "clinic"])
    assert "Queries: 10 measured" in status
    assert "Measurements left: 40 of 50" in status


@pytest.mark.filterwarnings("ignore:Data .* not contained to the unit cube")
@pytest.mark.slow
def test_the_lines_for_a_modeler_on_another_machine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    block = re.search(r"<!-- these lines are run by .*?-->\n```py\n(.*?)```", TWO_MACHINES, re.DOTALL)[1]
    server = Server(tmp_path / "folder", make_curator())
    try:
        server.start()
        lines = block.replace("https://curator.example.org:8400", server.url)
        names = {"token": server.token}
        exec(lines, names)
        names["curator"].close()
        assert len(names["modeler"].history) >= 30
    finally:
        server.kill()
