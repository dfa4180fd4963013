"""What choosing records at random is expected to find: exactly, and without a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from botorch_private._base import validate
from botorch_private._base.floating_point import quiet_arithmetic


@quiet_arithmetic
def expected_random_regret(outcomes: Tensor | np.ndarray | Sequence[float], measurements: int) -> float:
    """Return the expected simple regret of records chosen uniformly at random, none of them twice.

    Of `n` outcomes `y_(1) >= ... >= y_(n)`, the `m` drawn without replacement miss the `i` largest with
    probability `C(n - i, m) / C(n, m)`, so that the best of them is `y_(i)` with probability
    `C(n - i, m - 1) / C(n, m)`, and

        `E[y_(1) - best] = sum over i of (y_(i) - y_(i + 1)) C(n - i, m) / C(n, m)`.

    Equal outcomes have gaps of 0. O(n log n). A search that does no better than this has learned nothing
    from its rows.

    Args:
        outcomes: `n` outcomes of all records, to be maximized, `n >= 1`. They are learned from the
            records: treat the result as private.
        measurements: Records that are measured, `m`, in 1..n.

    Returns:
        The regret, >= 0, in the units of the outcomes; 0 where all records are measured.

    Raises:
        ValueError: If an argument is outside its range.

    Source: order statistics of samples without replacement, as in David & Nagaraja (2003), Order
    Statistics.

    Example:
        >>> theory.expected_random_regret([3.0, 1.0, 0.0], measurements=2)  # 3, 3 or 1 is the best
        0.6666666666666666
    """
    return _regret(_gaps(outcomes, measurements), measurements)


@quiet_arithmetic
def expected_random_regret_curve(
    outcomes: Tensor | np.ndarray | Sequence[float], measurements: int
) -> Tensor:
    """Return `expected_random_regret` after 1, 2, ..., `measurements` records: a plot's chance line.

    O(n log n + n `measurements`).

    Args:
        outcomes: `n` outcomes of all records, to be maximized, `n >= 1`.
        measurements: Records that are measured in the end, in 1..n.

    Returns:
        `measurements` float64 numbers, as `History.simple_regret` has them.

    Raises:
        ValueError: If an argument is outside its range.

    Example:
        >>> theory.expected_random_regret_curve([4.0, 0.0], measurements=2).tolist()
        [2.0, 0.0]
    """
    gaps = _gaps(outcomes, measurements)
    curve = [_regret(gaps, m) for m in range(1, int(measurements) + 1)]
    return torch.tensor(curve, dtype=torch.float64)


def _gaps(outcomes: Tensor | np.ndarray | Sequence[float], measurements: int) -> np.ndarray:
    """From each outcome to the next smaller one, the largest first."""
    values = validate.vector(outcomes=outcomes)
    validate.count(measurements=measurements)
    if measurements > len(values):
        raise ValueError(
            f"measurements must be at most the number of outcomes, {len(values)}, got {measurements}"
        )
    return -np.diff(values.sort(descending=True).values.numpy())


def _regret(gaps: np.ndarray, m: int) -> float:
    # C(n - i, m) / C(n, m) is a product of (n - j - m) / (n - j): no factor is above 1, so nothing
    # overflows, and what underflows is nothing.
    left = len(gaps) + 1 - np.arange(len(gaps))
    missed = np.cumprod(np.maximum(left - m, 0) / left)
    return float(gaps @ missed)
