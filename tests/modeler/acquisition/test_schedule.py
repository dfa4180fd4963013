import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private import ucb_beta

properties = settings(derandomize=True, max_examples=200, deadline=None)
rounds, sizes = st.integers(1, 10**6), st.integers(1, 10**9)
failures = st.floats(1e-12, 1 - 1e-12)


@pytest.mark.parametrize(("n", "roots"), [(2000, [4.6, 5.5, 6.0, 6.3]), (200_000, [5.5, 6.3, 6.8, 7.0])])
def test_root_of_beta_at_failure_probability_one_tenth(n, roots):
    # Computed apart from this package, for t = 1, 10, 50, 100.
    for t, root in zip([1, 10, 50, 100], roots, strict=True):
        assert math.sqrt(ucb_beta(t, n, 0.1)) == pytest.approx(root, abs=0.05)


@properties
@given(rounds, sizes, failures)
def test_beta_equals_the_formula_of_algorithm_2(t, n, failure_probability):
    inside = n * t**2 * math.pi**2 / (6 * failure_probability)
    assert ucb_beta(t, n, failure_probability) == pytest.approx(2 * math.log(inside), rel=1e-14)


def test_beta_is_a_float64_number():
    beta = ucb_beta(3, 36_000)
    assert type(beta) is float
    assert beta != float(torch.tensor(beta, dtype=torch.float32))


def test_default_failure_probability_is_that_of_the_paper():
    assert ucb_beta(4, 2004) == ucb_beta(4, 2004, 0.025)


@properties
@given(rounds, sizes, failures)
def test_beta_grows_with_rounds_and_candidates_and_certainty(t, n, failure_probability):
    beta = ucb_beta(t, n, failure_probability)
    assert 0 < beta < ucb_beta(t + 1, n, failure_probability)
    assert beta < ucb_beta(t, n + 1, failure_probability)
    assert beta < ucb_beta(t, n, failure_probability / 2)


def test_chance_to_fail_in_any_round_is_the_failure_probability():
    # A bound is exceeded with probability exp(-beta_t / 2); n candidates, rounds without end.
    n, failure_probability = 50, 0.025
    total = sum(n * math.exp(-ucb_beta(t, n, failure_probability) / 2) for t in range(1, 20_001))
    rest = failure_probability * 6 / math.pi**2 / 20_000  # of the sum of 1 / t^2 beyond 20,000
    assert total + rest == pytest.approx(failure_probability, rel=1e-6)


def test_huge_tables_and_rounds_do_not_overflow():
    assert ucb_beta(10**200, 10**200) == pytest.approx(
        2 * (600 * math.log(10) + math.log(math.pi**2 / 0.15)), rel=1e-14
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 10), "t must be an integer >= 1, got 0"),
        ((-1, 10), "t must be an integer >= 1, got -1"),
        ((1.0, 10), r"t must be an integer >= 1, got 1\.0"),
        ((True, 10), "t must be an integer >= 1, got True"),
        ((1, 0), "n must be an integer >= 1, got 0"),
        ((1, Fraction(10)), r"n must be an integer >= 1, got Fraction\(10, 1\)"),
        ((1, 10, 0.0), r"failure_probability must be a number in \(0, 1\), got 0\.0"),
        ((1, 10, 1.0), r"failure_probability must be a number in \(0, 1\), got 1\.0"),
        ((1, 10, float("nan")), r"failure_probability must be a number in \(0, 1\), got nan"),
        ((1, 10, "0.1"), r"failure_probability must be a number in \(0, 1\), got '0\.1'"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ucb_beta(*arguments)
