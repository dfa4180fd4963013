import math

import pytest
from scipy.stats import binom, norm

from botorch_private.audit.bounds import (
    epsilon_from_rates,
    gaussian_epsilon_from_rates,
    proportion_bounds,
)
from botorch_private.audit.one_run import lower_bound, p_value
from botorch_private.privacy.gaussian import gaussian_epsilon


@pytest.mark.parametrize(("successes", "trials"), [(3, 20), (17, 20), (500, 1000)])
def test_bounds_of_a_proportion_invert_the_binomial_test(successes, trials):
    lower, upper = proportion_bounds(successes, trials, 0.025)
    assert binom.sf(successes - 1, trials, lower) == pytest.approx(0.025)
    assert binom.cdf(successes, trials, upper) == pytest.approx(0.025)


def test_bounds_at_the_ends():
    assert proportion_bounds(0, 10, 0.05) == (0.0, pytest.approx(1 - 0.05**0.1))
    assert proportion_bounds(10, 10, 0.05) == (pytest.approx(0.05**0.1), 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((11, 10, 0.05), "successes must be at most trials=10, got 11"),
        ((-1, 10, 0.05), "successes must be an integer >= 0"),
        ((1, 0, 0.05), "trials must be an integer >= 1"),
        ((1, 10, 0.0), "failure_probability must be a number in"),
    ],
)
def test_impossible_counts_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        proportion_bounds(*arguments)


def test_epsilon_of_error_rates():
    assert epsilon_from_rates(0.6, 0.2, 0.0) == pytest.approx(math.log(3))
    assert epsilon_from_rates(0.2, 0.6, 0.0) == pytest.approx(0.0)
    assert epsilon_from_rates(0.99, 0.5, 0.0) == pytest.approx(math.log(0.5 / 0.01))  # complements
    assert epsilon_from_rates(0.6, 0.2, 0.1) == pytest.approx(math.log(2.5))
    assert epsilon_from_rates(0.3, 0.0, 0.1) == math.inf
    assert epsilon_from_rates(0.05, 0.0, 0.1) == 0.0


def test_gaussian_rates_give_back_their_mu():
    mu, threshold = 1.3, 0.4
    rates = norm.sf(threshold - mu), norm.sf(threshold)
    assert gaussian_epsilon_from_rates(*rates, 1e-5) == pytest.approx(gaussian_epsilon(1e-5, mu))
    assert gaussian_epsilon_from_rates(0.2, 0.6, 1e-5) == 0.0
    assert gaussian_epsilon_from_rates(1.0, 0.2, 1e-5) == math.inf
    assert gaussian_epsilon_from_rates(1.0, 1.0, 1e-5) == 0.0


def test_one_run_p_value_is_binomial_without_delta():
    p = math.e / (1 + math.e)
    assert p_value(1000, 100, 80, 1.0, 0.0) == pytest.approx(binom.sf(79, 100, p))


def test_one_run_p_value_charges_delta():
    """The term of Steinke et al. (2023), summed as they write it."""
    m, r, v, epsilon, delta = 500, 60, 50, 1.0, 1e-4
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    alpha = total = 0.0
    for i in range(1, v + 1):
        total += binom.pmf(v - i, r, p)
        alpha = max(alpha, total / i)
    expected = binom.sf(v - 1, r, p) + 2 * m * delta * alpha
    assert p_value(m, r, v, epsilon, delta) == pytest.approx(expected)


def test_one_run_bound_inverts_its_p_value():
    bound = lower_bound(1000, 200, 180, 1e-6, 0.05)
    assert p_value(1000, 200, 180, bound, 1e-6) <= 0.05
    assert p_value(1000, 200, 180, bound + 0.01, 1e-6) > 0.05
    assert lower_bound(1000, 200, 100, 0.0, 0.05) == 0.0
