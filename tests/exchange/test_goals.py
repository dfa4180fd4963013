"""Goals as they are declared: what is best, what is refused, and what a file holds."""

import json
import subprocess
import sys

import pytest
import torch

from botorch_private import Above, History, Maximize, Minimize, Target, TopK
from botorch_private.exchange.goals import goal_from_dict

VALUES = [2.0, -1.0, 5.0, 5.0, 3.0]
GOALS = [Maximize(), Minimize(), Above(2.5), TopK(2), Target(2.25)]


@pytest.mark.parametrize("goal", GOALS, ids=repr)
def test_a_goal_comes_back_from_its_json(goal):
    assert goal_from_dict(json.loads(json.dumps(goal.to_dict()))) == goal
    assert {**goal.to_dict(), "version": 1} == goal.to_dict()
    older = {name: value for name, value in goal.to_dict().items() if name != "version"}
    assert goal_from_dict(older) == goal


@pytest.mark.parametrize(
    ("goal", "place", "so_far", "words"),
    [
        (Maximize(), 2, [2, 2, 5, 5, 5], "best 5 kg"),
        (Minimize(), 1, [2, -1, -1, -1, -1], "best -1 kg"),
        (Above(2.5), 2, [2, 2, 5, 5, 5], "3 above 2.5 kg"),
        (Above(5.0), 2, [2, 2, 5, 5, 5], "0 above 5 kg"),
        (TopK(2), 2, [2, 2, 5, 5, 5], "best 5 kg, number 2 of them 5 kg"),
        (TopK(6), 2, [2, 2, 5, 5, 5], "best 5 kg"),
        (Target(2.25), 0, [2, 2, 2, 2, 2], "best 2 kg"),
        (Target(-9), 1, [2, -1, -1, -1, -1], "best -1 kg"),
    ],
)
def test_the_best_of_some_values(goal, place, so_far, words):
    assert goal.best_of(VALUES) == place
    assert goal.best_so_far(VALUES) == so_far
    assert goal.progress(VALUES, "kg") == words
    history = History(list(enumerate(VALUES)), goal=goal)
    assert history.best.index == place
    assert history.to_frame()["best"].tolist() == so_far


def test_regret_is_what_the_goal_says():
    observations = list(enumerate(VALUES))
    largest, smallest = History(observations), History(observations, goal=Minimize())
    assert largest.simple_regret(6.0).tolist() == [4, 4, 1, 1, 1]
    assert smallest.simple_regret(-2.0).tolist() == [4, 1, 1, 1, 1]
    assert smallest.cumulative_regret(-2.0).tolist() == [4, 5, 12, 19, 24]
    near = History(observations, goal=Target(4.0))
    assert near.simple_regret(4.5).tolist() == [1.5, 1.5, 0.5, 0.5, 0.5]
    turned = History([(row, -value) for row, value in observations])
    assert torch.equal(turned.simple_regret(2.0), smallest.simple_regret(-2.0))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 10**400, True, "1", None, [1.0]])
def test_a_threshold_and_a_target_are_finite_numbers(bad):
    with pytest.raises(ValueError, match="threshold must be a finite number, got"):
        Above(bad)
    with pytest.raises(ValueError, match="value must be a finite number, got"):
        Target(bad)


@pytest.mark.parametrize("bad", [0, -1, 2.0, True, "2", None, float("nan")])
def test_k_is_a_whole_number(bad):
    with pytest.raises(ValueError, match="k must be an integer >= 1, got"):
        TopK(bad)


@pytest.mark.parametrize(
    "values",
    [
        None,
        [],
        "maximize",
        {},
        {"kind": "best"},
        {"kind": ["maximize"]},
        {"kind": "maximize", "version": 2},
        {"kind": "maximize", "threshold": 1.0},
        {"kind": "above"},
        {"kind": "above", "threshold": float("nan")},
        {"kind": "top_k", "k": 1.5},
    ],
)
def test_what_is_no_goal_is_refused(values):
    with pytest.raises(ValueError, match=r"^(goal|threshold|k) must be"):
        goal_from_dict(values)


def test_messages_repeat_no_text():
    for make in (Above, Target, TopK):
        with pytest.raises(ValueError, match="got a text") as refused:
            make("Anna")
        assert "Anna" not in str(refused.value)
    with pytest.raises(ValueError, match="goal must be of a kind") as refused:
        goal_from_dict({"kind": "Anna"})
    assert "Anna" not in str(refused.value)


def test_goals_do_without_pytorch():
    code = (
        "import sys, botorch_private.exchange.goals, botorch_private.exchange.named_goals; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
