"""`curator init` and `report` on a table with a number, a yes/no and a category, end to end."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import torch

from botorch_private import Modeler, Release
from botorch_private.cli.main import main
from botorch_private.curator.features.ranges import load_encoding
from botorch_private.curator.ledger import Ledger
from botorch_private.curator.service.folder import Folder
from botorch_private.privacy.rounding import round_down, round_up

RANGES = """
[features.age]
lower = 18
upper = 100
[features.diabetes]
kind = "boolean"
[features.ward]
kind = "category"
categories = ["icu", "surgery", "other"]
"""
WARDS = ("icu", "surgery", "other")
ROWS = [(f"P-{i:03d}", 20 + 5 * i, ("no", "yes")[i % 2], WARDS[i % 3], 0.25 * i) for i in range(12)]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a working folder, which is the current one, with a table and ranges."""
    monkeypatch.chdir(tmp_path)
    lines = ["id,age,diabetes,ward,cost", *(",".join(map(str, row)) for row in ROWS)]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "ranges.toml").write_text(RANGES)
    return tmp_path


def init(*more):
    return main(
        ["curator", "init", "table.csv", "clinic", "--ranges", "ranges.toml", "--epsilon", "3", *more]
    )


def test_init_states_the_price_of_a_step_and_releases_the_encoded_table(place, capsys):
    (place / "costs.py").write_text("def cost(record):\n    return 1.0\n")
    assert init("--yes", "--objective", "costs:cost", "--id", "id") == 0
    out = capsys.readouterr().out
    encoding = load_encoding("ranges.toml")
    release = Release.load("clinic/release.safetensors")
    assert "12 records of 3 features" in out
    assert release.candidates.shape == (12, 5)
    assert release.guarantee.holds
    assert release.guarantee.names == encoding.names
    assert release.guarantee.unit == tuple(encoding.scaling.unit.tolist())
    assert release.guarantee.steps == encoding.steps
    (width,) = {round_up(step.width) for step in encoding.steps}
    epsilon = round_up(max(release.guarantee.at(step.width) for step in encoding.steps))
    assert (
        f"A change of diabetes or ward, from any value to any other, moves a record by {width} "
        f"units, where epsilon is {epsilon}: that is not hidden." in out
    )
    assert "ward=" not in out
    records = torch.from_numpy(np.load("clinic/records.npy"))
    decoded = encoding.decode(records)
    assert decoded["ward"] == [row[3] for row in ROWS]
    assert decoded["diabetes"] == [row[2] == "yes" for row in ROWS]
    assert decoded["age"] == [row[1] for row in ROWS]
    with_ledger = Ledger(path="clinic/ledger.json").total
    assert with_ledger.epsilon == pytest.approx(3, rel=1e-3)
    assert 0 <= Modeler(release).ask() < 12
    with closing(Folder(place / "clinic").open()) as store:
        assert store.facts.n == 12


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("surgery,", "smith,", "must hold one of the declared categories, got something else in row 3"),
        ("no,icu", ",icu", "no empty cells, got one in row 2, column 'diabetes' (and 1 more in this"),
        ("no,icu", "smith,icu", "must hold yes or no, true or false, or 1 or 0, got something else"),
        ("20,no", ",no", "no empty cells, got one in row 2, column 'age'; rows are counted"),
    ],
)
def test_init_refuses_what_is_not_declared_and_makes_nothing(place, capsys, old, new, message):
    table = place / "table.csv"
    table.write_text(table.read_text().replace(old, new))
    with pytest.raises(SystemExit) as stopped:
        init("--yes")
    assert stopped.value.code == 1
    err = capsys.readouterr().err
    assert message in err
    assert "smith" not in err
    assert not (place / "clinic").exists()


def test_init_refuses_a_template_that_is_not_filled_in(place, capsys):
    (place / "ranges.toml").unlink()
    assert main(["ranges", "template", "table.csv", "--output", "ranges.toml"]) == 0
    with pytest.raises(SystemExit):
        init("--yes")
    assert "feature 'id' must have the key lower, but it is missing" in capsys.readouterr().err


def test_the_report_tells_the_price_of_a_step_and_of_no_column_of_a_category(place, capsys):
    init("--yes")
    capsys.readouterr()
    release = Release.load("clinic/release.safetensors")
    # One of before guarantees held their steps: with the ranges, they are known all the same.
    old = replace(release, guarantee=replace(release.guarantee, steps=()))
    old.save("old.safetensors")
    ranges = ["--ranges", "ranges.toml"]
    for path, more in (
        ("clinic/release.safetensors", []),
        ("clinic/release.safetensors", ranges),
        ("clinic/release.safetensors", [*ranges, "--records", "table.csv"]),
        ("old.safetensors", ranges),
    ):
        assert main(["report", path, "--trials", "100", "--text", *more]) == 0
        text = capsys.readouterr().out
        unit = text[text.index("What one unit is") : text.index("How the promise weakens")]
        assert "ward=" not in unit
        assert "Features with two values only" not in unit
        unit = " ".join(unit.split())
        for step in load_encoding("ranges.toml").steps:
            share, width = round_down(1 / step.width), round_up(step.width)
            epsilon = round_up(release.guarantee.at(step.width))
            assert f"{step.words} {share} {width} {epsilon}" in unit, unit
    arguments = ["report", "clinic/release.safetensors", "--trials", "100", *ranges]
    assert main([*arguments, "--output", "r.html"]) == 0
    assert "A change of ward to any other category" in (place / "r.html").read_text()
    numbers = RANGES.replace('kind = "boolean"', "lower = 0\nupper = 1")
    (place / "ranges.toml").write_text(numbers[: numbers.index("[features.ward]")])
    with pytest.raises(SystemExit):
        main([*arguments, "--text"])
    assert "argument --ranges: ranges must be those of" in capsys.readouterr().err
