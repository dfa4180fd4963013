"""The curator sees how many missing values count as declared, and nobody else learns of it."""

from contextlib import closing
from pathlib import Path

import pytest

from botorch_private.cli.main import main
from botorch_private.curator.features.range_fit import FeatureFit, RangeFit
from botorch_private.curator.service.folder import Folder

RANGES = """
[features.age]
lower = 18
upper = 100
missing = 50
[features.smoker]
kind = "boolean"
missing = false
[features.ward]
kind = "category"
categories = ["icu", "other"]
missing = "other"
[features.weight]
lower = 0
upper = 200
"""
AGES = ["", "", "", *(str(20 + i) for i in range(9))]
ROWS = [
    f"P-{i:02d},{AGES[i]},{('yes', '')[i == 5]},{('icu', 'other')[i % 2]},{60 + i}" for i in range(12)
]
JOINING = ["P-90,,yes,,161", "P-91,30,yes,icu,162", "P-92,,,icu,163"]
INIT = ("table.csv", "clinic", "--ranges", "ranges.toml", "--id", "id", "--yes", "--epsilon", "3")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ranges.toml").write_text(RANGES)
    Path("table.csv").write_text("\n".join(["id,age,smoker,ward,weight", *ROWS]) + "\n")
    return tmp_path


def shown(text):
    """Feature -> what is shown of it, as numbers."""
    lines = text.split("Missing values, which count as the ranges declare (missing):\n")[1].splitlines()
    found = {}
    for line in lines[1:]:
        if not line.strip():
            break
        name, *numbers = line.split()
        found[name] = tuple(map(int, numbers))
    return found


def test_init_and_add_show_counts_of_their_records(capsys):
    assert main(["curator", "init", *INIT]) == 0
    assert shown(capsys.readouterr().out) == {"age": (3, 12), "smoker": (1, 12)}
    with Path("table.csv").open("a") as table:
        table.write("\n".join(JOINING) + "\n")
    added = ("clinic", "table.csv", "--ranges", "ranges.toml", "--id", "id", "--yes")
    assert main(["curator", "add", *added]) == 0
    assert shown(capsys.readouterr().out) == {"age": (2, 3), "smoker": (1, 3), "ward": (1, 3)}


def test_a_whole_table_shows_nothing(capsys):
    Path("table.csv").write_text(
        "\n".join(["id,age,smoker,ward,weight", *(f"P-{i:02d},{30 + i},yes,icu,70" for i in range(8))])
    )
    assert main(["curator", "init", *INIT]) == 0
    assert "Missing values" not in capsys.readouterr().out


def test_the_folder_is_the_same_whatever_was_missing(capsys):
    """Facts, guarantee and events; rows are noisy, and differ anyway."""

    def told(folder):
        with closing(Folder(Path(folder)).open()) as store:
            facts = {name: value for name, value in vars(store.facts).items() if name != "identity"}
            return facts, [(each["kind"], each["detail"], each["data"]) for each in store.events()]

    init = list(INIT)
    assert main(["curator", "init", *init]) == 0
    assert "Missing values" in capsys.readouterr().out
    whole = Path("table.csv").read_text()
    for row in ROWS:
        name, age, smoker, *others = row.split(",")
        whole = whole.replace(row, ",".join([name, age or "50", smoker or "no", *others]))
    assert ",," not in whole
    Path("table.csv").write_text(whole)
    init[1] = "whole"
    Path("table.ledger.json").unlink()
    assert main(["curator", "init", *init]) == 0
    assert told("clinic") == told("whole")
    assert {each.name for each in Path("clinic").iterdir()} == {
        each.name for each in Path("whole").iterdir()
    }


def test_words_of_a_fit_without_counts_are_empty():
    feature = FeatureFit("age", 12, 0, 0, False, False, (), False, False, True)
    assert RangeFit((feature,)).filled_table() == ""
    assert RangeFit((feature,), (("age", 0),)).filled_table() == ""
