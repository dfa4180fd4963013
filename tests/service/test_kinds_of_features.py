"""`curator init` and `report` on a table with a number, a yes/no and a category, end to end."""

import re

import numpy as np
import pytest
import torch

from botorch_private import Modeler, Release
from botorch_private.cli import main
from botorch_private.curator.ledger import Ledger
from botorch_private.ranges import load_encoding
from botorch_private.rounding import round_up
from botorch_private.service.folder import Folder

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
    assert init("--yes", "--objective", "column:cost", "--id", "id") == 0
    out = capsys.readouterr().out
    encoding = load_encoding("ranges.toml")
    release = Release.load("clinic/release.safetensors")
    assert "12 records of 3 features" in out
    assert release.candidates.shape == (12, 5)
    assert release.guarantee.holds
    assert release.guarantee.names == encoding.names
    assert release.guarantee.unit == tuple(encoding.scaling.unit.tolist())
    (diabetes, ward) = encoding.steps
    for step, words in (
        (diabetes, "A change of diabetes between no and yes"),
        (ward, "A change of ward to any other category"),
    ):
        epsilon = round_up(release.guarantee.at(step.width))
        assert (
            f"{words} moves its record by {round_up(step.width)} units, where epsilon is {epsilon}."
            in out
        )
    records = torch.from_numpy(np.load("clinic/records.npy"))
    decoded = encoding.decode(records)
    assert decoded["ward"] == [row[3] for row in ROWS]
    assert decoded["diabetes"] == [row[2] == "yes" for row in ROWS]
    assert decoded["age"] == [row[1] for row in ROWS]
    with_ledger = Ledger(path="clinic/ledger.json").total
    assert with_ledger.epsilon == pytest.approx(3, rel=1e-3)
    assert 0 <= Modeler(release).ask() < 12
    store = Folder(place / "clinic").open()
    try:
        assert store.facts.n == 12
    finally:
        store.close()


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


def test_the_report_tells_the_price_of_a_step(place, capsys):
    init("--yes")
    capsys.readouterr()
    release = Release.load("clinic/release.safetensors")
    arguments = ["report", "clinic/release.safetensors", "--ranges", "ranges.toml", "--trials", "100"]
    for more in ([], ["--records", "table.csv"]):
        assert main([*arguments, "--text", *more]) == 0
        text = " ".join(capsys.readouterr().out.split())
        for step in load_encoding("ranges.toml").steps:
            costs = (round_up(step.width), round_up(release.guarantee.at(step.width)))
            assert re.search(rf"{re.escape(step.words)}\W+{costs[0]}\W+{costs[1]}", text), text
    assert main([*arguments, "--output", "r.html"]) == 0
    assert "A change of ward to any other category" in (place / "r.html").read_text()
    numbers = RANGES.replace('kind = "boolean"', "lower = 0\nupper = 1")
    (place / "ranges.toml").write_text(numbers[: numbers.index("[features.ward]")])
    with pytest.raises(SystemExit):
        main([*arguments, "--text"])
    assert "argument --ranges: ranges must be those of" in capsys.readouterr().err
