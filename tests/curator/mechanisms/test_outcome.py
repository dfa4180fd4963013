"""OutcomeMechanism: its noise, its guarantee, and what it refuses."""

import math

import dp_accounting
import numpy as np
import pytest
import torch
from helpers.draws import seeded
from scipy import stats

from botorch_private import OutcomeMechanism, PrivacyGuarantee, compose
from botorch_private.privacy.noise_law import DELTA_FP, GRID

LAPLACE = OutcomeMechanism(2.0, 0.0, (-1.0, 1.0))
GAUSSIAN = OutcomeMechanism(2.0, 1e-5, (-1.0, 1.0), noise="gaussian")


def answers(mechanism, outcome, count=20_000, seed=1):
    return mechanism.draw(torch.full((count,), outcome, dtype=torch.float64), generator=seeded(seed))


@pytest.mark.parametrize(
    ("epsilon", "laplace", "gaussian"),
    [(1, 2.83, 7.46), (3, 0.94, 2.78), (5, 0.57, 1.78), (8, 0.35, 1.20), (15, 0.19, 0.72)],
)
def test_the_noise_is_as_wide_as_published_for_a_range_of_two(epsilon, laplace, gaussian):
    pure = OutcomeMechanism(epsilon, 0.0, (-1.0, 1.0))
    assert math.sqrt(pure.noise_variance) == pytest.approx(laplace, abs=0.01)
    normal = OutcomeMechanism(epsilon, 1e-5, (-1.0, 1.0), noise="gaussian")
    assert math.sqrt(normal.noise_variance) == pytest.approx(gaussian, abs=0.01)


def test_the_laplace_scale_is_the_width_of_the_range_over_epsilon():
    assert LAPLACE.law.scale == pytest.approx(0.5, rel=1e-3)
    assert LAPLACE.law.scale >= 0.5 * (1 + GRID)  # rounding to the grid is charged
    assert OutcomeMechanism(2.0, 0.0, (0.0, 200.0)).noise_variance == pytest.approx(
        1e4 * LAPLACE.noise_variance
    )


def test_the_gaussian_is_that_of_dp_accounting():
    expected = dp_accounting.get_sigma_gaussian(2.0, 1e-5)
    assert GAUSSIAN.law.scale == pytest.approx(expected * (1 + GRID), rel=1e-5)


def test_auto_takes_the_smaller_variance():
    assert OutcomeMechanism(1.0, 1e-5, (0.0, 1.0)).law.kind == "laplace"
    assert OutcomeMechanism(0.01, 0.4, (0.0, 1.0)).law.kind == "gaussian"


@pytest.mark.parametrize("outcome", [-1.0, 0.25, 1.0])
def test_answers_have_the_stated_law(outcome):
    errors = answers(LAPLACE, outcome).numpy() - outcome
    scale = 2 * LAPLACE.law.scale
    assert stats.kstest(errors, stats.laplace(scale=scale).cdf).pvalue > 1e-3
    errors = answers(GAUSSIAN, outcome).numpy() - outcome
    assert stats.kstest(errors, stats.norm(scale=2 * GAUSSIAN.law.scale).cdf).pvalue > 1e-3
    for mechanism in (LAPLACE, GAUSSIAN):
        spread = float((answers(mechanism, outcome) - outcome).square().mean())
        assert spread == pytest.approx(mechanism.noise_variance, rel=0.1)


@pytest.mark.parametrize("far", [1.5, 1e6, 1e300])
def test_what_lies_outside_the_range_is_clipped_before_the_noise(far):
    assert torch.equal(answers(LAPLACE, far, 50), answers(LAPLACE, 1.0, 50))
    assert torch.equal(answers(LAPLACE, -far, 50), answers(LAPLACE, -1.0, 50))


@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN])
def test_no_answer_is_off_the_grid(mechanism):
    outcomes = torch.rand(5000, generator=seeded(1), dtype=torch.float64) * 4 - 2
    steps = ((mechanism.draw(outcomes) + 1.0) / 2 / GRID).numpy()
    assert np.array_equal(steps, np.rint(steps))


def test_outcomes_of_one_cell_of_the_grid_have_the_same_answers():
    assert torch.equal(answers(LAPLACE, 0.1, 50), answers(LAPLACE, 0.1 + 1e-9, 50))


def test_the_guarantee_is_about_any_change_of_an_outcome():
    guarantee = LAPLACE.guarantee()
    assert guarantee.holds
    assert guarantee.epsilon == 2.0
    assert (guarantee.delta, guarantee.delta_fp) == (DELTA_FP, DELTA_FP)
    assert guarantee.outcome_range == (-1.0, 1.0)
    assert guarantee.at(0.0) == guarantee.at(50.0) <= 2.0
    assert guarantee.at(0.0) == pytest.approx(2.0, rel=1e-9)
    assert guarantee.covers_outcomes
    assert not guarantee.covers_features
    assert guarantee.location_radius() == math.inf
    assert PrivacyGuarantee.from_json(guarantee.to_json()) == guarantee


def test_the_guarantee_in_words():
    text = str(LAPLACE.guarantee())
    for sentence in (
        "Privacy guarantee of OutcomeMechanism: HOLDS",
        "differ in the outcome of one record, by any amount within the declared range",
        "Promise: epsilon = 2,",
        "Changing one outcome changes the chance of anything computed from what is released and answ",
        "Outcomes are clipped to -1 ... 1, a range that is public.",
        "Laplace, standard deviation 1.41 in the outcome's own unit, drawn once for each record",
        "answers about different records do not add up",
    ):
        assert sentence in text
    assert "One unit is" not in text
    assert "other distances" not in text


def test_outcomes_that_depend_on_other_records_add_up():
    shared = LAPLACE.guarantee(answers=5)
    assert shared.epsilon == pytest.approx(10.0)
    assert "outcomes may depend on other records as well" in str(shared)
    assert "composition of 5 answers" in str(shared)
    assert shared.delta_fp == shared.delta == 5 * DELTA_FP
    one = LAPLACE.guarantee(answers=1)  # a composition all the same: that is what it is known by
    assert one.epsilon == pytest.approx(2.0)
    assert len(one.parts) == 1
    gaussian = GAUSSIAN.guarantee(answers=50)
    expected = dp_accounting.get_epsilon_gaussian(GAUSSIAN.law.scale / (1 + GRID) / 50**0.5, 1e-5)
    assert gaussian.epsilon == pytest.approx(expected, rel=1e-6)


def test_a_seeded_mechanism_says_so():
    guarantee = LAPLACE.guarantee(seeded=True)
    assert not guarantee.holds
    assert guarantee.seeded
    assert "seeded generator" in guarantee.reasons[0]


@pytest.mark.parametrize(("count", "joint"), [(1.0, 1.465), (2.0, 2.95), (3.0, 4.46)])
def test_gaussian_features_and_outcomes_compose_to_the_published_numbers(count, joint):
    part = OutcomeMechanism(count, 1e-5, (0.0, 1.0), noise="gaussian").guarantee()
    assert compose([part, part], delta=1e-5).epsilon == pytest.approx(joint, abs=5e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0}, "epsilon must be a finite number > 0, got 0"),
        ({"epsilon": math.nan}, "epsilon must be a finite number > 0, got nan"),
        ({"delta": 1.0}, r"delta must be a number in \[0, 1\), got 1.0"),
        ({"bound": (1.0, 1.0)}, "bound must be a smallest and a larger outcome, got 1 and 1"),
        ({"bound": (2.0, 1.0)}, "bound must be a smallest and a larger outcome, got 2 and 1"),
        ({"bound": (0.0, math.inf)}, "bound must be finite, got an infinity at position 1"),
        ({"bound": (0.0, 1e200)}, "bound must be at most 1e.150 wide, got 1e.200"),
        ({"bound": 1.0}, "bound must have 1 dimension"),
        ({"bound": (0.0, 1.0, 2.0)}, "bound must have 2 entries, got 3"),
        ({"noise": "cauchy"}, "noise must be one of"),
        ({"noise": "gaussian"}, "delta must be above .* for Gaussian noise"),
        ({"epsilon": 1e-12}, "epsilon must be larger"),
    ],
)
def test_bad_settings_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        OutcomeMechanism(**{"epsilon": 1.0, "delta": 0.0, "bound": (0.0, 1.0), **change})


@pytest.mark.parametrize("outcomes", [[math.nan], [math.inf], [[1.0]], ["1"]])
def test_bad_outcomes_are_refused(outcomes):
    with pytest.raises(ValueError, match="outcomes must"):
        LAPLACE.draw(outcomes)


def test_numpy_settings_become_plain_numbers():
    mechanism = OutcomeMechanism(np.float64(1.0), np.float32(0.0), np.array([0, 1]))
    assert type(mechanism.epsilon) is type(mechanism.delta) is type(mechanism.bound[0]) is float
