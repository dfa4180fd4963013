"""Ax, as the page about it says: what works works, and what does not is refused or warns."""

import logging
import re
import warnings
from pathlib import Path

import pytest
import torch
from botorch.models import SingleTaskGP
from helpers.draws import seeded

from botorch_private import (
    Curator,
    DiscreteUCB,
    NoisyProjection,
    PrivacyLeakWarning,
    PrivateProjectionTransform,
    PublicScaling,
)
from botorch_private.curator import transform as transform_module

pytest.importorskip("ax", reason="Ax is one of the packages for development", minversion="1.3")

# Ax logs each trial, and warns of its own plans and of outcomes that are not standardized.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]
DOCS = Path(__file__).parents[2] / "docs"
RECORDS = torch.rand(30, 1, generator=seeded(0), dtype=torch.float64)
SCALING = PublicScaling([0.0], [1.0])


@pytest.fixture(autouse=True)
def quiet():
    logging.getLogger("ax").setLevel(logging.ERROR)


def blocks(page, fence, word):
    text = page.read_text(encoding="utf-8")
    return [block for block in re.findall(rf"```{fence}\n(.*?)```", text, re.DOTALL) if word in block]


def test_the_blocks_of_the_page_run():
    (setup, *_) = blocks(DOCS / "reference" / "index.md", "python", "release =")
    namespace = {}
    exec(setup, namespace)
    ours = blocks(DOCS / "guide" / "ax_and_baybe.md", "py", "client")
    assert len(ours) == 2
    for block in ours:
        exec(block, namespace)
    client, curator, modeler = (namespace[name] for name in ("client", "curator", "modeler"))
    assert len(modeler.history) == 20
    table = client.summarize()
    assert len(table) == 21  # 20 by the modeler, and one that Ax asked its node for
    assert table["row"].nunique() == 21
    assert {float(v) for v in table["outcome"]} == {curator.query(int(r)).value for r in table["row"]}
    assert set(table["trial_status"]) == {"COMPLETED"}
    assert table["generation_node"].iloc[-1] == "rows of a release"
    best, value, *_ = client.get_best_parameterization(use_model_predictions=False)
    assert curator.query(best["row"]).value == max(table["outcome"])
    assert value


def client_of(parameter, candidates, known, **model):
    """Ax that builds DiscreteUCB by its name, after four rows were measured."""
    from ax.adapter.registry import Generators
    from ax.api.client import Client
    from ax.generation_strategy.generation_node import GenerationNode
    from ax.generation_strategy.generation_strategy import GenerationStrategy
    from ax.generation_strategy.generator_spec import GeneratorSpec
    from ax.generators.torch.botorch_modular.surrogate import ModelConfig, SurrogateSpec

    client = Client()
    client.configure_experiment(parameters=[parameter])
    client.configure_optimization(objective="outcome")
    for value, outcome in known:
        trial = client.attach_trial(parameters={"z": value})
        client.complete_trial(trial_index=trial, raw_data={"outcome": outcome})
    config = ModelConfig(botorch_model_class=SingleTaskGP, **model)
    settings = {
        "botorch_acqf_class": DiscreteUCB,
        "botorch_acqf_options": {"candidates": candidates},
        "surrogate_spec": SurrogateSpec(model_configs=[config]),
        "transforms": [],
    }
    spec = GeneratorSpec(generator_enum=Generators.BOTORCH_MODULAR, generator_kwargs=settings)
    node = GenerationNode(name="rows by name", generator_specs=[spec])
    client.set_generation_strategy(GenerationStrategy(name="private", nodes=[node]))
    return client


@pytest.fixture
def curator():
    mechanism = NoisyProjection(300.0)
    return Curator(RECORDS, SCALING, mechanism, RECORDS[:, 0].sin(), generator=seeded(1))


def test_by_name_over_a_discrete_space_every_point_is_a_row(curator):
    from ax.api.configs import ChoiceParameterConfig

    release = curator.release
    values = release.candidates[:, 0].tolist()
    parameter = ChoiceParameterConfig(name="z", parameter_type="float", values=values, is_ordered=True)
    known = [(values[row], curator.query(row).value) for row in range(4)]
    client = client_of(parameter, release.candidates, known)
    chosen = []
    for _ in range(3):
        ((trial, parameters),) = client.get_next_trials(max_trials=1).items()
        chosen.append(values.index(parameters["z"]))
        value = curator.query(chosen[-1]).value
        client.complete_trial(trial_index=trial, raw_data={"outcome": value})
    assert len({*chosen, *range(4)}) == 7


def test_by_name_over_a_continuous_space_is_an_error_and_no_point_beside_the_rows(curator):
    from ax.api.configs import RangeParameterConfig

    release = curator.release
    low, high = (float(end) for end in release.candidates.aminmax())
    parameter = RangeParameterConfig(name="z", parameter_type="float", bounds=(low, high))
    known = [(float(release.candidates[row]), curator.query(row).value) for row in range(4)]
    client = client_of(parameter, release.candidates, known)
    with pytest.raises(ValueError, match=r"X must hold candidates only, .* choose by select\(\)"):
        client.get_next_trials(max_trials=1)


def test_a_transform_that_ax_builds_warns_at_the_second_fit(monkeypatch):
    from ax.api.configs import ChoiceParameterConfig

    monkeypatch.setattr(transform_module, "_RELEASED", set())
    values = RECORDS[:, 0].tolist()
    parameter = ChoiceParameterConfig(name="z", parameter_type="float", values=values, is_ordered=True)
    given = {"records": RECORDS, "scaling": SCALING, "mechanism": NoisyProjection(300.0)}
    model = {
        "input_transform_classes": [PrivateProjectionTransform],
        "input_transform_options": {"PrivateProjectionTransform": given},
    }
    known = [(value, value) for value in values[:4]]
    client = client_of(parameter, RECORDS, known, **model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", PrivacyLeakWarning)
        ((trial, parameters),) = client.get_next_trials(max_trials=1).items()
        client.complete_trial(trial_index=trial, raw_data={"outcome": parameters["z"]})
        with pytest.raises(PrivacyLeakWarning, match="was built before in this process"):
            client.get_next_trials(max_trials=1)
