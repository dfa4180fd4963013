"""What noisy measurements tell about the objective, in nats, and at most could tell."""

from __future__ import annotations

import math

import torch
from linear_operator.operators import LinearOperator
from torch import Tensor

from botorch_private._base import validate
from botorch_private.theory._covariance import (
    Covariance,
    refuse_negative,
    refuse_not_square,
    row,
    square,
)


def information_gain(covariance: Covariance, noise_variance: float) -> float:
    """Return the mutual information of measurements and objective at a given set of records.

    Args:
        covariance: `m x m` prior covariance of the measured records; a record that was measured
            twice stands there twice.
        noise_variance: Variance of the observation noise, > 0, in the units of `covariance`.

    Returns:
        `0.5 logdet(I + covariance / noise_variance)`, in nats.

    Raises:
        ValueError: If the covariance is not a finite, symmetric, positive semidefinite matrix, or
            the noise variance is not > 0.

    Source: Srinivas et al. (2010), Section 2.2.

    Example:
        >>> round(theory.information_gain([[1.0, 0.4], [0.4, 1.0]], noise_variance=0.1), 3)
        2.327
    """
    K = square(covariance)
    validate.positive(noise_variance=noise_variance)
    identity = torch.eye(K.shape[0], dtype=K.dtype)
    factor, info = torch.linalg.cholesky_ex(identity + K / noise_variance)
    if info:
        raise ValueError("covariance must be positive semidefinite, got a negative eigenvalue")
    return float(factor.diagonal().log().sum())  # half of the log-determinant


def greedy_information_gain(
    covariance: Covariance, noise_variance: float, rounds: int, *, repeats: bool = True
) -> float:
    """Return the information gain of measurements that are chosen greedily, one after another.

    Each round measures the record with the largest posterior variance. `n` records and `T` rounds
    take `T` rows of the covariance, `T n` numbers of memory and order `T^2 n` time.

    Args:
        covariance: `n x n` prior covariance of all candidates. GPyTorch's lazy `kernel(records)`
            is never evaluated whole: only its diagonal and one row a round are.
        noise_variance: Variance of the observation noise, > 0, in the units of `covariance`.
        rounds: Number of measurements, at least 1; at most `n` without repeats.
        repeats: Whether a record may be measured again. Algorithm 2 of the paper may, a `Curator`
            answers each record once.

    Returns:
        The information gain of the greedy choice, in nats: between `1 - 1/e` and 1 times the
        maximum `gamma_T` over all choices of as many measurements.

    Raises:
        ValueError: If the covariance is not a finite symmetric matrix, a posterior variance turns
            out negative, the noise variance is not > 0, or `rounds` is out of range.

    Source: Srinivas et al. (2010), Section 2.2.

    Example:
        >>> round(theory.greedy_information_gain([[1.0, 0.4], [0.4, 1.0]], 0.1, rounds=2), 3)
        2.327
    """
    K, variances = _prior(covariance)
    n = variances.shape[0]
    validate.positive(noise_variance=noise_variance)
    validate.count(rounds=rounds)
    if not repeats and rounds > n:
        raise ValueError(f"rounds must be <= {n} (the records) without repeats, got {rounds}")
    scale = float(variances.max())
    factor = variances.new_zeros(rounds, n)  # rows of the Cholesky factor, for all candidates
    open_to_choice = variances.new_zeros(n)  # -inf once a record is spent
    gain = 0.0
    for t in range(rounds):
        i = int((variances + open_to_choice).argmax())
        variance = max(float(variances[i]), 0.0)
        gain += 0.5 * math.log1p(variance / noise_variance)  # chain rule of mutual information
        known = factor[:t]
        factor[t] = (row(K, i) - known[:, i] @ known) / math.sqrt(variance + noise_variance)
        variances = variances - factor[t].square()
        refuse_negative(variances, scale=scale)
        if not repeats:
            open_to_choice[i] = -math.inf
    return gain


def information_gain_bound(
    covariance: Covariance, noise_variance: float, rounds: int, *, repeats: bool = True
) -> float:
    """Return an upper bound for `gamma_T`, the most that `rounds` measurements can tell.

    Information gain is a monotone submodular function of the set of measurements (Krause and
    Guestrin, 2005), so that no choice gains more than `1 / (1 - 1/e)` times the greedy one
    (Nemhauser, Wolsey and Fisher, 1978). Srinivas et al. (2010) use it in this way.

    Args:
        covariance: `n x n` prior covariance of all candidates; see `greedy_information_gain`.
        noise_variance: Variance of the observation noise, > 0, in the units of `covariance`.
        rounds: Number of measurements `T`, at least 1; at most `n` without repeats.
        repeats: Whether a record may be measured again. True bounds both cases.

    Returns:
        The bound, in nats: `information_gain` of `simple_regret_bound`.

    Raises:
        ValueError: As `greedy_information_gain`.

    Example:
        >>> round(theory.information_gain_bound([[1.0, 0.4], [0.4, 1.0]], 0.1, rounds=2), 3)
        3.681
    """
    greedy = greedy_information_gain(covariance, noise_variance, rounds, repeats=repeats)
    return greedy / (1 - 1 / math.e)


def _prior(covariance: Covariance) -> tuple[Tensor | LinearOperator, Tensor]:
    if not isinstance(covariance, LinearOperator):
        K = square(covariance)
        return K, K.diagonal()
    refuse_not_square(tuple(covariance.shape))
    variances = covariance.diagonal().detach().to(device="cpu", dtype=torch.float64)
    if not bool(torch.isfinite(variances).all()):
        raise ValueError("covariance must be finite, got a variance that is not")
    refuse_negative(variances, scale=float(variances.max()))
    return covariance, variances
