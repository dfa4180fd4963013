"""Gaussian trade-offs against dp-accounting, SciPy and published numbers."""

import itertools
import math

import dp_accounting
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from botorch_private.privacy.gaussian import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_noise_std,
    subspace_shrinkage,
)

EPSILON = st.floats(0.05, 30)
DELTA = st.floats(1e-10, 0.1)


@pytest.mark.parametrize(
    ("epsilon", "delta", "std"), [(1, 1e-5, 3.7306), (3, 1e-4, 1.2232), (8, 1e-5, 0.6002)]
)
def test_noise_std_equals_published_numbers(epsilon, delta, std):
    assert gaussian_noise_std(epsilon, delta) == pytest.approx(std, abs=5e-5)


@settings(derandomize=True, max_examples=60)
@given(EPSILON, DELTA)
def test_noise_std_equals_dp_accounting_rounded_up(epsilon, delta):
    ours, theirs = gaussian_noise_std(epsilon, delta), dp_accounting.get_sigma_gaussian(epsilon, delta)
    assert ours == pytest.approx(theirs, rel=1e-7)
    assert gaussian_delta(epsilon, 1 / ours) <= delta


@settings(derandomize=True, max_examples=60)
@given(st.floats(0.01, 60), DELTA)
def test_epsilon_equals_dp_accounting_rounded_up(mu, delta):
    ours = gaussian_epsilon(delta, mu)
    assert ours == pytest.approx(dp_accounting.get_epsilon_gaussian(1 / mu, delta), rel=1e-6, abs=1e-6)
    assert gaussian_delta(ours, mu) <= delta


@settings(derandomize=True, max_examples=40)
@given(EPSILON, DELTA, st.floats(0.1, 20))
def test_epsilon_inverts_noise_std(epsilon, delta, sensitivity):
    std = gaussian_noise_std(epsilon, delta, sensitivity)
    assert gaussian_epsilon(delta, sensitivity / std) == pytest.approx(epsilon, rel=1e-8)


@pytest.mark.parametrize(
    ("distance", "epsilon"), [(0.1, 0.08), (2, 2.15), (5, 6.17), (10, 14.4), (50, 146)]
)
def test_epsilon_grows_faster_than_distance(distance, epsilon):
    assert gaussian_epsilon(1e-5, distance / 3.7306) == pytest.approx(epsilon, rel=0.06)


@pytest.mark.parametrize(
    ("d", "r", "worst_case", "averaged"),
    [
        (10, 5, 5.28, 4.30),
        (20, 5, 7.46, 4.69),
        (50, 10, 8.34, 4.39),  # privacy notes: 4.39; 4.385 rounds either way
        (100, 20, 8.34, 4.11),
        (784, 50, 14.8, 3.93),
    ],
)
def test_averaged_noise_equals_published_numbers(d, r, worst_case, averaged):
    assert gaussian_noise_std(1, 1e-5, math.sqrt(d / r)) == pytest.approx(worst_case, rel=4e-3)
    assert gaussian_noise_std(1, 1e-5, *subspace_shrinkage(d, r)) == pytest.approx(averaged, abs=6e-3)


@pytest.mark.parametrize(
    ("d", "r"), [(2, 1), (3, 2), (3, 1), (10, 5), (784, 50), (1000, 1), (1000, 999)]
)
def test_shrinkage_has_the_moments_of_the_beta_law(d, r):
    lengths, weights = subspace_shrinkage(d, r)
    beta = stats.beta(r / 2, (d - r) / 2)
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    for power in (1, 2, 3):
        expected = (d / r) ** power * beta.moment(power)
        assert np.dot(weights, lengths ** (2 * power)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("d", "r"), [(4, 2), (10, 5), (100, 20)])
def test_averaged_delta_equals_scipy_integral(d, r):
    beta = stats.beta(r / 2, (d - r) / 2)

    def integrand(b):
        return beta.pdf(b) * gaussian_delta(1.0, math.sqrt(b * d / r) / 4.2)

    # The integrand is concentrated: split it where SciPy would miss it.
    cuts = [1e-12, *beta.ppf([1e-9, 1e-3, 0.5, 0.9, 0.99, 1 - 1e-5]), 1]
    expected = sum(quad(integrand, a, b, epsabs=0, epsrel=1e-9)[0] for a, b in itertools.pairwise(cuts))
    lengths, weights = subspace_shrinkage(d, r)
    assert gaussian_delta(1.0, lengths / 4.2, weights) == pytest.approx(expected, rel=1e-7)


def test_averaged_delta_equals_monte_carlo_over_haar_projections():
    # 20,000 projections of a fixed vector; the width is 4 standard errors.
    rng = np.random.default_rng(0)
    d, r = 6, 2
    gaussian = rng.standard_normal((20_000, d))
    lengths = np.sqrt((d / r) * (gaussian[:, :r] ** 2).sum(1) / (gaussian**2).sum(1))
    deltas = np.array([gaussian_delta(1.0, length / 3.0) for length in lengths])
    shrinkage, weights = subspace_shrinkage(d, r)
    width = 4 * deltas.std() / math.sqrt(len(deltas))
    assert gaussian_delta(1.0, shrinkage / 3.0, weights) == pytest.approx(deltas.mean(), abs=width)


def test_delta_is_tiny_but_right_far_in_the_tail():
    # dp-accounting reaches 1e-300 through logarithms too; SciPy's survival function agrees.
    mu, epsilon = 0.1, 3.0
    assert 0 < gaussian_delta(epsilon, mu) < 1e-190
    assert gaussian_delta(0.0, mu) == pytest.approx(2 * stats.norm.cdf(mu / 2) - 1, rel=1e-12)


def test_no_epsilon_is_needed_where_delta_covers_everything():
    assert gaussian_epsilon(0.1, 0.01) == 0.0


def test_averaged_delta_is_right_far_out_where_it_is_a_steep_function_of_the_length():
    # epsilon 100 at one unit, seen at 50 units: compared with 200,000 equal slices of probability.
    d, r = 20, 5
    lengths, weights = subspace_shrinkage(d, r)
    std = gaussian_noise_std(100.0, 1e-5, lengths, weights)
    epsilon = gaussian_epsilon(1e-5, 50 * lengths / std, weights)
    tail = np.exp(np.linspace(np.log(1e-9), 0, 200_001))  # upper tail probabilities, log-spaced
    edges = stats.beta(r / 2, (d - r) / 2).isf(tail)
    middle = np.sqrt((edges[1:] + edges[:-1]) / 2 * d / r)
    expected = gaussian_delta(epsilon, 50 * middle / std, np.diff(tail))
    assert expected == pytest.approx(1e-5, rel=1e-3)
