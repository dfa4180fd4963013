"""The bound is the least margin of the formula, by a slow twin in SciPy and in mpmath."""

import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.optimize import brentq
from scipy.stats import norm

from botorch_private.modeler.regret_bound import (
    expected_better,
    expected_gain,
    least_margin,
    regret_bound,
    sentence,
)


def slow_bound(mean, deviation, best, level):
    """The formula as it stands, one row after another, and SciPy's root of it."""

    def excess(margin):
        return sum(norm.sf(best + margin, m, sd) for m, sd in zip(mean, deviation, strict=True)) - level

    if excess(0.0) <= 0:
        return 0.0
    high = 1.0
    while excess(high) > 0:
        high *= 2
    return brentq(excess, 0.0, high, xtol=1e-13, rtol=1e-14)


rows = st.integers(1, 40).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(-10, 10), min_size=n, max_size=n),
        st.lists(st.floats(1e-3, 10), min_size=n, max_size=n),
    )
)
levels = st.sampled_from([1e-9, 0.01, 0.05, 0.5, 0.9])


@given(rows=rows, best=st.floats(-20, 20), level=levels)
@settings(max_examples=60, deadline=None)
def test_it_is_the_least_margin_of_the_formula_rounded_up(rows, best, level):
    mean, deviation = (torch.tensor(each, dtype=torch.float64) for each in rows)
    fast = regret_bound(mean, deviation, best, level)
    slow = slow_bound(*rows, best, level)
    widest = float((mean.abs() + 10 * deviation).max()) + abs(best)
    assert slow - 1e-9 * widest <= fast <= slow + 2e-6 * widest
    assert fast == 0 or expected_better(mean, deviation, best + fast) <= level


@given(rows=rows, best=st.floats(-20, 20), level=levels, unit=st.sampled_from([1e-6, 1.0, 1e6]))
@settings(max_examples=30, deadline=None)
def test_another_unit_of_the_outcome_only_scales_it(rows, best, level, unit):
    mean, deviation = (torch.tensor(each, dtype=torch.float64) for each in rows)
    one = regret_bound(mean, deviation, best, level)
    other = regret_bound(mean * unit, deviation * unit, best * unit, level)
    assert other == pytest.approx(one * unit, rel=1e-4, abs=1e-4 * unit)


def test_a_lower_chance_and_more_rows_raise_it():
    mean, deviation = torch.zeros(100_000), torch.ones(100_000)
    bounds = [regret_bound(mean, deviation, 1.0, level) for level in (0.5, 0.05, 0.001)]
    assert bounds == sorted(bounds)
    assert regret_bound(mean[:1000], deviation[:1000], 1.0, 0.05) < bounds[1]


def test_the_expected_number_of_better_rows_is_mpmaths_also_across_chunks_and_far_out():
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(140_000, generator=generator)
    deviation = 0.1 + torch.rand(140_000, generator=generator)
    few = slice(65_500, 65_600)  # around the end of a chunk
    with mpmath.workdps(40):
        for threshold in (0.0, 3.0, 12.0):
            exact = sum(
                mpmath.ncdf((mpmath.mpf(m) - threshold) / mpmath.mpf(sd))
                for m, sd in zip(mean[few].tolist(), deviation[few].tolist(), strict=True)
            )
            found = expected_better(mean[few], deviation[few], threshold)
            assert found == pytest.approx(float(exact), rel=1e-10)
    parts = zip(mean.split(999), deviation.split(999), strict=True)
    total = sum(expected_better(*part, 1.0) for part in parts)
    assert expected_better(mean, deviation, 1.0) == pytest.approx(total, rel=1e-12)


def test_rows_without_deviation_answer_their_mean():
    mean, none = torch.tensor([1.0, 1.5, 1.5, -3.0]), torch.zeros(4)
    assert expected_better(mean, none, 1.0) == 2
    assert expected_better(mean, none, 1.5) == 0  # equal is not above
    assert regret_bound(mean, none, 1.0) == pytest.approx(0.5)
    assert regret_bound(mean, none, 2.0) == 0
    assert expected_gain(mean, none, 1.0) == pytest.approx((0.5, 0.5), rel=1e-5)  # both gain the same


def test_without_rows_nothing_is_left_to_find():
    nothing = torch.zeros(0)
    assert regret_bound(nothing, nothing, 1.0) == 0
    assert expected_gain(nothing, nothing, 1.0) == (0, 0)


@given(rows=rows, best=st.floats(-20, 20))
@settings(max_examples=30, deadline=None)
def test_the_expected_gain_is_the_integral_of_the_improvement(rows, best):
    mean, deviation = (torch.tensor(each, dtype=torch.float64) for each in rows)
    found = expected_gain(mean, deviation, best)
    z = (np.array(rows[0]) - best) / np.array(rows[1])
    gains = np.array(rows[1]) * (z * norm.cdf(z) + norm.pdf(z))
    assert found.next_measurement == pytest.approx(gains.max(), rel=1e-9, abs=1e-14)
    assert 0 <= found.next_measurement <= found.rest <= gains.sum() * (1 + 1e-9) + 1e-13

    def expected(margin):  # what is above all but one row on average counts once
        return min(1.0, norm.sf((best + margin - np.array(rows[0])) / np.array(rows[1])).sum())

    widest = max(m + 12 * sd - best for m, sd in zip(*rows, strict=True))
    if widest > 0:
        margins = np.linspace(0, widest, 1001)
        integral = trapezoid([expected(margin) for margin in margins], margins)
        assert found.rest == pytest.approx(integral, rel=0.02, abs=1e-3 * widest)


def test_of_independent_rows_the_best_of_all_gains_no_more_than_is_said():
    generator = torch.Generator().manual_seed(1)
    mean, deviation = torch.linspace(-1, 0.5, 30), torch.full((30,), 0.4)
    answers = mean + deviation * torch.randn(40_000, 30, generator=generator)  # error of a mean: 0.002
    gains = (answers.max(dim=1).values - 1.0).clamp_min(0)
    found = expected_gain(mean, deviation, 1.0)
    assert found.next_measurement < float(gains.mean()) - 0.01
    assert float(gains.mean()) <= found.rest + 0.01
    assert found.rest < 1.5 * float(gains.mean())
    bound = regret_bound(mean, deviation, 1.0, 0.05)
    chance = float((answers.max(dim=1).values > 1.0 + bound).double().mean())
    assert 0.04 <= chance <= 0.05 + 0.004  # four standard errors; the union bound is nearly sharp here


@pytest.mark.parametrize(
    ("mean", "deviation", "best", "level"),
    [
        ([0.0, math.nan], [1.0, 1.0], 0.0, 0.05),
        ([0.0], [1.0, 1.0], 0.0, 0.05),
        ([[0.0]], [[1.0]], 0.0, 0.05),
        ([0.0], [-1.0], 0.0, 0.05),
        ([0.0], [math.inf], 0.0, 0.05),
        ([0.0], [1.0], math.nan, 0.05),
        ([0.0], [1.0], 0.0, 0.0),
        ([0.0], [1.0], 0.0, 1.0),
    ],
)
def test_what_is_no_number_is_refused(mean, deviation, best, level):
    with pytest.raises(ValueError, match="must be"):
        regret_bound(torch.tensor(mean), torch.tensor(deviation), best, level)


def test_the_least_margin_of_a_function_that_falls_to_nothing_is_found():
    step = least_margin(lambda margin: float(margin < 2.5), 0.0, 10.0, 0.5)
    assert 2.5 <= step <= 2.5 + 1e-5


def test_the_sentence_has_its_condition_and_promises_nothing():
    text = sentence(12.5, 0.05, "EUR")
    assert text == (
        "If the fitted model is right, the chance that one of the unmeasured records would have "
        "answered better by more than 12.5 EUR is at most 5 %."
    )
    assert "guarantee" not in text.lower()
