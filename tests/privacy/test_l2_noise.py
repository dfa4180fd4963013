"""What l2 noise costs: the shells against independent integrals, closed forms and published numbers."""

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import betainc, gammainc, gammaincc, roots_legendre

from botorch_private.privacy import l2_noise
from botorch_private.privacy.gaussian import subspace_shrinkage
from botorch_private.privacy.l2_noise import (
    LARGEST_L2_DIM,
    Shifts,
    l2_delta,
    l2_epsilon,
    l2_losses,
    l2_scale,
)

# Standard deviation per coordinate at delta 1e-5, by two other quadratures, at epsilon 1, 3 and 8.
DEVIATIONS = {
    2: (1.731, 0.577, 0.216),
    6: (2.522, 0.858, 0.326),
    10: (2.895, 1.007, 0.392),
    17: (3.195, 1.137, 0.456),
    22: (3.305, 1.187, 0.483),
    40: (3.487, 1.272, 0.530),
    174: (3.672, 1.361, 0.582),
}


def delta_by_mpmath(epsilon, shift, dim, digits=30):
    """The definition ``P(L > epsilon) - e^epsilon Q(L > epsilon)``, each probability by itself."""
    with mpmath.workdps(digits):
        eps, m, half = mpmath.mpf(epsilon), mpmath.mpf(shift), mpmath.mpf(dim - 1) / 2

        def share(cosine):
            x = min(max((1 + cosine) / 2, mpmath.mpf(0)), mpmath.mpf(1))
            return mpmath.betainc(half, half, 0, x, regularized=True)

        def density(r):
            return mpmath.exp((dim - 1) * mpmath.log(r) - r - mpmath.loggamma(dim))

        def near(r):  # |z - m e| > r + epsilon, by the law of cosines
            return density(r) * share((m**2 - eps**2 - 2 * r * eps) / (2 * r * m))

        def far(r):  # |w| - |w + m e| > epsilon
            return density(r) * share((eps**2 - m**2 - 2 * r * eps) / (2 * r * m))

        first, second, width = (m - eps) / 2, (m + eps) / 2, mpmath.sqrt(dim)
        ends = sorted(
            {first, second, *(dim + k * width for k in range(-8, 13, 2) if dim + k * width > 0)}
        )
        end = max(ends[-1], second) + 60
        inner = mpmath.gammainc(dim, 0, first, regularized=True)
        p = inner + mpmath.quad(near, [*[x for x in ends if x >= first], end])
        q = mpmath.quad(far, [*[x for x in ends if x >= second], end])
        return float(p - mpmath.exp(eps) * q)


def delta_by_angles(epsilon, shift, dim):
    """``E (1 - e^(epsilon - L))_+`` by Gauss-Legendre in radius and angle: no caps, no difference."""
    radius_law = stats.gamma(dim)
    nodes, weights = roots_legendre(40)
    radii = np.concatenate(
        [
            [0.0],
            radius_law.ppf([1e-20, 1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.9]),
            radius_law.isf([1e-3, 1e-6, 1e-12, 1e-20]),
        ]
    )
    edges = np.unique(np.concatenate([radii, [(shift - epsilon) / 2, (shift + epsilon) / 2]]))
    constant = math.lgamma((dim - 1) / 2) + math.lgamma(0.5) - math.lgamma(dim / 2)
    parts = np.linspace(0, 1, 9)[:-1, None]
    fractions, shares = (parts + (nodes + 1) / 16).ravel(), np.tile(weights / 16, 8)
    total = 0.0
    for low, high in pairwise(edges):
        r = (low + (high - low) * (nodes + 1) / 2)[:, None]
        # The loss is above epsilon on angles from the opposite pole down to that of the cap.
        c = (shift**2 - epsilon**2 - 2 * r * epsilon) / (2 * r * shift)
        first = np.arccos(np.clip(c, -1.0, 1.0))
        t = first + (math.pi - first) * fractions
        loss = np.sqrt(r**2 + shift**2 - 2 * r * shift * np.cos(t)) - r
        density = np.exp((dim - 2) * np.log(np.maximum(np.sin(t), 1e-300)) - constant)
        inner = (density * np.maximum(-np.expm1(epsilon - loss), 0.0)) @ shares * (math.pi - first[:, 0])
        total += (high - low) / 2 * float(weights @ (radius_law.pdf(r[:, 0]) * inner))
    return total


@pytest.mark.parametrize("dim", DEVIATIONS)
@pytest.mark.parametrize(("position", "epsilon"), [(0, 1.0), (1, 3.0), (2, 8.0)])
def test_the_deviation_is_the_one_found_by_two_quadratures(dim, position, epsilon):
    scale = l2_scale(epsilon, 1e-5, dim, Shifts.known(1.0))
    variance = (dim + 1) * scale**2
    assert variance == pytest.approx(DEVIATIONS[dim][position] ** 2, rel=1e-2)


@pytest.mark.parametrize(
    ("epsilon", "distance", "expected"),
    [(3, 0.5, 1.42), (3, 10, 36.9), (3, 50, 198), (1, 50, 68.7)],
)
def test_epsilon_at_a_distance_is_the_one_found_by_quadrature(epsilon, distance, expected):
    scale = l2_scale(epsilon, 1e-5, 22, Shifts.known(1.0))
    found = l2_epsilon(1e-5, Shifts.known(distance / scale), 22)
    assert found == pytest.approx(expected, rel=4e-3)
    assert found < distance / scale  # the pure bound


def test_what_the_published_code_computes_is_reached():
    """P(L > 1) of dp_l2's own tests, where its shells and ours are the exact probability (d = 1)."""
    # google-research/dp_l2, l2_test.py: d = 1, epsilon 1, scale 1/2, the two caps together: 0.39346.
    assert l2_delta(1.0, Shifts.known(2.0), 1) == pytest.approx(0.39346, abs=1e-5)


@pytest.mark.parametrize(
    ("epsilon", "shift", "dim"),
    [
        (1.0, 1.4, 22),
        (0.01, 0.5, 6),
        (3.0, 4.04, 22),
        (8.0, 9.0, 10),
        (197.6, 201.9, 22),
        (0.0, 0.01, 3),
        (1.0, 4.0, 150),
        (0.5, 1.7, 41),
        (30.0, 30.5, 3),
    ],
)
def test_delta_is_at_least_and_nearly_the_one_of_mpmath(epsilon, shift, dim):
    exact = delta_by_mpmath(epsilon, shift, dim)
    found = l2_delta(epsilon, Shifts.known(shift), dim)
    assert exact <= found <= exact * 1.08


@settings(derandomize=True, max_examples=40, deadline=None)
@given(st.integers(2, 300), st.floats(1e-3, 40), st.floats(-15, -1))
@example(2, 0.1, -5)
@example(3, 8.0, -15)
def test_delta_is_never_above_what_was_asked_for(dim, epsilon, log_delta):
    delta = 10.0**log_delta
    scale = l2_scale(epsilon, delta, dim, Shifts.known(1.0))
    assert delta_by_angles(epsilon, 1 / scale, dim) <= delta * (1 + 1e-9)
    assert scale <= 1 / epsilon  # never more noise than a pure guarantee needs


@settings(derandomize=True, max_examples=25, deadline=None)
@given(st.integers(7, 200), st.floats(0.05, 10), st.floats(-12, -2))
def test_little_noise_is_wasted(dim, epsilon, log_delta):
    delta = 10.0**log_delta
    scale = l2_scale(epsilon, delta, dim, Shifts.known(1.0))
    assert scale == 1 / epsilon or delta_by_angles(epsilon, 1 / (0.995 * scale), dim) > delta


@settings(derandomize=True, max_examples=25, deadline=None)
@given(st.integers(1, 10_000), st.floats(0.01, 100), st.floats(-15, -1))
def test_epsilon_and_scale_are_inverse_to_each_other(dim, epsilon, log_delta):
    delta = 10.0**log_delta
    scale = l2_scale(epsilon, delta, dim, Shifts.known(1.0))
    assert l2_epsilon(delta, Shifts.known(1 / scale), dim) == pytest.approx(epsilon, rel=1e-3)


def test_in_one_dimension_it_is_laplace_noise():
    # delta = 1 - e^((epsilon - m) / 2), by hand.
    for epsilon, shift in [(0.5, 0.7), (3.0, 3.001), (0.0, 2.0)]:
        expected = -math.expm1((epsilon - shift) / 2)
        assert expected <= l2_delta(epsilon, Shifts.known(shift), 1) <= expected * (1 + 1e-9)
    assert l2_delta(1.0, Shifts.known(1.0), 1) == 0.0


@pytest.mark.parametrize(("d", "r"), [(22, 5), (784, 2)])
def test_a_law_with_fewer_values_is_nowhere_below_the_whole_one(d, r):
    """By chances: whatever the shift, at least as much weight lies above it."""
    whole = Shifts(*subspace_shrinkage(d, r))
    bins = np.unique(np.linspace(0, len(whole.values) - 1, 7).astype(np.int64))
    few = l2_noise._binned(whole, bins)
    assert few.weights.sum() == pytest.approx(whole.weights.sum(), rel=1e-12)
    for shift in whole.values:
        above, kept = whole.weights[whole.values >= shift].sum(), few.weights[few.values >= shift].sum()
        assert kept >= above * (1 - 1e-12)


@pytest.mark.parametrize(("d", "r"), [(22, 5), (50, 10), (784, 2)])
def test_a_random_projection_costs_the_mean_over_its_law_at_least(d, r):
    epsilon, delta = 1.0, 1e-5
    sensitivity = Shifts(*subspace_shrinkage(d, r))
    scale = l2_scale(epsilon, delta, r, sensitivity)
    # Quantiles of |v P| in equal steps of the logarithm of their chance: another quadrature.
    log_tails = np.linspace(-30, 0, 61)
    tails = np.exp((log_tails[:-1] + log_tails[1:]) / 2)
    shares = stats.beta(r / 2, (d - r) / 2).isf(tails)
    masses = np.diff(np.exp(log_tails))
    if r > 2:
        costs = [
            delta_by_angles(epsilon, math.sqrt(d / r * share) / scale, r)
            if math.sqrt(d / r * share) / scale > epsilon
            else 0.0
            for share in shares
        ]
        assert 0.8 * delta < masses @ np.array(costs) <= delta * 1.02  # (the rule errs by 1 %)
    worst = l2_scale(epsilon, delta, r, Shifts.known(math.sqrt(d / r)))
    best = l2_scale(epsilon, delta, r, Shifts.known(1.0))
    assert best < scale < 0.9 * worst


@pytest.mark.parametrize("dim", [1, 2, 22])
def test_losses_are_no_smaller_than_those_of_a_sample(dim):
    # 200,000 draws; a distribution function is off by more than 0.4 % once in a thousand times.
    rng = np.random.default_rng(dim)
    z = rng.standard_normal((200_000, dim))
    z *= (rng.gamma(dim, size=len(z)) / np.linalg.norm(z, axis=1))[:, None]
    moved = z - 1.5 * np.eye(dim)[0]
    drawn = np.linalg.norm(moved, axis=1) - np.linalg.norm(z, axis=1)
    drawn = np.sort(np.round(drawn, 9))
    losses, chances = l2_losses(1.5, dim, 400)
    assert chances.min() >= 0
    assert chances.sum() == pytest.approx(1.0)
    ours = np.cumsum(chances)
    theirs = np.searchsorted(drawn, losses, side="right") / len(drawn)
    assert (ours <= theirs + 0.004).all()
    assert np.abs(ours[:-1] - theirs[:-1]).max() < 0.02
    mean = float(losses @ chances)
    assert drawn.mean() - 0.01 < mean < drawn.mean() + 0.02


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 1.4])
def test_losses_give_delta_again_rounded_up(epsilon):
    losses, chances = l2_losses(1.5, 22, 4000)
    by_losses = float(chances @ np.maximum(-np.expm1(epsilon - losses), 0.0))
    exact = delta_by_angles(epsilon, 1.5, 22)
    assert exact <= by_losses <= exact * 1.05 + 1e-9


@pytest.mark.parametrize("dim", [2, 3, 22, 23, 1000, 10_000, LARGEST_L2_DIM])
def test_functions_of_scipy_are_as_right_as_they_are_taken_to_be(dim):
    charged = 1e-11 + 1e-14 * dim
    half = (dim - 1) / 2
    width = 1 / math.sqrt(dim)
    with mpmath.workdps(40):
        for sigmas in (-9.0, -5.0, -1.0):
            c = sigmas * width
            if c > -1:

                def density(angle):
                    return mpmath.exp((dim - 2) * mpmath.log(mpmath.cos(angle)))

                ends = [mpmath.asin(max(c - k * width / 4, -1)) for k in range(60)]
                part = mpmath.quad(density, ends[::-1])
                whole = mpmath.exp(mpmath.loggamma(half) - mpmath.loggamma(half + 0.5))
                exact = part / (whole * mpmath.sqrt(mpmath.pi))
                assert abs(betainc(half, half, (1 + c) / 2) / exact - 1) < charged
        for sigmas in (-7.0, -3.0, 0.0, 3.0, 12.0):
            r = dim + sigmas * math.sqrt(dim)
            if r > 0:
                below = mpmath.gammainc(dim, 0, mpmath.mpf(r), regularized=True)
                end, exact = (gammainc, below) if r < dim else (gammaincc, 1 - below)
                assert abs(end(dim, r) / exact - 1) < charged


def test_beyond_the_dimensions_that_were_tested_the_pure_bound_is_taken():
    many = LARGEST_L2_DIM + 1
    assert l2_epsilon(1e-5, Shifts.known(2.0), many) == 2.0
    assert l2_scale(3.0, 1e-5, many, Shifts.known(1.0)) == pytest.approx(1 / 3.0)
