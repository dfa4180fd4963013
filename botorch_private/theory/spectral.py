"""The smallest singular value of a table, and the floor that Algorithm 1 asks of it."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.floating_point import quiet_arithmetic

_WIDEST = 2**53  # no table has more columns


def singular_value_floor(epsilon: float, delta: float, projection_dim: int) -> float:
    """Return omega, the singular value below which Algorithm 1 lifts a table.

    It grows a little faster than `sqrt(projection_dim)` and falls as `1 / epsilon`. Meeting it does
    not make Algorithm 1 private: no floor does (see `SpectralProjection`).

    Args:
        epsilon: The epsilon that Theorem 1 claims, > 0.
        delta: The delta that Theorem 1 claims, in (0, 1).
        projection_dim: Released dimensions, at least 1.

    Returns:
        The floor, in the units of the records.

    Raises:
        ValueError: If an argument is outside its range.

    Source: Kharkovskii et al. (2020), Algorithm 1, line 5; natural logarithms.

    Example:
        >>> round(theory.singular_value_floor(epsilon=3.0, delta=1e-4, projection_dim=10), 1)
        758.2
    """
    validate.positive(epsilon=epsilon)
    validate.probability(delta=delta)
    validate.count(projection_dim=projection_dim)
    r = projection_dim
    # Algorithm 1, line 5: omega = 16 sqrt(r log(2 / delta)) log(16 r / delta) / epsilon
    return 16 * math.sqrt(r * math.log(2 / delta)) * math.log(16 * r / delta) / epsilon


@quiet_arithmetic
def smallest_singular_value(records: Tensor | np.ndarray) -> float:
    """Return the smallest of the `min(n, d)` singular values of the centred records.

    This number is learned from the records: treat it as private.

    Args:
        records: `n x d` table, finite.

    Returns:
        The singular value, in the units of the records. Values within rounding error of 0 (`max(n,
        d)` times the machine epsilon times the norm of the table) are returned as exactly 0, which
        is what centring forces whenever `n <= d`.

    Raises:
        ValueError: If the table is empty, not a matrix, or not finite.

    Source: Kharkovskii et al. (2020), Algorithm 1, lines 2, 4 and 6.

    Example:
        >>> theory.smallest_singular_value(records) > 0
        True
    """
    X = validate.matrix(records=records)
    smallest = float(torch.linalg.svdvals(X - X.mean(dim=0))[-1])
    rounding = max(X.shape) * torch.finfo(X.dtype).eps * float(torch.linalg.matrix_norm(X))
    return smallest if smallest > rounding else 0.0


def largest_projection_dim(
    singular_value: float, epsilon: float, delta: float, candidates: Iterable[int] | None = None
) -> int:
    """Return the largest dimension whose floor the table's smallest singular value still meets.

    The paper's guideline for the choice of the dimension: as large as possible before Algorithm 1
    starts to lift singular values and with them distances.

    Args:
        singular_value: Smallest singular value of the centred records, >= 0.
        epsilon: The epsilon that Theorem 1 claims, > 0.
        delta: The delta that Theorem 1 claims, in (0, 1).
        candidates: Dimensions to choose from, each at least 1. None: every positive integer (up to
            2^53).

    Returns:
        The largest dimension with `singular_value >= singular_value_floor(...)`, or 0 if there is
        none (every mechanism refuses 0 as a dimension). The paper's tables report the largest
        *tabulated* dimension: 10 for the grid at epsilon = exp(1.1), where 11 also meets the floor.

    Raises:
        ValueError: If an argument is outside its range.

    Source: Kharkovskii et al. (2020), Section 3.4 (the guideline after Theorem 3).

    Example:
        >>> theory.largest_projection_dim(singular_value=1000.0, epsilon=3.0, delta=1e-4)
        16
    """
    validate.non_negative(singular_value=singular_value)
    validate.positive(epsilon=epsilon)
    validate.probability(delta=delta)

    def floor(r: int) -> float:
        return singular_value_floor(epsilon, delta, r)

    if candidates is not None:
        return max((r for r in candidates if floor(r) <= singular_value), default=0)
    beyond = 1
    while beyond < _WIDEST and floor(beyond) <= singular_value:
        beyond *= 2
    # The floor increases with r, so the number of dimensions that meet it is the largest one.
    return bisect_right(range(1, beyond + 1), singular_value, key=floor)
