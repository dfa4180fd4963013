"""The problem: a smooth random function on random candidates, measured with a fixed small noise."""

from __future__ import annotations

import math

import numpy as np

FEATURES = 512
NOISE_STD = 0.01
KAPPA = 2.0  # scores are mean + KAPPA * deviation
CHUNK = 10_000  # candidates at once, so that making a problem takes no memory worth counting


class Problem:
    """``n`` uniform candidates and a random-Fourier sample of an RBF Gaussian process.

    Args:
        n: Number of candidates.
        columns: Their number of features. The length-scale is 0.8 for ten, and grows like distances.
        seed: Of candidates, function and noise.
        dtype: Of the candidates; the same numbers, rounded.
    """

    def __init__(self, n: int, columns: int = 10, seed: int = 0, dtype: str = "float64") -> None:
        generator = np.random.default_rng(seed)
        self.lengthscale = 0.8 * math.sqrt(columns / 10)
        self._frequencies = generator.standard_normal((columns, FEATURES)) / self.lengthscale
        self._phases = generator.uniform(0, 2 * math.pi, FEATURES)
        self._weights = generator.standard_normal(FEATURES) * math.sqrt(2 / FEATURES)
        self._seed = seed
        self.Z = np.empty((n, columns), dtype=dtype)
        for first in range(0, n, CHUNK):
            block = self.Z[first : first + CHUNK]
            block[:] = generator.random(block.shape)

    def objective(self, rows: slice | list[int]) -> np.ndarray:
        """Noise-free values of some candidates."""
        return np.cos(self.Z[rows] @ self._frequencies + self._phases) @ self._weights

    def measure(self, index: int) -> float:
        """Noisy value of a candidate, the same each time."""
        noise = NOISE_STD * np.random.default_rng([self._seed, index]).standard_normal()
        return float(self.objective([index])[0] + noise)

    def regret(self, picks: list[int]) -> float:
        """Best noise-free value of all candidates, less the best among the picks."""
        n = len(self.Z)
        best = max(self.objective(slice(i, i + CHUNK)).max() for i in range(0, n, CHUNK))
        return float(best - self.objective(picks).max())
