"""Cells from the command line: suggested, learned from a history, and released."""

import random

import pytest

from botorch_private import Release, load_cells
from botorch_private.cli.main import main

RANGES = """
[features.age]
lower = 18
upper = 100
[features.ward]
kind = "category"
categories = ["icu", "er"]
"""
MARK = "MRK-7f3a"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ranges.toml").write_text(RANGES)
    (tmp_path / "edges.toml").write_text(RANGES.replace("upper = 100", "upper = 100\nedges = [40, 65]"))
    rng = random.Random(0)
    for name, n in (("stays.csv", 120), ("last.csv", 400)):
        lines = ["age,ward,cost"]
        for _ in range(n):
            age, ward = rng.randint(19, 99), rng.choice(["icu", "er"])
            lines.append(f"{age},{ward},{age + 30 * (ward == 'icu') + rng.random():.3f}")
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return tmp_path


def init(*more):
    return main(["curator", "init", "stays.csv", "clinic", "--whole-record", "--yes", *more])


LEARN = ("cells", "from-history", "last.csv", "--outcome", "cost", "--outcome-range", "0", "150")


def test_a_suggestion_can_be_pasted_and_checked(place, capsys):
    assert main(["cells", "suggest", "5", "--ranges", "ranges.toml"]) == 0
    printed = capsys.readouterr().out
    assert "About 12 cells" in printed
    edges = next(line for line in printed.splitlines() if line.startswith("edges"))
    (place / "own.toml").write_text(RANGES.replace("upper = 100", f"upper = 100\n{edges}"))
    assert main(["cells", "check", "own.toml", "--epsilon", "5"]) == 0
    checked = capsys.readouterr().out
    assert "12 cells (6 x 2)" in checked
    assert "% of labels are true" in checked


def test_a_suggestion_without_ranges_says_how_to_have_edges(capsys):
    assert main(["cells", "suggest", "3"]) == 0
    assert "With --ranges TOML, edges" in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrong", [["3", "--ranges", "none.toml"], ["0", "--ranges", "ranges.toml"], ["-1"]]
)
def test_a_suggestion_that_is_refused_says_nothing_else(place, capsys, wrong):
    with pytest.raises(SystemExit):
        main(["cells", "suggest", *wrong])
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err


def test_a_release_of_whole_records_is_made_and_says_so(place, capsys):
    assert init("--ranges", "edges.toml", "--epsilon", "3", "--objective", "column:cost") == 0
    printed = capsys.readouterr().out
    assert "differ in the features of one record, by any amount" in printed
    assert "epsilon = 3, delta = 0" in printed
    assert "1 unit" not in printed
    release = Release.load(place / "clinic" / "release.safetensors")
    assert release.cells.shape == (3, 2)
    assert release.guarantee.whole_record <= 3.0
    assert main(["curator", "status", "clinic"]) == 0
    assert "Released rows: 120, one of 6 labels each" in capsys.readouterr().out


def test_cells_of_a_history_are_learned_and_released(place, capsys):
    assert main([*LEARN, "--ranges", "ranges.toml", "--cuts", "0.5", "0.9", "--epsilon", "2"]) == 0
    learned = capsys.readouterr().out
    assert "Wrote cells.toml: 3 cells" in learned
    assert "at most epsilon 2 and delta 1e-05" in learned
    assert load_cells("cells.toml").count == 3
    assert init("--ranges", "ranges.toml", "--cells", "cells.toml", "--epsilon", "3") == 0
    assert "400 people of a history, none of whom is in this table" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--ranges", "ranges.toml", "--epsilon", "3"), "'age' must have edges between its cells"),
        (("--ranges", "edges.toml", "--epsilon", "3", "--delta", "1e-5"), "--delta must be left out"),
        (("--ranges", "edges.toml", "--epsilon", "3", "--projection-dim", "2"), "must be left out"),
        (("--ranges", "edges.toml", "--epsilon", "0"), "--epsilon must be a finite number > 0"),
        (("--ranges", "edges.toml", "--epsilon", "41"), "--epsilon must be at most 40"),
        (
            ("--ranges", "ranges.toml", "--cells", "edges.toml", "--epsilon", "3"),
            "--cells must be a file",
        ),
        (("--ranges", "ranges.toml", "--cells", "nope.toml", "--epsilon", "3"), "there is no file"),
    ],
)
def test_unusable_options_are_refused_and_nothing_is_made(place, capsys, arguments, message):
    with pytest.raises(SystemExit) as stopped:
        init(*arguments)
    assert stopped.value.code in (1, 2)
    assert message in capsys.readouterr().err
    assert not (place / "clinic").exists()
    assert not (place / "stays.ledger.json").exists()


def test_cells_without_whole_records_are_refused(place, capsys):
    command = [
        "curator",
        "init",
        "stays.csv",
        "clinic",
        "--ranges",
        "edges.toml",
        "--epsilon",
        "3",
        "--yes",
    ]
    with pytest.raises(SystemExit):
        main([*command, "--cells", "cells.toml"])
    assert "--cells needs --whole-record" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("--cuts", "0.9", "0.5"), "--cuts must be rising shares"),
        (("--epsilon", "0"), "--epsilon must be a finite number > 0"),
        (("--outcome-range", "5", "5"), "--outcome-range must be two rising numbers"),
        (("--outcome", "age"), "--outcome must not be a feature"),
        (("--outcome", "price"), "price"),
    ],
)
def test_an_unusable_history_is_refused_and_no_file_is_written(place, capsys, change, message):
    with pytest.raises(SystemExit):
        main([*LEARN, "--ranges", "ranges.toml", *change])
    assert message in capsys.readouterr().err
    assert not (place / "cells.toml").exists()


def test_an_existing_file_is_kept_without_force(place, capsys):
    (place / "cells.toml").write_text("mine")
    with pytest.raises(SystemExit):
        main([*LEARN, "--ranges", "ranges.toml"])
    assert (place / "cells.toml").read_text() == "mine"
    assert main([*LEARN, "--ranges", "ranges.toml", "--force"]) == 0
    assert load_cells("cells.toml").count == 2


def test_no_text_of_a_history_is_shown(place, capsys):
    (place / "last.csv").write_text(f"age,ward,cost\n40,icu,{MARK}\n" + "41,er,5\n" * 60)
    with pytest.raises(SystemExit):
        main([*LEARN, "--ranges", "ranges.toml"])
    error = capsys.readouterr().err
    assert "row 2" in error
    assert MARK not in error
