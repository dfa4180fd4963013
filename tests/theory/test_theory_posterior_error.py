import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from botorch_private.theory import is_diagonally_dominant, mean_constant, variance_constant


def squared_exponential(X, outputscale):
    return outputscale * np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=-1))


def posterior(K, y, noise_variance):
    """Return mean and variance of the last row, given noisy values of the others."""
    A, k = K[:-1, :-1] + noise_variance * np.eye(len(K) - 1), K[-1, :-1]
    return k @ np.linalg.solve(A, y), K[-1, -1] - k @ np.linalg.solve(A, k)


def test_constants_by_hand():
    # C = 1, s_y^2 = 1, s_n^2 = 2: 1 * sqrt(4) * (sqrt(2) * 4 / 2 + 3)
    assert variance_constant(1.0, 1.0, 2.0) == pytest.approx(2 * (2 * math.sqrt(2) + 3))
    # sqrt(2) * 2 * 1 / 2 * 3
    assert mean_constant(1.0, 1.0, 2.0, 3.0) == pytest.approx(3 * math.sqrt(2))


def test_constants_vanish_without_covariance_error():
    assert variance_constant(0.0, 1.0, 0.1) == 0
    assert mean_constant(0.0, 1.0, 0.1, 3.0) == 0


def test_variance_constant_scales_with_the_objective():
    assert variance_constant(0.3, 4.0, 0.4) == pytest.approx(4 * variance_constant(0.3, 1.0, 0.1))


@settings(derandomize=True, max_examples=150, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.floats(0.01, 0.3),
    st.floats(1e-3, 30),
    st.floats(0.05, 1),
)
def test_posteriors_differ_by_at_most_the_constants(seed, m, move, noise_variance, outputscale):
    rng = np.random.default_rng(seed)
    X = 2.0 * np.arange(m + 1)[:, None] + rng.uniform(-0.3, 0.3, size=(m + 1, 1))
    X = X[rng.permutation(m + 1)]
    K_x = squared_exponential(X, outputscale)
    assume(is_diagonally_dominant(K_x))
    K_z = squared_exponential(X + move * rng.uniform(-1, 1, size=X.shape), outputscale)
    C = np.abs(K_z / K_x - 1).max()
    y = rng.uniform(-2, 2, size=m)
    L = np.abs(y).max()
    mean_x, variance_x = posterior(K_x, y, noise_variance)
    mean_z, variance_z = posterior(K_z, y, noise_variance)
    C_1 = variance_constant(C, outputscale, noise_variance)
    C_2 = mean_constant(C, outputscale, noise_variance, L)

    # Lemma 5, and the sharper constant of the docstring
    difference = abs(variance_z - variance_x) * math.sqrt(m)
    sharper = C * (0.71 * (1 + C) ** 2 + (2 + C) / 4) * outputscale**2 / noise_variance
    assert difference <= sharper <= C_1
    # Lemma 6
    assert abs(mean_z - mean_x) <= C * L + C_2 / math.sqrt(m)
    # The repair of Theorem 3's proof: standard deviations, and why
    assert variance_x >= outputscale / 2
    assert abs(math.sqrt(variance_z) - math.sqrt(variance_x)) <= (
        math.sqrt(2 / outputscale) * C_1 / math.sqrt(m)
    )


def test_difference_of_standard_deviations_can_exceed_that_of_variances():
    # The first display of the proof of Theorem 3, at an outputscale of 0.01.
    K_x = squared_exponential(np.array([[0.0], [1.5]]), 0.01)
    K_z = squared_exponential(np.array([[0.0], [1.4]]), 0.01)
    assert is_diagonally_dominant(K_x)
    variance_x, variance_z = (posterior(K, np.ones(1), 1e-4)[1] for K in (K_x, K_z))
    assert abs(math.sqrt(variance_z) - math.sqrt(variance_x)) > abs(variance_z - variance_x)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-0.1, 1.0, 1.0), "covariance_error must be a finite number >= 0, got -0.1"),
        ((0.1, 0.0, 1.0), "outputscale must be a finite number > 0, got 0.0"),
        ((0.1, 1.0, math.nan), "noise_variance must be a finite number > 0, got nan"),
    ],
)
def test_constants_refuse_what_is_out_of_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        variance_constant(*arguments)
    with pytest.raises(ValueError, match=message):
        mean_constant(*arguments, 1.0)


def test_mean_constant_refuses_a_bound_of_zero():
    with pytest.raises(ValueError, match="observation_bound must be a finite number > 0, got 0"):
        mean_constant(0.1, 1.0, 1.0, 0)
