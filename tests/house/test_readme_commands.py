"""The README's commands for two machines, run as they stand there."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch

README = Path(__file__).parents[2] / "README.md"
RUN = [sys.executable, "-W", "ignore", "-m", "botorch_private.cli.main"]


def commands():
    """Arguments of each command in the marked block, and where its output goes."""
    text = README.read_text(encoding="utf-8")
    block = re.search(r"<!-- these commands are run by .*?-->\n```\n(.*?)```", text, re.DOTALL)[1]
    for line in block.splitlines():
        if line and not line.startswith("#"):
            command, _, output = line.partition(" > ")
            program, *arguments = shlex.split(command)
            assert program == "botorch-private"
            yield arguments, output


@pytest.fixture
def place(tmp_path):
    """A folder with the README's ranges and a table of their features."""
    text = README.read_text(encoding="utf-8")
    (tmp_path / "ranges.toml").write_text(re.search(r"```toml\n(.*?)```", text, re.DOTALL)[1])
    numbers = torch.rand(60, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    lines = ["age,pressure,cost"]
    for age, pressure in (torch.tensor([18.0, 60.0]) + numbers * torch.tensor([82.0, 140.0])).tolist():
        lines.append(f"{age},{pressure},{age / 20 + pressure / 100}")
    (tmp_path / "stays.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.slow
def test_four_commands_from_a_table_to_a_search(place):
    init, token, serve, optimize = commands()
    environment = {**os.environ, "PYTHONPATH": "", "MPLBACKEND": "agg"}

    def run(arguments, output=""):
        done = subprocess.run(
            [*RUN, *arguments], cwd=place, capture_output=True, text=True, timeout=240, env=environment
        )
        assert done.returncode == 0, done.stderr
        if output:
            (place / output).write_text(done.stdout)
        return done.stdout

    assert "HOLDS" in run([*init[0], "--yes"])
    run(*token)
    with subprocess.Popen(
        [*RUN, *serve[0], "--port", "0"],
        cwd=place,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as server:
        try:
            address = server.stdout.readline().strip()
            assert "http://127.0.0.1:8400" in optimize[0]
            shown = run([address if "8400" in each else each for each in optimize[0]])
        finally:
            server.terminate()
    assert (place / "best.png").stat().st_size > 5000
    assert re.search(r"[Bb]est", shown)
    status = run(["curator", "status", "clinic"])
    assert "Queries: 10 measured" in status
    assert "Measurements left: 40 of 50" in status
