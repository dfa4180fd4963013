"""ModelerNode in real Ax: what Ax keeps is what the modeler knows."""

import logging

import pytest
import torch
from helpers.draws import seeded

from botorch_private import (
    Constrained,
    Curator,
    Maximize,
    Minimize,
    Modeler,
    NoisyProjection,
    PublicScaling,
    Scalarized,
)

pytest.importorskip("ax", reason="Ax is one of the packages for development", minversion="1.3")

from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
from ax.core import Arm
from ax.generation_strategy.generation_strategy import GenerationStrategy

from botorch_private.hosts.ax import ModelerNode, goal_of

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]
N = 40
RECORDS = torch.rand(N, 2, generator=seeded(0), dtype=torch.float64)
SCALING = PublicScaling([0.0, 0.0], [1.0, 1.0])
KNOWN = {"cost": 100 * RECORDS[:, 0], "safety": RECORDS[:, 0] * RECORDS[:, 1]}


@pytest.fixture(autouse=True)
def quiet():
    logging.getLogger("ax").setLevel(logging.ERROR)


def curator_of(names):
    if len(names) == 1:
        return Curator(RECORDS, SCALING, NoisyProjection(300.0), KNOWN[names[0]], generator=seeded(1))
    return Curator(
        RECORDS, SCALING, NoisyProjection(300.0), KNOWN, outcome_names=names, generator=seeded(1)
    )


def client_of(node=None, objective="cost", constraints=None, parameter="row"):
    client = Client()
    rows = RangeParameterConfig(name=parameter, parameter_type="int", bounds=(0, N - 1))
    client.configure_experiment(parameters=[rows])
    client.configure_optimization(objective=objective, outcome_constraints=constraints)
    if node is not None:
        client.set_generation_strategy(GenerationStrategy(name="private", nodes=[node]))
    return client


def data_of(curator, row, objective):
    value = curator.query(row).value
    return value if isinstance(value, dict) else {objective.strip("-"): value}


@pytest.mark.parametrize(
    ("objective", "constraints", "goal"),
    [
        ("cost", None, Maximize()),
        ("-cost", None, Minimize()),
        ("-cost", ["safety >= 0.3"], Constrained(minimize="cost", at_least={"safety": 0.3})),
        ("safety - 0.01*cost", None, Scalarized({"safety": 1.0, "cost": -0.01})),
    ],
)
def test_ax_asks_for_the_rows_that_a_modeler_would(objective, constraints, goal):
    curator = curator_of(goal.names or ("cost",))
    client = client_of(ModelerNode(curator.release, seed=3), objective, constraints)
    modeler = Modeler(curator.release, goal=goal, generator=torch.Generator().manual_seed(3))
    for _ in range(9):
        ((trial, parameters),) = client.get_next_trials(max_trials=1).items()
        row = modeler.ask()
        assert parameters == {"row": row}
        client.complete_trial(trial_index=trial, raw_data=data_of(curator, row, objective))
        modeler.tell(row, curator.query(row).value)
    assert goal_of(client._experiment.optimization_config) == goal
    assert set(client.summarize()["generation_node"]) == {"rows of a release"}


def test_several_trials_may_be_open_and_failed_ones_are_not_asked_again():
    curator = curator_of(["cost"])
    client = client_of(ModelerNode(curator.release, seed=3))
    open_trials, asked = {}, []
    for turn in range(6):
        open_trials |= client.get_next_trials(max_trials=3)
        trial = min(open_trials)
        row = open_trials.pop(trial)["row"]
        asked.append(row)
        if turn == 2:
            client.mark_trial_failed(trial)
        else:
            client.complete_trial(trial_index=trial, raw_data={"cost": curator.query(row).value})
    rows = client.summarize()["row"].tolist()
    assert len(rows) == len(set(rows)) == 18
    assert set(client.summarize()["generation_node"]) == {"rows of a release"}


def test_it_goes_on_from_trials_that_ax_has_already():
    curator = curator_of(["cost"])
    client, modeler = client_of(), Modeler(curator.release, generator=seeded(3))
    for _ in range(7):
        row = modeler.ask()
        modeler.tell(row, curator.query(row).value)
        trial = client.attach_trial(parameters={"row": row})
        client.complete_trial(trial_index=trial, raw_data={"cost": curator.query(row).value})
    node = ModelerNode(curator.release, seed=3)
    client.set_generation_strategy(GenerationStrategy(name="private", nodes=[node]))
    ((_, parameters),) = client.get_next_trials(max_trials=1).items()
    assert parameters["row"] == modeler.ask()


def test_what_ax_may_not_ask_for_is_refused():
    curator = curator_of(["cost"])
    with pytest.raises(ValueError, match="experiment must have one parameter, row"):
        client_of(ModelerNode(curator.release), parameter="z").get_next_trials(max_trials=1)
    with pytest.raises(ValueError, match="several at once are not there"):
        client_of(ModelerNode(curator.release), "cost, safety").get_next_trials(max_trials=1)
    with pytest.raises(ValueError, match="not relative to a baseline"):
        goal_of(client_of(None, "cost", ["safety >= 0.9*baseline"])._experiment.optimization_config)
    with pytest.raises(ValueError, match="configure_optimization"):
        goal_of(None)
    with pytest.raises(ValueError, match="outcome_noise"):
        ModelerNode(curator.release, outcome_noise=2.0)


def space_of(kind, low, high):
    return RangeParameterConfig(name="row", parameter_type=kind, bounds=(low, high))


@pytest.mark.parametrize(
    "parameter",
    [
        pytest.param(space_of("float", 0, N - 1), id="points between rows"),
        pytest.param(space_of("int", 0, N), id="one too many"),
        pytest.param(space_of("int", -1, N - 1), id="below 0"),
        pytest.param(space_of("int", 1, N), id="counted from 1"),
        pytest.param(space_of("int", 0, 4), id="some rows alone"),
        pytest.param(
            ChoiceParameterConfig(name="row", parameter_type="int", values=[0, 1, N]), id="choices"
        ),
        pytest.param(
            ChoiceParameterConfig(name="row", parameter_type="str", values=["0", "1"]), id="texts"
        ),
    ],
)
def test_a_space_that_is_not_the_rows_is_refused(parameter):
    client = Client()
    client.configure_experiment(parameters=[parameter])
    client.configure_optimization(objective="cost")
    node = ModelerNode(curator_of(["cost"]).release)
    client.set_generation_strategy(GenerationStrategy(name="private", nodes=[node]))
    with pytest.raises(ValueError, match=rf"the row of the release: an int in 0..{N - 1}"):
        client.get_next_trials(max_trials=1)


@pytest.mark.parametrize("point", [3.5, N, -1])
def test_a_trial_about_a_point_that_is_no_row_is_refused(point):
    client = client_of(ModelerNode(curator_of(["cost"]).release, seed=3))
    trial = client._experiment.new_trial()
    trial.add_arm(Arm(parameters={"row": 3}, name="theirs"))
    trial.arm._parameters["row"] = point  # as a file of an experiment may hold it
    with pytest.raises(ValueError, match="row must be a"):
        client.get_next_trials(max_trials=1)


def test_constraints_are_read_whatever_their_sign():
    config = client_of(None, "cost", ["-2*safety <= -0.6", "time <= 5"])._experiment.optimization_config
    assert goal_of(config) == Constrained(
        maximize="cost", at_least={"safety": 0.3}, at_most={"time": 5.0}
    )
