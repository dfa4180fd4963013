"""The command line and the demonstration behind it."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import botorch_private
from botorch_private.cli import demo
from botorch_private.cli import main as cli
from botorch_private.cli.demo_arms import hospital_stays
from botorch_private.cli.plots import plot_regret
from botorch_private.datasets import hospital
from botorch_private.privacy.rounding import round_up
from botorch_private.theory import expected_random_regret

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
    assert text.startswith("A promise about a whole record")  # before anything about a unit
    assert "years of age" in text
    assert "mmHg of meanbp" in text
    assert "of the step from no to yes in diabetes, a step of 10.7 units" in text
    # In the guarantees that promise anything at a distance.
    assert text.count("A change of diabetes, dementia, male, metastatic or cancer, from any value") == 2
    for arm in (*demo.ARMS, demo.CHANCE):
        assert sum(line.startswith(f"  {arm}") for line in text.splitlines()) == 1
    assert text.count(": HOLDS") == 3
    assert text.count(": DOES NOT HOLD") == 2
    assert "Wall time: " in text
    assert picture.read_bytes().startswith(PNG)


def test_the_history_is_of_other_people():
    stays = hospital_stays()
    data = hospital()
    assert len(stays.records) + len(stays.old_records) == len(data.records)
    both = torch.cat([stays.records, stays.old_records]).unique(dim=0)
    assert both.shape == data.records.unique(dim=0).shape
    old = {tuple(record) for record in stays.old_records.tolist()}
    assert old.isdisjoint(map(tuple, stays.records.tolist()))


@pytest.mark.parametrize("epsilon", [3, 5])
@pytest.mark.parametrize("kind", ["cells", "cells by a history"])
def test_arms_of_whole_records_promise_what_they_are_called(kind, epsilon):
    guarantee = demo.arm_guarantee(f"{kind}, epsilon {epsilon}")
    assert guarantee.holds
    assert guarantee.delta == 0
    assert guarantee.whole_record == guarantee.at(7.0) <= epsilon
    assert ("history" in kind) == (
        "changes the chance of any cells by at most epsilon 1 and delta 1e-05" in str(guarantee)
    )


@pytest.mark.parametrize(
    "arm", ["original records", "noise, epsilon 1 a unit", "cells by a history, epsilon 3"]
)
def test_arms_start_from_the_shared_records_which_count(arm):
    stays = hospital_stays()
    order = torch.randperm(len(stays.records), generator=torch.Generator().manual_seed(3))
    best = stays.outcomes[order[: demo.INITIAL]].cummax(dim=0).values
    regret = demo.one_run(arm, 3, 1)
    assert len(regret) == demo.INITIAL + 1
    np.testing.assert_allclose(regret[:-1], (stays.outcomes.max() - best) / stays.outcomes.std())
    assert 0 <= regret[-1] <= regret[-2]


def test_table_starts_with_whole_records_and_has_both_epsilons_and_chance_on_each_line():
    runs = np.array([[0.5], [1.5]]).repeat(demo.INITIAL + 50, axis=1)
    lines = demo.DemoResult(dict.fromkeys(demo.ARMS, runs), 1.0).table().splitlines()
    assert lines[0].startswith("Simple regret after 55 measurements (5 chosen at random first)")
    chance = lines[-1].split()[-1]
    outcomes = hospital_stays().outcomes
    expected = expected_random_regret(outcomes, 55) / float(outcomes.std())
    assert float(chance) == pytest.approx(expected, abs=6e-4)
    first = next(i for i, line in enumerate(lines) if line.startswith("A promise"))
    assert "about a whole record" in lines[first]
    for line, arm in zip(lines[first + 1 :], list(demo.ARMS)[:4], strict=False):
        guarantee = demo.arm_guarantee(arm)
        before = round_up(guarantee.shuffled(1e-5).epsilon)
        whole = round_up(guarantee.whole_record)
        assert line.startswith(f"  {arm} ")
        assert line.split()[-5:] == [whole, before, "1.000", "0.500", chance]
    shown = {line[:34].strip(): line[34:].split() for line in lines}
    noise = demo.arm_guarantee("noise, epsilon 3 a unit")
    assert shown["noise, epsilon 3 a unit"][:2] == [round_up(noise.whole_record), "-"]
    assert noise.whole_record > 100
    for arm in ("original records", "Algorithm 1, claims 3 a unit"):
        assert shown[arm][:2] == ["none", "none"]
    assert " - " in demo.DemoResult(dict.fromkeys(demo.ARMS, runs[:1]), 1.0).table()


def test_the_picture_has_every_arm_once():
    runs = {arm: np.zeros((2, 6)) for arm in demo.ARMS}
    panels = demo.DemoResult(runs, 1.0).panels
    assert [arm for curves in panels.values() for arm in curves] == list(demo.ARMS)


def test_plot_of_a_single_run_is_written_without_a_band(tmp_path):
    path = tmp_path / "one.svg"
    one = {"one run": np.array([[2.0, 1.0, 1.0]])}
    plot_regret({"": one}, path, chance=np.array([2.0, 1.5, 1.0]), initial=1, title="t")
    text = path.read_text()
    assert text.startswith("<?xml")
    assert "FillBetween" not in text


def test_python_m_runs_the_same_command_line():
    command = [sys.executable, "-m", "botorch_private", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"botorch-private {botorch_private.__version__}\n"
