"""What several draws cost together, where it is neither a sum nor one Gaussian."""

import math

import numpy as np
import pytest

from botorch_private.privacy.composition import Shift, composed_epsilon
from botorch_private.privacy.gaussian import gaussian_epsilon
from botorch_private.privacy.noise_law import DELTA_FP, NoiseLaw
from botorch_private.privacy.random_shift import summed

LAPLACE = NoiseLaw("laplace", 3, 1.0, 3)
GAUSSIAN = NoiseLaw("gaussian", 3, 4.0, 3)
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
