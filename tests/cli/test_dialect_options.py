"""Every command that reads a table takes it as it is written, by the same options."""

import random

import pytest

from botorch_private.cli import main as cli

pytest.importorskip("pandas")
DIALECT = ["--separator", ";", "--decimal", ",", "--encoding", "cp1252"]
RANGES = """\
[features.dosis]
lower = 0
upper = 10
missing = 5

[features."größe"]
lower = 1
upper = 3
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a folder, which is the current one, with a table in a European dialect and its ranges."""
    monkeypatch.chdir(tmp_path)
    drawn = random.Random(1)
    lines = ["fall;dosis;größe;kosten"]
    for i in range(80):
        dose = "" if i == 7 else f"{drawn.uniform(0, 10):.3f}"
        line = f"p{i};{dose};{drawn.uniform(1, 3):.4f};{drawn.uniform(0, 9):.2f}"
        lines.append(line.replace(".", ","))
    (tmp_path / "t.csv").write_bytes("\n".join(lines).encode("cp1252"))
    (tmp_path / "ranges.toml").write_text(RANGES, encoding="utf-8")
    return tmp_path


HISTORY = ["t.csv", "--ranges", "ranges.toml", "--outcome", "kosten", "--outcome-range", "0", "9"]
COMMANDS = {
    "init": [
        *("curator", "init", "t.csv", "clinic", "--ranges", "ranges.toml", "--epsilon", "3"),
        *("--yes", "--id", "fall", "--objective", "column:kosten", "--person", "fall"),
    ],
    "template": ["ranges", "template", "t.csv", "--output", "new.toml"],
    "choose": ["ranges", "choose", *HISTORY, "--count", "1"],
    "cells": ["cells", "from-history", *HISTORY],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_reads_the_table_and_without_the_options_says_what_to_type(name, place, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(COMMANDS[name])
    assert stopped.value.code == 1
    told = capsys.readouterr().err
    assert "say --separator ';' --decimal ',' --encoding latin-1" in told
    assert "größe;" not in told
    assert "p0" not in told
    assert cli.main([*COMMANDS[name], *DIALECT]) == 0


@pytest.mark.filterwarnings("ignore")
def test_a_report_with_records_reads_them_too(place, capsys):
    assert cli.main([*COMMANDS["init"], *DIALECT]) == 0
    report = ["report", "clinic/release.safetensors", "--ranges", "ranges.toml", "--records", "t.csv"]
    assert cli.main([*report, "--person", "fall", "--trials", "200", "--text", *DIALECT]) == 0
    assert "FOR THE CURATOR" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--separator", "x"], "--separator must be one character"),
        (["--decimal", ","], "--decimal must be another mark than"),
        (["--encoding", "klingon"], "--encoding must be a text encoding"),
        (["--sheet", "one"], "--sheet must be left out for t.csv"),
    ],
)
def test_options_that_cannot_be_are_refused_by_their_names(more, message, place, capsys):
    with pytest.raises(SystemExit):
        cli.main([*COMMANDS["template"], *more])
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("typed", ["tab", "\\t", "\t"])
def test_a_tab_can_be_typed(typed, place, capsys):
    (place / "tabs.csv").write_text("age\tweight\n1\t2\n")
    assert cli.main(["ranges", "template", "tabs.csv", "--separator", typed]) == 0
    assert "[features.weight]" in capsys.readouterr().out
