"""The command `botorch-private report`: wrong inputs are refused by name before any work."""

import numpy as np
import pandas
import pytest
from helpers.report_samples import LOWER, NAMES, UPPER, make_release, some_records

from botorch_private.cli import main as cli
from botorch_private.curator.ledger import Ledger

RANGES = "\n".join(
    f"[features.'{name}']\nlower = {low}\nupper = {high}"
    for name, low, high in zip(NAMES, LOWER, UPPER, strict=True)
)
TABLE = ["r.safetensors", "--ranges", "ranges.toml", "--records"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder, which is the current one, with a release, its table, ranges and ledger."""
    monkeypatch.chdir(tmp_path)
    release = make_release("laplace")
    release.save("r.safetensors")
    make_release("far").save("far.safetensors")
    (tmp_path / "ranges.toml").write_text(RANGES)
    (tmp_path / "other.toml").write_text("[features.a]\nlower = 0\nupper = 1")
    frame = pandas.DataFrame(some_records().numpy(), columns=NAMES)
    frame["name"] = "smith"
    frame.to_csv("table.csv", index=False)
    frame.to_parquet("table.parquet")
    frame[:-1].to_csv("short.csv", index=False)
    frame.assign(age=np.nan).to_csv("holes.csv", index=False)
    (tmp_path / "text.safetensors").write_text("no release")
    content = bytearray((tmp_path / "r.safetensors").read_bytes())
    content[-1] ^= 1
    (tmp_path / "damaged.safetensors").write_bytes(content)
    Ledger(path="ledger.json").spend(release.guarantee, start=0, stop=300)
    return tmp_path


def refusal(arguments, capsys):
    """Return what is said when the arguments are refused."""
    with pytest.raises(SystemExit) as stopped:
        cli.main(["report", *arguments])
    assert stopped.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: RELEASE"),
        (["none.safetensors"], "argument RELEASE: path must be a release file, but there is no file"),
        (["text.safetensors"], "argument RELEASE: path must be a whole release file"),
        (["damaged.safetensors"], "argument RELEASE: path must be a whole release file"),
        (["table.csv"], "argument RELEASE: path must be a whole release file"),
        (["r.safetensors", "--records", "table.csv"], "argument --records: needs --ranges"),
        (["r.safetensors", "--ranges", "none.toml"], "argument --ranges: path must be a file of ranges"),
        (["r.safetensors", "--ranges", "other.toml"], "argument --ranges: ranges must be those of r.s"),
        (["r.safetensors", "--ranges", "table.csv"], "argument --ranges: table.csv must be TOML"),
        (["r.safetensors", "--ledger", "none.json"], "argument --ledger: ledger must be the file of a"),
        (["r.safetensors", "--ledger", "ranges.toml"], "argument --ledger: path must be a ledger"),
        (["r.safetensors", "--output", "no/folder/x.html"], "--output: there is no folder no/folder"),
        (
            ["r.safetensors", "--output", "x.pdf"],
            "--output: the name must end in .html or .htm, got x.pdf",
        ),
        (["r.safetensors", "--output", "x.html", "--text"], "argument --output: --text prints"),
        (["r.safetensors", "--trials", "0"], "argument --trials: must be a whole number >= 1, got '0'"),
        (["r.safetensors", "--trials", "99"], "argument --trials: must be at least 100, got 99"),
        (["r.safetensors", "--seed", "1"], "unrecognized arguments: --seed 1"),
        (
            [*TABLE, "none.csv"],
            "argument --records: path must be a table, but there is no file none.csv",
        ),
        ([*TABLE, "ranges.toml"], "argument --records: path must end in .csv, .parquet or .xlsx"),
        ([*TABLE, "holes.csv"], "--records: holes.csv must have no empty cells, got one in row 2, col"),
        ([*TABLE, "short.csv"], "r.safetensors has 300 rows and short.csv has 299 records"),
    ],
)
def test_wrong_inputs_are_refused_before_any_work(arguments, message, folder, capsys, monkeypatch):
    monkeypatch.setattr("botorch_private.report.report", lambda *_, **__: pytest.fail("work began"))
    before = sorted(entry.name for entry in folder.iterdir())
    error = refusal(arguments, capsys)
    assert message in error
    assert "smith" not in error
    assert set(before) >= {e.name for e in folder.iterdir() if not e.name.endswith(".lock")}


def test_the_same_release_twice_is_refused(folder, capsys):
    (folder / "copy.safetensors").write_bytes((folder / "r.safetensors").read_bytes())
    error = refusal(["r.safetensors", "copy.safetensors", "--text"], capsys)
    assert "r.safetensors and copy.safetensors are the same" in error


def test_the_page_is_written_and_three_lines_are_printed(folder, capsys):
    assert cli.main(["report", "r.safetensors", "--trials", "200"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("The privacy guarantee HOLDS. Epsilon at one unit: 3, delta 8.9e-16.")
    assert lines[1].startswith("The test attack does not refute it: epsilon is at least ")
    assert lines[2] == "Report: report.html"
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("table", ["table.csv", "table.parquet"])
def test_everything_together(folder, table, capsys):
    arguments = ["r.safetensors", "far.safetensors", "--ranges", "ranges.toml", "--records", table]
    arguments += ["--ledger", "ledger.json", "--trials", "200", "--output", "all.html"]
    assert cli.main(["report", *arguments]) == 0
    assert "Report (for the curator's eyes only): all.html" in capsys.readouterr().out
    text = (folder / "all.html").read_text(encoding="utf-8")
    for words in ("CURATOR&#39;S EYES ONLY", "far.safetensors", "All entries of the", "no entry like"):
        assert words in text
    assert "smith" not in text


def test_text_is_printed_and_nothing_written(folder, capsys):
    before = sorted(entry.name for entry in folder.iterdir())
    assert cli.main(["report", "r.safetensors", "--text", "--trials", "200"]) == 0
    assert capsys.readouterr().out.startswith("Privacy report\n")
    assert sorted(entry.name for entry in folder.iterdir()) == before


def test_help_names_every_option(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["report", "--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    for option in ("RELEASE", "--ranges", "--records", "--ledger", "--trials", "--output", "--text"):
        assert option in text


def test_the_report_says_what_the_person_with_the_most_records_pays_to_the_curator_alone(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text(
        "age,who\n" + "".join(f"{20 + i},p{i // 3}\n" for i in range(12))
    )
    (tmp_path / "ranges.toml").write_text("[features.age]\nlower = 18\nupper = 100\n")
    ranges = ["--ranges", "ranges.toml"]
    assert cli.main(["curator", "init", "table.csv", "clinic", *ranges, "--epsilon", "3", "--yes"]) == 0
    base = ["report", "clinic/release.safetensors", "--text", "--trials", "100", *ranges]
    capsys.readouterr()
    assert cli.main([*base, "--records", "table.csv", "--person", "who"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "the person with the most records has 3. For that person epsilon at one unit is 9:" in said
    assert "FOR THE CURATOR'S EYES ONLY" in said
    for wrong, message in (
        (["--person", "who"], "argument --person: needs --records"),
        (["--records", "table.csv", "--person", "nobody"], "argument --person:"),
    ):
        with pytest.raises(SystemExit):
            cli.main([*base, *wrong])
        assert message in capsys.readouterr().err
