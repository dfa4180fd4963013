"""CandidateBlock: the rows of V for a range of candidates, and their posterior moments."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from botorch_private.modeler.models.prior import ForwardPrior

SLAB = 32  # rows of V that are allocated together; rows that are not written take no memory


class CandidateBlock:
    """Columns of ``V = L^-1 K(X, Z)`` for some candidates ``Z``, posterior mean and variance.

    ``mean = m(Z) + V^T w`` with ``w = L^-1 (y - m(X))`` and ``variance = k(Z, Z) - sum_t V_t^2``
    (Rasmussen & Williams 2006, Algorithm 2.1), in the model's own units.

    Args:
        Z: ``b x r`` candidates.
        prior: Prior of the model.
        mean: Where the posterior mean goes, ``b`` numbers.
        variance: Where the posterior variance goes, ``b`` numbers; rounding may leave it below 0.
    """

    def __init__(self, Z: Tensor, prior: ForwardPrior, mean: Tensor, variance: Tensor) -> None:
        self.Z = Z
        self.mean, self.variance = mean, variance
        self.keep = True
        self.reset(prior)

    def reset(self, prior: ForwardPrior) -> None:
        """Forget all observations, and take over a prior."""
        self._prior = prior
        self._slabs: list[Tensor] = []
        self.rows = 0
        self._prior_mean = prior.mean(self.Z)
        self._prior_variance = prior.variance(self.Z)
        self.mean.copy_(self._prior_mean)
        self.variance.copy_(self._prior_variance)

    def follow(self, prior: ForwardPrior) -> None:
        """Take over an equal prior of another model."""
        self._prior = prior
        self._prior_mean = prior.mean(self.Z)

    def fork(self, mean: Tensor, variance: Tensor) -> CandidateBlock:
        """Copy that shares the rows of V; both can go on without disturbing each other."""
        twin = copy.copy(self)
        twin.mean, twin.variance = mean, variance
        twin._slabs = self._filled()
        return twin

    def bytes(self, rows: int) -> int:
        """Memory of so many rows of V."""
        return rows * len(self.Z) * self.Z.element_size()

    def extend(
        self, X: Tensor, below: Tensor, triangle: Tensor, weights: Tensor, *, reweigh: bool = True
    ) -> None:
        """Observe ``m`` more rows, reading each number of V once.

        Args:
            X: ``m x r`` observed rows.
            below: ``m x t`` part of the new rows of the Cholesky factor.
            triangle: ``m x m`` part of them.
            weights: ``w``, ``t + m`` numbers.
            reweigh: Whether the first ``t`` weights changed.
        """
        t, m = self.rows, len(X)
        below, triangle, weights = (part.to(self.Z) for part in (below, triangle, weights))
        factors = torch.cat([below, weights[:t].unsqueeze(0)]) if reweigh else below
        filled = self._filled()
        if self.keep:
            self._allocate(t + m)
        for columns in self._chunks(m):
            new = self._prior.covariance(X, self.Z[columns])
            mean = self._prior_mean[columns] if reweigh else self.mean[columns]
            if t:
                product = _product(factors, filled, columns)
                new -= product[:m]
                if reweigh:
                    mean = mean + product[m]
            if m == 1:
                new /= triangle
                self.variance[columns].addcmul_(new[0], new[0], value=-1)
            else:
                # in place: V = L^-1 K as V^T = K^T L^-T, whose columns LAPACK takes as they lie
                torch.linalg.solve_triangular(triangle.mT, new.mT, upper=True, left=False, out=new.mT)
                self.variance[columns] -= new.square().sum(dim=0)
            torch.addmv(mean, new.mT, weights[t:], out=self.mean[columns])
            if self.keep:
                self._write(new, columns)
        if self.keep:
            self.rows = t + m

    def recompute(self, X: Tensor, factor: Tensor, weights: Tensor) -> None:
        """Observe all ``t`` rows from the start, O(b t^2): for a block whose V is not kept."""
        self.variance.copy_(self._prior_variance)
        self.extend(X, factor[:, :0], factor, weights)

    def reweigh(self, weights: Tensor) -> None:
        """Mean for other values of the same observations."""
        weights = weights.to(self.Z).unsqueeze(0)
        filled = self._filled()
        for columns in self._chunks(1):
            mean = self._prior_mean[columns]
            if filled:
                mean = mean + _product(weights, filled, columns)[0]
            self.mean[columns] = mean

    def truncate(self, rows: int) -> None:
        """Forget all but the first observations; the mean is left to `reweigh` or `extend`."""
        if not self.keep or rows >= self.rows:
            return
        slabs, self.rows = self._filled(rows), rows
        self._slabs = slabs
        self.variance.copy_(self._prior_variance)
        for columns in self._chunks(SLAB):
            for slab in slabs:
                self.variance[columns] -= slab[:, columns].square().sum(dim=0)

    def free(self) -> None:
        """Give the memory of V back; from now on it is recomputed each time."""
        self.keep, self._slabs, self.rows = False, [], 0

    def _filled(self, rows: int | None = None) -> list[Tensor]:
        """Views of the slabs that end with the last written row, so that nobody writes there."""
        left = self.rows if rows is None else rows
        views = []
        for slab in self._slabs:
            if left > 0:
                views.append(slab[:left])
                left -= len(slab)
        return views

    def _allocate(self, rows: int) -> None:
        missing = rows - sum(map(len, self._slabs))
        while missing > 0:
            self._slabs.append(_cleared(self.Z, SLAB))
            missing -= SLAB

    def _write(self, new: Tensor, columns: slice) -> None:
        start = 0  # first row of the slab
        for slab in self._slabs:
            first, last = max(self.rows, start), min(self.rows + len(new), start + len(slab))
            if first < last:
                source = new[first - self.rows : last - self.rows]
                slab[first - start : last - start, columns] = source
            start += len(slab)

    def _chunks(self, m: int) -> Iterator[slice]:
        size = self._prior.chunk(m)
        for start in range(0, len(self.Z), size):
            yield slice(start, min(start + size, len(self.Z)))


def _cleared(Z: Tensor, rows: int) -> Tensor:
    """``rows x b`` zeros: memory that was not cleared may hold anything, and is pickled along.

    On the CPU by NumPy, whose zeros take no memory until they are written to.
    """
    if Z.device.type != "cpu":
        return Z.new_zeros(rows, len(Z))
    return torch.from_numpy(np.zeros((rows, len(Z)), dtype=str(Z.dtype).removeprefix("torch.")))


def _product(factors: Tensor, slabs: list[Tensor], columns: slice) -> Tensor:
    """``factors @ V`` for some columns, slab by slab."""
    total, start = None, 0
    for slab in slabs:
        part = factors[:, start : start + len(slab)]
        here = slab[:, columns]
        total = part @ here if total is None else torch.addmm(total, part, here, out=total)
        start += len(slab)
    assert total is not None
    return total
