"""Arm: one way to search, as the benchmark drives it."""

from __future__ import annotations

import numpy as np


class Arm:
    """Rows measured so far; a subclass says how it chooses the next one.

    Args:
        Z: Candidates.
        indices: Rows that were measured before the search starts.
        values: Their values.
        lengthscale: Of the function, for arms with fixed hyperparameters.
    """

    def __init__(
        self, Z: np.ndarray, indices: list[int], values: list[float], lengthscale: float
    ) -> None:
        self.Z = Z
        self.asked, self.values = list(indices), list(values)
        self.lengthscale = lengthscale

    def ask(self, q: int) -> list[int]:
        """Choose ``q`` rows that were not asked before."""
        raise NotImplementedError

    def tell(self, index: int, value: float) -> None:
        """Take in a measurement."""
        self.asked.append(index)
        self.values.append(value)

    def best(self, mean: np.ndarray, std: np.ndarray, kappa: float) -> list[int]:
        """Row of the best upper confidence bound among those not asked."""
        scores = mean + kappa * std
        scores[self.asked] = -np.inf
        return [int(scores.argmax())]
