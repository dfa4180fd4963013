"""A curator that answers with several named numbers, and what that costs."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from helpers.draws import seeded

from botorch_private import (
    BudgetError,
    Curator,
    MeasurementError,
    NoisyProjection,
    OutcomeMechanism,
    PrivacyGuarantee,
    PublicScaling,
    compose,
)
from botorch_private.report import report

SECRET = "Anna Muster"
N = 20
RECORDS = torch.rand(N, 2, generator=seeded(0), dtype=torch.float64)
SCALING = PublicScaling([0.0, 0.0], [1.0, 1.0])
NAMES = ["cost", "safety"]
KNOWN = {"cost": 100 * RECORDS[:, 0], "safety": RECORDS[:, 1]}
PURE = {
    "cost": OutcomeMechanism(5.0, 0.0, (0.0, 100.0)),
    "safety": OutcomeMechanism(2.0, 0.0, (0.0, 1.0)),
}
GAUSSIAN = {
    "cost": OutcomeMechanism(2.0, 1e-6, (0.0, 100.0), noise="gaussian"),
    "safety": OutcomeMechanism(1.0, 1e-5, (0.0, 1.0), noise="gaussian"),
}


def measure(record):
    return {"safety": float(record[1]), "cost": float(100 * record[0])}


def make(objective=measure, **kwargs):
    return Curator(RECORDS, SCALING, NoisyProjection(3.0), objective, outcome_names=NAMES, **kwargs)


# --- answers ---


@pytest.mark.parametrize(
    "known", [measure, KNOWN, pd.DataFrame({k: v.numpy() for k, v in KNOWN.items()})]
)
def test_a_row_is_answered_with_the_outcomes_of_its_record(known):
    curator = make(known)
    for row in (0, 7):
        record = int(curator.permutation[row])
        index, value = curator.query(row)
        assert index == row
        assert value == pytest.approx({name: float(each[record]) for name, each in KNOWN.items()})
        assert list(value) == NAMES
    assert curator.answered == 2


def test_a_record_is_measured_once_for_all_and_its_answer_is_the_askers_own():
    calls = []
    curator = make(lambda record: calls.append(1) or measure(record), max_queries=1)
    first = curator.query(3).value
    first["cost"] = -1.0
    assert curator.query(3).value["cost"] >= 0
    assert len(calls) == 1
    with pytest.raises(BudgetError):
        curator.query(4)


@pytest.mark.parametrize(
    "returned",
    [
        3.0,
        None,
        {"cost": 1.0},
        {"cost": 1.0, "safety": 1.0, SECRET: 1.0},
        {"cost": 1.0, "safety": SECRET},
        {"cost": 1.0, "safety": math.nan},
        {"cost": math.inf, "safety": 1.0},
        {"cost": [1.0, 2.0], "safety": 1.0},
    ],
)
@pytest.mark.parametrize("noise", [None, PURE], ids=["as they are", "noised"])
def test_an_answer_that_lacks_a_number_or_has_another_is_none(returned, noise):
    curator = make(lambda record: returned, outcome_mechanism=noise)
    if noise and returned == {"cost": math.inf, "safety": 1.0}:
        assert math.isfinite(curator.query(0).value["cost"])  # it was clipped
        return
    with pytest.raises(MeasurementError) as caught:
        curator.query(0)
    assert SECRET not in str(caught.value)
    assert caught.value.row == 0
    assert curator.answered == (0 if noise is None else 1)


@pytest.mark.parametrize(
    ("objective", "said"),
    [
        ({"cost": KNOWN["cost"]}, "safety is missing"),
        ({**KNOWN, SECRET: KNOWN["cost"]}, "1 more that were not declared"),
        ({**KNOWN, "safety": KNOWN["safety"][1:]}, r"objective\[safety\]"),
        (KNOWN["cost"], "one number for each of cost, safety"),
        (pd.DataFrame({"cost": [1.0] * N, SECRET: [1.0] * N}), "the columns cost, safety"),
    ],
)
def test_known_outcomes_must_be_those_that_were_declared(objective, said):
    with pytest.raises(ValueError, match=said) as caught:
        make(objective)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("noise", [PURE["cost"], {"cost": PURE["cost"]}, {**PURE, "x": PURE["cost"]}])
def test_each_outcome_has_a_mechanism_or_none_has(noise):
    with pytest.raises((TypeError, ValueError), match="outcome_mechanism must be a dict with"):
        make(outcome_mechanism=noise)


# --- what it costs ---


def test_each_number_costs_what_one_costs():
    """What is released and answered about one record: composition over all of it."""
    curator = make(outcome_mechanism=PURE)
    one = [PURE[name].guarantee() for name in NAMES]
    alone = NoisyProjection(3.0).guarantee(n=N, d=2)
    assert curator.guarantee.epsilon == pytest.approx(compose([alone, *one]).epsilon)
    assert curator.guarantee.epsilon == pytest.approx(10.0)
    assert curator.ledger.total == curator.guarantee
    assert curator.guarantee.holds
    before = curator.guarantee
    for row in range(N):
        curator.query(row)
    assert curator.guarantee == before


def test_gaussian_answers_compose_as_gaussian_draws():
    promised = make(outcome_mechanism=GAUSSIAN).release.outcome_guarantee
    parts = [each.guarantee() for each in GAUSSIAN.values()]
    delta = max(part.delta for part in parts)
    assert promised.delta == delta
    assert promised.epsilon == pytest.approx(compose(parts, delta=delta).epsilon)
    assert promised.epsilon < sum(compose([part], delta=delta / 2).epsilon for part in parts)


def test_a_budget_for_one_number_is_refused_to_two():
    budget = PrivacyGuarantee.budget(epsilon=9.0)
    with pytest.raises(BudgetError):
        make(outcome_mechanism=PURE, privacy_budget=budget)


def test_answers_that_may_depend_on_others_add_up_for_each_name():
    curator = make(outcome_mechanism=PURE, shared_outcomes=True, max_queries=4)
    assert curator.guarantee.epsilon == pytest.approx(3.0 + 4 * 7.0)
    assert curator.release.of_outcome("safety").outcome_guarantee.epsilon == pytest.approx(8.0)
    assert curator.release.of_outcome("cost").outcome_variance == PURE["cost"].noise_variance
    with pytest.raises(ValueError, match="may depend on others"):
        curator.add(RECORDS[:1] / 2)


def test_the_promise_says_that_there_are_several_and_what_each_is_clipped_to():
    text = str(make(outcome_mechanism=PURE).guarantee)
    assert "in its outcomes, each by any amount within its declared range" in text
    assert "The outcome cost is clipped to 0 ... 100" in text
    assert "The outcome safety is clipped to 0 ... 1" in text
    assert "what they cost adds up" in text
    guarantee = make(outcome_mechanism=PURE).guarantee
    assert PrivacyGuarantee.from_json(guarantee.to_json()) == guarantee
    assert guarantee.outcome_names == ("cost", "safety")


def test_noise_of_two_outcomes_is_drawn_apart_and_follows_their_laws():
    curator = Curator(
        torch.rand(4000, 2, dtype=torch.float64, generator=seeded(1)),
        SCALING,
        NoisyProjection(3.0),
        measure,
        outcome_names=NAMES,
        outcome_mechanism=PURE,
        generator=seeded(2),
    )
    noise = curator.grid_noise.double()
    assert noise.shape == (4000, 2)
    assert abs(float(torch.corrcoef(noise.T)[0, 1])) < 4 / math.sqrt(4000)
    for i, name in enumerate(NAMES):
        law = PURE[name].law
        observed = float(noise[:, i].var()) * law.grid**2
        assert observed == pytest.approx(law.variance, rel=6 * math.sqrt(5 / 4000))


def test_records_join_with_outcomes_and_noise_of_their_own():
    curator = make(KNOWN, outcome_mechanism=PURE)
    before = [curator.query(row).value for row in range(3)]
    curator.add(torch.tensor([[0.11, 0.95]]), pd.DataFrame({"safety": [0.95], "cost": [11.0]}))
    assert [curator.query(row).value for row in range(3)] == before
    assert set(curator.query(N).value) == set(NAMES)
    assert curator.grid_noise.shape == (N + 1, 2)
    assert curator.outcomes[-1].tolist() == [11.0, 0.95]
    with pytest.raises(ValueError, match="safety is missing"):
        curator.add(torch.tensor([[0.51, 0.15]]), {"cost": [1.0]})


def test_a_seed_voids_the_guarantee():
    assert not make(outcome_mechanism=PURE, generator=seeded(3)).guarantee.holds


@pytest.mark.slow
def test_a_report_is_about_each_outcome():
    made = report(make(outcome_mechanism=PURE).release, trials=100, progress=False)
    text = made.text()
    for name in NAMES:
        assert f"Noise on {name}: Laplace" in " ".join(text.split())
        assert f"The outcome {name} is clipped" in " ".join(text.split())


def test_outcomes_of_one_record_alone_change_the_answers_about_it_alone():
    """Parallel composition over records: a neighbour's table gives the same other answers."""
    other = {name: each.clone() for name, each in KNOWN.items()}
    other["cost"][5], other["safety"][5] = 0.0, 1.0
    here, there = (make(known, outcome_mechanism=PURE, generator=seeded(4)) for known in (KNOWN, other))
    differ = [row for row in range(N) if here.query(row) != there.query(row)]
    assert differ == [int((here.permutation == 5).nonzero())]
    assert np.array_equal(here.grid_noise, there.grid_noise)
