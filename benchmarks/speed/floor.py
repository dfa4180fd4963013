"""The floor: the least that an exact search has to do, in twenty lines of NumPy."""

from __future__ import annotations

import numpy as np
from arm import Arm
from problem import KAPPA, NOISE_STD

ROOM = 320  # rows of V; the ones that are never written take no memory


class Floor(Arm):
    """Incremental rows of ``V = L^-1 K(X, Z)``; mean and variance of all candidates in place."""

    def __init__(self, Z, indices, values, lengthscale) -> None:
        super().__init__(Z, [], [], lengthscale)
        n = len(Z)
        self.half_norms = 0.5 * np.einsum("ij,ij->i", Z, Z)
        self.V = np.empty((ROOM, n))
        self.mean, self.variance = np.zeros(n), np.ones(n)
        self.scratch = np.empty(n)
        for index, value in zip(indices, values, strict=True):
            self.tell(index, value)

    def tell(self, index: int, value: float) -> None:
        """Append a row to V, by one pass over Z and one over V."""
        t, row = len(self.asked), self.V[len(self.asked)]
        np.dot(self.Z, self.Z[index], out=row)
        row -= self.half_norms
        row -= self.half_norms[index]
        row /= self.lengthscale**2
        np.exp(row, out=row)
        if t:
            row -= np.dot(self.V[:t, index].copy(), self.V[:t], out=self.scratch)
        pivot = np.sqrt(self.variance[index] + NOISE_STD**2)
        row /= pivot
        weight = (value - self.mean[index]) / pivot
        self.mean += np.multiply(row, weight, out=self.scratch)
        self.variance -= np.square(row, out=self.scratch)
        super().tell(index, value)

    def ask(self, q: int) -> list[int]:
        """Best upper confidence bound; one row at a time."""
        scores = np.maximum(self.variance, 0.0, out=self.scratch)
        np.sqrt(scores, out=scores)
        scores *= KAPPA
        scores += self.mean
        scores[self.asked] = -np.inf
        return [int(scores.argmax())]
