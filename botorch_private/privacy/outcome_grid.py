"""From an outcome and its noise to the answer: the one place where the two meet."""

from __future__ import annotations

import numpy as np

from botorch_private._base.floating_point import quiet_arithmetic


@quiet_arithmetic
def noised_answer(
    outcomes: np.ndarray, grid_noise: np.ndarray, *, low: float, high: float, grid: float
) -> np.ndarray:
    """Answers on the public grid of a declared range.

    Args:
        outcomes: Finite outcomes in raw units.
        grid_noise: Noise of each, in whole steps of the grid.
        low: Smallest outcome that is told apart; less is clipped to it.
        high: Largest outcome that is told apart; more is clipped to it.
        grid: Step of the grid, as a share of the range.

    Returns:
        float64 answers, not clipped: ``low`` plus whole steps.
    """
    shares = (np.clip(outcomes, low, high) - low) / (high - low)
    return low + (high - low) * grid * (np.rint(shares / grid) + grid_noise)
