"""The command line and the demonstration behind it."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import botorch_private
from botorch_private.cli import demo
from botorch_private.cli import main as cli
from botorch_private.cli.plots import plot_regret
from botorch_private.datasets import hospital

PNG = b"\x89PNG\r\n\x1a\n"


def test_help_names_the_command_and_every_option(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["demo", "--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    for option in ("--quick", "--rounds", "--seeds", "--workers", "--output"):
        assert option in text
    assert f"the {demo.INITIAL} random ones" in " ".join(text.split())


def test_no_command_prints_help_and_fails(capsys):
    assert cli.main([]) == 2
    assert "demo" in capsys.readouterr().out


def test_version(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out == "botorch-private 0.1.0\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds", "0"], "argument --seeds: must be a whole number >= 1, got '0'"),
        (["--rounds", "1.5"], "argument --rounds: must be a whole number >= 1, got '1.5'"),
        (["--output", "no/such/folder/x.png"], "argument --output: there is no folder no/such/folder"),
        (["--output", "x.txt"], "argument --output: the name must end in .png, .pdf or .svg, got x.txt"),
        (["--epsilon", "1"], "unrecognized arguments: --epsilon 1"),
    ],
)
def test_bad_arguments_are_refused_before_any_work(arguments, message, capsys, monkeypatch):
    monkeypatch.setattr(demo, "run_demo", lambda **_: pytest.fail("work began"))
    with pytest.raises(SystemExit) as stopped:
        cli.main(["demo", *arguments])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_missing_matplotlib_is_said_before_any_work():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from botorch_private.cli.main import main\n"
        "main(['demo', '--quick'])\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'botorch-private[plots]'" in done.stderr
    assert done.stdout == ""


@pytest.mark.slow
def test_demo_prints_guarantees_units_and_table_and_writes_the_plot(tmp_path, capsys):
    picture = tmp_path / "regret.png"
    arguments = ["demo", "--rounds", "2", "--seeds", "2", "--workers", "1", "--output", str(picture)]
    assert cli.main(arguments) == 0
    text = capsys.readouterr().out
    assert "years of age" in text
    assert "mmHg of meanbp" in text
    assert "of the step from no to yes in diabetes, a step of 10.7 units" in text
    # In every guarantee that promises anything.
    assert text.count("A change of diabetes, dementia, male, metastatic or cancer, from any value") == 4
    for arm in demo.ARMS:
        assert f"[{arm}]\nPrivacy guarantee of" in text
    for arm in (*demo.ARMS, demo.CHANCE):
        assert sum(line.startswith(f"  {arm}") for line in text.splitlines()) == 1
    assert text.count(": HOLDS") == 3
    assert text.count(": DOES NOT HOLD") == 2
    assert "Wall time: " in text
    assert picture.read_bytes().startswith(PNG)


@pytest.mark.parametrize("arm", ["original records", "private, epsilon 1"])
def test_arms_start_from_the_shared_records_which_count(arm):
    data = hospital()
    order = torch.randperm(len(data.records), generator=torch.Generator().manual_seed(3))
    best = data.outcomes[order[: demo.INITIAL]].cummax(dim=0).values
    regret = demo.one_run(arm, 3, 1)
    assert len(regret) == demo.INITIAL + 1
    np.testing.assert_allclose(regret[:-1], (data.outcomes.max() - best) / data.outcomes.std())
    assert 0 <= regret[-1] <= regret[-2]


def test_table_states_mean_and_standard_error_and_what_chance_expects():
    runs = np.array([[0.5], [1.5]]).repeat(demo.INITIAL + 50, axis=1)
    lines = demo.DemoResult(dict.fromkeys(demo.ARMS, runs), 1.0).table().splitlines()
    assert lines[0].startswith("Simple regret after 55 measurements (5 chosen at random first)")
    assert [word for word in lines[3].split() if word[0].isdigit()] == ["1.000", "0.500"]
    assert lines[3].endswith("NO")
    assert " ".join(lines[-1].split()) == "chosen at random 0.918 exact yes (it looks at nothing)"
    assert " - " in demo.DemoResult(dict.fromkeys(demo.ARMS, runs[:1]), 1.0).table()


def test_plot_of_a_single_run_is_written_without_a_band(tmp_path):
    path = tmp_path / "one.svg"
    one = {"one run": np.array([[2.0, 1.0, 1.0]])}
    plot_regret(one, path, chance=np.array([2.0, 1.5, 1.0]), initial=1, title="t")
    text = path.read_text()
    assert text.startswith("<?xml")
    assert "FillBetween" not in text


def test_python_m_runs_the_same_command_line():
    command = [sys.executable, "-m", "botorch_private", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"botorch-private {botorch_private.__version__}\n"
