"""What several draws cost together, where it is neither a sum nor one Gaussian."""

import math
import sys

import numpy as np
import pytest

from botorch_private.privacy.composition import Shift, composed_epsilon
from botorch_private.privacy.gaussian import gaussian_epsilon
from botorch_private.privacy.noise_law import DELTA_FP, NoiseLaw
from botorch_private.privacy.random_shift import summed

LAPLACE = NoiseLaw("laplace", 3, 1.0, 3)
GAUSSIAN = NoiseLaw("gaussian", 3, 4.0, 3)
L2 = NoiseLaw("l2", 22, 0.25, 22)
PROJECTED = NoiseLaw("gaussian", 3, 6.0, 9)
DELTA = 1e-5


@pytest.mark.parametrize("others", [[GAUSSIAN], [PROJECTED], [GAUSSIAN, PROJECTED]])
def test_far_apart_a_mixture_costs_its_parts_and_all_of_the_arithmetic(others):
    """Beyond epsilon 100 the accountant is not asked: l2 Laplace and all Gaussians together add up."""
    shifts = [Shift(LAPLACE, 120.0), *(Shift(law, 40.0) for law in others)]
    slack = sum(law.arithmetic_slack(distance) for law, distance, _ in shifts)
    ideal_delta = (DELTA - len(shifts) * DELTA_FP) * math.exp(-slack)
    squares, weights = summed([law.gaussian_squares(40.0) for law in others])
    parts = [LAPLACE.epsilon(120.0, 0.0), gaussian_epsilon(ideal_delta, np.sqrt(squares), weights)]
    assert sum(parts) > 100
    assert slack > 1e-9 * sum(parts)  # so that a sum without it would be told apart
    assert composed_epsilon(shifts, DELTA) == pytest.approx(sum(parts) + slack, rel=1e-11)


@pytest.mark.parametrize("law", [GAUSSIAN, PROJECTED])
def test_a_mixture_costs_no_more_than_its_parts_with_delta_shared(law):
    shifts = [Shift(LAPLACE, 1.0), Shift(law, 1.0)]
    basic = LAPLACE.epsilon(1.0, DELTA) + law.epsilon(1.0, DELTA)
    cost = composed_epsilon(shifts, DELTA)
    assert max(each.epsilon(1.0, DELTA) for each, _, _ in shifts) < cost <= basic * (1 + 1e-6)
    assert composed_epsilon(shifts[::-1], DELTA) == pytest.approx(cost, rel=1e-9)
    assert composed_epsilon([*shifts, Shift(GAUSSIAN, 0.0)], DELTA) == cost  # what hides nothing is free
    assert composed_epsilon(shifts, 2 * DELTA_FP) == math.inf


@pytest.mark.parametrize("others", [[L2], [LAPLACE], [GAUSSIAN], [PROJECTED], [L2, LAPLACE, GAUSSIAN]])
def test_l2_noise_beside_other_noise_costs_less_than_its_parts(others):
    shifts = [Shift(L2, 1.0), *(Shift(law, 1.0) for law in others)]
    cost = composed_epsilon(shifts, DELTA)
    parts = [law.epsilon(distance, DELTA) for law, distance, _ in shifts]
    pure = sum(law.pure_epsilon(distance) for law, distance, _ in shifts)
    assert (
        max(parts)
        < cost
        <= min(pure, sum(law.epsilon(1.0, DELTA / len(shifts)) for law in [L2, *others]))
    )
    assert composed_epsilon(shifts, 3 * DELTA_FP) <= pure * (1 + 1e-12)


def test_many_draws_of_l2_noise_cost_what_a_sample_of_losses_says():
    """Delta of ten draws, from 200,000 sums of ten losses drawn from the density: 4 standard errors."""
    law, draws, delta = NoiseLaw("l2", 22, 1.0, 22), 10, 1e-2
    cost = composed_epsilon([Shift(law, 1.0)] * draws, delta)
    assert cost < 0.5 * draws * law.pure_epsilon(1.0)
    rng = np.random.default_rng(0)
    total = np.zeros(200_000)
    for _ in range(draws):
        z = rng.standard_normal((len(total), 22))
        z *= (rng.gamma(22, size=len(z)) / np.linalg.norm(z, axis=1))[:, None]
        total += np.linalg.norm(z - np.eye(22)[0], axis=1) - np.linalg.norm(z, axis=1)
    terms = np.maximum(-np.expm1(cost - total), 0.0)
    error = 4 * terms.std() / math.sqrt(len(terms))
    assert 0.8 * delta - error < terms.mean() < delta + error


def test_without_the_accountant_l2_noise_costs_the_sum_of_its_bounds(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    shifts = [Shift(L2, 1.0), Shift(LAPLACE, 1.0)]
    cost = composed_epsilon(shifts, DELTA)
    assert cost <= L2.pure_epsilon(1.0) + LAPLACE.epsilon(1.0, DELTA)
    with pytest.raises(ImportError, match="dp-accounting"):
        composed_epsilon([*shifts, Shift(GAUSSIAN, 1.0)], DELTA)
