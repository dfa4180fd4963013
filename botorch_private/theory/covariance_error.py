"""Theorem 5: how far the covariance of two released rows is from that of their records."""

from __future__ import annotations

import math

from botorch_private._base import validate
from botorch_private.theory.distance import distance_inflation
from botorch_private.theory.johnson_lindenstrauss import check_distortion


def covariance_error(
    distortion: float,
    diameter: float,
    lengthscale: float,
    singular_value: float,
    singular_value_floor: float,
) -> float:
    """Return C, the largest relative error of a squared exponential covariance after Algorithm 1.

    If all distances are kept as Theorem 2 says, then `|k(z, z') - k(x, x')| <= C k(x, x')` for all
    records `x, x'` and their released rows `z, z'`.

    The kernel is isotropic, with the same hyperparameters on both sides. The paper's footnote on
    the other case prints `exp((x - x')^T Gamma^-2 (x - x'))`; the factor -1/2 is missing.

    Args:
        distortion: Relative error of squared distances, in (0, 1/2] and at most
            `2 (lengthscale / diameter)^2`.
        diameter: Largest distance between two records, > 0 (at most twice the radius of the ball
            that they were scaled into).
        lengthscale: Length-scale of the kernel, > 0, in the units of `diameter`.
        singular_value: Smallest singular value of the centred records, >= 0 (the theorem asks for
            > 0; the limit at 0 is returned).
        singular_value_floor: Omega of Algorithm 1, > 0.

    Returns:
        The error, in (0, 2]. Where the floor is met it is `distortion (diameter / lengthscale)^2`;
        elsewhere it cannot be made small by adding dimensions.

    Raises:
        ValueError: If an argument is outside its range.

    Source: Kharkovskii et al. (2020), Theorem 5, eq. (10).

    Example:
        >>> round(
        ...     theory.covariance_error(
        ...         distortion=0.1,
        ...         diameter=2.0,
        ...         lengthscale=1.0,
        ...         singular_value=1000.0,
        ...         singular_value_floor=800.0,
        ...     ),
        ...     3,
        ... )
        0.4
    """
    check_distortion(distortion)
    validate.positive(diameter=diameter, lengthscale=lengthscale)
    limit = theorem5_limit(diameter, lengthscale)
    if distortion > limit:
        raise ValueError(
            f"distortion must be <= 2 (lengthscale / diameter)^2 = {limit:.6g} for Theorem 5, "
            f"got {distortion!r}"
        )
    return theorem5_constant(distortion, diameter, lengthscale, singular_value, singular_value_floor)


def theorem5_limit(diameter: float, lengthscale: float) -> float:
    """Return the largest distortion that Theorem 5 allows (beside 1/2)."""
    d = diameter / lengthscale
    return 2 / (d * d)


def theorem5_constant(
    distortion: float,
    diameter: float,
    lengthscale: float,
    singular_value: float,
    singular_value_floor: float,
) -> float:
    """Evaluate eq. (10) whether or not the distortion is one that Theorem 5 allows."""
    nu, d = distortion, diameter / lengthscale
    inflation = distance_inflation(singular_value, singular_value_floor)
    if inflation == 1:
        return nu * d * d  # eq. (10), first case
    # eq. (10), second case: nu + nu w^2 / s^2 + w^2 / s^2 = (1 + nu) C' - 1
    stretch = (1 + nu) * inflation - 1
    return max(nu * d * d, -math.expm1(-0.5 * stretch * d * d))
