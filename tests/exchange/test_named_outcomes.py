"""Several outcomes of a record: names, numbers, and what a release says of them."""

import json

import numpy as np
import pytest
import torch
from helpers.draws import seeded

from botorch_private import (
    Constrained,
    Curator,
    NoisyProjection,
    OutcomeMechanism,
    PublicScaling,
    Release,
    Scalarized,
)
from botorch_private.exchange.goals import goal_from_dict
from botorch_private.exchange.named_outcomes import named_numbers, outcome_names
from botorch_private.exchange.release_digest import digest_of_file

SECRET = "Anna Muster"
RECORDS = torch.rand(12, 2, generator=seeded(0), dtype=torch.float64)
KNOWN = {"cost": RECORDS[:, 0], "safety": RECORDS[:, 1]}
NOISE = {
    "cost": OutcomeMechanism(5.0, 0.0, (0.0, 2.0)),
    "safety": OutcomeMechanism(2.0, 0.0, (0.0, 1.0)),
}


def release(**kwargs):
    scaling = PublicScaling([0.0, 0.0], [1.0, 1.0])
    mechanism = NoisyProjection(3.0)
    return Curator(RECORDS, scaling, mechanism, KNOWN, outcome_names=list(KNOWN), **kwargs).release


@pytest.mark.parametrize(
    "names",
    [
        "cost",
        [],
        [""],
        ["a\nb"],
        [" a"],
        [3],
        ["a" * 101],
        ["index"],
        ["value"],
        ["cost", "Cost "],
        ["cost", "cost"],
        ["a\u200b"],
    ],
)
def test_names_that_cannot_be_used_are_refused_by_their_position(names):
    with pytest.raises(ValueError, match="outcome_names must") as caught:
        outcome_names(outcome_names=names)
    assert SECRET not in str(caught.value)


def test_a_value_has_the_declared_names_in_their_order_and_no_other():
    names = ("cost", "safety")
    numbers = named_numbers(names, value={"safety": np.float32(0.5), "cost": torch.tensor([2.0])})
    assert list(numbers.items()) == [("cost", 2.0), ("safety", 0.5)]
    assert {type(each) for each in numbers.values()} == {float}
    for value in (3.0, None, {}, {"cost": 1.0}, {"cost": 1.0, "safety": 0.5, SECRET: 2.0}):
        with pytest.raises(
            ValueError, match="value must be a dict with one number for each of"
        ) as caught:
            named_numbers(names, value=value)
        assert SECRET not in str(caught.value)
    for bad in (float("nan"), float("inf"), SECRET, None):
        with pytest.raises(ValueError, match="safety") as caught:
            named_numbers(names, value={"cost": 1.0, "safety": bad})
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize("noise", [None, NOISE], ids=["as they are", "noised"])
def test_a_file_keeps_the_names_and_the_promise_of_each(tmp_path, noise):
    made = release(outcome_mechanism=noise)
    made.save(tmp_path / "release")
    read = Release.load(tmp_path / "release")
    assert read.outcome_names == ("cost", "safety")
    assert read.identity == made.identity == digest_of_file(tmp_path / "release")
    assert read.outcome_guarantee == made.outcome_guarantee
    for name in KNOWN:
        one = read.of_outcome(name)
        assert one.outcome_names == ()
        assert torch.equal(one.candidates, made.candidates)
        assert one.outcome_variance == (0.0 if noise is None else noise[name].noise_variance)


def test_one_outcome_has_the_file_and_the_digest_of_before():
    scaling = PublicScaling([0.0, 0.0], [1.0, 1.0])
    mechanism = OutcomeMechanism(1.0, 0.0, (0.0, 1.0))
    made = Curator(
        RECORDS, scaling, NoisyProjection(3.0), KNOWN["cost"], outcome_mechanism=mechanism
    ).release
    assert made._format.version == 1
    assert "outcome_name" not in made._settings()
    assert "outcome_name" not in json.loads(made.outcome_guarantee.to_json())


def test_a_file_with_names_is_newer_to_a_program_that_does_not_know_them(tmp_path):
    release().save(tmp_path / "release")
    from safetensors import safe_open

    with safe_open(tmp_path / "release", framework="pt") as file:
        assert file.metadata()["format_version"] == "2"


def test_what_is_about_one_outcome_asks_which():
    made = release(outcome_mechanism=NOISE)
    with pytest.raises(ValueError, match=r"take release.of_outcome\(name\)"):
        _ = made.outcome_variance
    with pytest.raises(ValueError, match="name must be one of the release's outcomes: cost, safety"):
        made.of_outcome("price")


# --- goals ---


def test_goals_are_restored_from_their_dicts():
    for goal in (
        Scalarized({"cost": -1.0, "safety": 0.5}),
        Constrained(minimize="cost", at_least={"safety": 0.9}),
        Constrained(maximize={"a": 1.0, "b": -2.0}, at_least={"c": 0.0}, at_most={"c": 1.0, "a": 5.0}),
    ):
        assert goal_from_dict(json.loads(json.dumps(goal.to_dict()))) == goal


def test_the_best_is_the_best_of_those_that_keep_the_limits():
    goal = Constrained(minimize="cost", at_least={"safety": 0.9}, at_most={"time": 3.0})
    values = [
        {"cost": 1.0, "safety": 0.89, "time": 1.0},
        {"cost": 2.0, "safety": 0.9, "time": 3.1},
        {"cost": 9.0, "safety": 0.9, "time": 3.0},
        {"cost": 5.0, "safety": 1.0, "time": 1.0},
        {"cost": 5.0, "safety": 1.0, "time": 0.0},
    ]
    assert goal.best_of(values) == 3
    np.testing.assert_equal(goal.best_so_far(values), [np.nan, np.nan, -9.0, -5.0, -5.0])
    with pytest.raises(ValueError, match="none of the 2 answers so far keeps the limits"):
        goal.best_of(values[:2])
    assert goal.progress(values[:2]) == "none keeps the limits yet"
    assert goal.progress(values) == "best cost 5, safety 1, time 1"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Scalarized({}),
        lambda: Scalarized({"cost": 0.0}),
        lambda: Scalarized({"cost": float("nan")}),
        lambda: Scalarized("cost"),
        lambda: Constrained(minimize="cost"),
        lambda: Constrained(minimize="cost", at_least={}),
        lambda: Constrained(at_least={"safety": 0.9}),
        lambda: Constrained(minimize="cost", maximize="yield", at_least={"safety": 0.9}),
        lambda: Constrained(minimize="cost", at_least={"safety": float("inf")}),
        lambda: Constrained(minimize="cost", at_least=0.9),
        lambda: Constrained(minimize="cost", at_least={"safety": 0.9}, at_most={"safety": 0.8}),
        lambda: Constrained(minimize="cost", at_least={"Cost": 0.9}),
    ],
)
def test_goals_that_ask_for_nothing_are_refused(make):
    with pytest.raises(ValueError, match="must"):
        make()
