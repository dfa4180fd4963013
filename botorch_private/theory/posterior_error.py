"""How far the posterior on released rows is from that on the records: C_1 and C_2."""

from __future__ import annotations

import math

from botorch_private._base import validate


def variance_constant(covariance_error: float, outputscale: float, noise_variance: float) -> float:
    """Return C_1: posterior variances differ by at most `C_1 / sqrt(number of measurements)`.

    It bounds `|var(z) - var(x)|` at a record `x` that was not measured and its released row `z`,
    if covariances differ by at most `covariance_error` times themselves, and the covariance
    of the measured records together with `x` is diagonally dominant.

    A slip in the proof: after `C` is taken out of the sum, the second term is printed as
    `(2 + C) C`, where `2 + C` remains. The printed constant holds all the same. Dominance gives
    `|k(x, measured)| <= outputscale / (sqrt(m) + 1)` and a smallest eigenvalue of at least
    `outputscale / 2`, and with these the difference is at most
    `C (0.71 (1 + C)^2 + (2 + C) / 4) outputscale^2 / (noise_variance sqrt(m))`, less than C_1.

    Args:
        covariance_error: C of Theorem 5, >= 0.
        outputscale: Prior variance of the objective, > 0.
        noise_variance: Variance of the observation noise, > 0.

    Returns:
        The constant, in the units of `outputscale`.

    Raises:
        ValueError: If an argument is outside its range.

    Source: Kharkovskii et al. (2020), Lemma 5 (counting all lemmas of the paper).

    Example:
        >>> round(theory.variance_constant(covariance_error=0.1, outputscale=1.0, noise_variance=0.1), 3)
        2.51
    """
    validate.non_negative(covariance_error=covariance_error)
    validate.positive(outputscale=outputscale, noise_variance=noise_variance)
    C, signal_to_noise = covariance_error, outputscale / noise_variance
    # Lemma 5: C s_y sqrt(2 s_y^2 + s_n^2) (sqrt(2) (1 + C)^2 s_y^2 / s_n^2 + (2 + C) C)
    scale = math.sqrt(outputscale) * math.sqrt(2 * outputscale + noise_variance)
    return C * scale * (math.sqrt(2) * (1 + C) ** 2 * signal_to_noise + (2 + C) * C)


def mean_constant(
    covariance_error: float, outputscale: float, noise_variance: float, observation_bound: float
) -> float:
    """Return C_2: posterior means differ by at most `C L + C_2 / sqrt(number of measurements)`.

    `C` is `covariance_error` and `L` is `observation_bound`. The conditions are those of
    `variance_constant`, and that no observation exceeds `L` in absolute value.

    Args:
        covariance_error: C of Theorem 5, >= 0.
        outputscale: Prior variance of the objective, > 0.
        noise_variance: Variance of the observation noise, > 0.
        observation_bound: L, the largest absolute value of an observation, > 0.

    Returns:
        The constant, in the units of `observation_bound`.

    Raises:
        ValueError: If an argument is outside its range.

    Source: Kharkovskii et al. (2020), Lemma 6 (counting all lemmas of the paper).

    Example:
        >>> round(
        ...     theory.mean_constant(
        ...         covariance_error=0.1, outputscale=1.0, noise_variance=0.1, observation_bound=3.0
        ...     ),
        ...     3,
        ... )
        4.667
    """
    validate.non_negative(covariance_error=covariance_error)
    validate.positive(
        outputscale=outputscale, noise_variance=noise_variance, observation_bound=observation_bound
    )
    C, L = covariance_error, observation_bound
    return math.sqrt(2) * (1 + C) * C * outputscale / noise_variance * L  # Lemma 6
