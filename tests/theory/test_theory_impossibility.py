import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private.theory import (
    minimum_additive_distance_error,
    minimum_delta_for_multiplicative_distances,
)

properties = settings(derandomize=True, max_examples=100, deadline=None)
epsilons = st.floats(1e-3, 1e4)
probabilities = st.floats(1e-300, 0.999)


def test_delta_at_the_papers_failure_probability():
    # mu = delta_ucb / 2 = 0.025
    assert minimum_delta_for_multiplicative_distances(1.0, 0.025) == pytest.approx(0.907, abs=5e-4)
    assert minimum_delta_for_multiplicative_distances(3.0, 0.025) == pytest.approx(0.473, abs=5e-4)


def test_additive_error_by_hand():
    assert minimum_additive_distance_error(1.0, 0.05) == pytest.approx(math.log(19) / 2)


@properties
@given(epsilons, probabilities)
def test_delta_is_a_probability(epsilon, mu):
    assert 0 <= minimum_delta_for_multiplicative_distances(epsilon, mu) <= 1


@properties
@given(st.floats(1e-3, 30), st.floats(1e-12, 0.999))
def test_delta_is_the_formula_clipped_at_zero(epsilon, mu):
    expected = max(0.0, 1 - mu * (1 + math.exp(epsilon)))
    assert minimum_delta_for_multiplicative_distances(epsilon, mu) == pytest.approx(expected)


@properties
@given(st.floats(1e-3, 1e3), st.floats(1e-12, 0.499))
def test_additive_error_is_where_two_likely_events_would_contradict_privacy(epsilon, mu):
    a = minimum_additive_distance_error(epsilon, mu)
    assert math.exp(2 * a * epsilon) * mu == pytest.approx(1 - mu)


@properties
@given(epsilons, probabilities)
def test_additive_error_vanishes_only_from_one_half_on(epsilon, mu):
    assert (minimum_additive_distance_error(epsilon, mu) == 0) == (mu >= 0.5)


def test_l2_laplace_release_respects_the_additive_error():
    # One-dimensional pure mechanism: |N_1 - N_2| at epsilon = 1 exceeds a with probability
    # (1 + a / 2) exp(-a), far above mu = 0.05 at the smallest a that is possible at all.
    a = minimum_additive_distance_error(1.0, 0.05)
    assert (1 + a / 2) * math.exp(-a) > 0.05


@pytest.mark.parametrize(
    "function", [minimum_additive_distance_error, minimum_delta_for_multiplicative_distances]
)
def test_bad_parameters_are_refused(function):
    with pytest.raises(ValueError, match="epsilon must be a finite number > 0, got 0"):
        function(0, 0.1)
    with pytest.raises(ValueError, match=r"failure_probability must be a number in \(0, 1\)"):
        function(1.0, 1.0)
