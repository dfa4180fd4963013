import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from botorch_private.datasets import hospital
from botorch_private.theory import expected_random_regret, expected_random_regret_curve

# Few different values, so that there are ties.
tables = st.lists(st.integers(-3, 3).map(float) | st.floats(-1e6, 1e6), min_size=1, max_size=8)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(tables)
def test_it_is_the_mean_over_every_set_of_records_that_could_be_drawn(outcomes):
    expected = [
        np.mean([max(outcomes) - max(drawn) for drawn in itertools.combinations(outcomes, m)])
        for m in range(1, len(outcomes) + 1)
    ]
    curve = expected_random_regret_curve(outcomes, len(outcomes))
    np.testing.assert_allclose(curve, expected, rtol=1e-12, atol=1e-9)
    one_by_one = [expected_random_regret(outcomes, m) for m in range(1, len(outcomes) + 1)]
    assert curve.tolist() == one_by_one


def test_hypergeometric_weights_of_the_best_give_the_same():
    outcomes = torch.randn(300, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    falling, n, m = outcomes.sort(descending=True).values.tolist(), 300, 40
    weights = [math.comb(n - i, m - 1) / math.comb(n, m) for i in range(1, n + 1)]
    best = sum(weight * value for weight, value in zip(weights, falling, strict=True))
    assert expected_random_regret(outcomes, m) == pytest.approx(falling[0] - best, rel=1e-12)


def test_a_simulation_agrees():
    # 20,000 draws of 55 of 8,126; the mean within 4 standard errors, each about 0.004 of a deviation.
    outcomes = hospital().outcomes.numpy()
    generator = np.random.default_rng(0)
    found = [generator.choice(outcomes, 55, replace=False).max() for _ in range(20_000)]
    error = np.std(found) / math.sqrt(len(found))
    assert abs(outcomes.max() - np.mean(found) - expected_random_regret(outcomes, 55)) < 4 * error


def test_the_hospital_table_after_55_records_in_standard_deviations():
    outcomes = hospital().outcomes
    assert expected_random_regret(outcomes, 55) / float(outcomes.std()) == pytest.approx(0.918, abs=5e-4)


def test_one_record_leaves_the_gap_to_the_mean_and_all_of_them_leave_nothing():
    outcomes = hospital().outcomes
    one = expected_random_regret(outcomes, 1)
    assert one == pytest.approx(float(outcomes.max() - outcomes.mean()), rel=1e-12)
    assert expected_random_regret(outcomes, len(outcomes)) == 0
    assert expected_random_regret([2.5], 1) == 0


def test_the_curve_falls_and_does_not_depend_on_the_order_or_a_constant():
    outcomes = torch.randn(500, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    curve = expected_random_regret_curve(outcomes, 500)
    assert (curve.diff() < 0).all()
    torch.testing.assert_close(expected_random_regret_curve(outcomes.flip(0), 500), curve)
    torch.testing.assert_close(expected_random_regret_curve(outcomes + 7, 500), curve)
    torch.testing.assert_close(expected_random_regret_curve(-3 * -outcomes, 500), 3 * curve)


@pytest.mark.parametrize("m", [1, 1000, 500_000, 999_999])
def test_large_tables_neither_overflow_nor_take_long(m):
    # Of 0, ..., n - 1 the largest of m is (n + 1) m / (m + 1) - 1 on average.
    outcomes = torch.arange(1_000_000, dtype=torch.float64)
    assert expected_random_regret(outcomes, m) == pytest.approx((1_000_000 - m) / (m + 1), rel=1e-9)


@pytest.mark.parametrize("function", [expected_random_regret, expected_random_regret_curve])
def test_bad_arguments_are_refused(function):
    with pytest.raises(ValueError, match="measurements must be an integer >= 1, got 0"):
        function([1.0, 2.0], 0)
    with pytest.raises(ValueError, match="at most the number of outcomes, 2, got 3"):
        function([1.0, 2.0], 3)
    with pytest.raises(ValueError, match="outcomes must be finite, got NaN at position 1"):
        function([1.0, math.nan], 1)
