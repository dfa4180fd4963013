"""Theorem 2: what lifting the singular values does to distances."""

from __future__ import annotations

import math

from botorch_private._base import validate


def distance_inflation(singular_value: float, singular_value_floor: float) -> float:
    """Return C', the most by which Algorithm 1 stretches squared distances before it projects.

    After the projection, all squared distances lie between `1 - distortion` and
    `(1 + distortion) * distance_inflation` times the true ones, with probability at least
    `1 - failure_probability`, where `distortion` and `failure_probability` are those of Lemma 1.

    The bound compares with the smallest singular value only, so it is attained along that one
    direction. No private mechanism can keep such a promise: see
    `minimum_delta_for_multiplicative_distances`.

    Args:
        singular_value: Smallest singular value of the centred records, >= 0.
        singular_value_floor: Omega of Algorithm 1, > 0.

    Returns:
        1 if the floor is met, else `1 + (singular_value_floor / singular_value)^2`; infinity at
        `singular_value = 0`.

    Raises:
        ValueError: If an argument is outside its range.

    Source: Kharkovskii et al. (2020), Theorem 2.

    Example:
        >>> theory.distance_inflation(singular_value=500.0, singular_value_floor=1000.0)
        5.0
    """
    validate.non_negative(singular_value=singular_value)
    validate.positive(singular_value_floor=singular_value_floor)
    if singular_value >= singular_value_floor:
        return 1.0
    if singular_value == 0:
        return math.inf
    ratio = singular_value_floor / singular_value
    return 1 + ratio * ratio  # Theorem 2: C' = 1 + omega^2 / sigma_min^2
