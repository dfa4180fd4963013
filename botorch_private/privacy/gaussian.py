"""What Gaussian noise costs: the exact trade-off between epsilon and delta.

For noise of standard deviation ``std`` on a query that a change of one record moves by ``shift`` in
Euclidean norm, only the ratio ``mu = shift / std`` matters (Balle & Wang 2018, Theorem 8; Dong, Roth
& Su 2019 call it mu-Gaussian differential privacy). A random projection moves the query by a random
amount that does not depend on the data, so ``delta`` is then an average over ``mu``: every function
takes arrays of ``mu`` and of their ``weights``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.optimize import root_scalar
from scipy.special import betaln, log_ndtr, roots_legendre

from botorch_private._base import validate
from botorch_private._base.floating_point import quiet_arithmetic

_ROOT_TOLERANCE = 1e-13
_PANELS = 64  # at large distances delta is a steep function of the length
_NODES = 32
LARGEST_EPSILON = 1e8
"""Largest epsilon that Gaussian noise is calibrated to: far beyond it the formula loses its digits."""
_UNBOUNDED = 1e9  # above it epsilon is called infinite


@quiet_arithmetic
def gaussian_delta(epsilon: float, mu: float | np.ndarray, weights: np.ndarray | None = None) -> float:
    r"""Delta of Gaussian noise at ``epsilon``.

    ``delta = E[Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)]`` (Balle & Wang 2018, eq.
    6), evaluated through logarithms, so that neither a small ``delta`` nor a large ``epsilon`` loses
    its digits.

    Args:
        epsilon: Privacy parameter, >= 0.
        mu: Shift over standard deviation, > 0; an array for a random shift.
        weights: Probabilities of the entries of ``mu``, summing to 1. None: ``mu`` is one number.

    Returns:
        delta in [0, 1].
    """
    mu = np.atleast_1d(np.asarray(mu, dtype=np.float64))
    upper = log_ndtr(mu / 2 - epsilon / mu)
    lower = epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    # lower <= upper in exact arithmetic; rounding must not make delta negative. Both may be -infinity.
    gap = np.where(np.isneginf(upper), 0.0, np.minimum(lower - upper, 0.0))
    each = -np.exp(upper) * np.expm1(gap)
    return float(each[0] if weights is None else np.dot(weights, each))


@quiet_arithmetic
def gaussian_epsilon(delta: float, mu: float | np.ndarray, weights: np.ndarray | None = None) -> float:
    """Smallest epsilon that Gaussian noise reaches at ``delta``, rounded up.

    Args:
        delta: Privacy parameter in (0, 1).
        mu: Shift over standard deviation, > 0; an array for a random shift.
        weights: Probabilities of the entries of ``mu``. None: ``mu`` is one number.

    Returns:
        epsilon >= 0.
    """
    validate.probability(delta=delta)
    if gaussian_delta(0.0, mu, weights) <= delta:
        return 0.0
    return least_epsilon(lambda epsilon: gaussian_delta(epsilon, mu, weights), delta)


def least_epsilon(delta_at: Callable[[float], float], delta: float) -> float:
    """Smallest epsilon at which a falling delta is at most ``delta``, rounded up; infinite above 1e9.

    Args:
        delta_at: Delta at an epsilon >= 0, above ``delta`` at 0.
        delta: Privacy parameter in (0, 1).
    """
    high = 1.0
    while delta_at(high) > delta:
        high *= 2
        if high > _UNBOUNDED:
            return math.inf
    root = root_scalar(
        lambda epsilon: delta_at(epsilon) - delta,
        bracket=(0.0, high),
        method="brentq",
        xtol=1e-17,
        rtol=_ROOT_TOLERANCE,
    ).root
    return float(root) * (1 + 10 * _ROOT_TOLERANCE) + 1e-16


@quiet_arithmetic
def gaussian_noise_std(
    epsilon: float,
    delta: float,
    sensitivity: float | np.ndarray = 1.0,
    weights: np.ndarray | None = None,
) -> float:
    """Smallest standard deviation of Gaussian noise that is ``(epsilon, delta)``-private, rounded up.

    The analytic Gaussian mechanism (Balle & Wang 2018, Algorithm 1), by root finding.

    Args:
        epsilon: Privacy parameter in (0, `LARGEST_EPSILON`].
        delta: Privacy parameter in (0, 1).
        sensitivity: Largest Euclidean change of the query between neighbours; an array for a random
            one (see `subspace_shrinkage`).
        weights: Probabilities of the entries of ``sensitivity``. None: it is one number.

    Returns:
        Standard deviation per coordinate, in units of ``sensitivity``.

    Raises:
        ValueError: If a parameter is outside its range.
    """
    validate.positive(epsilon=epsilon)
    if epsilon > LARGEST_EPSILON:
        raise ValueError(
            f"epsilon must be at most {LARGEST_EPSILON:g} for Gaussian noise, got {epsilon:g}: "
            f"so large a one hides nothing"
        )
    validate.probability(delta=delta)
    shift = np.atleast_1d(np.asarray(sensitivity, dtype=np.float64))

    def excess(log_std: float) -> float:
        return gaussian_delta(epsilon, shift / math.exp(log_std), weights) - delta

    low = high = math.log(float(shift.max()))
    while excess(high) > 0:
        high += 1.0
    while excess(low) <= 0:
        low -= 1.0
    root = root_scalar(
        excess, bracket=(low, high), method="brentq", xtol=_ROOT_TOLERANCE, rtol=_ROOT_TOLERANCE
    ).root
    return math.exp(float(root)) * (1 + 100 * _ROOT_TOLERANCE)


@quiet_arithmetic
def subspace_shrinkage(features: int, projection_dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Law of ``|v P|`` for a fixed unit vector ``v`` and a random projection ``P``.

    ``P`` is ``sqrt(d/r)`` times the projection onto a Haar-random ``r``-dimensional subspace of
    ``R^d``. Then ``|v P|^2 = (d/r) B`` with ``B ~ Beta(r/2, (d-r)/2)``, whatever ``v`` is. With
    ``B = sin(t)^2`` the density is ``sin(t)^(r-1) cos(t)^(d-r-1)`` up to a constant: smooth on the
    whole interval, so that Gauss-Legendre quadrature in panels converges geometrically.

    Args:
        features: ``d``, at least 2.
        projection_dim: ``r`` in 1..d-1.

    Returns:
        Lengths ``|v P|`` and their probabilities (which sum to 1), arrays of equal length.
    """
    d, r = features, projection_dim
    mode = math.asin(math.sqrt(r / d))
    width = 20 / math.sqrt(d)  # the density falls at least like a Gaussian of std 1/sqrt(2 d)
    low, high = max(0.0, mode - width), min(math.pi / 2, mode + width)
    nodes, weights = _panels()
    t = low + (high - low) * nodes
    log_density = (
        math.log(2)
        + (r - 1) * np.log(np.sin(t))
        + (d - r - 1) * np.log(np.cos(t))
        - betaln(r / 2, (d - r) / 2)
    )
    probability = weights * (high - low) * np.exp(log_density)
    return math.sqrt(d / r) * np.sin(t), probability / probability.sum()


@lru_cache(maxsize=1)
def _panels() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on [0, 1] of Gauss-Legendre quadrature, panel by panel."""
    nodes, weights = roots_legendre(_NODES)
    starts = np.arange(_PANELS)[:, None]
    return ((starts + (nodes + 1) / 2) / _PANELS).ravel(), np.tile(weights / (2 * _PANELS), _PANELS)
